/* Python type for benchmark results: collects measurements, writes reports and compares results.
 * The library computes all statistics. */
#include "module.h"

#include <pyrometer/bench.h>
#include <pyrometer/report.h>

enum { TABLE_COLUMNS_MAX = 64 };

typedef struct bench_object {
    PyObject_HEAD
    pyro_bench *bench;
    bool finished; /* summaries are computed */
} bench_object;

static PyObject *fail(PyObject *self, const pyro_error *error, int status)
{
    return core_fail(PyType_GetModuleState(Py_TYPE(self)), error, status, 0);
}

/* None, or NULL with an exception if the status is an error. */
static PyObject *none_or_fail(PyObject *self, const pyro_error *error, int status)
{
    return status < 0 ? fail(self, error, status) : Py_NewRef(Py_None);
}

static PyObject *bench_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    bench_object *self;
    pyro_error error;

    if (PyTuple_GET_SIZE(args) > 0 || (keywords && PyDict_GET_SIZE(keywords) > 0)) {
        PyErr_SetString(PyExc_TypeError, "Bench takes no arguments");
        return NULL;
    }
    self = (bench_object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_bench_new(&self->bench, &error);
    if (status == PYRO_OK)
        status = pyro_environment_before(self->bench, &error);
    if (status < 0) {
        core_fail(PyType_GetModuleState(type), &error, status, 0);
        Py_DECREF(self);
        return NULL;
    }
    self->bench->seed = 1;
    return (PyObject *)self;
}

/* -1 with an exception if the index is invalid. */
static int check_result(const bench_object *self, Py_ssize_t result)
{
    if (result >= 0 && (size_t)result < self->bench->result_count)
        return 0;
    PyErr_Format(PyExc_IndexError, "result index %zd is out of range (%zu results)", result,
                 self->bench->result_count);
    return -1;
}

static PyObject *bench_add(bench_object *self, PyObject *args)
{
    const char *name, *engine, *command;
    double items;
    size_t index;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "sszd:add", &name, &engine, &command, &items))
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_bench_add(self->bench, name, engine, &index, &error);
    if (status == PYRO_OK) {
        self->bench->results[index].items = items;
        status = pyro_bench_set_text(self->bench, &self->bench->results[index].command, command,
                                     &error);
    }
    return status < 0 ? fail((PyObject *)self, &error, status) : PyLong_FromSize_t(index);
}

static PyObject *bench_count(bench_object *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromSize_t(self->bench->result_count);
}

static PyObject *bench_set_status(bench_object *self, PyObject *args)
{
    Py_ssize_t result;
    const char *name, *message;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "nsz:set_status", &result, &name, &message) ||
        check_result(self, result))
        return NULL;
    pyro_error_clear(&error);
    pyro_bench_result *of = &self->bench->results[result];
    int status = pyro_bench_set_text(self->bench, &of->status, name, &error);
    if (status == PYRO_OK)
        status = pyro_bench_set_text(self->bench, &of->message, message, &error);
    return none_or_fail((PyObject *)self, &error, status);
}

typedef int (*add_pair)(pyro_bench *, size_t, const char *, const char *, pyro_error *);

static PyObject *add_text(bench_object *self, PyObject *args, add_pair add)
{
    Py_ssize_t result;
    const char *name, *value;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "nss", &result, &name, &value) || check_result(self, result))
        return NULL;
    pyro_error_clear(&error);
    return none_or_fail((PyObject *)self, &error,
                        add(self->bench, (size_t)result, name, value, &error));
}

static PyObject *bench_parameter(bench_object *self, PyObject *args)
{
    return add_text(self, args, pyro_bench_add_parameter);
}

static PyObject *bench_fact(bench_object *self, PyObject *args)
{
    return add_text(self, args, pyro_bench_add_fact);
}

static PyObject *bench_environment(bench_object *self, PyObject *args)
{
    const char *name, *value;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "ss:environment", &name, &value))
        return NULL;
    pyro_error_clear(&error);
    return none_or_fail((PyObject *)self, &error,
                        pyro_bench_add_environment(self->bench, name, value, &error));
}

