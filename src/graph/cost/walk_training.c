/* Switches of nodes between evaluation and training: an eval-mode export that is priced as in
 * training, and dropouts that drop nothing. */
#include "graph/cost/walk.h"
#include <string.h>

static bool is_switch(const pyro_arg *arg)
{
    static const char *const switches[] = {"training", "train", "use_input_stats"};
    bool found = false;
    for (size_t i = 0; arg->kind == PYRO_ARG_BOOLEAN && i < 3; i++)
        found |= !strcmp(arg->name, switches[i]);
    return found;
}

/* torch returns the input of a dropout with probability 0, also in training. */
static bool drops_nothing(const pyro_node *node)
{
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_NUMBER && !strcmp(node->args[a].name, "p") &&
            node->args[a].items.number <= 0)
            return true;
    return false;
}

void pyro_walk_set_switches(pyro_walker *w, const pyro_node *node)
{
    bool is_training = w->cost->hooks && w->cost->hooks->training;
    size_t integer = 0;
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        if (tensors || !arg->count || arg->kind == PYRO_ARG_NUMBERS)
            continue;
        if (is_switch(arg) && drops_nothing(node))
            w->integers[integer] = 0;
        else if (is_switch(arg) && is_training)
            w->integers[integer] = 1;
        integer += arg->count;
    }
}
