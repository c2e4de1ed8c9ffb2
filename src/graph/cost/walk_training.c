/* Switches nodes of an eval-mode export to training. */
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
