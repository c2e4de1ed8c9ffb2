/* Predicts models on chips. */
#include "module.h"

#include <pyrometer/map.h>

enum { MOST_CHIPS = 64 };

typedef struct map_call {
    const char *names[MOST_CHIPS];
    size_t count;
    pyro_mapper_options sources;
    pyro_cost_options pricing;
    pyro_map_options options;
    pyro_report_options report;
} map_call;

static int map(const map_call *call, pyro_model *model, char **text, size_t *size,
               pyro_error *error)
{
    pyro_mapper *mapper = NULL;
    pyro_mapping *mapping = NULL;
    int status = pyro_mapper_new(&mapper, call->names, call->count, &call->sources, error);

    if (status >= 0)
        status = pyro_map_model(&mapping, mapper, model, &call->pricing, &call->options, error);
    if (status >= 0)
        status = pyro_report_map(text, size, (const pyro_mapping *const *)&mapping, 1,
                                 &call->report, error);
    pyro_mapping_free(mapping);
    pyro_mapper_free(mapper);
    return status;
}

/* The texts belong to the list, which the caller holds. */
static int read_names(map_call *call, PyObject *list)
{
    Py_ssize_t count = PyList_Size(list);
    if (count < 1 || count > MOST_CHIPS) {
        PyErr_SetString(PyExc_ValueError, "on names 1 to 64 chips");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        call->names[i] = PyUnicode_AsUTF8(PyList_GetItem(list, i));
        if (!call->names[i])
            return -1;
    }
    call->count = (size_t)count;
    return 0;
}

static PyObject *model_map(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    map_call call = {.pricing = {.depth = -1}, .options = {.find_saturation = true}};
    model_object *self;
    PyObject *names;
    int as_json, train, fused, tf32, status;
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "O!pO!zpppzz:map", state->model_type, &self, &as_json, &PyList_Type,
                          &names, &call.pricing.dtype, &train, &fused, &tf32, &call.sources.table,
                          &call.sources.peaks) ||
        read_names(&call, names))
        return NULL;
    call.options.train = train;
    call.options.fused = fused;
    call.options.tf32 = tf32;
    call.report.format = as_json ? PYRO_FORMAT_JSON : PYRO_FORMAT_TEXT;
    pyro_error_clear(&error);
    if (core_enter_model(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = map(&call, self->model, &text, &size, &error);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    return core_report(state, status, text, size, &error);
}

static PyMethodDef methods[] = {
    {"map", model_map, METH_VARARGS,
     "map(model, as_json, chips, dtype, train, fused, tf32, table, peaks) -> str: the report of "
     "pyro_report_map()."},
    {NULL, NULL, 0, NULL},
};

int core_add_map(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
