/* Finds the nodes whose backward runs: those between a trainable parameter and an output. */
#include "base/error.h"
#include "graph/train/train.h"
#include <string.h>

/* Outputs of the graph; if the reader does not keep them, the values that nothing reads. */
static void start(pyro_train *train)
{
    const pyro_graph *graph = train->model->graph;
    if (graph->outputs) {
        for (size_t i = 0; i < graph->output_count; i++)
            if (graph->outputs[i] != PYRO_NO_VALUE)
                train->arrives[graph->outputs[i]] = train->needs[graph->outputs[i]];
        return;
    }
    for (size_t v = 0; v < graph->value_count; v++)
        train->arrives[v] = train->needs[v] && !graph->values[v].used;
}

/* A write in place changes what later reads of the same memory see. */
static bool arrives_at(const pyro_train *train, const bool *by_owner, const pyro_node *node)
{
    bool in_place = pyro_writes_in_place(node->target);
    for (uint32_t o = 0; o < node->output_count; o++) {
        uint32_t out = node->outputs[o];
        if (out != PYRO_NO_VALUE &&
            (train->arrives[out] || (in_place && by_owner[train->storages.owner[out]])))
            return true;
    }
    return false;
}

static void pass_on(pyro_train *train, bool *by_owner, const pyro_node *node)
{
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; tensors && i < arg->count; i++) {
            uint32_t value = arg->items.values[i];
            if (value == PYRO_NO_VALUE || !train->needs[value])
                continue;
            train->arrives[value] = by_owner[train->storages.owner[value]] = true;
            uint32_t parameter = train->parameter_of[value];
            if (parameter)
                train->parameters[train->parameters[parameter - 1].owner].gets_gradient = true;
        }
    }
}

int pyro_train_find_flow(pyro_train *train, pyro_error *error)
{
    const pyro_graph *graph = train->model->graph;
    bool *by_owner = pyro_arena_array(&train->arena, graph->value_count + 1, sizeof *by_owner);
    train->arrives = pyro_arena_array(&train->arena, graph->value_count + 1,
                                      sizeof *train->arrives);
    if (!train->arrives || !by_owner)
        return pyro_fail_memory(error);
    start(train);
    for (size_t v = 0; v < graph->value_count; v++)
        by_owner[train->storages.owner[v]] |= train->arrives[v];
    for (size_t n = graph->node_count; n-- > 0;) {
        train_step *step = &train->steps[n];
        step->runs = step->needs && arrives_at(train, by_owner, &graph->nodes[n]);
        if (step->runs)
            pass_on(train, by_owner, &graph->nodes[n]);
    }
    for (size_t i = 0; i < train->node_count; i++)
        if (!train->steps[train->cost->node_origins[i]].runs)
            memset(&train->nodes[i].backward, 0, sizeof train->nodes[i].backward);
    /* Adapters learn with the layers that they are beside. */
    for (size_t p = 0; p < train->model->parameter_count; p++)
        train->parameters[p].gets_gradient |= train->parameters[p].adapter_values > 0;
    return PYRO_OK;
}
