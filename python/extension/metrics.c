/* Python functions for the live metrics of this process. */
#include "module.h"

#include <pyrometer/metrics.h>

PyDoc_STRVAR(start_doc, "metrics_start(address, port_offset=0) -> str\n\n"
                        "Serves the metrics of this process; returns the address with its port.");

static PyObject *metrics_start(PyObject *module, PyObject *args)
{
    char text[PYRO_METRICS_ADDRESS_TEXT];
    pyro_metrics_address address;
    const char *given;
    unsigned int offset = 0;
    pyro_error error;
    int status;

    if (!PyArg_ParseTuple(args, "s|I:metrics_start", &given, &offset))
        return NULL;
    pyro_error_clear(&error);
    status = pyro_metrics_parse_address(&address, given, &error);
    if (status == PYRO_OK && address.port && offset > 65535u - address.port) {
        PyErr_Format(PyExc_ValueError, "there is no port %u + %u", address.port, offset);
        return NULL;
    }
    if (status == PYRO_OK && address.port)
        address.port = (uint16_t)(address.port + offset);
    Py_BEGIN_ALLOW_THREADS
    if (status == PYRO_OK)
        status = pyro_metrics_start(&address, &error);
    Py_END_ALLOW_THREADS
    if (status < 0)
        return core_fail(PyModule_GetState(module), &error, status, 0);
    pyro_metrics_format_address(text, &address);
    return PyUnicode_FromString(text);
}

static PyObject *metrics_stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    pyro_metrics_stop();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *metrics_text(PyObject *module, PyObject *is_open)
{
    int open_metrics = PyObject_IsTrue(is_open), status;
    PyObject *result;
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (open_metrics < 0)
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = pyro_metrics_write(&text, &size, open_metrics, &error);
    Py_END_ALLOW_THREADS
    if (status < 0)
        return core_fail(PyModule_GetState(module), &error, status, 0);
    result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    pyro_free(text);
    return result;
}

static PyMethodDef methods[] = {
    {"metrics_start", metrics_start, METH_VARARGS, start_doc},
    {"metrics_stop", metrics_stop, METH_NOARGS, "Ends the server of metrics."},
    {"metrics_text", metrics_text, METH_O,
     "metrics_text(open_metrics) -> str: the metrics as they are now."},
    {NULL, NULL, 0, NULL},
};

int core_add_metrics(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
