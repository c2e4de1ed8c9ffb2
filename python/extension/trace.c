/* Python types for a trace with its analysis, and for its columns: buffers over the library's rows,
 * which keep the trace alive. */
#include "module.h"

#include <math.h>

typedef struct trace_object {
    PyObject_HEAD
    pyro_trace *trace;
    pyro_analysis *analysis;
    PyObject *model; /* the model_object for layer names, or NULL */
    PyObject *layers_from; /* str or NULL; kept to join the trace again */
} trace_object;

/* One numeric member of every row of a table. */
typedef struct column_object {
    PyObject_HEAD
    PyObject *trace; /* owns the rows */
    const void *first;
    Py_ssize_t count, stride, item_size;
    const char *format;
} column_object;

/* Address of empty columns, which must not be NULL. */
static const int64_t nothing;

const char core_open_trace_doc[] =
    "open_trace(path, model, layers_from, steps_from, step, phase, filter, threads, ignore, "
    "provenance) -> Trace";

static int parse_phase(pyro_phase *out, const char *name)
{
    *out = PYRO_PHASE_OTHER;
    if (!name)
        return 0;
    for (int phase = PYRO_PHASE_OTHER + 1; phase < PYRO_PHASE_COUNT; phase++) {
        if (strcmp(pyro_phase_name((pyro_phase)phase), name) == 0) {
            *out = (pyro_phase)phase;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "phase must be forward, backward or optimizer, not '%s'", name);
    return -1;
}

/* Reads and analyzes without the GIL. */
static int read_and_analyze(trace_object *self, const char *path, int threads,
                            const pyro_analysis_options *options, pyro_error *error)
{
    pyro_trace_options reading = {.threads = threads};
    pyro_analysis_options with_peaks = *options;
    pyro_peaks peaks;
    int status;

    Py_BEGIN_ALLOW_THREADS
    if (pyro_peaks_load(&peaks))
        with_peaks.peaks = &peaks;
    status = pyro_trace_open(&self->trace, path, &reading, error);
    if (status >= 0)
        status = pyro_trace_analyze(&self->analysis, self->trace, &with_peaks, error);
    Py_END_ALLOW_THREADS
    return status;
}

/* The ids of findings as C texts, which live as long as the tuple. */
static int read_ignored(const char ***ids, PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);

    *ids = PyMem_Calloc((size_t)count + 1, sizeof **ids);
    if (!*ids) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        (*ids)[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
        if (!(*ids)[i])
            return -1;
        if (!pyro_finding_exists((*ids)[i])) {
            PyErr_Format(PyExc_ValueError, "no finding has the id '%s'", (*ids)[i]);
            return -1;
        }
    }
    return 0;
}

