/* Python functions for the resource use of this process, and for what the machine offers. Unknown
 * values are None. */
#include "module.h"

#include <math.h>

static const char sampler_name[] = "pyrometer._core.memory_sampler";

static PyObject *number_or_none(double value)
{
    return isnan(value) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value);
}

static PyObject *amount_or_none(int64_t value)
{
    return value < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(value);
}

static PyObject *use_begin(PyObject *module, PyObject *unused)
{
    pyro_process_counters counters = pyro_process_counters_begin();

    (void)module;
    (void)unused;
    return PyBytes_FromStringAndSize((const char *)&counters, sizeof counters);
}

static PyObject *use_end(PyObject *module, PyObject *begun)
{
    pyro_process_counters after = pyro_process_counters_end(), before;

    (void)module;
    if (!PyBytes_Check(begun) || PyBytes_GET_SIZE(begun) != sizeof before)
        return PyErr_Format(PyExc_TypeError, "expected the result of process_use_begin()");
    memcpy(&before, PyBytes_AS_STRING(begun), sizeof before);
    pyro_process_use use = pyro_process_use_between(&before, &after);
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N,s:N}", "cpu_percent", number_or_none(use.cpu_percent), "waiting",
        number_or_none(use.waiting_share), "disk_read_bytes", amount_or_none(use.disk_read_bytes),
        "disk_written_bytes", amount_or_none(use.disk_written_bytes), "network_received_bytes",
        amount_or_none(use.network_received_bytes), "network_sent_bytes",
        amount_or_none(use.network_sent_bytes));
}

static PyObject *peak_bytes(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return amount_or_none(pyro_peak_resident_bytes());
}

static PyObject *reset_peak(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(pyro_peak_resident_reset());
}

static PyObject *heap_unused(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return number_or_none(pyro_heap_unused_share());
}

static pyro_memory_samples stop_sampler(pyro_memory_sampler *sampler)
{
    pyro_memory_samples samples;

    Py_BEGIN_ALLOW_THREADS
    samples = pyro_memory_sampler_stop(sampler);
    Py_END_ALLOW_THREADS
    return samples;
}

static void drop_sampler(PyObject *capsule)
{
    pyro_memory_sampler *sampler = PyCapsule_GetPointer(capsule, sampler_name);

    if (sampler && !PyCapsule_GetContext(capsule))
        stop_sampler(sampler);
}

static PyObject *sample_memory(PyObject *module, PyObject *unused)
{
    pyro_memory_sampler *sampler;
    pyro_error error;

    (void)unused;
    pyro_error_clear(&error);
    int status = pyro_memory_sampler_start(&sampler, 0, &error);
    if (status < 0)
        return core_fail(PyModule_GetState(module), &error, status, 0);
    PyObject *capsule = PyCapsule_New(sampler, sampler_name, drop_sampler);
    if (!capsule)
        stop_sampler(sampler);
    return capsule;
}

/* A capsule cannot hold NULL: its context says that the sampler is gone. */
static PyObject *sampled_memory(PyObject *module, PyObject *capsule)
{
    pyro_memory_sampler *sampler = PyCapsule_GetPointer(capsule, sampler_name);

    (void)module;
    if (!sampler)
        return NULL;
    if (PyCapsule_GetContext(capsule))
        return PyErr_Format(PyExc_RuntimeError, "the sampler was stopped before");
    if (PyCapsule_SetContext(capsule, (void *)sampler_name))
        return NULL;
    pyro_memory_samples samples = stop_sampler(sampler);
    return Py_BuildValue("(NN)", number_or_none(samples.mean_bytes),
                         amount_or_none(samples.max_bytes));
}

static PyObject *usable_cpus(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLongLong(pyro_usable_cpus());
}

static PyObject *processor_model(PyObject *module, PyObject *unused)
{
    char model[PYRO_PROCESSOR_TEXT];

    (void)module;
    (void)unused;
    pyro_processor_model(model);
    return PyUnicode_DecodeUTF8(model, (Py_ssize_t)strlen(model), "replace");
}

static PyObject *machine_memory_bytes(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return amount_or_none(pyro_machine_memory_bytes());
}

static PyObject *cache_eviction_bytes(PyObject *module, PyObject *threads)
{
    long long count = PyLong_AsLongLong(threads);

    (void)module;
    if (count == -1 && PyErr_Occurred())
        return NULL;
    return amount_or_none(pyro_cache_eviction_bytes(count));
}

static PyObject *bfloat16_extension(PyObject *module, PyObject *unused)
{
    const char *name = pyro_bfloat16_extension();

    (void)module;
    (void)unused;
    return name ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"process_use_begin", use_begin, METH_NOARGS,
     "process_use_begin() -> bytes: counters of this process, for process_use_end()."},
    {"process_use_end", use_end, METH_O,
     "process_use_end(begun) -> dict: CPU, waiting, disk and network since then."},
    {"peak_bytes", peak_bytes, METH_NOARGS,
     "peak_bytes() -> int: peak resident memory since reset_peak()."},
    {"reset_peak", reset_peak, METH_NOARGS,
     "reset_peak() -> bool: False if the kernel does not permit it."},
    {"heap_unused_share", heap_unused, METH_NOARGS,
     "heap_unused_share() -> float: share of the C heap that is free but held."},
    {"sample_memory", sample_memory, METH_NOARGS,
     "sample_memory() -> sampler: starts sampling the resident memory in a thread."},
    {"sampled_memory", sampled_memory, METH_O, "sampled_memory(sampler) -> (mean, max): stops it."},
    {"usable_cpus", usable_cpus, METH_NOARGS, "usable_cpus() -> int"},
    {"processor_model", processor_model, METH_NOARGS, "processor_model() -> str: its name."},
    {"machine_memory_bytes", machine_memory_bytes, METH_NOARGS, "machine_memory_bytes() -> int"},
    {"cache_eviction_bytes", cache_eviction_bytes, METH_O,
     "cache_eviction_bytes(threads) -> int: size of a buffer that evicts the caches."},
    {"bfloat16_extension", bfloat16_extension, METH_NOARGS,
     "bfloat16_extension() -> str: the instructions that multiply bfloat16."},
    {NULL, NULL, 0, NULL},
};

int core_add_process_use(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
