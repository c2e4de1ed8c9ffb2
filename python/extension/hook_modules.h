/* What the files about calls of modules share: the call that runs, its name and its inputs. */
#ifndef PYROMETER_EXTENSION_HOOK_MODULES_H
#define PYROMETER_EXTENSION_HOOK_MODULES_H

#include "module.h"
#include "module_table.h"

#include <pyrometer/capture.h>

/* The layer that is being called: its module, who lives as long, and its id. */
typedef struct layer_call {
    PyObject *module, *root;
    uint32_t id, generation;
} layer_call;

/* Remembers torch's types and functions that naming needs; -1 with an exception. */
int layers_names_begin(PyObject *module_class);
void layers_names_end(void);
/*
 * The id of a module that `caller` calls, in the session `generation`; 0 with an exception. `keep`
 * is false when it must be asked for again at the next call, because the module is still lazy.
 */
uint32_t layers_resolve(PyObject *module, const layer_call *caller, uint32_t generation,
                        bool *keep);

/* hook_inputs.c: the words of the first tensor among the arguments of a call, of which the first is
 * the module and the last are those by keyword; how many, 0 when there is none. */
size_t layers_input(uint64_t *words, size_t room, PyObject *const *arguments, size_t count);

/* A call of a module, by whatever function, as a span where layers are recorded. */
PyObject *layers_call(vectorcallfunc original, PyObject *function, PyObject *const *arguments,
                      size_t count_and_flag, PyObject *names);
/* Whether it is an nn.Module, and layers are observed. */
bool layers_is_module(PyObject *object);
/* Calls of the function go to `call` from now on. */
void layers_set_vectorcall(PyFunctionObject *function, vectorcallfunc call);

#endif
