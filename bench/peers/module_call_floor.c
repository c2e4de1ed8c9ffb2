/*
 * The least that seeing every call of a module costs: torch.nn.Module._call_impl gets a vectorcall
 * function that calls the original at once. The interpreter then no longer runs the call in its own
 * loop. Or it notes both times of the call, too. For bench/gpu.py.
 */
#include <Python.h>

#include "notes.h"

#define EXPORT __attribute__((visibility("default")))

static vectorcallfunc original;
static note_memory notes;

static PyObject *pass_on(PyObject *function, PyObject *const *arguments, size_t count,
                         PyObject *names)
{
    return original(function, arguments, count, names);
}

static PyObject *note_times(PyObject *function, PyObject *const *arguments, size_t count,
                            PyObject *names)
{
    note *note = notes_next(&notes);
    note->what = (uint64_t)(uintptr_t)arguments[0];
    note->begin = notes_time();
    PyObject *result = original(function, arguments, count, names);
    note->end = notes_time();
    return result;
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

/* Switches it on (1; with times: 2) or off for a Python function. */
EXPORT void floor_set(PyObject *function, int on)
{
    PyFunctionObject *hooked = (PyFunctionObject *)function;
    if (on && !original && !notes_begin(&notes)) {
        original = hooked->vectorcall;
        set(hooked, on == 2 ? note_times : pass_on);
    } else if (!on && original) {
        set(hooked, original);
        original = NULL;
    }
}
