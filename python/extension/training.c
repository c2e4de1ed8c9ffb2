/* Python functions for profiled training steps: count steps, write event files, and turn a
 * recording into Chrome JSON, scalars and tables. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct scalars_object {
    PyObject_HEAD
    pyro_scalars *scalars;
} scalars_object;

static PyObject *new_scalars(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *folder;
    const char *suffix;
    scalars_object *self;
    pyro_error error;
    int status;

    if (keywords && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Scalars() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O&z:Scalars", PyUnicode_FSConverter, &folder, &suffix))
        return NULL;
    self = (scalars_object *)type->tp_alloc(type, 0);
    if (self) {
        pyro_error_clear(&error);
        status = pyro_scalars_open(&self->scalars, PyBytes_AS_STRING(folder), suffix, &error);
        if (status < 0) {
            core_fail(PyType_GetModuleState(type), &error, status, 0);
            Py_CLEAR(self);
        }
    }
    Py_DECREF(folder);
    return (PyObject *)self;
}

static void free_scalars(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    pyro_scalars_close(((scalars_object *)object)->scalars);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *scalars_path(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_DecodeFSDefault(pyro_scalars_path(((scalars_object *)self)->scalars));
}

static PyGetSetDef scalars_members[] = {
    {"path", scalars_path, NULL, "Path of the event file.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot scalars_slots[] = {
    {Py_tp_doc, "Scalars(folder, suffix): an event file for TensorBoard."},
    {Py_tp_new, new_scalars},
    {Py_tp_dealloc, free_scalars},
    {Py_tp_getset, scalars_members},
    {0, NULL},
};

static PyType_Spec scalars_spec = {.name = "pyrometer._core.Scalars",
                                   .basicsize = sizeof(scalars_object),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                   .slots = scalars_slots};

/* Inputs and outputs of processing one recording. */
typedef struct job {
    const char *recording, *chrome;
    pyro_scalars *scalars;
    pyro_training_report report;
    bool with_modules;
    pyro_step_memory *memory;
    size_t memory_count;
    char *text, *layers; /* results, for pyro_free() */
} job;

static int write_chrome(pyro_trace *trace, const char *path, pyro_error *error)
{
    FILE *file = fopen(path, "wb");
    int status;

    if (!file)
        return core_fail_to_write(error);
    status = pyro_trace_write_chrome(trace, NULL, core_write_to_file, file, error);
    if (fclose(file) != 0 && status == PYRO_OK)
        status = core_fail_to_write(error);
    if (status != PYRO_OK)
        remove(path);
    return status;
}

static int do_job(job *job, pyro_error *error)
{
    pyro_peaks peaks;
    pyro_analysis_options options = {
        .step = -1, .threads = 1, .without_stacks = true, .without_gap_causes = true};
    pyro_trace *trace = NULL;
    pyro_analysis *analysis = NULL;
    size_t size;
    int status = pyro_trace_open(&trace, job->recording, NULL, error);

    if (pyro_peaks_load(&peaks))
        options.peaks = &peaks;
    if (status == PYRO_OK)
        status = write_chrome(trace, job->chrome, error);
    if (status == PYRO_OK)
        status = pyro_trace_analyze(&analysis, trace, &options, error);
    if (status == PYRO_OK && job->scalars)
        status = pyro_scalars_add_training(job->scalars, trace, analysis, &job->report, job->memory,
                                           job->memory_count, error);
    if (status == PYRO_OK)
        status = pyro_report_training(&job->text, &size, analysis, &job->report, error);
    if (status == PYRO_OK && job->with_modules)
        status = pyro_report_layer_table(&job->layers, &size, trace, "the profiled steps",
                                         job->report.with_flops, error);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    return status;
}

/* Reads one (step, host, device, device peak) per step. */
static int take_memory(job *job, PyObject *list)
{
    PyObject *rows = PySequence_Fast(list, "memory must be a sequence");
    Py_ssize_t count = rows ? PySequence_Fast_GET_SIZE(rows) : 0;

    if (!rows)
        return -1;
    job->memory = calloc((size_t)count + 1, sizeof *job->memory);
    for (Py_ssize_t i = 0; i < count && job->memory; i++) {
        pyro_step_memory *to = &job->memory[i];
        long long step, host, device, peak;

        if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(rows, i), "LLLL", &step, &host, &device,
                              &peak)) {
            Py_DECREF(rows);
            return -1;
        }
        *to = (pyro_step_memory){step, host, device, peak};
    }
    job->memory_count = (size_t)count;
    Py_DECREF(rows);
    if (!job->memory)
        PyErr_NoMemory();
    return job->memory ? 0 : -1;
}

