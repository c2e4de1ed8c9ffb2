/* Finds fused groups of a model. */
#include "module.h"

#include <pyrometer/fuse.h>

static int fuse(pyro_model *model, const pyro_cost_options *options, pyro_fuse_strategy strategy,
                const pyro_report_options *report, char **text, size_t *size, pyro_error *error)
{
    pyro_cost *cost = NULL;
    pyro_fusion *fusion = NULL;
    int status = pyro_cost_compute(&cost, model, options, error);

    if (status >= 0)
        status = pyro_fuse(&fusion, cost, strategy, error);
    if (status >= 0)
        status = pyro_report_fusion(text, size, fusion, report, error);
    pyro_fusion_free(fusion);
    pyro_cost_free(cost);
    return status;
}

static PyObject *model_fuse(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    model_object *self;
    pyro_cost_options options = {0};
    pyro_report_options report = {0};
    pyro_fuse_strategy strategy;
    const char *convention, *name;
    char *text = NULL;
    size_t size = 0;
    pyro_error error;
    int as_json, status;

    if (!PyArg_ParseTuple(args, "O!psszi:fuse", state->model_type, &self, &as_json, &name,
                          &convention, &options.dtype, &report.top))
        return NULL;
    pyro_error_clear(&error);
    status = pyro_convention_parse(&options.convention, convention, &error);
    if (status >= 0)
        status = pyro_fuse_strategy_parse(&strategy, name, &error);
    if (status < 0)
        return core_fail(state, &error, status, 0);
    report.format = as_json ? PYRO_FORMAT_JSON : PYRO_FORMAT_TEXT;
    if (core_enter_model(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = fuse(self->model, &options, strategy, &report, &text, &size, &error);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    return core_report(state, status, text, size, &error);
}

static PyMethodDef methods[] = {
    {"fuse", model_fuse, METH_VARARGS,
     "fuse(model, as_json, strategy, convention, dtype, top) -> str: the report of "
     "pyro_report_fusion()."},
    {NULL, NULL, 0, NULL},
};

int core_add_fuse(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
