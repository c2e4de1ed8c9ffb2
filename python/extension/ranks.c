/* Python function for traces of many ranks: returns the library's JSON, and files that failed. */
#include "module.h"

#include <pyrometer/ranks.h>

const char core_ranks_doc[] =
    "ranks(paths, model, layers_from, steps_from, step, late, threads) -> "
    "(json, [(file, message, named)])";

/* Arguments and results of one call. */
typedef struct ranks_call {
    pyro_rank_files files;
    pyro_rank_reading reading;
    pyro_analysis_options analysis;
    pyro_rank_failure *failures;
    size_t failure_count;
    char *json;
    size_t size;
    double late;
} ranks_call;

static int add_paths(ranks_call *call, PyObject *paths, core_state *state)
{
    PyObject *list = PySequence_Fast(paths, "paths must be a sequence");
    int status = list ? 0 : -1;

    for (Py_ssize_t i = 0; status == 0 && i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *path;
        pyro_error error;
        pyro_error_clear(&error);
        if (!PyUnicode_FSConverter(PySequence_Fast_GET_ITEM(list, i), &path)) {
            status = -1;
            break;
        }
        status = pyro_rank_files_add(&call->files, PyBytes_AS_STRING(path), &error);
        Py_DECREF(path);
        if (status < 0)
            core_fail(state, &error, status, 1);
    }
    Py_XDECREF(list);
    return status < 0 ? -1 : 0;
}

/* Runs without the GIL. */
static int analyze_ranks(ranks_call *call, pyro_error *error)
{
    static const pyro_report_options json = {.format = PYRO_FORMAT_JSON};
    pyro_rank_summary *summary = NULL;
    pyro_ranks *ranks = NULL;
    int status = pyro_rank_files_read(&summary, &call->files, &call->reading, &call->failures,
                                      &call->failure_count, error);
    if (status >= 0)
        status = pyro_ranks_analyze(&ranks, summary, call->late, error);
    if (status >= 0)
        status = pyro_report_ranks(&call->json, &call->size, ranks, PYRO_RANKS_OVERVIEW, &json,
                                   error);
    pyro_ranks_free(ranks);
    pyro_rank_summary_free(summary);
    return status;
}

static PyObject *make_result(const ranks_call *call)
{
    PyObject *failures = PyList_New(0);
    for (size_t i = 0; failures && i < call->failure_count; i++) {
        const pyro_rank_failure *failure = &call->failures[i];
        PyObject *item = Py_BuildValue("(NsO)", PyUnicode_DecodeFSDefault(failure->file),
                                       failure->message, failure->from_folder ? Py_False : Py_True);
        if (!item || PyList_Append(failures, item) < 0)
            Py_CLEAR(failures);
        Py_XDECREF(item);
    }
    if (!failures)
        return NULL;
    return Py_BuildValue("(y#N)", call->json, (Py_ssize_t)call->size, failures);
}

PyObject *core_ranks(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    ranks_call call = {0};
    PyObject *paths, *model, *result = NULL;
    pyro_error error;
    int status = -1;

    if (!PyArg_ParseTuple(args, "OOzzidi:ranks", &paths, &model, &call.analysis.layers_from,
                          &call.analysis.steps_from, &call.analysis.step, &call.late,
                          &call.reading.threads))
        return NULL;
    pyro_error_clear(&error);
    call.reading.analysis = &call.analysis;
    if (add_paths(&call, paths, state) == 0 &&
        (model == Py_None || !core_enter_model((model_object *)model))) {
        call.analysis.model = model == Py_None ? NULL : ((model_object *)model)->model;
        Py_BEGIN_ALLOW_THREADS
        status = analyze_ranks(&call, &error);
        Py_END_ALLOW_THREADS
        if (model != Py_None)
            ((model_object *)model)->busy = 0;
        if (status < 0)
            core_fail(state, &error, status, 0);
        else
            result = make_result(&call);
    }
    pyro_free(call.json);
    pyro_rank_failures_free(call.failures, call.failure_count);
    pyro_rank_files_free(&call.files);
    return result;
}
