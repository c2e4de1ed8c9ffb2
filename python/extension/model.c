/* Python type for models: opens a model, sets its sizes and reports its cost. Only parses arguments
 * and calls the library. */
#include "module.h"

enum { MAX_RANK = 64 };

static PyObject *new_model(core_state *state, pyro_model *model)
{
    PyTypeObject *type = (PyTypeObject *)state->model_type;
    model_object *self = (model_object *)type->tp_alloc(type, 0);

    if (!self) {
        pyro_model_close(model);
        return NULL;
    }
    self->model = model;
    return (PyObject *)self;
}

PyObject *core_open(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *spec;
    pyro_model *model = NULL;
    pyro_error error;
    int status;

    if (!PyArg_ParseTuple(args, "O&:open", PyUnicode_FSConverter, &spec))
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = pyro_model_open(&model, PyBytes_AS_STRING(spec), &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(spec);
    return status < 0 ? core_fail(state, &error, status, 1) : new_model(state, model);
}

PyObject *core_open_decode(PyObject *module, PyObject *args)
{
    const char *name;
    pyro_model *model = NULL;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "s:open_decode", &name))
        return NULL;
    pyro_error_clear(&error);
    int status = pyro_model_open_decode(&model, name, &error);
    return status < 0 ? core_fail(PyModule_GetState(module), &error, status, 1)
                      : new_model(PyModule_GetState(module), model);
}

PyObject *core_open_memory(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    Py_buffer data;
    const char *label;
    pyro_model *model = NULL;
    pyro_error error;
    int status;

    if (!PyArg_ParseTuple(args, "y*s:open_memory", &data, &label))
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS
    status = pyro_model_open_memory(&model, data.buf, (size_t)data.len, label, &error);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&data);
    return status < 0 ? core_fail(state, &error, status, 1) : new_model(state, model);
}

int core_enter_model(model_object *self)
{
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError,
                        "another call is using this model; wait for it or open the model again");
        return -1;
    }
    self->busy = 1;
    return 0;
}

static PyObject *leave(model_object *self, int status, const pyro_error *error)
{
    self->busy = 0;
    if (status < 0)
        return core_fail(PyType_GetModuleState(Py_TYPE(self)), error, status, 0);
    Py_RETURN_NONE;
}

static PyObject *model_set_shape(model_object *self, PyObject *args)
{
    const char *input;
    PyObject *dims_object, *dims_list;
    int64_t dims[MAX_RANK];
    Py_ssize_t rank;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "zO:set_shape", &input, &dims_object))
        return NULL;
    dims_list = PySequence_Fast(dims_object, "a shape must be a sequence of integers");
    if (!dims_list)
        return NULL;
    rank = PySequence_Fast_GET_SIZE(dims_list);
    if (rank > MAX_RANK)
        PyErr_Format(PyExc_ValueError, "a shape has at most %d sizes, this one has %zd", MAX_RANK,
                     rank);
    for (Py_ssize_t i = 0; i < rank && !PyErr_Occurred(); i++)
        dims[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(dims_list, i));
    Py_DECREF(dims_list);
    if (PyErr_Occurred() || core_enter_model(self))
        return NULL;
    pyro_error_clear(&error);
    return leave(self, pyro_model_set_shape(self->model, input, dims, (size_t)rank, &error),
                 &error);
}

static PyObject *model_set_batch(model_object *self, PyObject *args)
{
    long long batch;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "L:set_batch", &batch) || core_enter_model(self))
        return NULL;
    pyro_error_clear(&error);
    return leave(self, pyro_model_set_batch(self->model, batch, &error), &error);
}

static PyObject *model_set_size(model_object *self, PyObject *args)
{
    const char *symbol;
    long long size;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "sL:set_size", &symbol, &size) || core_enter_model(self))
        return NULL;
    pyro_error_clear(&error);
    return leave(self, pyro_model_set_size(self->model, symbol, size, &error), &error);
}

