/* Python type for the library's sampling loop: calls a callable until there are enough samples. */
#include "module.h"

#include <pyrometer/bench.h>

typedef struct loop_object {
    PyObject_HEAD
    pyro_loop *loop;
    bool by_schedule;
    bool running;
    PyObject *gpu; /* watched for throttling; NULL: none */
} loop_object;

pyro_loop *core_loop_of(PyObject *loop)
{
    return ((loop_object *)loop)->loop;
}

static PyObject *loop_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"warmup_runs", "min_runs",     "max_runs",      "min_time_s",
                            "max_time_s",  "target_width", "deepest",       "rate_per_s",
                            "poisson",     "seed",         "max_time_wins", NULL};
    long long warmup = -1, min_runs = 0, max_runs = 0, seed = 0;
    double min_time_s = 0, max_time_s = 0;
    pyro_loop_options options = {0};
    int poisson = 0, wins = 0;
    pyro_error error;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|LLLdddddpLp:Loop", names, &warmup, &min_runs,
                                     &max_runs, &min_time_s, &max_time_s, &options.target_width,
                                     &options.deepest_percentile, &options.rate_per_s, &poisson,
                                     &seed, &wins))
        return NULL;
    if (!(min_time_s >= 0 && min_time_s < 1e9 && max_time_s >= 0 && max_time_s < 1e9)) {
        PyErr_SetString(PyExc_ValueError,
                        "min_time_s and max_time_s must be seconds from 0 to 1e9");
        return NULL;
    }
    options.warmup_runs = warmup;
    options.min_runs = min_runs;
    options.max_runs = max_runs;
    options.min_time_ns = (int64_t)(min_time_s * 1e9);
    options.max_time_ns = (int64_t)(max_time_s * 1e9);
    options.poisson = poisson;
    options.max_time_wins = wins;
    options.wall_time = true;
    options.seed = (uint64_t)seed;
    loop_object *self = (loop_object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->by_schedule = options.rate_per_s > 0;
    pyro_error_clear(&error);
    int status = pyro_loop_new(&self->loop, &options, &error);
    if (status < 0) {
        core_fail(PyType_GetModuleState(type), &error, status, 0);
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static pyro_loop_phase wait_for_next(const loop_object *self)
{
    pyro_loop_phase phase;

    if (!self->by_schedule)
        return pyro_loop_next(self->loop);
    Py_BEGIN_ALLOW_THREADS
    phase = pyro_loop_next(self->loop);
    Py_END_ALLOW_THREADS
    return phase;
}

/* Calls and discards the result; false with an exception. */
static bool call(PyObject *callable)
{
    PyObject *result = PyObject_CallNoArgs(callable);

    Py_XDECREF(result);
    return result != NULL;
}

/* Synchronizes the device around each iteration, so that its time covers only its own work. */
static PyObject *loop_run(loop_object *self, PyObject *args)
{
    PyObject *run, *synchronize = Py_None, *prepare = Py_None;
    pyro_error error;
    bool good = true;
    int status = PYRO_OK;

    if (!PyArg_ParseTuple(args, "O|OO:run", &run, &synchronize, &prepare))
        return NULL;
    if (self->running) {
        PyErr_SetString(PyExc_RuntimeError, "this loop is running already");
        return NULL;
    }
    self->running = true;
    pyro_error_clear(&error);
    while (good && status == PYRO_OK) {
        good = (prepare == Py_None || pyro_loop_read(self->loop).end != PYRO_LOOP_RUNNING ||
                call(prepare)) &&
               (synchronize == Py_None || call(synchronize));
        if (!good || wait_for_next(self) == PYRO_LOOP_DONE)
            break;
        good = call(run) && (synchronize == Py_None || call(synchronize));
        if (good)
            status = pyro_loop_tick(self->loop, &error);
        good = good && PyErr_CheckSignals() == 0;
    }
    self->running = false;
    if (!good || status < 0)
        pyro_loop_stop(self->loop);
    if (!good)
        return NULL;
    if (status < 0)
        return core_fail(PyType_GetModuleState(Py_TYPE(self)), &error, status, 0);
    Py_RETURN_NONE;
}

static PyObject *as_milliseconds(const double *ns, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list && i < count; i++) {
        PyObject *value = PyFloat_FromDouble(ns[i] / 1e6);

        if (value)
            PyList_SET_ITEM(list, (Py_ssize_t)i, value);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *loop_latency_ms(loop_object *self, PyObject *unused)
{
    pyro_loop_samples samples = pyro_loop_read(self->loop);

    (void)unused;
    return as_milliseconds(samples.latency_ns, samples.count);
}

static PyObject *loop_watch(loop_object *self, PyObject *args)
{
    core_state *state = PyType_GetModuleState(Py_TYPE(self));
    PyObject *gpu;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "O!:watch", state->gpu_type, &gpu))
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_loop_watch(self->loop, core_gpu_of(gpu), &error);
    if (status < 0)
        return core_fail(state, &error, status, 0);
    self->gpu = Py_NewRef(gpu);
    Py_RETURN_NONE;
}

static PyObject *loop_discarded(loop_object *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromSize_t(pyro_loop_read(self->loop).discarded_count);
}

static PyObject *loop_end(loop_object *self, PyObject *unused)
{
    static const char *const names[] = {"running", "narrow", "noisy", "fixed", "stopped"};

    (void)unused;
    return PyUnicode_FromString(names[pyro_loop_read(self->loop).end]);
}

static void loop_dealloc(loop_object *self)
{
    PyTypeObject *type = Py_TYPE(self);

    pyro_loop_free(self->loop);
    Py_XDECREF(self->gpu);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef loop_methods[] = {
    {"run", (PyCFunction)loop_run, METH_VARARGS,
     "run(callable, synchronize=None, prepare=None): calls the callable until there are enough "
     "samples; calls prepare, untimed, before each."},
    {"watch", (PyCFunction)loop_watch, METH_VARARGS,
     "watch(gpu): discards samples during which the GPU throttles."},
    {"discarded", (PyCFunction)loop_discarded, METH_NOARGS,
     "discarded() -> int: number of discarded samples."},
    {"latency_ms", (PyCFunction)loop_latency_ms, METH_NOARGS, "All samples, in order."},
    {"end", (PyCFunction)loop_end, METH_NOARGS,
     "Why the loop ended: narrow, noisy, fixed, stopped; or running."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot loop_slots[] = {
    {Py_tp_new, loop_new},
    {Py_tp_dealloc, loop_dealloc},
    {Py_tp_methods, loop_methods},
    {Py_tp_doc, "The sampling loop of the library."},
    {0, NULL},
};

static PyType_Spec loop_spec = {
    .name = "pyrometer._core.Loop",
    .basicsize = sizeof(loop_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = loop_slots,
};

int core_add_loop(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    state->loop_type = PyType_FromModuleAndSpec(module, &loop_spec, NULL);
    return state->loop_type ? PyModule_AddObjectRef(module, "Loop", state->loop_type) : -1;
}
