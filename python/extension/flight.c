/* Python functions for the flight recorder: check its options, fire its triggers, hear of its files;
 * and ranges for other tools. */
#include "hooks/layer_hook.h"

bool core_ranges_wanted;

static PyObject *saved_function; /* called with (path, text, error or None) */

int core_parse_flight(PyObject *module, pyro_flight_options *out, const char *keep,
                      const char *triggers)
{
    pyro_error error;
    int status = PYRO_OK;

    pyro_error_clear(&error);
    if (keep)
        status = pyro_flight_parse_keep(out, keep, &error);
    if (status == PYRO_OK && triggers)
        status = pyro_flight_parse_triggers(out, triggers, &error);
    if (status < 0)
        core_fail(PyModule_GetState(module), &error, status, 0);
    return status < 0 ? -1 : 0;
}

PyDoc_STRVAR(options_doc, "flight_options(keep or None, triggers or None) -> dict\n\n"
                          "Checks both texts; raises ValueError.");

static PyObject *flight_options(PyObject *module, PyObject *args)
{
    pyro_flight_options options = {0};
    const char *keep, *triggers;

    if (!PyArg_ParseTuple(args, "zz:flight_options", &keep, &triggers) ||
        core_parse_flight(module, &options, keep, triggers))
        return NULL;
    return Py_BuildValue(
        "{s:O,s:O,s:O,s:O,s:O,s:O}", "rests", pyro_flight_rests(&options) ? Py_True : Py_False,
        "steps",
        options.slow_factor > 0 || options.slow_ns || options.keep_steps ? Py_True : Py_False,
        "oom", options.on_out_of_memory ? Py_True : Py_False, "exception",
        options.on_exception ? Py_True : Py_False, "cuda_profiler",
        options.on_cuda_profiler ? Py_True : Py_False, "signals",
        options.signals[0] ? Py_True : Py_False);
}

/* On the thread that writes files. */
static void call_saved(const char *path, const char *text, const pyro_error *error)
{
    char line[sizeof error->message + 16];
    PyGILState_STATE state;
    PyObject *function, *result;

    if (!Py_IsInitialized())
        return;
    state = PyGILState_Ensure();
    function = Py_XNewRef(saved_function);
    if (error)
        PyOS_snprintf(line, sizeof line, "%s", error->message);
    result = function ? PyObject_CallFunction(
                            function, "NNz", PyUnicode_DecodeFSDefault(path),
                            PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"),
                            error ? line : NULL)
                      : NULL;
    if (function && !result)
        PyErr_WriteUnraisable(function);
    Py_XDECREF(result);
    Py_XDECREF(function);
    PyGILState_Release(state);
}

static PyObject *set_flight_saved(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(saved_function, function == Py_None ? NULL : Py_NewRef(function));
    pyro_flight_on_saved(saved_function ? call_saved : NULL);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(trigger_doc, "flight_trigger(trigger, text, waits) -> bool\n\n"
                          "Saves the last part of the recording; waits until the file is written.");

static PyObject *flight_trigger(PyObject *module, PyObject *args)
{
    const char *trigger, *text;
    int waits;
    bool is_added;

    (void)module;
    if (!PyArg_ParseTuple(args, "ssp:flight_trigger", &trigger, &text, &waits))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    is_added = pyro_flight_trigger(trigger, text);
    if (waits)
        pyro_flight_wait();
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(is_added);
}

static PyObject *flight_wait(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    pyro_flight_wait();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *flight_handlers_changed(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    pyro_flight_handlers_changed();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *flight_window(PyObject *module, PyObject *begins)
{
    int is_begin = PyObject_IsTrue(begins);

    (void)module;
    if (is_begin < 0)
        return NULL;
    pyro_flight_window(is_begin);
    Py_RETURN_NONE;
}

static PyObject *flight_status(PyObject *module, PyObject *unused)
{
    pyro_flight_status status;

    (void)module;
    (void)unused;
    pyro_flight_look(&status);
    return Py_BuildValue("{s:K,s:K,s:O,s:K}", "files", (unsigned long long)status.files, "skipped",
                         (unsigned long long)status.skipped, "is_writing",
                         status.is_writing ? Py_True : Py_False, "steps",
                         (unsigned long long)status.steps);
}

/* A hook of torch.optim, called with (optimizer, args, kwargs). */
static PyObject *optimizer_stepped(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count > 0)
        pyro_flight_step(PYRO_MARK_OPTIMIZER, (uint64_t)(uintptr_t)args[0]);
    Py_RETURN_NONE;
}

static PyObject *recorder_on_rest(PyObject *module, PyObject *address)
{
    void (*function)(int rests) = NULL;
    void *pointer = PyLong_AsVoidPtr(address);

    (void)module;
    if (!pointer && PyErr_Occurred())
        return NULL;
    memcpy(&function, &pointer, sizeof pointer);
    pyro_recorder_on_rest(function);
    Py_RETURN_NONE;
}

static PyObject *ranges_enable(PyObject *module, PyObject *enable)
{
    int is_on = PyObject_IsTrue(enable);
    bool listens;

    (void)module;
    if (is_on < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    listens = is_on && pyro_ranges_load();
    Py_END_ALLOW_THREADS
    core_ranges_wanted = listens;
    layers_reconsider();
    return PyBool_FromLong(listens);
}

static PyObject *range_begin(PyObject *module, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);

    (void)module;
    if (!text)
        return NULL;
    pyro_range_begin(text);
    Py_RETURN_NONE;
}

static PyObject *range_end(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    pyro_range_end();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"flight_options", flight_options, METH_VARARGS, options_doc},
    {"flight_trigger", flight_trigger, METH_VARARGS, trigger_doc},
    {"flight_wait", flight_wait, METH_NOARGS, "Waits until the files of all triggers are written."},
    {"flight_handlers_changed", flight_handlers_changed, METH_NOARGS,
     "The program has installed a handler of a signal, which may be a trigger."},
    {"flight_window", flight_window, METH_O, "flight_window(begins): cudaProfilerStart or Stop."},
    {"flight_status", flight_status, METH_NOARGS, "Files, skipped triggers and steps, as a dict."},
    {"set_flight_saved", set_flight_saved, METH_O,
     "set_flight_saved(function or None): called with (path, text, error or None)."},
    {"optimizer_stepped", (PyCFunction)(void (*)(void))optimizer_stepped, METH_FASTCALL,
     "A post hook of optimizers: ends a step."},
    {"recorder_on_rest", recorder_on_rest, METH_O,
     "recorder_on_rest(address): a C function that pauses the observer of ops; 0: none."},
    {"ranges_enable", ranges_enable, METH_O,
     "ranges_enable(bool) -> bool: makes layers NVTX ranges; whether a tool listens."},
    {"range_begin", range_begin, METH_O, "range_begin(name): begins an NVTX range."},
    {"range_end", range_end, METH_NOARGS, "range_end(): ends the innermost NVTX range."},
    {NULL, NULL, 0, NULL},
};

int core_add_flight(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