static PyObject *model_set_kind(model_object *self, PyObject *args)
{
    const char *what;
    long long size;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "sL:set_kind", &what, &size) || core_enter_model(self))
        return NULL;
    pyro_error_clear(&error);
    return leave(self, pyro_model_set_kind(self->model, what, size, &error), &error);
}

/* ((name, dtype, (dim, ...), is_weight), ...) */
static PyObject *tensors_as_tuple(const pyro_op_tensor *tensors, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);

    for (size_t i = 0; tuple && i < count; i++) {
        const pyro_op_tensor *tensor = &tensors[i];
        PyObject *dims = PyTuple_New((Py_ssize_t)tensor->rank), *item = NULL;

        for (size_t axis = 0; dims && axis < tensor->rank; axis++) {
            PyObject *dim = PyLong_FromLongLong(tensor->dims[axis]);

            if (!dim)
                Py_CLEAR(dims);
            else
                PyTuple_SET_ITEM(dims, (Py_ssize_t)axis, dim);
        }
        if (dims)
            item = Py_BuildValue("(ssNO)", tensor->name, tensor->dtype, dims,
                                 tensor->is_weight ? Py_True : Py_False);
        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, item);
    }
    return tuple;
}

/* Calls the Python rule, which returns None or (macs, other FLOPs). */
static int call_rule(void *user, const pyro_op_view *op, int64_t *macs, int64_t *other_flops,
                     pyro_error *error)
{
    PyObject *inputs = tensors_as_tuple(op->inputs, op->input_count);
    PyObject *outputs = tensors_as_tuple(op->outputs, op->output_count);
    PyObject *answer = NULL;
    long long macs_answer, other_answer;
    int status = PYRO_ERROR_ARGUMENT;

    if (inputs && outputs)
        answer = PyObject_CallFunction(user, "sOO", op->op, inputs, outputs);
    if (answer == Py_None) {
        status = 0;
    } else if (answer && PyArg_ParseTuple(answer, "LL:rule", &macs_answer, &other_answer)) {
        *macs = macs_answer;
        *other_flops = other_answer;
        status = 1;
    }
    if (status < 0 && error) {
        error->code = PYRO_ERROR_ARGUMENT;
        PyOS_snprintf(error->message, sizeof error->message, "the cost rule failed for op %s",
                      op->op);
    }
    Py_XDECREF(answer);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    return status;
}

/* Of a training step. */
static int price_training(model_object *self, const pyro_cost_options *options,
                          const pyro_train_options *training, const pyro_report_options *report,
                          char **text, size_t *size, pyro_error *error)
{
    pyro_train *train = NULL;
    int status = pyro_train_compute(&train, self->model, options, training, error);

    if (status >= 0)
        status = pyro_report_train(text, size, train, report, error);
    pyro_train_free(train);
    return status;
}

/* Reads None, or (optimizer, checkpoint, precision, freeze, lora) with None for a default. */
int core_read_training(PyObject *given, pyro_train_options *out, pyro_error *error)
{
    const char *optimizer, *checkpoint, *precision;

    if (!PyArg_ParseTuple(given, "sszzz:train", &optimizer, &checkpoint, &precision, &out->freeze,
                          &out->lora))
        return -1;
    int status = pyro_optimizer_parse(&out->optimizer, optimizer, error);
    if (status >= 0)
        status = pyro_checkpoint_parse(&out->checkpoint, checkpoint, error);
    if (status >= 0 && precision)
        status = pyro_precision_parse(&out->precision, precision, error);
    return status;
}

static int price(model_object *self, const pyro_cost_options *options,
                 const pyro_train_options *training, const pyro_report_options *report, char **text,
                 size_t *size, pyro_error *error)
{
    pyro_cost *cost = NULL;
    int status;

    if (training)
        return price_training(self, options, training, report, text, size, error);
    status = pyro_cost_compute(&cost, self->model, options, error);

    if (status >= 0)
        status = pyro_report_cost(text, size, cost, report, error);
    pyro_cost_free(cost);
    return status;
}

