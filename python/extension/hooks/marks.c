/*
 * Records marks: labels in torch.profiler's trace where a layer begins and ends. When the profiler
 * replaces the observer, readers use them to assign ops to layers by order instead of by time.
 */
#include "hooks/layer_hook.h"

#include <stdbool.h>

bool core_marks_wanted;

static PyObject *label_class; /* torch's context manager that records a label */
static uint32_t last_mark;

int64_t core_marks_next(void)
{
    /* Readers store the number in 32 bits; 0 means no mark. */
    last_mark = last_mark < INT32_MAX ? last_mark + 1 : 1;
    return last_mark;
}

static void record_label(PyObject *name)
{
    PyObject *class = Py_XNewRef(label_class);
    PyObject *label = class ? PyObject_CallOneArg(class, name) : NULL;
    PyObject *entered = label ? PyObject_CallMethod(label, "__enter__", NULL) : NULL;

    if (entered)
        Py_XDECREF(PyObject_CallMethod(label, "__exit__", "OOO", Py_None, Py_None, Py_None));
    Py_XDECREF(entered);
    Py_XDECREF(label);
    Py_XDECREF(class);
}

void core_mark(int64_t number, bool begins)
{
    PyObject *type, *value, *traceback, *name;

    PyErr_Fetch(&type, &value, &traceback); /* the layer may have raised */
    name = PyUnicode_FromFormat("pyrometer: %s %lld", begins ? "begin" : "end", (long long)number);
    if (name)
        record_label(name);
    Py_XDECREF(name);
    PyErr_Clear(); /* the reader reports the missing mark */
    PyErr_Restore(type, value, traceback);
}

PyDoc_STRVAR(set_doc, "set_marks(class or None)\n\n"
                      "Marks layers in torch.profiler with this context manager; None stops it.");

static PyObject *set_marks(PyObject *module, PyObject *class)
{
    (void)module;
    Py_XSETREF(label_class, class == Py_None ? NULL : Py_NewRef(class));
    core_marks_wanted = label_class != NULL;
    layers_reconsider();
    Py_RETURN_NONE;
}

static PyMethodDef mark_methods[] = {
    {"set_marks", set_marks, METH_O, set_doc},
    {NULL, NULL, 0, NULL},
};

int core_add_marks(PyObject *module)
{
    return PyModule_AddFunctions(module, mark_methods);
}
