/*
 * Records direct calls of `forward`, without __call__, as passes: replaces the vectorcall slot of
 * the forward functions of decorated models. The function objects stay the same.
 */
#include "hooks/modules.h"

/* A function whose slot was replaced. Another function may reuse its address; that one's slot is
 * not ours, so forward_watch() replaces it again. */
typedef struct watched {
    PyObject *function; /* only compared */
    vectorcallfunc original;
} watched;

/* Guarded by the GIL. One entry per decorated model. */
static watched *all;
static size_t count, capacity;

static watched *find_watched(PyObject *function)
{
    for (size_t i = count; i-- > 0;)
        if (all[i].function == function)
            return &all[i];
    return NULL;
}

static PyObject *observe_forward(PyObject *function, PyObject *const *arguments,
                                 size_t count_and_flag, PyObject *names)
{
    vectorcallfunc original = find_watched(function)->original;
    core_pass pass = {NULL, NULL, false};
    PyObject *result;

    if (!core_passes_wanted || core_is_inside_pass() || PyVectorcall_NARGS(count_and_flag) < 1 ||
        !layers_is_module(arguments[0]))
        return original(function, arguments, count_and_flag, names);
    core_pass_enter(&pass, arguments[0]);
    /* Only a pass needs a layer span: calls by __call__ have one already. */
    result = pass.token ? layers_call(original, function, arguments, count_and_flag, names)
                        : original(function, arguments, count_and_flag, names);
    if (pass.is_asked)
        core_pass_leave(&pass);
    return result;
}

#if PY_VERSION_HEX < 0x030C0000
/* Python 3.11 ignores the vectorcall slot of plain functions, unless they are called with * or **.
 * It respects that of a derived type, which is otherwise treated as a function. */
static PyObject *reduce(PyObject *function, PyObject *protocol)
{
    (void)protocol;
    return Py_NewRef(
        ((PyFunctionObject *)function)->func_qualname); /* pickled by name, like functions */
}

static PyMethodDef watched_methods[] = {
    {"__reduce_ex__", reduce, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject watched_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "function",
    .tp_basicsize = sizeof(PyFunctionObject),
    .tp_base = &PyFunction_Type,
    .tp_methods = watched_methods,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
};

static int see_all_calls(PyObject *function)
{
    if (!watched_type.tp_dict) {
        watched_type.tp_dictoffset = PyFunction_Type.tp_dictoffset;
        watched_type.tp_weaklistoffset = PyFunction_Type.tp_weaklistoffset;
        watched_type.tp_vectorcall_offset = PyFunction_Type.tp_vectorcall_offset;
        watched_type.tp_call = PyVectorcall_Call;
        watched_type.tp_traverse = PyFunction_Type.tp_traverse;
        watched_type.tp_clear = PyFunction_Type.tp_clear;
        watched_type.tp_dealloc = PyFunction_Type.tp_dealloc;
        watched_type.tp_descr_get = PyFunction_Type.tp_descr_get;
        /* The type's __doc__ would hide the function's. */
        if (PyType_Ready(&watched_type) < 0 ||
            PyDict_DelItemString(watched_type.tp_dict, "__doc__") < 0)
            return -1;
        PyType_Modified(&watched_type);
    }
    if (Py_IS_TYPE(function, &PyFunction_Type))
        Py_SET_TYPE(function, &watched_type);
    return 0;
}
#else
static int see_all_calls(PyObject *function)
{
    (void)function;
    return 0;
}
#endif

const char core_forward_watch_doc[] =
    "forward_watch(function): records its calls with a decorated model as passes. The function is\n"
    "the `forward` of the model's class.";

PyObject *core_forward_watch(PyObject *module, PyObject *function)
{
    watched *entry;

    (void)module;
    if (!PyObject_TypeCheck(function, &PyFunction_Type)) {
        PyErr_SetString(PyExc_TypeError, "forward_watch() requires a Python function");
        return NULL;
    }
    if (((PyFunctionObject *)function)->vectorcall == observe_forward)
        Py_RETURN_NONE;
    if (see_all_calls(function) < 0)
        return NULL;
    entry = find_watched(function);
    if (!entry && count == capacity) {
        size_t room = capacity ? capacity * 2 : 8;
        watched *grown = PyMem_Realloc(all, room * sizeof *grown);

        if (!grown)
            return PyErr_NoMemory();
        all = grown;
        capacity = room;
    }
    if (!entry)
        entry = &all[count++];
    *entry = (watched){function, ((PyFunctionObject *)function)->vectorcall};
    layers_set_vectorcall((PyFunctionObject *)function, observe_forward);
    Py_RETURN_NONE;
}