static PyObject *bench_warn(bench_object *self, PyObject *args)
{
    const char *text;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "s:warn", &text))
        return NULL;
    pyro_error_clear(&error);
    return none_or_fail((PyObject *)self, &error, pyro_bench_warn(self->bench, &error, "%s", text));
}

static double *as_doubles(PyObject *list)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
    double *values = PyMem_Calloc((size_t)count + 1, sizeof *values);

    if (!values)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; values && i < count; i++) {
        values[i] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(list, i));
        if (values[i] == -1 && PyErr_Occurred()) {
            PyMem_Free(values);
            return NULL;
        }
    }
    return values;
}

/* Adds a metric: a single number or a sequence of samples. */
static PyObject *bench_metric(bench_object *self, PyObject *args)
{
    Py_ssize_t result;
    const char *name, *unit;
    int higher, status;
    PyObject *amount, *list;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "nsspO:metric", &result, &name, &unit, &higher, &amount) ||
        check_result(self, result))
        return NULL;
    pyro_error_clear(&error);
    if (PyNumber_Check(amount)) {
        double value = PyFloat_AsDouble(amount);

        if (value == -1 && PyErr_Occurred())
            return NULL;
        status = pyro_bench_add_value(self->bench, (size_t)result, name, unit, higher, value,
                                      &error);
        return none_or_fail((PyObject *)self, &error, status);
    }
    list = PySequence_Fast(amount, "the amount must be a number or a sequence of numbers");
    double *values = list ? as_doubles(list) : NULL;
    if (!values) {
        Py_XDECREF(list);
        return NULL;
    }
    status = pyro_bench_add_metric(self->bench, (size_t)result, name, unit, higher, values,
                                   (size_t)PySequence_Fast_GET_SIZE(list), &error);
    PyMem_Free(values);
    Py_DECREF(list);
    return none_or_fail((PyObject *)self, &error, status);
}

static PyObject *bench_rate(bench_object *self, PyObject *args)
{
    Py_ssize_t result;
    const char *of, *name, *unit;
    double amount;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "nsssd:rate", &result, &of, &name, &unit, &amount) ||
        check_result(self, result))
        return NULL;
    pyro_error_clear(&error);
    return none_or_fail(
        (PyObject *)self, &error,
        pyro_bench_add_rate(self->bench, (size_t)result, of, name, unit, amount, &error));
}

static PyObject *bench_loop(bench_object *self, PyObject *args)
{
    core_state *state = PyType_GetModuleState(Py_TYPE(self));
    Py_ssize_t result;
    PyObject *loop;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "nO!:loop", &result, state->loop_type, &loop) ||
        check_result(self, result))
        return NULL;
    pyro_error_clear(&error);
    return none_or_fail(
        (PyObject *)self, &error,
        pyro_bench_add_loop(self->bench, (size_t)result, core_loop_of(loop), &error));
}

/* Borrows the texts of a sequence's items, NULL for None. False with an exception. */
static bool as_texts(const char **out, PyObject *list, Py_ssize_t wanted)
{
    if (PySequence_Fast_GET_SIZE(list) != wanted) {
        PyErr_Format(PyExc_ValueError, "a row has %zd cells, but the table has %zd columns",
                     PySequence_Fast_GET_SIZE(list), wanted);
        return false;
    }
    for (Py_ssize_t i = 0; i < wanted; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, i);

        out[i] = item == Py_None ? NULL : PyUnicode_AsUTF8(item);
        if (item != Py_None && !out[i])
            return false;
    }
    return true;
}

static bool add_rows(bench_object *self, size_t result, PyObject *rows, Py_ssize_t columns,
                     pyro_error *error)
{
    const char *texts[TABLE_COLUMNS_MAX];
    bool good = true;

    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(rows) && good; i++) {
        PyObject *cells = PySequence_Fast(PySequence_Fast_GET_ITEM(rows, i),
                                          "a row must be a sequence");
        int status = PYRO_OK;

        good = cells && as_texts(texts, cells, columns);
        if (good)
            status = pyro_bench_add_row(self->bench, result, texts, error);
        Py_XDECREF(cells);
        if (status < 0) {
            fail((PyObject *)self, error, status);
            good = false;
        }
    }
    return good;
}

