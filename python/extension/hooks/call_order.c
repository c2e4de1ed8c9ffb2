#include "hooks/call_order.h"

#include <string.h>

#define MOST_SEARCHED 2048u /* calls, when a module dies */

ordered_call core_call_order[MOST_ORDERED_CALLS + 1];
known_input core_call_inputs[MOST_ORDERED_CALLS + 1];
static uint32_t call_count;

void call_order_forget_all(void)
{
    memset(core_call_order, 0, call_count * sizeof *core_call_order);
    call_count = 0;
}

/* Some programs make an activation in every forward: the others keep their places. */
void call_order_forget(const PyObject *module)
{
    if (call_count > MOST_SEARCHED) {
        call_order_forget_all();
        return;
    }
    for (uint32_t i = 0; i < call_count; i++) {
        if (core_call_order[i].module == module)
            core_call_order[i].module = NULL;
    }
}

static ordered_call *add_place(void)
{
    if (call_count == MOST_ORDERED_CALLS)
        call_order_forget_all();
    return &core_call_order[call_count++];
}

const ordered_call *call_order_place(const ordered_call *expected, module_slot *called)
{
    uint32_t index = (uint32_t)(expected - core_call_order);
    ordered_call *place = &core_call_order[index], *before = &core_call_order[called->place];
    /* At the end, a module that was called before is called once more: a shared activation. */
    bool may_be_earlier = index != call_count || !called->parent;
    if (place->module != called->module) {
        bool is_gap = !place->module && index < call_count; /* of a module that died */
        if (before->module == called->module && may_be_earlier)
            place = before;
        else if (!is_gap)
            place = add_place();
    }
    called->place = (uint32_t)(place - core_call_order);
    *place = (ordered_call){.module = called->module,
                            .parent = called->parent,
                            .generation = called->generation,
                            .id = called->id};
    return place;
}
