/* Table of torch modules by address, with the layer names of each. A weak reference removes a
 * module when it dies, because its address may be reused. */
#include "hooks/module_table.h"

#include "hooks/call_order.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST_SLOTS 256u

module_table core_modules CORE_EVERY_CALL;

seen_module *layers_find(const PyObject *module)
{
    const module_slot *found = module_find_slot(module);
    return found ? found->seen : NULL;
}

static void put_slot(PyObject *module, seen_module *seen)
{
    uint32_t i = module_first_slot(module);
    while (core_modules.slots[i].module)
        i = (i + 1) & (core_modules.slot_count - 1);
    core_modules.slots[i] = (module_slot){.module = module, .seen = seen};
}

/* Makes room for one more; the table is at most half full. */
static bool grow_slots(void)
{
    if (core_modules.seen_count * 2 < core_modules.slot_count)
        return true;
    uint32_t old_count = core_modules.slot_count;
    module_slot *old = core_modules.slots;
    uint32_t count = old_count ? old_count * 2 : FEWEST_SLOTS;
    module_slot *slots = aligned_alloc(sizeof *slots, count * sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0, count * sizeof *slots);
    core_modules.slots = slots;
    core_modules.slot_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].module)
            put_slot(old[i].module, old[i].seen);
    }
    free(old);
    return true;
}

static void free_seen(seen_module *seen)
{
    PyObject *weak = seen->weak;
    PyMem_Free(seen->names);
    PyMem_Free(seen->home_path);
    PyMem_Free(seen);
    Py_XDECREF(weak);
}

/* Removes a module and moves up entries after its slot, so that searches still find them. */
static void forget(const PyObject *module)
{
    uint32_t mask = core_modules.slot_count - 1, i;
    if (!layers_find(module))
        return;
    for (i = module_first_slot(module); core_modules.slots[i].module != module; i = (i + 1) & mask)
        ;
    seen_module *seen = core_modules.slots[i].seen;
    for (uint32_t j = (i + 1) & mask; core_modules.slots[j].module; j = (j + 1) & mask) {
        uint32_t home = module_first_slot(core_modules.slots[j].module);
        if (((j - home) & mask) >= ((j - i) & mask)) {
            core_modules.slots[i] = core_modules.slots[j];
            i = j;
        }
    }
    core_modules.slots[i] = (module_slot){0};
    core_modules.seen_count--;
    call_order_forget(module);
    free_seen(seen);
}

/* Callback of the weak reference of a module that died, with its address. */
static PyObject *module_died(PyObject *address, PyObject *weak)
{
    (void)weak;
    forget(PyLong_AsVoidPtr(address));
    Py_RETURN_NONE;
}

static PyMethodDef module_died_method = {"module_died", module_died, METH_O, NULL};

void layers_forget_all(void)
{
    module_slot *slots = core_modules.slots;
    uint32_t count = core_modules.slot_count;
    core_modules.slots = NULL;
    core_modules.slot_count = core_modules.seen_count = 0;
    call_order_forget_all();
    for (uint32_t i = 0; i < count; i++) {
        if (slots[i].module)
            free_seen(slots[i].seen);
    }
    free(slots);
}

static PyObject *watch_death(PyObject *module)
{
    PyObject *address = PyLong_FromVoidPtr(module);
    PyObject *call = address ? PyCFunction_New(&module_died_method, address) : NULL;
    PyObject *weak = call ? PyWeakref_NewRef(module, call) : NULL;
    Py_XDECREF(address);
    Py_XDECREF(call);
    return weak;
}

seen_module *layers_see(PyObject *module, uint32_t generation)
{
    seen_module *seen = layers_find(module);
    if (!seen) {
        /* Creating a weak reference may run the garbage collector, which may remove entries. */
        PyObject *weak = watch_death(module);
        seen = weak && grow_slots() ? PyMem_Calloc(1, sizeof *seen) : NULL;
        if (!seen) {
            Py_XDECREF(weak);
            if (!PyErr_Occurred())
                PyErr_NoMemory();
            return NULL;
        }
        seen->weak = weak;
        seen->instance = ++core_modules.instance_count;
        put_slot(module, seen);
        core_modules.seen_count++;
    }
    if (seen->generation != generation) {
        seen->generation = generation;
        seen->home_root = seen->name_count = 0;
        PyMem_Free(seen->home_path);
        seen->home_path = NULL;
    }
    return seen;
}

bool layers_keep_name(PyObject *module, uint32_t parent, uint32_t id, uint32_t generation)
{
    seen_module *seen = layers_see(module, generation);
    if (!seen)
        return false;
    if (seen->name_count == seen->name_capacity) {
        uint32_t capacity = seen->name_capacity ? seen->name_capacity * 2 : 2;
        layer_name *names = PyMem_Realloc(seen->names, capacity * sizeof *names);
        if (!names) {
            PyErr_NoMemory();
            return false;
        }
        seen->names = names;
        seen->name_capacity = capacity;
    }
    seen->names[seen->name_count++] = (layer_name){parent, id};
    return true;
}