static PyObject *bench_table(bench_object *self, PyObject *args)
{
    Py_ssize_t result;
    const char *title, *texts[TABLE_COLUMNS_MAX];
    PyObject *columns_object, *rows_object, *columns, *rows;
    pyro_error error;
    bool good;

    if (!PyArg_ParseTuple(args, "nsOO:table", &result, &title, &columns_object, &rows_object) ||
        check_result(self, result))
        return NULL;
    pyro_error_clear(&error);
    columns = PySequence_Fast(columns_object, "columns must be a sequence");
    rows = PySequence_Fast(rows_object, "rows must be a sequence");
    Py_ssize_t count = columns ? PySequence_Fast_GET_SIZE(columns) : 0;
    good = columns && rows;
    if (good && count > TABLE_COLUMNS_MAX) {
        PyErr_Format(PyExc_ValueError, "a table has at most %d columns, this one has %zd",
                     TABLE_COLUMNS_MAX, count);
        good = false;
    }
    good = good && as_texts(texts, columns, count);
    if (good) {
        int status = pyro_bench_add_table(self->bench, (size_t)result, title, texts, (size_t)count,
                                          &error);

        good = status >= 0 || fail((PyObject *)self, &error, status);
    }
    good = good && add_rows(self, (size_t)result, rows, count, &error);
    Py_XDECREF(columns);
    Py_XDECREF(rows);
    return good ? Py_NewRef(Py_None) : NULL;
}

static PyObject *bench_finish(bench_object *self, PyObject *unused)
{
    pyro_error error;
    int status;

    (void)unused;
    pyro_error_clear(&error);
    status = pyro_environment_after(self->bench, &error);
    if (status == PYRO_OK)
        status = pyro_bench_finish(self->bench, &error);
    self->finished = status == PYRO_OK;
    return none_or_fail((PyObject *)self, &error, status);
}

static PyObject *bench_report(bench_object *self, PyObject *args)
{
    static const char *const formats[] = {"text", "json",  "csv",   "markdown",
                                          "html", "junit", "github"};
    const char *format;
    int drawings = 1, details = 1;
    char *text = NULL;
    size_t size = 0, index = 0;
    pyro_bench_report report = {.bench = self->bench};
    pyro_error error;

    if (!PyArg_ParseTuple(args, "s|pp:report", &format, &drawings, &details))
        return NULL;
    if (!self->finished) {
        PyErr_SetString(PyExc_RuntimeError, "the results are not finished");
        return NULL;
    }
    while (index < sizeof formats / sizeof *formats && strcmp(formats[index], format) != 0)
        index++;
    if (index == sizeof formats / sizeof *formats)
        return PyErr_Format(PyExc_ValueError, "unknown report format '%s'", format);
    report.without_drawings = !drawings;
    report.without_details = !details;
    pyro_error_clear(&error);
    int status = index == PYRO_BENCH_HTML
                     ? pyro_report_bench_page(&text, &size, &report, "bench", &error)
                     : pyro_report_bench(&text, &size, &report, (pyro_bench_format)index, NULL,
                                         &error);
    if (status < 0)
        return fail((PyObject *)self, &error, status);
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    pyro_free(text);
    return result;
}

