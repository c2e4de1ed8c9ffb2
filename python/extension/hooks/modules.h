/* Shared declarations of the layer hook: the running call, its name and its inputs. */
#ifndef PYROMETER_EXTENSION_HOOK_MODULES_H
#define PYROMETER_EXTENSION_HOOK_MODULES_H

#include "module.h"
#include "hooks/module_table.h"

#include <pyrometer/capture.h>

/* The running layer: its module and root, which outlive the call, and its id. */
typedef struct layer_call {
    PyObject *module, *root;
    uint32_t id, generation; /* 0 outside of layers */
} layer_call;

/* Loads the torch types and functions that naming needs; -1 with an exception. */
int layers_names_begin(PyObject *module_class);
void layers_names_end(void);
/*
 * The id of a module that `caller` calls, in the session `generation`; 0 with an exception. Sets
 * `keep` to false if the next call must resolve it again, because the module is still lazy.
 */
uint32_t layers_resolve(PyObject *module, const layer_call *caller, uint32_t generation,
                        bool *keep);

/* Calls a module's function, as a span if layers are recorded. */
PyObject *layers_call(vectorcallfunc original, PyObject *function, PyObject *const *arguments,
                      size_t count_and_flag, PyObject *names);
/* Whether layers are recorded and the object is an nn.Module. */
bool layers_is_module(PyObject *object);
/* Redirects calls of the function to `call`. */
void layers_set_vectorcall(PyFunctionObject *function, vectorcallfunc call);

#endif
