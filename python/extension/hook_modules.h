/* What the two files about layers share: modules that were seen, and what they are called. */
#ifndef PYROMETER_EXTENSION_HOOK_MODULES_H
#define PYROMETER_EXTENSION_HOOK_MODULES_H

#include "module.h"

#include <pyrometer/capture.h>

/* What a module is called below one caller; a shared module has several. */
typedef struct layer_name {
    uint32_t parent; /* id of the caller's layer, 0 where there is none */
    uint32_t id;
} layer_name;

/* A module object that lives; forgotten when it dies, so that its address may be another's. */
typedef struct seen_module {
    PyObject *weak;
    uint32_t instance;
    uint32_t generation; /* of the session that the rest belongs to */
    uint32_t home_root;  /* id of the first root that holds it; 0 none */
    char *home_path;     /* its path there */
    uint32_t name_count, name_capacity;
    layer_name *names;
} seen_module;

/* The layer that is being called: its module, who lives as long, and its id. */
typedef struct layer_call {
    PyObject *module, *root;
    uint32_t id, generation;
} layer_call;

/* The module's entry, or NULL when it was never seen. */
seen_module *layers_find(PyObject *module);
/* As above, made where there is none; NULL with an exception. */
seen_module *layers_see(PyObject *module, uint32_t generation);
void layers_forget_all(void);

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
