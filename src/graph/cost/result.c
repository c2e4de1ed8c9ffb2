/* The cost of a model: shared helpers that fill it, its accessors, and its release. */
#include "graph/cost/cost.h"

#include "base/containers/buf.h"
#include <stdlib.h>

pyro_dtype pyro_cost_price_dtype(const pyro_cost *cost, pyro_dtype dtype)
{
    if (!cost->options.dtype || !pyro_dtype_is_floating(dtype))
        return dtype;
    return pyro_dtype_from_name(cost->options.dtype);
}

pyro_dtype pyro_cost_value_dtype(const pyro_cost *cost, const pyro_graph *graph, uint32_t value)
{
    if (cost->value_dtypes && graph == cost->model->graph)
        return (pyro_dtype)cost->value_dtypes[value];
    return pyro_cost_price_dtype(cost, graph->values[value].dtype);
}

bool pyro_cost_note(pyro_cost *cost, const char *text)
{
    if (!pyro_grow(&cost->notes, &cost->note_capacity, cost->note_count + 1, sizeof *cost->notes))
        return false;
    cost->notes[cost->note_count++] = text;
    return true;
}

void pyro_cost_free(pyro_cost *cost)
{
    if (!cost)
        return;
    free(cost->nodes);
    free(cost->node_modules);
    free(cost->node_types);
    free(cost->node_origins);
    free(cost->uncounted);
    free(cost->notes);
    pyro_map_free(&cost->uncounted_of_key);
    pyro_intern_free(&cost->types);
    pyro_intern_free(&cost->reasons);
    pyro_arena_free(&cost->arena);
    pthread_mutex_destroy(&cost->modules_lock);
    free(cost);
}

pyro_model *pyro_cost_model(const pyro_cost *cost)
{
    return cost->model;
}

pyro_convention pyro_cost_convention(const pyro_cost *cost)
{
    return cost->options.convention;
}

double pyro_cost_ridge(const pyro_cost *cost)
{
    return cost->options.ridge;
}

int pyro_cost_depth(const pyro_cost *cost)
{
    return cost->options.depth;
}

const char *pyro_cost_dtype(const pyro_cost *cost)
{
    return cost->dtype;
}

const pyro_cost_row *pyro_cost_total(const pyro_cost *cost)
{
    return &cost->total;
}

const pyro_cost_row *pyro_cost_layers(const pyro_cost *cost, size_t *count)
{
    *count = cost->layer_count;
    return cost->layers;
}

const pyro_cost_row *pyro_cost_operators(const pyro_cost *cost, size_t *count)
{
    *count = cost->operator_count;
    return cost->operators;
}

const pyro_cost_node *pyro_cost_nodes(const pyro_cost *cost, size_t *count)
{
    *count = cost->node_count;
    return cost->nodes;
}

const pyro_uncounted *pyro_cost_uncounted(const pyro_cost *cost, size_t *count)
{
    *count = cost->uncounted_count;
    return cost->uncounted;
}

double pyro_cost_coverage(const pyro_cost *cost)
{
    if (!cost->node_count)
        return 1;
    return 1 - (double)cost->uncounted_nodes / (double)cost->node_count;
}

int64_t pyro_cost_param_bytes(const pyro_cost *cost)
{
    return cost->param_bytes;
}

int64_t pyro_cost_buffer_values(const pyro_cost *cost)
{
    return cost->buffer_values;
}

const char *const *pyro_cost_advice(const pyro_cost *cost, size_t *count)
{
    *count = cost->advice_count;
    return cost->advice;
}

const char *const *pyro_cost_notes(const pyro_cost *cost, size_t *count)
{
    *count = cost->note_count;
    return cost->notes;
}
