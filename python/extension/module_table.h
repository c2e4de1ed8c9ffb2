/* Modules that were seen, by address. All of it is guarded by the interpreter's lock. */
#ifndef PYROMETER_EXTENSION_MODULE_TABLE_H
#define PYROMETER_EXTENSION_MODULE_TABLE_H

#include "module.h"

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

typedef struct module_slot {
    PyObject *module; /* an address; NULL where the slot is free */
    seen_module *seen;
    /* What it was last called, in a session and below a caller; 0 nothing. */
    uint32_t generation, parent, id;
    uint32_t follower; /* the slot of the module that was called next, last time */
} module_slot;

/* One table per process: there is one Module class. */
typedef struct module_table {
    module_slot *slots; /* open addressing by address */
    uint32_t slot_count, seen_count, instance_count;
    uint32_t last_slot; /* of the module that was called last */
} module_table;

extern module_table core_modules;

static inline uint32_t module_first_slot(const PyObject *module)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)module >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32) & (core_modules.slot_count - 1);
}

/* Every call of a module looks here, so this is no call of its own. */
static inline module_slot *module_find_slot(const PyObject *module)
{
    if (!core_modules.slot_count)
        return NULL;
    for (uint32_t i = module_first_slot(module);; i = (i + 1) & (core_modules.slot_count - 1)) {
        if (core_modules.slots[i].module == module)
            return &core_modules.slots[i];
        if (!core_modules.slots[i].module)
            return NULL;
    }
}

/* The module's entry, or NULL when it was never seen. */
seen_module *layers_find(const PyObject *module);
/* As above, made where there is none; NULL with an exception. */
seen_module *layers_see(PyObject *module, uint32_t generation);
void layers_forget_all(void);
/* Remembers what the module is called below a parent; false with an exception. */
bool layers_keep_name(PyObject *module, uint32_t parent, uint32_t id, uint32_t generation);

#endif
