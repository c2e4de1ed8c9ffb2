/* Python functions for the recorder: control its session and read finished recordings. All
 * functions that wait release the GIL. */
#include "module.h"

#include <pyrometer/capture.h>
#include <pyrometer/report.h>

PyDoc_STRVAR(start_doc, "recorder_start(path, flags, max_bytes, keep_last, overwrite, temporary,\n"
                        "keep=None, triggers=None, most_files=0)");

static PyObject *recorder_start(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    pyro_recorder_options options = {0};
    PyObject *path;
    const char *keep = NULL, *triggers = NULL;
    unsigned long long max_bytes;
    unsigned int flags, most_files = 0;
    int keep_last, overwrite, temporary, status;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "O&IKppp|zzI:recorder_start", PyUnicode_FSConverter, &path, &flags,
                          &max_bytes, &keep_last, &overwrite, &temporary, &keep, &triggers,
                          &most_files))
        return NULL;
    if (core_parse_flight(module, &options.flight, keep, triggers)) {
        Py_DECREF(path);
        return NULL;
    }
    options.flight.most_files = most_files;
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

static PyObject *recorder_size(PyObject *module, PyObject *text)
{
    const char *given = PyUnicode_AsUTF8(text);
    uint64_t max_bytes;
    pyro_error error;

    if (!given)
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_recorder_parse_size(&max_bytes, given, &error);
    return status < 0 ? core_fail(PyModule_GetState(module), &error, status, 0)
                      : PyLong_FromUnsignedLongLong(max_bytes);
}

/* Calls a function of the recorder that may wait. */
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
    return Py_BuildValue(
        "{s:O,s:I,s:K,s:K,s:K,s:K,s:K}", "running", status.running ? Py_True : Py_False, "state",
        status.state, "chunks", (unsigned long long)status.chunks, "dropped_chunks",
        (unsigned long long)status.dropped_chunks, "lost_records",
        (unsigned long long)status.lost_records, "file_bytes",
        (unsigned long long)status.file_bytes, "threads", (unsigned long long)status.threads);
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
                              "Returns the layer table of a recorded pass.");

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

static PyObject *averages_as_list(const pyro_averages *averages)
{
    PyObject *list = PyList_New((Py_ssize_t)averages->count);

    for (size_t i = 0; list && i < averages->count; i++) {
        const pyro_average_row *row = &averages->rows[i];
        PyObject *item = Py_BuildValue(
            "(NssLLLLLLLLL)",
            PyUnicode_DecodeUTF8(row->name, (Py_ssize_t)strlen(row->name), "replace"), row->shapes,
            row->stack, (long long)row->calls, (long long)row->host_total_ns,
            (long long)row->host_self_ns, (long long)row->device_ns_total,
            (long long)row->device_ns_self, (long long)row->host_bytes_total,
            (long long)row->host_bytes_self, (long long)row->device_bytes_total,
            (long long)row->device_bytes_self);

        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

PyDoc_STRVAR(averages_doc, "averages(path, by_shapes, frames) -> [(name, shapes, stack, calls, "
                           "totals and selves of host ns, device ns, host bytes, device bytes)]");

static PyObject *averages(PyObject *module, PyObject *args)
{
    PyObject *path, *result;
    Py_ssize_t frames;
    int by_shapes, status;
    pyro_trace *trace = NULL;
    pyro_averages *rows = NULL;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "O&pn:averages", PyUnicode_FSConverter, &path, &by_shapes, &frames))
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = pyro_trace_open(&trace, PyBytes_AS_STRING(path), NULL, &error);
    if (status == PYRO_OK)
        status = pyro_trace_averages(&rows, trace, by_shapes, frames > 0 ? (size_t)frames : 0,
                                     &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    result = status < 0 ? core_fail(PyModule_GetState(module), &error, status, 1)
                        : averages_as_list(rows);
    pyro_averages_free(rows);
    pyro_trace_close(trace);
    return result;
}

int core_fail_to_write(pyro_error *error)
{
    error->code = PYRO_ERROR_IO;
    PyOS_snprintf(error->message, sizeof error->message, "cannot write: %s", strerror(errno));
    return PYRO_ERROR_IO;
}

int core_write_to_file(void *user, const char *bytes, size_t size, pyro_error *error)
{
    return fwrite(bytes, 1, size, user) == size ? PYRO_OK : core_fail_to_write(error);
}

typedef int write_trace_fn(pyro_trace *trace, const pyro_analysis_options *options,
                           pyro_write_fn write, void *user, pyro_error *error);

/* Writes a trace, joined with the device work of another unless `devices` is NULL. */
static int write_trace(const char *from, const char *devices, FILE *file, write_trace_fn *write,
                       pyro_error *error)
{
    pyro_trace *trace = NULL;
    int status = pyro_trace_open(&trace, from, NULL, error);

    if (status == PYRO_OK && devices)
        status = pyro_trace_join_devices(trace, devices, error);
    if (status == PYRO_OK)
        status = write(trace, NULL, core_write_to_file, file, error);
    if (fclose(file) != 0 && status == PYRO_OK)
        status = core_fail_to_write(error);
    pyro_trace_close(trace);
    return status;
}

static PyObject *write_with(PyObject *module, PyObject *args, write_trace_fn *write)
{
    PyObject *from, *to, *devices = NULL, *devices_path = NULL, *result = NULL;
    FILE *file;
    pyro_error error;
    int status;

    if (!PyArg_ParseTuple(args, "O&OO&", PyUnicode_FSConverter, &from, &devices,
                          PyUnicode_FSConverter, &to))
        return NULL;
    if (devices != Py_None && !PyUnicode_FSConverter(devices, &devices_path))
        goto done;
    file = fopen(PyBytes_AS_STRING(to), "wb");
    if (!file) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, PyBytes_AS_STRING(to));
        goto done;
    }
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = write_trace(PyBytes_AS_STRING(from),
                         devices_path ? PyBytes_AS_STRING(devices_path) : NULL, file, write,
                         &error);
    Py_END_ALLOW_THREADS
    result = status < 0 ? core_fail(PyModule_GetState(module), &error, status, 1)
                        : Py_NewRef(Py_None);
