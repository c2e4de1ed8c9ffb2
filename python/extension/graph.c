/* Python type for programs: reads one from a recording or a model and writes its graphs as text.
 * Also records the weights and marks that a recording needs to become a program. */
#include "module.h"

#include <pyrometer/graph.h>
#include <pyrometer/report.h>

typedef struct program_object {
    PyObject_HEAD
    pyro_program *program;
} program_object;

static void program_dealloc(program_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    pyro_program_free(self->program);
    type->tp_free(self);
    Py_DECREF(type);
}

static core_state *state_of(program_object *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

/* Options of a graph's report. */
typedef struct writing {
    pyro_graph_report report;
    bool only_stats;
    Py_ssize_t parts;
    long long memory_limit;
} writing;

static int write_graph(char **text, size_t *size, const pyro_program *program,
                       const pyro_dataflow_options *options, const writing *writing,
                       pyro_error *error)
{
    pyro_graph_report report = writing->report;
    pyro_dataflow *graph = NULL;
    pyro_cuts cuts = {0};
    int status = pyro_dataflow_build(&graph, program, options, error);

    if (status == PYRO_OK && writing->parts > 0) {
        status = pyro_cuts_find(&cuts, graph, writing->parts, writing->memory_limit, error);
        report.cuts = &cuts;
    }
    if (status == PYRO_OK)
        status = writing->only_stats ? pyro_report_graph_stats(text, size, graph, error)
                                     : pyro_report_graph(text, size, graph, &report, error);
    pyro_cuts_free(&cuts);
    pyro_dataflow_free(graph);
    return status;
}

PyDoc_STRVAR(write_doc, "write(granularity, level, format, edges, stats, parts, memory_limit, "
                        "depth, for_picture)\n\n"
                        "Returns the graph as text. parts 0: no cuts; format -1: only stats.");

static PyObject *program_write(program_object *self, PyObject *args)
{
    int granularity, level, format, edges, stats, for_picture, status;
    long long depth;
    writing writing = {0};
    pyro_error error;
    char *text = NULL;
    size_t size = 0;

    if (!PyArg_ParseTuple(args, "iiippnLLp:write", &granularity, &level, &format, &edges, &stats,
                          &writing.parts, &writing.memory_limit, &depth, &for_picture))
        return NULL;
    pyro_dataflow_options options = {(pyro_granularity)granularity, (pyro_op_level)level};
    writing.only_stats = format < 0;
    writing.report.format = format < 0 ? PYRO_GRAPH_TEXT : (pyro_graph_format)format;
    writing.report.no_edges = !edges;
    writing.report.no_stats = !stats;
    writing.report.depth = depth;
    writing.report.for_picture = for_picture;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = write_graph(&text, &size, self->program, &options, &writing, &error);
    Py_END_ALLOW_THREADS
    if (status < 0)
        return core_fail(state_of(self), &error, status, 0);
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    pyro_free(text);
    return result;
}

static PyObject *program_name(program_object *self, void *unused)
{
    (void)unused;
    return PyUnicode_DecodeUTF8(pyro_program_name(self->program),
                                (Py_ssize_t)strlen(pyro_program_name(self->program)), "replace");
}

static PyObject *program_passes(program_object *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(pyro_program_passes(self->program));
}

static PyMethodDef program_methods[] = {
    {"write", (PyCFunction)program_write, METH_VARARGS, write_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef program_getters[] = {
    {"name", (getter)program_name, NULL, "Class of the model.", NULL},
    {"passes", (getter)program_passes, NULL, "Number of times the model ran.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot program_slots[] = {
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_methods, program_methods},
    {Py_tp_getset, program_getters},
    {0, NULL},
};

static PyType_Spec program_spec = {
    .name = "pyrometer._core.Program",
    .basicsize = sizeof(program_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = program_slots,
};

static int read_recording(pyro_program **out, const char *path, pyro_error *error)
{
    pyro_trace_options options = {.threads = 1};
    pyro_trace *trace = NULL;
    int status = pyro_trace_open(&trace, path, &options, error);

    if (status == PYRO_OK)
        status = pyro_program_of_trace(out, trace, error);
    pyro_trace_close(trace);
    return status;
}

static PyObject *wrap_program(core_state *state, pyro_program *program)
{
    PyTypeObject *type = (PyTypeObject *)state->program_type;
    program_object *self = (program_object *)type->tp_alloc(type, 0);

    if (!self) {
        pyro_program_free(program);
        return NULL;
    }
    self->program = program;
    return (PyObject *)self;
}

static PyObject *program_of_recording(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    pyro_program *program = NULL;
    pyro_error error;
    PyObject *path;
    int status;

    if (!PyArg_ParseTuple(args, "O&:program_of_recording", PyUnicode_FSConverter, &path))
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = read_recording(&program, PyBytes_AS_STRING(path), &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return status < 0 ? core_fail(state, &error, status, 1) : wrap_program(state, program);
}

static int price_model(pyro_program **out, pyro_model *model, pyro_error *error)
{
    pyro_cost *cost = NULL;
    int status = pyro_cost_compute(&cost, model, NULL, error);

    if (status == PYRO_OK)
        status = pyro_program_of_model(out, cost, error);
    pyro_cost_free(cost);
    return status;
}

static PyObject *program_of_model(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    pyro_program *program = NULL;
    pyro_error error;
    model_object *model;
    int status;

    if (!PyArg_ParseTuple(args, "O!:program_of_model", state->model_type, &model) ||
        core_enter_model(model))
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = price_model(&program, model->model, &error);
    Py_END_ALLOW_THREADS
    model->busy = 0;
    return status < 0 ? core_fail(state, &error, status, 0) : wrap_program(state, program);
}

PyDoc_STRVAR(weight_doc, "recorder_weight(name, kind, tensor, storage, begin, values, bytes)\n\n"
                         "Records a tensor that exists before the model runs. Kind 0: parameter, "
                         "1: buffer, 2: input.");

static PyObject *recorder_weight(PyObject *module, PyObject *args)
{
    unsigned long long tensor, storage, begin, values, bytes;
    pyro_weight_data data = {0};
    const char *name;

    (void)module;
    if (!PyArg_ParseTuple(args, "sIKKKKK:recorder_weight", &name, &data.kind, &tensor, &storage,
                          &begin, &values, &bytes))
        return NULL;
    data.tensor = tensor;
    data.storage = storage;
    data.begin = begin;
    data.values = values;
    data.bytes = bytes;
    pyro_recorder_weight(&data, name);
    Py_RETURN_NONE;
}

/* Marks nest, so one key is enough: closing a span closes the innermost. */
static const char mark_key;

static PyObject *mark_begin(PyObject *module, PyObject *name)
{
    pyro_recorder_api *api = pyro_recorder_entrance();
    const char *text = PyUnicode_AsUTF8(name);
    pyro_recorder_thread *thread = text ? pyro_recorder_enter(api) : NULL;

    (void)module;
    if (!text)
        return NULL;
    if (thread) {
        uint32_t id = api->name(thread, text);
        pyro_record *record = pyro_record_room(api, thread);
        pyro_span_open(thread, record, &mark_key);
        if (record) {
            *record = (pyro_record){.sequence = -1, .name = id, .kind = PYRO_RECORD_MARK};
            record->start_raw = pyro_raw_time(api);
            pyro_record_commit(thread, record);
        }
        pyro_recorder_leave(thread);
    }
    Py_RETURN_NONE;
}

/* Pops the innermost mark of this thread. NULL if its record was overwritten, as happens when only
 * the last chunks are kept. */
static pyro_record *close_mark(pyro_recorder_thread *thread)
{
    pyro_record *record = pyro_span_close(thread, &mark_key);
    return record && record->tag == (uint32_t)thread->open[thread->depth].chunk ? record : NULL;
}

static PyObject *mark_end(PyObject *module, PyObject *unused)
{
    pyro_recorder_api *api = pyro_recorder_entrance();
    uint64_t now = pyro_raw_time(api);
    pyro_recorder_thread *thread = pyro_recorder_enter(api);

    (void)module;
    (void)unused;
    if (thread) {
        pyro_record *record = close_mark(thread);
        if (record)
            __atomic_store_n(&record->end_raw, now, __ATOMIC_RELEASE);
        pyro_recorder_leave(thread);
    }
    Py_RETURN_NONE;
}

static PyObject *mark_drop(PyObject *module, PyObject *unused)
{
    pyro_recorder_thread *thread = pyro_recorder_enter(pyro_recorder_entrance());

    (void)module;
    (void)unused;
    if (thread) {
        pyro_record *record = close_mark(thread);
        if (record)
            record->kind = 0; /* readers skip it */
        pyro_recorder_leave(thread);
    }
    Py_RETURN_NONE;
}

static PyObject *mark_is_empty(PyObject *module, PyObject *unused)
{
    pyro_recorder_thread *thread = pyro_recorder_enter(pyro_recorder_entrance());
    bool is_empty = false;

    (void)module;
    (void)unused;
    if (thread) {
        const pyro_open_span *innermost = thread->depth > 0 && thread->depth <= PYRO_MOST_OPEN_SPANS
                                              ? &thread->open[thread->depth - 1]
                                              : NULL;
        is_empty = innermost && innermost->key == &mark_key && innermost->record &&
                   thread->next == innermost->record + 1;
        pyro_recorder_leave(thread);
    }
    return PyBool_FromLong(is_empty);
}

static PyMethodDef graph_methods[] = {
    {"program_of_recording", program_of_recording, METH_VARARGS,
     "program_of_recording(path) -> Program"},
    {"program_of_model", program_of_model, METH_VARARGS,
     "program_of_model(model) -> Program: the ops that a Model would run."},
    {"recorder_weight", recorder_weight, METH_VARARGS, weight_doc},
    {"mark_begin", mark_begin, METH_O, "mark_begin(name): begins a named span in the recording."},
    {"mark_end", mark_end, METH_NOARGS, "mark_end(): ends the innermost mark."},
    {"mark_drop", mark_drop, METH_NOARGS,
     "mark_drop(): removes the innermost mark from the recording."},
    {"mark_is_empty", mark_is_empty, METH_NOARGS,
     "mark_is_empty() -> bool: whether this thread recorded nothing inside its innermost mark."},
    {NULL, NULL, 0, NULL},
};

int core_add_graph(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    state->program_type = PyType_FromModuleAndSpec(module, &program_spec, NULL);
    return state->program_type ? PyModule_AddFunctions(module, graph_methods) : -1;
}