PyObject *core_open_trace(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyTypeObject *type = (PyTypeObject *)state->trace_type;
    PyObject *path, *model, *layers_from, *ignore;
    const char *phase, **ids = NULL;
    int threads, status = -1;
    pyro_analysis_options options = {0};
    pyro_error error;
    trace_object *self;

    if (!PyArg_ParseTuple(args, "O&OOzizziO!z:open_trace", PyUnicode_FSConverter, &path, &model,
                          &layers_from, &options.steps_from, &options.step, &phase, &options.filter,
                          &threads, &PyTuple_Type, &ignore, &options.provenance))
        return NULL;
    if (layers_from != Py_None && !PyUnicode_Check(layers_from)) {
        Py_DECREF(path);
        return PyErr_Format(PyExc_TypeError, "layers_from must be a str, not %R", layers_from);
    }
    pyro_error_clear(&error);
    options.threads = threads;
    self = parse_phase(&options.phase, phase) ? NULL : (trace_object *)type->tp_alloc(type, 0);
    if (self && layers_from != Py_None) {
        self->layers_from = Py_NewRef(layers_from);
        options.layers_from = PyUnicode_AsUTF8(layers_from);
    }
    if (self && read_ignored(&ids, ignore) == 0) {
        options.ignored_findings = ids;
        options.ignored_finding_count = (size_t)PyTuple_GET_SIZE(ignore);
    }
    if (self && model != Py_None && !PyErr_Occurred()) {
        self->model = Py_NewRef(model);
        options.model = ((model_object *)model)->model;
    }
    if (self && !PyErr_Occurred() && (!self->model || !core_enter_model((model_object *)model))) {
        status = read_and_analyze(self, PyBytes_AS_STRING(path), threads, &options, &error);
        if (self->model)
            ((model_object *)model)->busy = 0;
        if (status < 0)
            core_fail(state, &error, status, !self->trace);
    }
    PyMem_Free(ids);
    Py_DECREF(path);
    if (status < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void trace_dealloc(trace_object *self)
{
    PyTypeObject *type = Py_TYPE(self);

    pyro_analysis_free(self->analysis);
    pyro_trace_close(self->trace);
    Py_XDECREF(self->model);
    Py_XDECREF(self->layers_from);
    type->tp_free(self);
    Py_DECREF(type);
}

/* The buffer format of a numeric column; NULL for text. */
static const char *column_format(pyro_column_kind kind, Py_ssize_t *size)
{
    switch (kind) {
    case PYRO_COLUMN_INTEGER:
        *size = sizeof(int64_t);
        return "q";
    case PYRO_COLUMN_SMALL:
        *size = sizeof(int);
        return "i";
    case PYRO_COLUMN_INDEX:
        *size = sizeof(uint32_t);
        return "I";
    case PYRO_COLUMN_NUMBER:
        *size = sizeof(double);
        return "d";
    case PYRO_COLUMN_BOOLEAN:
        *size = sizeof(bool);
        return "?";
    default:
        return NULL;
    }
}

static PyObject *decode(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *texts_of_column(const pyro_trace_table *table, const pyro_trace_column *column,
                                 const char *rows, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list && i < count; i++) {
        PyObject *text = decode(pyro_column_text(column, rows + i * table->row_size));

        if (!text)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, text);
    }
    return list;
}

static PyObject *view_of_column(trace_object *self, const pyro_trace_table *table,
                                const pyro_trace_column *column, const char *rows, size_t count)
{
    core_state *state = PyType_GetModuleState(Py_TYPE(self));
    PyTypeObject *type = (PyTypeObject *)state->column_type;
    column_object *exporter = (column_object *)type->tp_alloc(type, 0);
    PyObject *view;

    if (!exporter)
        return NULL;
    exporter->trace = Py_NewRef(self);
    exporter->first = count ? (const void *)(rows + column->offset) : (const void *)&nothing;
    exporter->count = (Py_ssize_t)count;
    exporter->stride = (Py_ssize_t)table->row_size;
    exporter->format = column_format(column->kind, &exporter->item_size);
    view = PyMemoryView_FromObject((PyObject *)exporter);
    Py_DECREF(exporter);
    return view;
}

static PyObject *trace_column(trace_object *self, PyObject *args)
{
    const char *table_name, *column_name;
    const pyro_trace_table *table;
    const char *rows;
    size_t count;
    Py_ssize_t size;

    if (!PyArg_ParseTuple(args, "ss:column", &table_name, &column_name))
        return NULL;
    table = pyro_trace_table_find(table_name);
    if (!table)
        return PyErr_Format(PyExc_KeyError, "unknown table '%s'", table_name);
    rows = pyro_trace_table_rows(table, self->analysis, &count);
    for (size_t i = 0; i < table->column_count; i++) {
        const pyro_trace_column *column = &table->columns[i];

        if (strcmp(column->name, column_name) != 0)
            continue;
        if (column_format(column->kind, &size))
            return view_of_column(self, table, column, rows, count);
        return texts_of_column(table, column, rows, count);
    }
    return PyErr_Format(PyExc_KeyError, "table '%s' has no column '%s'", table_name, column_name);
}

/* {table: {column: whether -1 means unknown, ...}, ...} */
static PyObject *trace_tables(PyObject *self, PyObject *unused)
{
    size_t count;
    const pyro_trace_table *tables = pyro_trace_tables(&count);
    PyObject *result = PyDict_New();

    (void)self;
    (void)unused;
    for (size_t i = 0; result && i < count; i++) {
        PyObject *columns = PyDict_New();

        for (size_t j = 0; columns && j < tables[i].column_count; j++) {
            const pyro_trace_column *column = &tables[i].columns[j];
            if (PyDict_SetItemString(columns, column->name, column->optional ? Py_True : Py_False))
                Py_CLEAR(columns);
        }
        if (!columns || PyDict_SetItemString(result, tables[i].name, columns))
            Py_CLEAR(result);
        Py_XDECREF(columns);
    }
    return result;
}

static PyObject *trace_report(trace_object *self, PyObject *args)
{
    core_state *state = PyType_GetModuleState(Py_TYPE(self));
    pyro_trace_report_options options = {.depth = -1};
    int as_json, status;
    char *text = NULL;
    size_t size = 0;
    pyro_error error;
    PyObject *result = NULL;

    if (!PyArg_ParseTuple(args, "p:report", &as_json))
        return NULL;
    options.report.format = as_json ? PYRO_FORMAT_JSON : PYRO_FORMAT_TEXT;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = pyro_report_trace(&text, &size, self->trace, self->analysis, &options, &error);
    Py_END_ALLOW_THREADS
    if (status < 0)
        core_fail(state, &error, status, 0);
    else
        result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    pyro_free(text);
    return result;
}

static PyObject *layer_ops_as_list(const pyro_layer_ops *ops)
{
    PyObject *list = PyList_New((Py_ssize_t)ops->count);

    for (size_t i = 0; list && i < ops->count; i++) {
        const pyro_layer_op_row *row = &ops->rows[i];
        PyObject *item = Py_BuildValue("(NNNLLO)", decode(row->layer), decode(row->op),
                                       decode(row->shapes), (long long)row->calls,
                                       (long long)row->host_ns, row->nested ? Py_True : Py_False);

        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

static PyObject *layer_times_as_list(const pyro_layer_ops *ops)
{
    PyObject *list = PyList_New((Py_ssize_t)ops->layer_count);

    for (size_t i = 0; list && i < ops->layer_count; i++) {
        const pyro_layer_time_row *row = &ops->layers[i];
        PyObject *item = Py_BuildValue("(NLLLN)", decode(row->layer), (long long)row->calls,
                                       (long long)row->wall_ns, (long long)row->op_ns,
                                       decode(row->shapes));

        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

/* What the joins of the trace need again; -1 with an exception. leave_joins() follows. */
static int enter_joins(trace_object *self, pyro_analysis_options *options)
{
    options->step = -1;
    if (self->layers_from)
        options->layers_from = PyUnicode_AsUTF8(self->layers_from);
    if (!self->model)
        return 0;
    options->model = ((model_object *)self->model)->model;
    return core_enter_model((model_object *)self->model);
}

static void leave_joins(trace_object *self)
{
    if (self->model)
        ((model_object *)self->model)->busy = 0;
}

int core_add_trace_to_page(pyro_page *page, PyObject *trace, pyro_error *error)
{
    trace_object *self = (trace_object *)trace;
    pyro_analysis_options options = {0};
    int status;

    if (enter_joins(self, &options))
        return -1;
    status = pyro_page_add_trace(page, self->trace, self->analysis, &options, error);
    leave_joins(self);
    return status;
}

static PyObject *trace_layer_ops(trace_object *self, PyObject *unused)
{
    core_state *state = PyType_GetModuleState(Py_TYPE(self));
    pyro_analysis_options options = {0};
    pyro_layer_ops *ops = NULL;
    pyro_error error;
    PyObject *result = NULL;
    int status;

    (void)unused;
    if (enter_joins(self, &options))
        return NULL;
    pyro_error_clear(&error);
    status = pyro_trace_layer_ops(&ops, self->trace, &options, &error);
    leave_joins(self);
    if (status < 0)
        core_fail(state, &error, status, 0);
    else
        result = Py_BuildValue("(NNLO)", layer_ops_as_list(ops), layer_times_as_list(ops),
                               (long long)ops->wall_ns, ops->shapes_from_ops ? Py_True : Py_False);
    pyro_layer_ops_free(ops);
    return result;
}

static PyObject *trace_recorded_call(trace_object *self, PyObject *given)
{
    int on_gpu = PyObject_IsTrue(given);

    if (on_gpu < 0)
        return NULL;
    pyro_recorded_call call = pyro_analysis_recorded_call(self->analysis, on_gpu);
    return Py_BuildValue("(LdLLL)", (long long)call.host_ns, call.outside_share,
                         (long long)call.activation_bytes, (long long)call.allocations,
                         (long long)call.allocated_bytes);
}

static PyObject *trace_op_shares(trace_object *self, PyObject *unused)
{
    size_t count = self->analysis->op_count;
    pyro_op_share *shares = PyMem_Calloc(count + 1, sizeof *shares);
    PyObject *list = shares ? PyList_New((Py_ssize_t)count) : PyErr_NoMemory();

    (void)unused;
    if (list)
        pyro_analysis_op_shares(self->analysis, shares);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *tuple = Py_BuildValue("(NdL)", decode(shares[i].name), shares[i].share,
                                        (long long)shares[i].calls);

        if (tuple)
            PyList_SET_ITEM(list, (Py_ssize_t)i, tuple);
        else
            Py_CLEAR(list);
    }
    PyMem_Free(shares);
    return list;
}

static PyObject *trace_layer_shares(trace_object *self, PyObject *unused)
{
    pyro_layer_share *shares = PyMem_Calloc(self->analysis->layer_count + 1, sizeof *shares);
    PyObject *list = shares ? PyList_New(0) : PyErr_NoMemory();

    (void)unused;
    size_t count = list ? pyro_analysis_layer_shares(self->analysis, shares) : 0;
    for (size_t i = 0; list && i < count; i++) {
        PyObject *tuple = Py_BuildValue("(nLd)", (Py_ssize_t)shares[i].layer,
                                        (long long)shares[i].own_ns, shares[i].share);

        if (!tuple || PyList_Append(list, tuple))
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    PyMem_Free(shares);
    return list;
}

static PyObject *trace_layers_named(trace_object *self, PyObject *given)
{
    const char *name = PyUnicode_AsUTF8(given);
    size_t *found = PyMem_Calloc(self->analysis->layer_count + 1, sizeof *found);
    PyObject *list = name && found ? PyList_New(0) : NULL;

    if (name && !found)
        PyErr_NoMemory();
    size_t count = list ? pyro_analysis_layers_named(self->analysis, name, found) : 0;
    for (size_t i = 0; list && i < count; i++) {
        PyObject *index = PyLong_FromSize_t(found[i]);

        if (!index || PyList_Append(list, index))
            Py_CLEAR(list);
        Py_XDECREF(index);
    }
    PyMem_Free(found);
    return list;
}

static PyObject *trace_sum_layers(trace_object *self, PyObject *given)
{
    PyObject *list = PySequence_List(given);
    size_t count = list && PyList_Sort(list) == 0 ? (size_t)PyList_GET_SIZE(list) : 0;
    size_t *layers = PyMem_Calloc(count + 1, sizeof *layers);
    PyObject *result = NULL;

    if (!layers && !PyErr_Occurred())
        PyErr_NoMemory();
    for (size_t i = 0; i < count && !PyErr_Occurred(); i++) {
        layers[i] = PyLong_AsSize_t(PyList_GET_ITEM(list, (Py_ssize_t)i));
        if (!PyErr_Occurred() && layers[i] >= self->analysis->layer_count)
            PyErr_SetString(PyExc_IndexError, "no such layer");
    }
    if (!PyErr_Occurred()) {
        pyro_layer_sum sum = pyro_analysis_sum_layers(self->analysis, layers, count);
        PyObject *share = isnan(sum.share) ? Py_NewRef(Py_None) : PyFloat_FromDouble(sum.share);

        result = Py_BuildValue("(LLNO)", (long long)sum.calls, (long long)sum.forward_ns, share,
                               sum.on_device ? Py_True : Py_False);
    }
    PyMem_Free(layers);
    Py_XDECREF(list);
    return result;
}

static PyMethodDef trace_methods[] = {
    {"tables", trace_tables, METH_NOARGS,
     "tables() -> {table: {column: whether -1 means unknown}}"},
    {"column", (PyCFunction)trace_column, METH_VARARGS,
     "column(table, column) -> memoryview of numbers, or list of str"},
    {"report", (PyCFunction)trace_report, METH_VARARGS,
     "report(as_json) -> str: the report of pyro_report_trace()."},
    {"layer_ops", (PyCFunction)trace_layer_ops, METH_NOARGS,
     "layer_ops() -> ([(layer, op, shapes, calls, host_ns, nested), ...],\n"
     "[(layer, calls, wall_ns, op_ns, shapes), ...], wall_ns, shapes_from_ops)"},
    {"recorded_call", (PyCFunction)trace_recorded_call, METH_O,
     "recorded_call(on_gpu) -> (host_ns, outside_share, activation_bytes or -1, allocations,\n"
     "allocated_bytes)"},
    {"op_shares", (PyCFunction)trace_op_shares, METH_NOARGS,
     "op_shares() -> [(name, share of own time, calls)], largest first"},
    {"layer_shares", (PyCFunction)trace_layer_shares, METH_NOARGS,
     "layer_shares() -> [(layer, own_ns, share of own time)], largest first"},
    {"layers_named", (PyCFunction)trace_layers_named, METH_O,
     "layers_named(name) -> [layer]: those with the name in their path or class."},
    {"sum_layers", (PyCFunction)trace_sum_layers, METH_O,
     "sum_layers(layers) -> (calls, forward_ns, share or None, on_device)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot trace_slots[] = {
    {Py_tp_dealloc, trace_dealloc},
    {Py_tp_methods, trace_methods},
    {Py_tp_doc, "A trace and its analysis; created by open_trace()."},
    {0, NULL},
};

static PyType_Spec trace_spec = {
    .name = "pyrometer._core.Trace",
    .basicsize = sizeof(trace_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = trace_slots,
};

static int column_getbuffer(column_object *self, Py_buffer *view, int flags)
{
    int contiguous = self->stride == self->item_size || self->count <= 1;

    view->obj = NULL;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "trace columns are read-only");
        return -1;
    }
    if (!contiguous && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        PyErr_SetString(PyExc_BufferError,
                        "the column is not contiguous; request a strided buffer");
        return -1;
    }
    *view = (Py_buffer){
        .buf = (void *)self->first,
        .obj = Py_NewRef(self),
        .len = self->count * self->item_size,
        .itemsize = self->item_size,
        .readonly = 1,
        .ndim = 1,
        .format = flags & PyBUF_FORMAT ? (char *)self->format : NULL,
        .shape = flags & PyBUF_ND ? &self->count : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &self->stride : NULL,
    };
    return 0;
}

static void column_dealloc(column_object *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(self->trace);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot column_slots[] = {
    {Py_tp_dealloc, column_dealloc},
    {Py_bf_getbuffer, column_getbuffer},
    {Py_tp_doc, "A numeric column of a trace; only supports the buffer protocol."},
    {0, NULL},
};

static PyType_Spec column_spec = {
    .name = "pyrometer._core.Column",
    .basicsize = sizeof(column_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = column_slots,
};

int core_add_trace(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    state->trace_type = PyType_FromModuleAndSpec(module, &trace_spec, NULL);
    state->column_type = PyType_FromModuleAndSpec(module, &column_spec, NULL);
    if (!state->trace_type || !state->column_type)
        return -1;
    return PyModule_AddObjectRef(module, "Trace", state->trace_type);
}
