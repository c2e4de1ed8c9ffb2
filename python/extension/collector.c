/* Python functions for the collector of device work. All that wait release the GIL. */
#include "module.h"

#include <pyrometer/capture.h>

static PyObject *status_as_dict(const pyro_devices_status *status)
{
    static const char *const states[] = {
        [PYRO_DEVICES_OFF] = "off",
        [PYRO_DEVICES_ON] = "on",
        [PYRO_DEVICES_NO_LIBRARY] = "no library",
        [PYRO_DEVICES_TOO_OLD] = "too old",
        [PYRO_DEVICES_TAKEN] = "taken",
        [PYRO_DEVICES_NOT_ALLOWED] = "not allowed",
        [PYRO_DEVICES_FAILED] = "failed",
        [PYRO_DEVICES_OLD_DRIVER] = "old driver",
    };

    return Py_BuildValue(
        "{s:s,s:s,s:s,s:I,s:K,s:K,s:K,s:K,s:K,s:K}", "state", states[status->state], "reason",
        status->reason, "library", status->library, "version", status->version, "records",
        (unsigned long long)status->records, "dropped", (unsigned long long)status->dropped,
        "malformed", (unsigned long long)status->malformed, "launches",
        (unsigned long long)status->launches, "unfinished", (unsigned long long)status->unfinished,
        "clock_error_ns", (unsigned long long)status->clock_error_ns);
}

static PyObject *devices_start(PyObject *module, PyObject *args)
{
    pyro_devices_status status;
    unsigned int more = PYRO_DEVICES_USUAL;

    (void)module;
    if (!PyArg_ParseTuple(args, "|I:devices_start", &more))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    pyro_devices_start_with(more, &status);
    Py_END_ALLOW_THREADS
    return status_as_dict(&status);
}

static PyObject *devices_stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    pyro_devices_stop();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *devices_flush(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    pyro_devices_flush();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *devices_status(PyObject *module, PyObject *unused)
{
    pyro_devices_status status;

    (void)module;
    (void)unused;
    pyro_devices_look(&status);
    return status_as_dict(&status);
}

static PyObject *devices_probe(PyObject *module, PyObject *unused)
{
    pyro_devices_status status;

    (void)module;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    pyro_devices_probe(&status);
    Py_END_ALLOW_THREADS
    return status_as_dict(&status);
}

static PyObject *device_memory_start(PyObject *module, PyObject *is_recorded)
{
    int truth = PyObject_IsTrue(is_recorded);

    (void)module;
    if (truth < 0)
        return NULL;
    return PyBool_FromLong(pyro_device_memory_start(truth));
}

static PyObject *device_memory_stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    pyro_device_memory_stop();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(device_doc, "recorder_device(number, name, memory_bytes, multiprocessors, "
                         "threads_per_multiprocessor, major, minor)");

static PyObject *recorder_device(PyObject *module, PyObject *args)
{
    pyro_device_data data = {0};
    const char *name;
    long long memory_bytes;

    (void)module;
    if (!PyArg_ParseTuple(args, "IsLIIII:recorder_device", &data.device, &name, &memory_bytes,
                          &data.multiprocessors, &data.max_threads_per_multiprocessor,
                          &data.compute_major, &data.compute_minor))
        return NULL;
    data.total_memory_bytes = memory_bytes;
    pyro_recorder_device(&data, name);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"devices_start", devices_start, METH_VARARGS,
     "devices_start(records=DEVICES_USUAL): starts the collector; its state as a dict. `records`: bits\n"
     "1 memsets, 2 synchronizations, 4 CUPTI's own overhead, beside kernels and copies."},
    {"devices_stop", devices_stop, METH_NOARGS, "Records finished work and stops the collector."},
    {"devices_flush", devices_flush, METH_NOARGS, "Records finished work."},
    {"devices_status", devices_status, METH_NOARGS, "State of the collector, as a dict."},
    {"devices_probe", devices_probe, METH_NOARGS, "Whether the collector could be started."},
    {"device_memory_start", device_memory_start, METH_O,
     "device_memory_start(is_recorded): watches torch's CUDA allocator for failed allocations and, if\n"
     "`is_recorded`, records its allocations and frees; whether that is possible."},
    {"device_memory_stop", device_memory_stop, METH_NOARGS, "Records no more of GPU memory."},
    {"recorder_device", recorder_device, METH_VARARGS, device_doc},
    {NULL, NULL, 0, NULL},
};

int core_add_collector(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
