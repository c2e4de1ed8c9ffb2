/* Table of torch modules by address, with their layer names. Guarded by the GIL. */
#ifndef PYROMETER_EXTENSION_MODULE_TABLE_H
#define PYROMETER_EXTENSION_MODULE_TABLE_H

#include "module.h"

/* A module's name below one caller; a shared module has several. */
typedef struct layer_name {
    uint32_t parent; /* id of the caller's layer; 0: none */
    uint32_t id;
} layer_name;

/* A live module. Removed when the module dies, because its address may be reused. */
typedef struct seen_module {
    PyObject *weak;
    uint32_t instance;
    uint32_t generation; /* of the session that the fields below belong to */
    uint32_t home_root;  /* id of the first root that contains it; 0: none */
    char *home_path;     /* its path below that root */
    uint32_t name_count, name_capacity;
    layer_name *names;
} seen_module;

typedef struct module_slot {
    PyObject *module; /* only compared; NULL: the slot is free */
    seen_module *seen;
    /* Its last id, with the session and the caller that it is valid for; 0: none. */
    uint32_t generation, parent, id;
    uint32_t place; /* of a call in the order of calls, if that is still of this module */
} module_slot;

_Static_assert(sizeof(module_slot) == 32, "two modules share a cache line");

/* One table per process, because there is one Module class. */
typedef struct module_table {
    module_slot *slots; /* open addressing by address */
    uint32_t slot_count, seen_count, instance_count;
} module_table;

/* Hidden, so that access needs no global offset table. */
extern module_table core_modules __attribute__((visibility("hidden")));

static inline uint32_t module_first_slot(const PyObject *module)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)module >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32) & (core_modules.slot_count - 1);
}

/* Inlined, because every module call looks up its slot. */
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

/* The module's entry, or NULL if the table has none. */
seen_module *layers_find(const PyObject *module);
/* Finds or adds the module's entry; NULL with an exception. */
seen_module *layers_see(PyObject *module, uint32_t generation);
void layers_forget_all(void);
/* Stores the module's id below a parent; false with an exception. */
bool layers_keep_name(PyObject *module, uint32_t parent, uint32_t id, uint32_t generation);

#endif
