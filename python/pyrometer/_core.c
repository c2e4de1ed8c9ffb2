/* The C library as Python sees it: a model that is opened, sized and priced, and the error that
 * says what failed. Arguments are parsed, the library is called, its text is returned: no more. */
#include "_core.h"

enum { MAX_RANK = 64 };

/* Names of the negative codes, by their absolute value. */
static const char *const code_names[] = {
    "ok", "memory", "io", "format", "unsupported", "argument", "limit", "not_found",
};

static const char *code_name(int code)
{
    size_t index = code < 0 ? (size_t)-code : 0;

    return index < sizeof code_names / sizeof *code_names ? code_names[index] : "unknown";
}

/* Raises pyrometer.Error(message, code, where, offset) with what the library said. */
static void raise_error(PyObject *error_type, const pyro_error *error, int code)
{
    char line[1024];
    PyObject *raised;

    pyro_error_line(error, line, sizeof line);
    raised = PyObject_CallFunction(
        error_type, "NsNN", PyUnicode_DecodeUTF8(line, (Py_ssize_t)strlen(line), "replace"),
        code_name(code), PyUnicode_DecodeFSDefault(error->where),
        error->offset < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(error->offset));
    if (raised)
        PyErr_SetObject(error_type, raised);
    Py_XDECREF(raised);
}

/* Turns a failure into the exception that a Python user would look for; returns NULL. */
PyObject *core_fail(core_state *state, const pyro_error *error, int code, int opening)
{
    char line[1024];

    if (PyErr_Occurred()) /* a rule written in Python raised it */
        return NULL;
    switch (code) {
    case PYRO_ERROR_MEMORY:
        return PyErr_NoMemory();
    case PYRO_ERROR_NOT_FOUND:
    case PYRO_ERROR_ARGUMENT:
        /* Not PyErr_SetString: a path need not be UTF-8. */
        PyErr_Format(opening && code == PYRO_ERROR_NOT_FOUND ? PyExc_FileNotFoundError
                                                             : PyExc_ValueError,
                     "%s", pyro_error_line(error, line, sizeof line));
        return NULL;
    default:
        raise_error(state->error_type, error, code);
        return NULL;
    }
}

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

static PyObject *core_open(PyObject *module, PyObject *args)
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

static PyObject *core_open_decode(PyObject *module, PyObject *args)
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

static PyObject *core_open_memory(PyObject *module, PyObject *args)
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
        PyErr_SetString(PyExc_RuntimeError, "the model is being priced by another caller");
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
    dims_list = PySequence_Fast(dims_object, "a shape is a sequence of integers");
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

/* Asks the Python rule, which answers None or (macs, other FLOPs). */
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
        PyOS_snprintf(error->message, sizeof error->message, "the rule for %s raised", op->op);
    }
    Py_XDECREF(answer);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    return status;
}

static int price(model_object *self, const pyro_cost_options *options,
                 const pyro_report_options *report, char **text, size_t *size, pyro_error *error)
{
    pyro_cost *cost = NULL;
    int status = pyro_cost_compute(&cost, self->model, options, error);

    if (status >= 0)
        status = pyro_report_cost(text, size, cost, report, error);
    pyro_cost_free(cost);
    return status;
}

PyDoc_STRVAR(report_doc, "report(as_json, convention, dtype, ridge, depth, rule, top) -> str\n\n"
                         "Prices the model and returns what pyro_report_cost() writes about it.");

