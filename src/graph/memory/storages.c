/* Finds the storages of the values of the main graph: views share that of their input. */
#include "graph/memory/storages.h"

#include "base/checked.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

/* A node that moves nothing makes views; control flow and bodies count as moving. */
static void find_moves(pyro_storages *s, const pyro_cost *cost)
{
    for (size_t i = 0; i < cost->node_count; i++) {
        const pyro_work *work = &cost->nodes[i].work;
        uint32_t n = cost->node_origins[i];
        if (n < cost->model->graph->node_count)
            s->moves[n] |= work->activation_read_bytes || work->weight_read_bytes ||
                           work->written_bytes || !strcmp(cost->nodes[i].category, "control");
    }
}

static bool begins(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

bool pyro_writes_in_place(const char *target)
{
    const char *name = strchr(target, '.'), *end = name ? strchr(name + 1, '.') : NULL;
    end = end ? end : name ? name + strlen(name) : NULL;
    return begins(target, "aten.") && end && end > name + 2 && end[-1] == '_' && end[-2] != '_';
}

/* The first tensor that a node takes; PYRO_NO_VALUE: none. */
static uint32_t first_tensor(const pyro_graph *graph, const pyro_node *node)
{
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        if (tensors && arg->count && arg->items.values[0] != PYRO_NO_VALUE &&
            graph->values[arg->items.values[0]].kind == PYRO_GRAPH_VALUE_TENSOR)
            return arg->items.values[0];
    }
    return PYRO_NO_VALUE;
}

static bool is_view(const pyro_storages *s, const pyro_graph *graph, size_t n)
{
    const char *target = graph->nodes[n].target;
    if (begins(target, "aten.empty") || begins(target, "aten.new_empty"))
        return false; /* free, because nothing is written yet */
    return !s->moves[n] || pyro_writes_in_place(target);
}

bool pyro_value_elements(const pyro_cost *cost, uint32_t index, int64_t *elements)
{
    const pyro_value *value = &cost->model->graph->values[index];
    int64_t product = 1, size;
    *elements = 0;
    if (value->kind != PYRO_GRAPH_VALUE_TENSOR)
        return true;
    for (size_t d = 0; d < value->rank; d++) {
        if (!pyro_size_value(cost->model, value->sizes[d], &size))
            return true;
        if (!pyro_mul_i64(product, size, &product))
            return false;
    }
    *elements = product;
    return true;
}

bool pyro_value_bytes(const pyro_cost *cost, uint32_t index, int64_t *bytes)
{
    int64_t elements;
    return pyro_value_elements(cost, index, &elements) &&
           pyro_dtype_storage(pyro_cost_value_dtype(cost, cost->model->graph, index), elements,
                              bytes);
}

/* Finds the owner and the bytes of every output. */
static bool find_owners(pyro_storages *s, const pyro_cost *cost)
{
    const pyro_graph *graph = cost->model->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        const pyro_node *node = &graph->nodes[n];
        uint32_t viewed = is_view(s, graph, n) ? first_tensor(graph, node) : PYRO_NO_VALUE;
        for (uint32_t o = 0; o < node->output_count; o++) {
            uint32_t out = node->outputs[o];
            if (out == PYRO_NO_VALUE)
                continue;
            if (viewed != PYRO_NO_VALUE)
                s->owner[out] = s->owner[viewed];
            else if (!pyro_value_bytes(cost, out, &s->bytes[out]))
                return false;
        }
    }
    return true;
}

int pyro_storages_find(pyro_storages *out, const pyro_cost *cost, pyro_error *error)
{
    size_t values = cost->model->graph->value_count + 1, nodes = cost->model->graph->node_count + 1;
    *out = (pyro_storages){.owner = malloc(values * sizeof *out->owner),
                           .bytes = calloc(values, sizeof *out->bytes),
                           .moves = calloc(nodes, sizeof *out->moves)};
    if (!out->owner || !out->bytes || !out->moves)
        return pyro_fail_memory(error);
    for (size_t v = 0; v < values; v++)
        out->owner[v] = (uint32_t)v;
    find_moves(out, cost);
    if (!find_owners(out, cost))
        return pyro_fail(error, PYRO_ERROR_LIMIT, "the peak memory does not fit in 64 bits");
    return PYRO_OK;
}

void pyro_storages_free(pyro_storages *storages)
{
    free(storages->owner);
    free(storages->bytes);
    free(storages->moves);
}