PyDoc_STRVAR(training_doc,
             "training_files(recording, chrome, scalars or None, title, first, last, with_flops,\n"
             "with_modules, memory) -> (summary, table of layers or None)\n\n"
             "Writes the recording as Chrome JSON and its steps as scalars.");

static PyObject *training_files(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *recording, *chrome = NULL, *scalars, *memory, *result = NULL;
    long long first, last;
    int with_flops, with_modules, status;
    job job = {0};
    pyro_error error;

    if (!PyArg_ParseTuple(args, "O&O&OsLLppO:training_files", PyUnicode_FSConverter, &recording,
                          PyUnicode_FSConverter, &chrome, &scalars, &job.report.title, &first,
                          &last, &with_flops, &with_modules, &memory))
        return NULL;
    if (scalars != Py_None && !Py_IS_TYPE(scalars, (PyTypeObject *)state->scalars_type)) {
        PyErr_SetString(PyExc_TypeError, "scalars must be Scalars or None");
        goto done;
    }
    if (take_memory(&job, memory) < 0)
        goto done;
    job.recording = PyBytes_AS_STRING(recording);
    job.chrome = PyBytes_AS_STRING(chrome);
    job.scalars = scalars == Py_None ? NULL : ((scalars_object *)scalars)->scalars;
    job.report.first_step = first;
    job.report.last_step = last;
    job.report.with_flops = with_flops;
    job.with_modules = with_modules;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = do_job(&job, &error);
    Py_END_ALLOW_THREADS
    result = status < 0 ? core_fail(state, &error, status, 1)
                        : Py_BuildValue("(sz)", job.text, job.layers);
    pyro_free(job.text);
    pyro_free(job.layers);
done:
    free(job.memory);
    Py_DECREF(recording);
    Py_DECREF(chrome);
    return result;
}

static PyObject *recorder_discard(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    pyro_recorder_discard();
    Py_RETURN_NONE;
}

/* Step counter of the profiled run. Calls Python only at steps where the profiler has work. */
static PyObject *due_function;
static long long steps_left, steps_done;

static PyObject *step_profiler(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    pyro_flight_step(PYRO_MARK_PROFILER, 0);
    if (!due_function)
        Py_RETURN_NONE;
    steps_done++;
    if (--steps_left > 0)
        Py_RETURN_NONE;
    /* The function may call set_steps(). */
    PyObject *function = Py_NewRef(due_function);
    PyObject *number = PyLong_FromLongLong(steps_done);
    PyObject *result = number ? PyObject_CallOneArg(function, number) : NULL;

    Py_DECREF(function);
    Py_XDECREF(number);
    return result;
}

PyDoc_STRVAR(set_steps_doc,
             "set_steps(function or None, left)\n\n"
             "Calls the function after `left` more steps with the number of steps done.\n"
             "None resets that number.");

static PyObject *set_steps(PyObject *module, PyObject *args)
{
    PyObject *function;
    long long left;

    (void)module;
    if (!PyArg_ParseTuple(args, "OL:set_steps", &function, &left))
        return NULL;
    if (function == Py_None)
        function = NULL;
    if (!function || !due_function)
        steps_done = 0;
    Py_XSETREF(due_function, Py_XNewRef(function));
    steps_left = left;
    Py_RETURN_NONE;
}

static PyObject *get_steps_done(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLongLong(steps_done);
}

static PyMethodDef training_methods[] = {
    {"step_profiler", step_profiler, METH_NOARGS,
     "Ends a training step; does nothing if no profiler is active."},
    {"set_steps", set_steps, METH_VARARGS, set_steps_doc},
    {"steps_done", get_steps_done, METH_NOARGS, "Number of steps done in the profiled run."},
    {"training_files", training_files, METH_VARARGS, training_doc},
    {"recorder_discard", recorder_discard, METH_NOARGS, "Discards everything recorded so far."},
    {NULL, NULL, 0, NULL},
};

int core_add_training(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    state->scalars_type = PyType_FromModuleAndSpec(module, &scalars_spec, NULL);
    if (!state->scalars_type || PyModule_AddObjectRef(module, "Scalars", state->scalars_type))
        return -1;
    return PyModule_AddFunctions(module, training_methods);
}
