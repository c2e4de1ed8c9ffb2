/*
 * The order in which modules are called. Models call their modules in the same order again and
 * again, so that a call is known without a search, and what it reads can be fetched ahead: the order
 * lies in memory as it is called. Guarded by the GIL; each thread has a place of its own.
 */
#ifndef PYROMETER_EXTENSION_CALL_ORDER_H
#define PYROMETER_EXTENSION_CALL_ORDER_H

#include "hooks/inputs.h"
#include "hooks/module_table.h"

#define MOST_ORDERED_CALLS 16384

/* A call, as it was made last. Two of them share a cache line. */
typedef struct ordered_call {
    _Alignas(32) PyObject *module; /* only compared; NULL: none */
    uint32_t parent, generation;   /* the layer that called it, and the session of both ids */
    uint32_t id;                   /* of its layer */
} ordered_call;

/* The last one stays empty. */
extern ordered_call core_call_order[MOST_ORDERED_CALLS + 1] __attribute__((visibility("hidden")));
/* What each call got, which stays valid if another module takes its place. */
extern known_input core_call_inputs[MOST_ORDERED_CALLS + 1] __attribute__((visibility("hidden")));

/* The place of a call of a known module: where it is expected, where it was before, or a new one. The
 * slot's parent, id and session are those of the call. */
const ordered_call *call_order_place(const ordered_call *expected, module_slot *called);
/* A module died, so that its address may be that of another one soon. */
void call_order_forget(const PyObject *module);
void call_order_forget_all(void);

static inline known_input *call_order_input(const ordered_call *place)
{
    return &core_call_inputs[place - core_call_order];
}

/* Prefetches what the next calls read; `expected` is the next one. */
static inline void call_order_prefetch(const ordered_call *expected, bool with_input)
{
    __builtin_prefetch(expected + 2);
    if (with_input)
        __builtin_prefetch(call_order_input(expected));
}

#endif
