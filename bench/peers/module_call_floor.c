/*
 * The least that seeing every call of a module costs: torch.nn.Module._call_impl gets a vectorcall
 * function that calls the original at once. The interpreter then no longer runs the call in its own
 * loop. For bench/gpu.py.
 */
#include <Python.h>

#define EXPORT __attribute__((visibility("default")))

static vectorcallfunc original;

static PyObject *pass_on(PyObject *function, PyObject *const *arguments, size_t count,
                         PyObject *names)
{
    return original(function, arguments, count, names);
}

static void set(PyFunctionObject *function, vectorcallfunc call)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyFunction_SetVectorcall(function, call);
#else
    function->func_version = 0;
    function->vectorcall = call;
#endif
}

/* Switches it on or off for a Python function. */
EXPORT void floor_set(PyObject *function, int on)
{
    PyFunctionObject *hooked = (PyFunctionObject *)function;
    if (on && !original) {
        original = hooked->vectorcall;
        set(hooked, pass_on);
    } else if (!on && original) {
        set(hooked, original);
        original = NULL;
    }
}