static PyObject *model_report(model_object *self, PyObject *args)
{
    core_state *state = PyType_GetModuleState(Py_TYPE(self));
    int as_json, status;
    const char *convention;
    PyObject *rule, *result = NULL;
    pyro_cost_options options = {0};
    pyro_report_options report = {0};
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (!PyArg_ParseTuple(args, "pszdiOi:report", &as_json, &convention, &options.dtype,
                          &options.ridge, &options.depth, &rule, &report.top))
        return NULL;
    pyro_error_clear(&error);
    status = pyro_convention_parse(&options.convention, convention, &error);
    if (status < 0)
        return core_fail(state, &error, status, 0);
    report.format = as_json ? PYRO_FORMAT_JSON : PYRO_FORMAT_TEXT;
    report.verbose = as_json;
    if (rule != Py_None) {
        options.rule = call_rule;
        options.rule_user = rule;
    }

    if (core_enter_model(self))
        return NULL;
    if (options.rule) {
        status = price(self, &options, &report, &text, &size, &error);
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = price(self, &options, &report, &text, &size, &error);
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

static void model_dealloc(model_object *self)
{
    PyTypeObject *type = Py_TYPE(self);

    pyro_model_close(self->model);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef model_methods[] = {
    {"set_shape", (PyCFunction)model_set_shape, METH_VARARGS,
     "set_shape(input, dims): sizes of an input; None names the first."},
    {"set_batch", (PyCFunction)model_set_batch, METH_VARARGS, "set_batch(size): dim 0."},
    {"set_size", (PyCFunction)model_set_size, METH_VARARGS, "set_size(symbol, size)"},
    {"set_kind", (PyCFunction)model_set_kind, METH_VARARGS,
     "set_kind(what, size): every dim of a kind, \"sequence\" for one."},
    {"report", (PyCFunction)model_report, METH_VARARGS, report_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_dealloc, model_dealloc},
    {Py_tp_methods, model_methods},
    {Py_tp_doc, "A model as the library has read it; made by open() and open_memory()."},
    {0, NULL},
};

static PyType_Spec model_spec = {
    .name = "pyrometer._core.Model",
    .basicsize = sizeof(model_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = model_slots,
};

static int core_exec(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    PyObject *errors = PyImport_ImportModule("pyrometer._error");

    if (errors)
        state->error_type = PyObject_GetAttrString(errors, "Error");
    Py_XDECREF(errors);
    state->model_type = PyType_FromModuleAndSpec(module, &model_spec, NULL);
    if (!state->error_type || !state->model_type ||
        PyModule_AddObjectRef(module, "Model", state->model_type) || core_add_trace(module) ||
        core_add_capture(module) || core_add_marks(module) || core_add_passes(module) ||
        core_add_graph(module) || core_add_loop(module) || core_add_gpu(module) ||
        core_add_bench(module) || core_add_training(module) || core_add_recommend(module))
        return -1;
    return PyModule_AddStringConstant(module, "version", pyro_version());
}

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = PyModule_GetState(module);

    Py_VISIT(state->error_type);
    Py_VISIT(state->model_type);
    Py_VISIT(state->trace_type);
    Py_VISIT(state->column_type);
    Py_VISIT(state->program_type);
    Py_VISIT(state->scalars_type);
    Py_VISIT(state->loop_type);
    Py_VISIT(state->gpu_type);
    Py_VISIT(state->bench_type);
    return 0;
}

static int core_clear(PyObject *module)
{
    core_state *state = PyModule_GetState(module);

    Py_CLEAR(state->error_type);
    Py_CLEAR(state->model_type);
    Py_CLEAR(state->trace_type);
    Py_CLEAR(state->column_type);
    Py_CLEAR(state->program_type);
    Py_CLEAR(state->scalars_type);
    Py_CLEAR(state->loop_type);
    Py_CLEAR(state->gpu_type);
    Py_CLEAR(state->bench_type);
    return 0;
}

static PyMethodDef core_methods[] = {
    {"open", core_open, METH_VARARGS, "open(spec) -> Model: a path, path:name or built-in name."},
    {"open_memory", core_open_memory, METH_VARARGS, "open_memory(data, label) -> Model"},
    {"open_decode", core_open_decode, METH_VARARGS,
     "open_decode(name) -> Model: the graph of one decoding step of a built-in model."},
    {"open_trace", core_open_trace, METH_VARARGS, core_open_trace_doc},
    {"ranks", core_ranks, METH_VARARGS, core_ranks_doc},
    {"layers_install", core_layers_install, METH_VARARGS, core_layers_install_doc},
    {"layers_remove", core_layers_remove, METH_NOARGS, core_layers_remove_doc},
    {"inputs_install", core_inputs_install, METH_VARARGS, core_inputs_install_doc},
    {"forward_watch", core_forward_watch, METH_O, core_forward_watch_doc},
    {"recorder_door", core_recorder_door, METH_NOARGS, core_recorder_door_doc},
    {"stacks_install", core_stacks_install, METH_O, core_stacks_install_doc},
    {"stacks_remove", core_stacks_remove, METH_NOARGS, core_stacks_remove_doc},
    {"models", core_models, METH_VARARGS, core_models_doc},
    {"same_name", core_same_name, METH_VARARGS, "same_name(a, b): whether both name one model."},
    {"builtin_of_id", core_builtin_of_id, METH_O,
     "builtin_of_id(id) -> str or None: the built-in model of a Hugging Face or timm id."},
    {"spec_kind", core_spec_kind, METH_VARARGS,
     "spec_kind(spec) -> str: \"model\", which open() opens; \"python\" or \"folder\", which Python "
     "has to build."},
    {"share", core_share, METH_O, "share(given) -> float: 0.1 or \"10%\"; raises ValueError."},
    {"registry_check_name", core_registry_check_name, METH_VARARGS,
     "registry_check_name(name, replace): raises ValueError where no model may be stored so."},
    {"registry_add", core_registry_add, METH_VARARGS,
     "registry_add(name, archive, builder, replace): stores a model without its weights."},
    {"registry_remove", core_registry_remove, METH_VARARGS, "registry_remove(name)"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, core_exec},
    {0, NULL},
};

static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pyrometer._core",
    .m_doc = "The C library, thinly wrapped.",
    .m_size = sizeof(core_state),
    .m_methods = core_methods,
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}
