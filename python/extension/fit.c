/* Computes whether a model fits into the memory of GPUs. */
#include "module.h"

#include <pyrometer/fit.h>

enum { MOST_CHIPS = 64 };

static int fit(pyro_model *model, const pyro_fit_options *options,
               const pyro_report_options *report, char **text, size_t *size, pyro_error *error)
{
    pyro_fit *result = NULL;
    int status = pyro_fit_compute(&result, model, options, error);

    if (status >= 0)
        status = pyro_report_fit(text, size, result, report, error);
    pyro_fit_free(result);
    return status;
}

/* The names of chips in a tuple; -1 with an exception. */
static int read_chips(PyObject *tuple, const char **chips, size_t *count)
{
    Py_ssize_t size = PyTuple_GET_SIZE(tuple);

    if (size > MOST_CHIPS) {
        PyErr_Format(PyExc_ValueError, "at most %d chips can be compared", MOST_CHIPS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        chips[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
        if (!chips[i])
            return -1;
    }
    *count = (size_t)size;
    return 0;
}

static PyObject *model_fit(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    model_object *self;
    pyro_cost_options cost = {.depth = -1};
    pyro_train_options training = {0};
    pyro_fit_options options = {.cost = &cost};
    pyro_report_options report = {0};
    const char *chips[MOST_CHIPS];
    PyObject *names, *train;
    long long gpus, concurrent, micro_batches, reserve;
    char *text = NULL;
    size_t size = 0;
    pyro_error error;
    int as_json, status = PYRO_OK;

    if (!PyArg_ParseTuple(args, "O!pO!zOLzLLzL:fit", state->model_type, &self, &as_json,
                          &PyTuple_Type, &names, &cost.dtype, &train, &gpus, &options.parallel,
                          &concurrent, &micro_batches, &options.cache_dtype, &reserve) ||
        read_chips(names, chips, &options.chip_count))
        return NULL;
    pyro_error_clear(&error);
    if (train != Py_None)
        status = core_read_training(train, &training, &error);
    if (PyErr_Occurred())
        return NULL;
    if (status < 0)
        return core_fail(state, &error, status, 0);
    options.chips = chips;
    options.train = train == Py_None ? NULL : &training;
    options.gpus = gpus;
    options.concurrent = concurrent;
    options.micro_batches = micro_batches;
    options.reserve_bytes = reserve;
    report.format = as_json ? PYRO_FORMAT_JSON : PYRO_FORMAT_TEXT;
    if (core_enter_model(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = fit(self->model, &options, &report, &text, &size, &error);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    return core_report(state, status, text, size, &error);
}

static PyMethodDef methods[] = {
    {"fit", model_fit, METH_VARARGS,
     "fit(model, as_json, chips, dtype, train, gpus, parallel, concurrent, micro_batches, "
     "cache_dtype, reserve) -> str: the report of pyro_report_fit()."},
    {NULL, NULL, 0, NULL},
};

int core_add_fit(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
