/* Python type for a GPU: reads clocks, power, temperature and throttle reasons from the driver. */
#include "module.h"

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

int core_add_gpu(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    state->gpu_type = PyType_FromModuleAndSpec(module, &gpu_spec, NULL);
    return state->gpu_type ? PyModule_AddObjectRef(module, "Gpu", state->gpu_type) : -1;
}
