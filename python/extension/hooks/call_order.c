#include "hooks/call_order.h"

#include <string.h>

ordered_call core_call_order[MOST_ORDERED_CALLS + 1];
static uint32_t call_count;

void call_order_forget(void)
{
    memset(core_call_order, 0, call_count * sizeof *core_call_order);
    call_count = 0;
}

/* A place for a call that has none. */
static ordered_call *add_call(module_slot *called)
{
    if (call_count == MOST_ORDERED_CALLS)
        call_order_forget();
    called->place = call_count;
    return &core_call_order[call_count++];
}

const ordered_call *call_order_place(const ordered_call *expected, module_slot *called)
{
    uint32_t index = (uint32_t)(expected - core_call_order);
    ordered_call *place = &core_call_order[index];
    /* At the end, a module that was called before is called once more: a shared activation. */
    bool may_be_earlier = index != call_count || !called->parent;
    if (place->module != called->module)
        place = may_be_earlier && core_call_order[called->place].module == called->module
                    ? &core_call_order[called->place]
                    : add_call(called);
    *place = (ordered_call){.module = called->module,
                            .id = called->id,
                            .slot = (uint32_t)(called - core_modules.slots),
                            .parent = called->parent,
                            .generation = called->generation};
    return place;
}
