/* Functions that write the page of a trace, of a model, or of any result as JSON. */
#include "module.h"

/* The HTML of a page, which it frees; or the exception. */
static PyObject *finish(core_state *state, pyro_page *page, int status, pyro_error *error)
{
    PyObject *result = NULL;
    char *html = NULL;
    size_t size = 0;

    if (status >= 0)
        status = pyro_page_finish(&html, &size, page, error);
    if (status < 0)
        core_fail(state, error, status, 0);
    else
        result = PyUnicode_DecodeUTF8(html, (Py_ssize_t)size, "replace");
    pyro_free(html);
    pyro_page_free(page);
    return result;
}

static PyObject *page_is_available(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(pyro_page_is_available());
}

static PyObject *page_of_json(PyObject *module, PyObject *args)
{
    const char *name, *text;
    Py_ssize_t size;
    pyro_page *page = NULL;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "ss#:page_of_json", &name, &text, &size))
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_page_new(&page, NULL, &error);
    if (status >= 0)
        status = pyro_page_add_json(page, name, text, (size_t)size, &error);
    return finish(PyModule_GetState(module), page, status, &error);
}

static PyObject *page_of_trace(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    pyro_page_options options = {0};
    long long max_events;
    int strip_paths;
    pyro_page *page = NULL;
    PyObject *trace;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "O!Lp:page_of_trace", state->trace_type, &trace, &max_events,
                          &strip_paths))
        return NULL;
    options.max_events = max_events;
    options.strip_paths = strip_paths;
    pyro_error_clear(&error);
    int status = pyro_page_new(&page, &options, &error);
    if (status >= 0)
        status = core_add_trace_to_page(page, trace, &error);
    if (status < 0 && PyErr_Occurred()) {
        pyro_page_free(page);
        return NULL;
    }
    return finish(state, page, status, &error);
}

static PyObject *page_of_model(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    pyro_page *page = NULL;
    PyObject *model, *settings;
    const char *name;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "sO!O!:page_of_model", &name, state->model_type, &model,
                          &PyTuple_Type, &settings))
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_page_new(&page, NULL, &error);
    if (status >= 0)
        status = core_add_model_to_page(page, name, (model_object *)model, settings, &error);
    if (status < 0 && PyErr_Occurred()) {
        pyro_page_free(page);
        return NULL;
    }
    return finish(state, page, status, &error);
}

static PyMethodDef page_methods[] = {
    {"page_is_available", page_is_available, METH_NOARGS,
     "page_is_available() -> bool: whether this build contains the page."},
    {"page_of_json", page_of_json, METH_VARARGS,
     "page_of_json(name, text) -> str: any result as a page."},
    {"page_of_trace", page_of_trace, METH_VARARGS,
     "page_of_trace(trace, max_events, strip_paths) -> str"},
    {"page_of_model", page_of_model, METH_VARARGS,
     "page_of_model(name, model, settings) -> str; settings as for Model.report()."},
    {NULL, NULL, 0, NULL},
};

int core_add_page(PyObject *module)
{
    return PyModule_AddFunctions(module, page_methods);
}
