/* What a walk does for training: switches nodes to training, and shows each to the hooks. */
#include "graph/cost/walk.h"
#include <string.h>

/* An eval-mode export, priced as in training: dropouts with a probability drop. */
static bool is_switched_on(const pyro_node *node, const pyro_arg *flag)
{
    static const char *const switches[] = {"training", "train", "use_input_stats"};
    bool found = false;
    for (size_t i = 0; flag->kind == PYRO_ARG_BOOLEAN && i < 3; i++)
        found |= !strcmp(flag->name, switches[i]);
    for (uint32_t a = 0; found && a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_NUMBER && !strcmp(node->args[a].name, "p") &&
            node->args[a].items.number <= 0)
            return false;
    return found;
}

void pyro_walk_switch_to_training(pyro_walker *w, const pyro_node *node)
{
    size_t integer = 0;
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        if (tensors || !arg->count || arg->kind == PYRO_ARG_NUMBERS)
            continue;
        if (is_switched_on(node, arg))
            w->integers[integer] = 1;
        integer += arg->count;
    }
}

int pyro_walk_visit(pyro_walker *w, const pyro_frame *frame, const pyro_node *node, bool is_control)
{
    const pyro_cost_hooks *hooks = w->cost->hooks;
    if (!hooks || !hooks->visit || w->measuring)
        return PYRO_OK;
    pyro_visit visit = {.cost = w->cost,
                        .graph = frame->graph,
                        .node = node,
                        .origin = w->origin,
                        .index = w->cost->node_count - 1,
                        .times = frame->times,
                        .is_control = is_control,
                        .is_priced = w->priced,
                        .call = &w->call,
                        .tensors = w->tensors,
                        .tensor_count = w->tensor_count,
                        .price = &w->price};
    int status = hooks->visit(hooks->user, &visit, w->error);
    return status == PYRO_OK && w->call.overflow ? pyro_walk_too_large(w, node) : status;
}