done:
    Py_DECREF(from);
    Py_DECREF(to);
    Py_XDECREF(devices_path);
    return result;
}

PyDoc_STRVAR(write_doc, "write_chrome(trace, devices or None, path)\n\n"
                        "Writes a trace as Chrome JSON, joined with the device work of another.");

static PyObject *write_chrome(PyObject *module, PyObject *args)
{
    return write_with(module, args, pyro_trace_write_chrome);
}

PyDoc_STRVAR(write_perfetto_doc, "write_perfetto(trace, devices or None, path)\n\n"
                                 "Like write_chrome, in Perfetto's own format.");

static PyObject *write_perfetto(PyObject *module, PyObject *args)
{
    return write_with(module, args, pyro_trace_write_perfetto);
}

PyDoc_STRVAR(span_doc, "recorder_span(name, function): calls the function inside an op's span.");

static PyObject *recorder_span(PyObject *module, PyObject *args)
{
    pyro_recorder_api *api = pyro_recorder_entrance();
    pyro_recorder_thread *thread;
    PyObject *function, *result;
    const char *name;

    (void)module;
    if (!PyArg_ParseTuple(args, "sO:recorder_span", &name, &function))
        return NULL;
    thread = pyro_recorder_enter(api);
    if (thread) {
        uint32_t id = api->name(thread, name);
        pyro_record *record = pyro_record_room(api, thread);

        pyro_span_open(thread, record, &result);
        if (record) {
            *record = (pyro_record){.start_raw = pyro_raw_time(api),
                                    .sequence = -1,
                                    .name = id,
                                    .kind = PYRO_RECORD_OP};
            pyro_record_commit(thread, record);
        }
        pyro_recorder_leave(thread);
    }
    result = PyObject_CallNoArgs(function);
    thread = pyro_recorder_enter(api);
    if (thread) {
        pyro_record *record = pyro_span_close(thread, &result);

        if (record)
            record->end_raw = pyro_raw_time(api);
        pyro_recorder_leave(thread);
    }
    return result;
}

static PyObject *recorder_rest(PyObject *module, PyObject *rests)
{
    int is_resting = PyObject_IsTrue(rests);

    (void)module;
    if (is_resting < 0)
        return NULL;
    pyro_recorder_rest(is_resting);
    Py_RETURN_NONE;
}

static PyMethodDef capture_methods[] = {
    {"recorder_span", recorder_span, METH_VARARGS, span_doc},
    {"recorder_start", recorder_start, METH_VARARGS, start_doc},
    {"recorder_size", recorder_size, METH_O,
     "recorder_size(text) -> bytes: the size limit of a recording; raises ValueError."},
    {"recorder_stop", recorder_stop, METH_NOARGS, "Ends the session and waits for its passes."},
    {"recorder_wait", recorder_wait, METH_NOARGS, "Waits until all ended passes are on disk."},
    {"recorder_path", recorder_path, METH_NOARGS, "The recording of this process, or \"\"."},
    {"recorder_status", recorder_status, METH_NOARGS, "State of the session, as a dict."},
    {"recorder_rest", recorder_rest, METH_O,
     "recorder_rest(bool): pauses or resumes all observers."},
    {"recorder_property", recorder_property, METH_VARARGS, "recorder_property(key, value)"},
    {"layer_table", layer_table, METH_VARARGS, layer_table_doc},
    {"averages", averages, METH_VARARGS, averages_doc},
    {"write_chrome", write_chrome, METH_VARARGS, write_doc},
    {"write_perfetto", write_perfetto, METH_VARARGS, write_perfetto_doc},
    {NULL, NULL, 0, NULL},
};

static const struct {
    const char *name;
    long value;
} constants[] = {
    {"RECORD_LAYERS", PYRO_RECORD_LAYERS},   {"RECORD_OPS", PYRO_RECORD_OPS},
    {"RECORD_SHAPES", PYRO_RECORD_SHAPES},   {"RECORD_MEMORY", PYRO_RECORD_MEMORY},
    {"RECORD_STACKS", PYRO_RECORD_STACKS},   {"RECORD_STORAGES", PYRO_RECORD_STORAGES},
    {"RECORD_OUTPUTS", PYRO_RECORD_OUTPUTS}, {"RECORD_DEVICES", PYRO_RECORD_DEVICES},
    {"RECORDING_FULL", PYRO_RECORDING_FULL}, {"RECORDING_DISK_FULL", PYRO_RECORDING_DISK_FULL},
};

int core_add_capture(PyObject *module)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value))
            return -1;
    return PyModule_AddFunctions(module, capture_methods);
}
