/* Python functions for the model catalog and the user's registry of models. */
#include "module.h"

#include <string.h>

const char core_models_doc[] =
    "models(pattern, family, task, sort) -> str: JSON of matching models; None matches all.";

static PyObject *fail(PyObject *module, const pyro_error *error, int code)
{
    return core_fail(PyModule_GetState(module), error, code, 0);
}

PyObject *core_models(PyObject *module, PyObject *args)
{
    static const char *const sorts[] = {"name", "params", "macs"};
    pyro_report_options options = {.format = PYRO_FORMAT_JSON};
    pyro_models_query query = {0};
    pyro_catalog *catalog = NULL;
    const char *sort;
    char *text = NULL;
    size_t size = 0, chosen = 0;
    pyro_error error;
    int status;

    if (!PyArg_ParseTuple(args, "zzzs:models", &query.pattern, &query.family, &query.task, &sort))
        return NULL;
    while (chosen < 3 && strcmp(sorts[chosen], sort) != 0)
        chosen++;
    if (chosen == 3)
        return PyErr_Format(PyExc_ValueError,
                            "sort must be \"name\", \"params\" or \"macs\", not \"%s\"", sort);
    query.sort = (pyro_models_sort)chosen;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = pyro_catalog_open(&catalog, &error);
    if (status >= 0)
        status = pyro_report_models(&text, &size, catalog, &query, &options, &error);
    pyro_catalog_close(catalog);
    Py_END_ALLOW_THREADS
    if (status < 0)
        return fail(module, &error, status);
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    pyro_free(text);
    return result;
}

PyObject *core_same_name(PyObject *module, PyObject *args)
{
    const char *a, *b;

    (void)module;
    if (!PyArg_ParseTuple(args, "ss:same_name", &a, &b))
        return NULL;
    return PyBool_FromLong(pyro_catalog_same_name(a, b));
}

PyObject *core_builtin_of_id(PyObject *module, PyObject *given)
{
    const char *id = PyUnicode_AsUTF8(given);
    const char *name = id ? pyro_builtin_of_id(id) : NULL;

    (void)module;
    if (!id)
        return NULL;
    return name ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

PyObject *core_spec_kind(PyObject *module, PyObject *args)
{
    static const char *const kinds[] = {"model", "python", "folder"};
    PyObject *spec;

    (void)module;
    if (!PyArg_ParseTuple(args, "O&:spec_kind", PyUnicode_FSConverter, &spec))
        return NULL;
    pyro_spec_kind kind = pyro_spec_of(PyBytes_AS_STRING(spec));
    Py_DECREF(spec);
    return PyUnicode_FromString(kinds[kind]);
}

PyObject *core_share(PyObject *module, PyObject *given)
{
    const char *text = NULL;
    double share = 0;
    pyro_error error;
    int status;

    if (PyUnicode_Check(given)) {
        text = PyUnicode_AsUTF8(given);
        if (!text)
            return NULL;
    } else {
        share = PyFloat_AsDouble(given);
        if (share == -1 && PyErr_Occurred())
            return NULL;
    }
    pyro_error_clear(&error);
    status = text ? pyro_share_parse(&share, text, &error) : pyro_share_check(share, &error);
    return status < 0 ? fail(module, &error, status) : PyFloat_FromDouble(share);
}

PyObject *core_registry_check_name(PyObject *module, PyObject *args)
{
    const char *name;
    int replace, status;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "sp:registry_check_name", &name, &replace))
        return NULL;
    pyro_error_clear(&error);
    status = pyro_registry_check_name(name, replace, &error);
    if (status < 0)
        return fail(module, &error, status);
    Py_RETURN_NONE;
}

PyObject *core_registry_add(PyObject *module, PyObject *args)
{
    pyro_registry_options options = {0};
    pyro_registry_model model = {0};
    Py_buffer data;
    const char *name;
    int replace, status;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "sy*sp:registry_add", &name, &data, &options.builder, &replace))
        return NULL;
    options.replace = replace;
    model.data = data.buf;
    model.size = (size_t)data.len;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = pyro_registry_add(name, &model, &options, &error);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&data);
    if (status < 0)
        return fail(module, &error, status);
    Py_RETURN_NONE;
}

PyObject *core_registry_remove(PyObject *module, PyObject *args)
{
    const char *name;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "s:registry_remove", &name))
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_registry_remove(name, &error);
    if (status < 0)
        return fail(module, &error, status);
    Py_RETURN_NONE;
}
