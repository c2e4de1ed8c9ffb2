/* What the files of the extension share: its state, the model object, how failures are raised. */
#ifndef PYROMETER_CORE_H
#define PYROMETER_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pyrometer/pyrometer.h>

typedef struct core_state {
    PyObject *error_type;
    PyObject *model_type;
    PyObject *trace_type;
    PyObject *column_type;
} core_state;

typedef struct model_object {
    PyObject_HEAD
    pyro_model *model;
    int busy; /* set while the library works on it, perhaps without the interpreter's lock */
} model_object;

/* Raises what a Python user would look for and returns NULL; what is missing while `opening` is a
 * missing file. */
PyObject *core_fail(core_state *state, const pyro_error *error, int code, int opening);
/* Marks a model as busy; -1 with an exception when it is already. The caller clears `busy`. */
int core_enter_model(model_object *self);

/* _core_trace.c: adds the types of traces to the module; 0, or -1 with an exception. */
int core_add_trace(PyObject *module);
PyObject *core_open_trace(PyObject *module, PyObject *args);
extern const char core_open_trace_doc[];

/* _core_models.c: models by name. */
PyObject *core_models(PyObject *module, PyObject *args);
PyObject *core_same_name(PyObject *module, PyObject *args);
PyObject *core_registry_check_name(PyObject *module, PyObject *args);
PyObject *core_registry_add(PyObject *module, PyObject *args);
PyObject *core_registry_remove(PyObject *module, PyObject *args);
extern const char core_models_doc[];

#endif