static void bench_dealloc(bench_object *self)
{
    PyTypeObject *type = Py_TYPE(self);

    pyro_bench_free(self->bench);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef bench_methods[] = {
    {"add", (PyCFunction)bench_add, METH_VARARGS, "add(name, engine, command, items) -> index"},
    {"count", (PyCFunction)bench_count, METH_NOARGS, "count() -> int: number of results."},
    {"set_status", (PyCFunction)bench_set_status, METH_VARARGS, "set_status(index, name, message)"},
    {"parameter", (PyCFunction)bench_parameter, METH_VARARGS, "parameter(index, name, value)"},
    {"fact", (PyCFunction)bench_fact, METH_VARARGS, "fact(index, name, value)"},
    {"metric", (PyCFunction)bench_metric, METH_VARARGS,
     "metric(index, name, unit, higher_is_better, number or samples)"},
    {"rate", (PyCFunction)bench_rate, METH_VARARGS,
     "rate(index, metric, name, unit, amount): adds amount per second of the metric's mean time."},
    {"loop", (PyCFunction)bench_loop, METH_VARARGS,
     "loop(index, loop): adds a loop's latencies as one process."},
    {"table", (PyCFunction)bench_table, METH_VARARGS, "table(index, title, columns, rows)"},
    {"environment", (PyCFunction)bench_environment, METH_VARARGS, "environment(name, value)"},
    {"warn", (PyCFunction)bench_warn, METH_VARARGS, "warn(text)"},
    {"finish", (PyCFunction)bench_finish, METH_NOARGS,
     "finish(): computes summaries; only facts may be added afterwards."},
    {"report", (PyCFunction)bench_report, METH_VARARGS,
     "report(format, drawings=True, details=True) -> str"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot bench_slots[] = {
    {Py_tp_new, bench_new},
    {Py_tp_dealloc, bench_dealloc},
    {Py_tp_methods, bench_methods},
    {Py_tp_doc,
     "Bench(): benchmark results of the library; reads the machine's state when created."},
    {0, NULL},
};

static PyType_Spec bench_spec = {
    .name = "pyrometer._core.Bench",
    .basicsize = sizeof(bench_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = bench_slots,
};

static PyObject *parse_bench(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyTypeObject *type = (PyTypeObject *)state->bench_type;
    Py_buffer data;
    pyro_bench *bench = NULL;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "y*:parse_bench", &data))
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_bench_parse(&bench, data.buf, (size_t)data.len, &error);
    PyBuffer_Release(&data);
    if (status < 0)
        return core_fail(state, &error, status, 0);
    bench_object *self = (bench_object *)type->tp_alloc(type, 0);
    if (!self) {
        pyro_bench_free(bench);
        return NULL;
    }
    self->bench = bench;
    self->finished = true;
    return (PyObject *)self;
}

static PyObject *compare_bench(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *base, *current, *result = NULL;
    pyro_verdict_options options = {.seed = 1};
    pyro_report_options json = {.format = PYRO_FORMAT_JSON};
    pyro_comparison *comparison = NULL;
    int any_machine, status;
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "O!O!dddp:compare_bench", state->bench_type, &base,
                          state->bench_type, &current, &options.delta, &options.floor_ms,
                          &options.noise, &any_machine))
        return NULL;
    if (!((bench_object *)base)->finished || !((bench_object *)current)->finished) {
        PyErr_SetString(PyExc_RuntimeError, "the results are not finished");
        return NULL;
    }
    options.any_machine = any_machine;
    pyro_error_clear(&error);
    status = pyro_bench_compare(&comparison, ((bench_object *)base)->bench,
                                ((bench_object *)current)->bench, &options, &error);
    if (status == PYRO_OK)
        status = pyro_report_verdict(&text, &size, comparison, &json, &error);
    if (status < 0)
        core_fail(state, &error, status, 0);
    else
        result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    pyro_comparison_free(comparison);
    pyro_free(text);
    return result;
}

static PyMethodDef module_methods[] = {
    {"parse_bench", parse_bench, METH_VARARGS, "parse_bench(bytes) -> Bench"},
    {"compare_bench", compare_bench, METH_VARARGS,
     "compare_bench(base, current, delta, floor_ms, noise, any_machine) -> JSON"},
    {NULL, NULL, 0, NULL},
};

int core_add_bench(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    state->bench_type = PyType_FromModuleAndSpec(module, &bench_spec, NULL);
    if (!state->bench_type || PyModule_AddObjectRef(module, "Bench", state->bench_type))
        return -1;
    return PyModule_AddFunctions(module, module_methods);
}
