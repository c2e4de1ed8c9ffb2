/* Functions for the history of results: adding, change points of numbers, queues. */
#include "module.h"

#include <pyrometer/history.h>
#include <pyrometer/report.h>

static PyObject *fail(PyObject *module, const pyro_error *error, int status)
{
    return core_fail(PyModule_GetState(module), error, status, 1);
}

static PyObject *history_add(PyObject *module, PyObject *args)
{
    const char *database, *data;
    Py_ssize_t size;
    pyro_run_labels labels = {0};
    pyro_runs runs = {0};
    pyro_history *history = NULL;
    pyro_error error;
    size_t added = 0;
    long long time_ns;

    if (!PyArg_ParseTuple(args, "zy#zzzzzL:history_add", &database, &data, &size, &labels.project,
                          &labels.commit, &labels.branch, &labels.machine, &labels.tags, &time_ns))
        return NULL;
    labels.time_ns = time_ns;
    pyro_error_clear(&error);
    int status;
    Py_BEGIN_ALLOW_THREADS;
    status = pyro_runs_parse(&runs, data, (size_t)size, &error);
    if (status == PYRO_OK)
        status = pyro_runs_label(&runs, &labels, &error);
    if (status == PYRO_OK)
        status = pyro_history_open(&history, database, false, &error);
    if (status == PYRO_OK)
        status = pyro_history_add_all(history, &runs, &added, &error);
    pyro_history_close(history);
    pyro_runs_free(&runs);
    Py_END_ALLOW_THREADS;
    return status < 0 ? fail(module, &error, status) : PyLong_FromSize_t(added);
}

/* (index, p, mean before, mean after, votes) per change point. */
static PyObject *change_tuples(const pyro_change_point *points, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list && i < count; i++) {
        PyObject *one = Py_BuildValue("nddddI", (Py_ssize_t)points[i].index, points[i].p,
                                      points[i].mean_before, points[i].mean_after,
                                      points[i].stddev_after, points[i].votes);

        if (!one) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static int method_of(const char *name)
{
    static const char *const names[] = {"edivisive", "bayesian", "ranks", "vote"};

    for (int i = 0; i < 4; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    PyErr_Format(PyExc_ValueError, "unknown method %s (one of: edivisive, bayesian, ranks, vote)",
                 name);
    return -1;
}

static PyObject *find_changes(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *sequence, *list, *result = NULL;
    pyro_change_options options = {0};
    pyro_change_point *points = NULL;
    Py_ssize_t window;
    size_t count = 0;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "Osndd:find_changes", &sequence, &name, &window, &options.max_p,
                          &options.min_change))
        return NULL;
    int method = method_of(name);
    list = method < 0 ? NULL : PySequence_Fast(sequence, "values must be a sequence of numbers");
    if (!list)
        return NULL;
    Py_ssize_t value_count = PySequence_Fast_GET_SIZE(list);
    double *values = PyMem_Calloc((size_t)value_count + 1, sizeof *values);
    for (Py_ssize_t i = 0; values && i < value_count; i++)
        values[i] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(list, i));
    if (!values)
        PyErr_NoMemory();
    if (!PyErr_Occurred()) {
        options.window = window > 0 ? (size_t)window : 0;
        pyro_error_clear(&error);
        int status = pyro_find_changes(&points, &count, values, (size_t)value_count,
                                       (pyro_change_method)method, &options, &error);
        result = status < 0 ? fail(module, &error, status) : change_tuples(points, count);
        pyro_free(points);
    }
    PyMem_Free(values);
    Py_DECREF(list);
    return result;
}

/* (mean, p50, p95, p99, utilisation) of a queue with one service; times in ms. */
static PyObject *simulate_queue(PyObject *module, PyObject *args)
{
    PyObject *sequence, *list;
    pyro_service service = {0};
    pyro_service_queue queue = {.services = &service, .service_count = 1};
    pyro_service_times result;
    Py_ssize_t servers, batch, requests;
    unsigned long long seed;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "OnndnK:simulate_queue", &sequence, &batch, &servers,
                          &queue.rate_per_s, &requests, &seed))
        return NULL;
    list = PySequence_Fast(sequence, "samples must be a sequence of numbers");
    if (!list)
        return NULL;
    service.count = (size_t)PySequence_Fast_GET_SIZE(list);
    double *samples = PyMem_Calloc(service.count + 1, sizeof *samples);
    for (size_t i = 0; samples && i < service.count; i++)
        samples[i] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(list, (Py_ssize_t)i));
    Py_DECREF(list);
    if (!samples || PyErr_Occurred()) {
        PyMem_Free(samples);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    service.samples_ms = samples;
    service.batch = queue.batch = batch > 0 ? (size_t)batch : 0;
    queue.servers = servers > 0 ? (size_t)servers : 0;
    queue.requests = requests > 0 ? (size_t)requests : 0;
    queue.seed = seed;
    pyro_error_clear(&error);
    int status = pyro_service_simulate(&result, &queue, &error);
    PyMem_Free(samples);
    return status < 0 ? fail(module, &error, status)
                      : Py_BuildValue("ddddd", result.mean_ms, result.p50_ms, result.p95_ms,
                                      result.p99_ms, result.utilisation);
}

static PyMethodDef history_methods[] = {
    {"simulate_queue", simulate_queue, METH_VARARGS,
     "simulate_queue(samples_ms, batch, servers, rate_per_s, requests, seed) -> (mean, p50, p95, "
     "p99, utilisation)"},
    {"history_add", history_add, METH_VARARGS,
     "history_add(db, data, project, commit, branch, machine, tags, time_ns) -> int: the number of "
     "results that were new."},
    {"find_changes", find_changes, METH_VARARGS,
     "find_changes(values, method, window, max_p, min_change) -> list of (index, p, mean_before, "
     "mean_after, stddev_after, votes)"},
    {NULL, NULL, 0, NULL},
};

int core_add_history(PyObject *module)
{
    return PyModule_AddFunctions(module, history_methods);
}
