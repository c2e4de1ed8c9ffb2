/* Python type for a GPU: reads clocks, power, temperature and throttle reasons from the driver.
 * Functions that record samples of these on a thread of the library. */
#include "module.h"

#include <pyrometer/capture.h>

#include <math.h>

typedef struct gpu_object {
    PyObject_HEAD
    pyro_gpu *gpu;
} gpu_object;

const pyro_gpu *core_gpu_of(PyObject *gpu)
{
    return ((gpu_object *)gpu)->gpu;
}

static PyObject *gpu_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"uuid", NULL};
    const char *uuid = NULL;
    pyro_error error;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|z:Gpu", names, &uuid))
        return NULL;
    gpu_object *self = (gpu_object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_gpu_open(&self->gpu, uuid, &error);
    if (status < 0) {
        core_fail(PyType_GetModuleState(type), &error, status, 0);
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* None if the driver does not report the value. */
static bool set_number(PyObject *dict, const char *name, double value)
{
    PyObject *number = isnan(value) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value);
    bool good = number && PyDict_SetItemString(dict, name, number) == 0;

    Py_XDECREF(number);
    return good;
}

static PyObject *gpu_read(gpu_object *self, PyObject *unused)
{
    pyro_gpu_state state = pyro_gpu_read(self->gpu);
    char reasons[160];
    PyObject *text = PyUnicode_FromString(pyro_gpu_reasons(reasons, sizeof reasons, state.reasons));
    PyObject *dict = PyDict_New();

    (void)unused;
    if (!text || !dict || !set_number(dict, "clock_mhz", state.clock_mhz) ||
        !set_number(dict, "memory_clock_mhz", state.memory_clock_mhz) ||
        !set_number(dict, "power_w", state.power_w) ||
        !set_number(dict, "temperature_c", state.temperature_c) ||
        !set_number(dict, "busy_percent", 100 * state.busy) ||
        PyDict_SetItemString(dict, "reasons", text) ||
        PyDict_SetItemString(dict, "throttled", pyro_gpu_is_throttled(&state) ? Py_True : Py_False))
        Py_CLEAR(dict);
    Py_XDECREF(text);
    return dict;
}

static void gpu_dealloc(gpu_object *self)
{
    PyTypeObject *type = Py_TYPE(self);

    pyro_gpu_close(self->gpu);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef gpu_methods[] = {
    {"read", (PyCFunction)gpu_read, METH_NOARGS,
     "read() -> dict: clocks, power, temperature, use and throttle reasons; None: unknown."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot gpu_slots[] = {
    {Py_tp_new, gpu_new},
    {Py_tp_dealloc, gpu_dealloc},
    {Py_tp_methods, gpu_methods},
    {Py_tp_doc, "Gpu(uuid=None): a GPU by its driver's library; by default the first."},
    {0, NULL},
};

static PyType_Spec gpu_spec = {
    .name = "pyrometer._core.Gpu",
    .basicsize = sizeof(gpu_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = gpu_slots,
};

static PyObject *sampling_start(PyObject *module, PyObject *args)
{
    double interval_s;

    (void)module;
    if (!PyArg_ParseTuple(args, "d:gpu_sampling_start", &interval_s))
        return NULL;
    if (!(interval_s > 0) || interval_s > 60)
        return PyErr_Format(PyExc_ValueError,
                            "the interval between samples must be more than 0 and at most 60 s");
    pyro_gpu_sampling_start((int64_t)(interval_s * 1e9));
    Py_RETURN_NONE;
}

static PyObject *sampling_stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    pyro_gpu_sampling_stop();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *sampling_status(PyObject *module, PyObject *unused)
{
    static const char *const states[] = {"off", "on", "no library", "no device", "failed"};
    pyro_gpu_sampling_status status;

    (void)module;
    (void)unused;
    pyro_gpu_sampling_look(&status);
    return Py_BuildValue(
        "{s:s,s:s,s:s,s:K,s:K,s:K,s:K,s:N,s:N,s:N,s:N,s:N}", "state", states[status.state],
        "reason", status.reason, "missing", status.missing, "devices",
        (unsigned long long)status.devices, "samples", (unsigned long long)status.samples,
        "interval_ns", (unsigned long long)status.interval_ns, "cost_ns",
        (unsigned long long)status.cost_ns, "has_units", PyBool_FromLong(status.has_units),
        "has_energy", PyBool_FromLong(status.has_energy), "power_is_mean",
        PyBool_FromLong(status.power_is_mean), "is_instance", PyBool_FromLong(status.is_instance),
        "from_driver", PyBool_FromLong(status.from_driver));
}

static PyMethodDef functions[] = {
    {"gpu_sampling_start", sampling_start, METH_VARARGS,
     "gpu_sampling_start(interval_s): records samples of the GPUs that this process uses."},
    {"gpu_sampling_stop", sampling_stop, METH_NOARGS, "Records a last sample and stops."},
    {"gpu_sampling_status", sampling_status, METH_NOARGS, "State of the sampler, as a dict."},
    {NULL, NULL, 0, NULL},
};

int core_add_gpu(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    if (PyModule_AddFunctions(module, functions) < 0)
        return -1;
    state->gpu_type = PyType_FromModuleAndSpec(module, &gpu_spec, NULL);
    return state->gpu_type ? PyModule_AddObjectRef(module, "Gpu", state->gpu_type) : -1;
}
