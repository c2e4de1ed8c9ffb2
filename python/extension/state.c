/* Turns errors of the library into Python exceptions. */
#include "module.h"

/* Names of the negative codes, by their absolute value. */
static const char *const code_names[] = {
    "ok", "memory", "io", "format", "unsupported", "argument", "limit", "not_found",
};

static const char *code_name(int code)
{
    size_t index = code < 0 ? (size_t)-code : 0;

    return index < sizeof code_names / sizeof *code_names ? code_names[index] : "unknown";
}

/* Raises pyrometer.Error(message, code, where, offset) for an error of the library. */
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

PyObject *core_fail(core_state *state, const pyro_error *error, int code, int opening)
{
    char line[1024];

    if (PyErr_Occurred()) /* a cost rule written in Python raised */
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

PyObject *core_report(core_state *state, int status, char *text, size_t size,
                      const pyro_error *error)
{
    PyObject *result = status < 0 ? core_fail(state, error, status, 0)
                                  : PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    pyro_free(text);
    return result;
}