/* Completes options whose other members are set. */
static int settle_options(pyro_cost_options *options, const char *convention, PyObject *rule,
                          pyro_error *error)
{
    if (rule != Py_None) {
        options->rule = call_rule;
        options->rule_user = rule;
    }
    return pyro_convention_parse(&options->convention, convention, error);
}

PyDoc_STRVAR(report_doc, "report(as_json, convention, dtype, ridge, depth, rule, top, train=None) "
                         "-> str\n\n"
                         "Computes the model's cost and returns the report of pyro_report_cost() "
                         "or, with options of training, of pyro_report_train().");

static PyObject *model_report(model_object *self, PyObject *args)
{
    core_state *state = PyType_GetModuleState(Py_TYPE(self));
    int as_json, status;
    const char *convention;
    PyObject *rule, *train = Py_None, *result = NULL;
    pyro_cost_options options = {0};
    pyro_train_options training = {0};
    pyro_report_options report = {0};
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "pszdiOi|O:report", &as_json, &convention, &options.dtype,
                          &options.ridge, &options.depth, &rule, &report.top, &train))
        return NULL;
    pyro_error_clear(&error);
    status = settle_options(&options, convention, rule, &error);
    if (status >= 0 && train != Py_None)
        status = core_read_training(train, &training, &error);
    if (status < 0)
        return PyErr_Occurred() ? NULL : core_fail(state, &error, status, 0);
    report.format = as_json ? PYRO_FORMAT_JSON : PYRO_FORMAT_TEXT;
    report.verbose = as_json;

    if (core_enter_model(self))
        return NULL;
    if (options.rule) {
        status = price(self, &options, train == Py_None ? NULL : &training, &report, &text, &size,
                       &error);
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = price(self, &options, train == Py_None ? NULL : &training, &report, &text, &size,
                       &error);
        Py_END_ALLOW_THREADS
    }
    self->busy = 0;
    if (status < 0)
        core_fail(state, &error, status, 0);
    else
        result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    pyro_free(text);
    return result;
}

int core_add_model_to_page(pyro_page *page, const char *name, model_object *model,
                           PyObject *settings, pyro_error *error)
{
    pyro_cost_options options = {0};
    pyro_cost *cost = NULL;
    const char *convention;
    PyObject *rule;
    int status;

    if (!PyArg_ParseTuple(settings, "szdiO:settings", &convention, &options.dtype, &options.ridge,
                          &options.depth, &rule))
        return -1;
    status = settle_options(&options, convention, rule, error);
    if (status < 0 || core_enter_model(model))
        return -1;
    status = pyro_cost_compute(&cost, model->model, &options, error);
    if (status >= 0)
        status = pyro_page_add_model(page, name, cost, error);
    model->busy = 0;
    pyro_cost_free(cost);
    return status;
}

static void model_dealloc(model_object *self)
{
    PyTypeObject *type = Py_TYPE(self);

    pyro_model_close(self->model);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef model_methods[] = {
    {"set_shape", (PyCFunction)model_set_shape, METH_VARARGS,
     "set_shape(input, dims): sets the sizes of an input; None: the first."},
    {"set_batch", (PyCFunction)model_set_batch, METH_VARARGS, "set_batch(size): sets dim 0."},
    {"set_size", (PyCFunction)model_set_size, METH_VARARGS, "set_size(symbol, size)"},
    {"set_kind", (PyCFunction)model_set_kind, METH_VARARGS,
     "set_kind(what, size): sets every dim of a kind, such as \"sequence\"."},
    {"report", (PyCFunction)model_report, METH_VARARGS, report_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_dealloc, model_dealloc},
    {Py_tp_methods, model_methods},
    {Py_tp_doc, "A model; created by open(), open_memory() and open_decode()."},
    {0, NULL},
};

static PyType_Spec model_spec = {
    .name = "pyrometer._core.Model",
    .basicsize = sizeof(model_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = model_slots,
};

int core_add_model(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    state->model_type = PyType_FromModuleAndSpec(module, &model_spec, NULL);
    return state->model_type ? PyModule_AddObjectRef(module, "Model", state->model_type) : -1;
}
