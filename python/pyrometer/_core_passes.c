/* Which module calls are passes: those of decorated classes and of chosen modules. The hook of
 * layers asks here around every call; Python is asked only where a pass begins or ends. */
#include "_core.h"

#include <stdbool.h>

bool core_passes_wanted; /* some class or module is to be watched */

static PyObject *begin_function, *end_function;
static PyObject *marker;    /* the name under which a class holds its registration */
static PyObject *instances; /* id of a module -> its registration */
static _Thread_local bool inside;

/* What a wrapper calls is what counts: torch.compile's and DataParallel's. */
static PyObject *wrapped_module(PyObject *module)
{
    static const struct {
        const char *type, *child;
    } wrappers[] = {{"OptimizedModule", "_orig_mod"}, {"DataParallel", "module"}};
    const char *type = Py_TYPE(module)->tp_name;
    PyObject *result = NULL;

    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        if (strcmp(type, wrappers[i].type) != 0)
            continue;
        PyObject *modules = PyObject_GetAttrString(module, "_modules");

        if (modules && PyDict_Check(modules))
            result = Py_XNewRef(PyDict_GetItemString(modules, wrappers[i].child));
        Py_XDECREF(modules);
        PyErr_Clear();
    }
    return result;
}

/* A new reference to the registration that a call of the module belongs to, or NULL. */
static PyObject *find_registration(PyObject *module)
{
    PyObject *found = _PyType_Lookup(Py_TYPE(module), marker);

    if (!found && PyDict_GET_SIZE(instances) > 0) {
        PyObject *key = PyLong_FromVoidPtr(module);

        if (key)
            found = PyDict_GetItemWithError(instances, key);
        Py_XDECREF(key);
        PyErr_Clear();
    }
    return Py_XNewRef(found);
}

/* Dynamo must not compile what is called from here; the callback that was set, to be given back. */
static PyObject *pause_dynamo(PyObject **setter)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *eval_frame = PyDict_GetItemString(modules, "torch._C._dynamo.eval_frame");
    PyObject *before;

    *setter = eval_frame ? PyObject_GetAttrString(eval_frame, "set_eval_frame") : NULL;
    before = *setter ? PyObject_CallOneArg(*setter, Py_None) : NULL;
    PyErr_Clear();
    return before;
}

static void resume_dynamo(PyObject *setter, PyObject *before)
{
    if (setter && before)
        Py_XDECREF(PyObject_CallOneArg(setter, before));
    PyErr_Clear();
    Py_XDECREF(setter);
    Py_XDECREF(before);
}

/* A new reference, or NULL; what the call raises is shown and forgotten. */
static PyObject *call_quietly(PyObject *function, PyObject *a, PyObject *b)
{
    PyObject *setter, *before = pause_dynamo(&setter);
    PyObject *result = PyObject_CallFunctionObjArgs(function, a, b, NULL);

    if (!result)
        PyErr_WriteUnraisable(function);
    resume_dynamo(setter, before);
    return result;
}

PyObject *core_pass_enter(PyObject *module)
{
    PyObject *wrapped, *registration, *token = NULL;

    if (inside || !begin_function)
        return NULL;
    wrapped = wrapped_module(module);
    registration = find_registration(wrapped ? wrapped : module);
    if (registration) {
        inside = true; /* what begins a pass may call modules */
        token = call_quietly(begin_function, registration, wrapped ? wrapped : module);
        if (token == Py_None)
            Py_CLEAR(token);
        inside = token != NULL;
    }
    Py_XDECREF(registration);
    Py_XDECREF(wrapped);
    return token;
}

void core_pass_leave(PyObject *token)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(call_quietly(end_function, token, type ? type : Py_None));
    inside = false;
    PyErr_Restore(type, value, traceback);
    Py_DECREF(token);
}

PyDoc_STRVAR(set_doc, "set_passes(begin, end, marker, instances)\n\n"
                      "begin(registration, module) -> token or None; end(token, raised type).");

static PyObject *set_passes(PyObject *module, PyObject *args)
{
    PyObject *begin, *end, *name, *chosen;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOUO!:set_passes", &begin, &end, &name, &PyDict_Type, &chosen))
        return NULL;
    Py_XSETREF(begin_function, Py_NewRef(begin));
    Py_XSETREF(end_function, Py_NewRef(end));
    Py_XSETREF(instances, Py_NewRef(chosen));
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    Py_XSETREF(marker, name);
    core_passes_wanted = true;
    Py_RETURN_NONE;
}

static PyMethodDef pass_methods[] = {
    {"set_passes", set_passes, METH_VARARGS, set_doc},
    {NULL, NULL, 0, NULL},
};

int core_add_passes(PyObject *module)
{
    return PyModule_AddFunctions(module, pass_methods);
}
