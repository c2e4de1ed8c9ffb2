/* The recorder as Python sees it: its session, passes that become files, and the table of a pass.
 * Whatever waits does so without the interpreter's lock. */
#include "_core.h"

#include <pyrometer/capture.h>
#include <pyrometer/report.h>

PyDoc_STRVAR(start_doc, "recorder_start(path, flags, max_bytes, keep_last, overwrite, temporary)");

static PyObject *recorder_start(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    pyro_recorder_options options = {0};
    PyObject *path;
    unsigned long long max_bytes;
    unsigned int flags;
    int keep_last, overwrite, temporary, status;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "O&IKppp:recorder_start", PyUnicode_FSConverter, &path, &flags,
                          &max_bytes, &keep_last, &overwrite, &temporary))
        return NULL;
    options.flags = flags;
    options.max_bytes = max_bytes;
    options.keep_last = keep_last;
    options.overwrite = overwrite;
    options.temporary = temporary;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = pyro_recorder_start(PyBytes_AS_STRING(path), &options, &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    if (status < 0)
        return core_fail(state, &error, status, 0);
    Py_RETURN_NONE;
}

/* Runs one of the recorder's calls that may wait. */
static PyObject *call_recorder(PyObject *module, int (*call)(pyro_error *))
{
    pyro_error error;
    int status;

    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = call(&error);
    Py_END_ALLOW_THREADS
    if (status < 0)
        return core_fail(PyModule_GetState(module), &error, status, 0);
    Py_RETURN_NONE;
}

static PyObject *recorder_stop(PyObject *module, PyObject *unused)
{
    (void)unused;
    return call_recorder(module, pyro_recorder_stop);
}

static PyObject *recorder_wait(PyObject *module, PyObject *unused)
{
    (void)unused;
    return call_recorder(module, pyro_recorder_wait);
}

static PyObject *recorder_path(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_DecodeFSDefault(pyro_recorder_path());
}

static PyObject *recorder_status(PyObject *module, PyObject *unused)
{
    pyro_recorder_status status;

    (void)module;
    (void)unused;
    pyro_recorder_look(&status);
    return Py_BuildValue("{s:O,s:I,s:K,s:K,s:K,s:K,s:K}", "running",
                         status.running ? Py_True : Py_False, "state", status.state, "chunks",
                         (unsigned long long)status.chunks, "dropped_chunks",
                         (unsigned long long)status.dropped_chunks, "lost_records",
                         (unsigned long long)status.lost_records, "file_bytes",
                         (unsigned long long)status.file_bytes, "threads",
                         (unsigned long long)status.threads);
}

static PyObject *recorder_property(PyObject *module, PyObject *args)
{
    const char *key, *value;

    (void)module;
    if (!PyArg_ParseTuple(args, "ss:recorder_property", &key, &value))
        return NULL;
    pyro_recorder_property(key, value);
    Py_RETURN_NONE;
}

static PyObject *pass_begin(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(pyro_pass_begin());
}

static PyObject *pass_end(PyObject *module, PyObject *args)
{
    pyro_pass_options options = {0};
    PyObject *path;
    unsigned long long begun;
    long long number;
    unsigned int flags;
    int status;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "KO&sLI:pass_end", &begun, PyUnicode_FSConverter, &path,
                          &options.model, &number, &flags))
        return NULL;
    options.path = PyBytes_AS_STRING(path);
    options.number = number;
    options.flags = flags;
    pyro_error_clear(&error);
    status = pyro_pass_end(begun, &options, &error);
    Py_DECREF(path);
    if (status < 0)
        return core_fail(PyModule_GetState(module), &error, status, 0);
    Py_RETURN_NONE;
}

static int write_layer_table(char **text, size_t *size, const char *path, const char *title,
                             bool with_flops, pyro_error *error)
{
    pyro_trace_options options = {.threads = 1};
    pyro_trace *trace = NULL;
    int status = pyro_trace_open(&trace, path, &options, error);

    if (status == PYRO_OK)
        status = pyro_report_layer_table(text, size, trace, title, with_flops, error);
    pyro_trace_close(trace);
    return status;
}

PyDoc_STRVAR(layer_table_doc, "layer_table(path, title, with_flops) -> str\n\n"
                              "The table of layers of a pass, from its file.");

static PyObject *layer_table(PyObject *module, PyObject *args)
{
    PyObject *path, *result;
    const char *title;
    char *text = NULL;
    size_t size = 0;
    int with_flops, status;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "O&sp:layer_table", PyUnicode_FSConverter, &path, &title,
                          &with_flops))
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = write_layer_table(&text, &size, PyBytes_AS_STRING(path), title, with_flops, &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    if (status < 0)
        return core_fail(PyModule_GetState(module), &error, status, 1);
    result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    pyro_free(text);
    return result;
}

static PyMethodDef capture_methods[] = {
    {"recorder_start", recorder_start, METH_VARARGS, start_doc},
    {"recorder_stop", recorder_stop, METH_NOARGS, "Ends the session; waits for its passes."},
    {"recorder_wait", recorder_wait, METH_NOARGS, "Waits until every pass that ended is on disk."},
    {"recorder_path", recorder_path, METH_NOARGS, "The file of this process, or \"\"."},
    {"recorder_status", recorder_status, METH_NOARGS, "How the session stands, as a dict."},
    {"recorder_property", recorder_property, METH_VARARGS, "recorder_property(key, value)"},
    {"pass_begin", pass_begin, METH_NOARGS, "Begins a pass: its time, 0 when nothing records."},
    {"pass_end", pass_end, METH_VARARGS, "pass_end(begun, path, model, number, flags)"},
    {"layer_table", layer_table, METH_VARARGS, layer_table_doc},
    {NULL, NULL, 0, NULL},
};

static const struct {
    const char *name;
    long value;
} constants[] = {
    {"RECORD_LAYERS", PYRO_RECORD_LAYERS},     {"RECORD_OPS", PYRO_RECORD_OPS},
    {"RECORD_SHAPES", PYRO_RECORD_SHAPES},     {"RECORD_MEMORY", PYRO_RECORD_MEMORY},
    {"RECORD_STACKS", PYRO_RECORD_STACKS},     {"RECORD_STORAGES", PYRO_RECORD_STORAGES},
    {"RECORDING_FULL", PYRO_RECORDING_FULL},   {"RECORDING_DISK_FULL", PYRO_RECORDING_DISK_FULL},
};

int core_add_capture(PyObject *module)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value))
            return -1;
    return PyModule_AddFunctions(module, capture_methods);
}
