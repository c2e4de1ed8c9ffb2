/*
 * Computes the peak of memory by liveness: the main graph runs in the order of the file, a tensor
 * lives from the operator that makes it to the last one that reads it or a view of it.
 */
#include "base/checked.h"
#include "base/error.h"
#include "graph/cost/cost.h"
#include "graph/memory/storages.h"
#include "graph/memory/lifetimes.h"
#include <stdlib.h>

/* By owner of a storage: the nodes that make it and that use it last. */
typedef struct lives {
    size_t *first, *last;
} lives;

static void use(const pyro_storages *storages, lives *lives, uint32_t value, size_t n)
{
    if (value != PYRO_NO_VALUE && n > lives->last[storages->owner[value]])
        lives->last[storages->owner[value]] = n;
}

/* Outputs of the graph live to its end. */
static void find_lives(const pyro_graph *graph, const pyro_storages *storages, lives *lives)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const pyro_node *node = &graph->nodes[n];
        for (uint32_t o = 0; o < node->output_count; o++) {
            uint32_t out = node->outputs[o];
            if (out != PYRO_NO_VALUE && storages->owner[out] == out)
                lives->first[out] = n;
            use(storages, lives, out, n);
        }
        for (uint32_t a = 0; a < node->arg_count; a++) {
            const pyro_arg *arg = &node->args[a];
            bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
            for (uint32_t i = 0; tensors && i < arg->count; i++)
                use(storages, lives, arg->items.values[i], n);
        }
    }
    for (size_t i = 0; i < graph->output_count; i++)
        use(storages, lives, graph->outputs[i], graph->node_count);
}

static bool run(const pyro_cost *cost, const pyro_lifetimes *lifetimes, int64_t *curve,
                pyro_peak *out)
{
    const pyro_graph *graph = cost->model->graph;
    size_t peak;
    if (!pyro_lifetimes_run(lifetimes, curve, graph->node_count, &peak))
        return false;
    if (graph->node_count && curve[peak] > 0) {
        out->activation_bytes = curve[peak];
        out->node = graph->nodes[peak].name;
        out->layer = cost->model->modules[graph->nodes[peak].module].path;
    }
    return true;
}

static int find_peak(const pyro_cost *cost, const pyro_storages *storages, pyro_peak *out,
                     pyro_error *error)
{
    const pyro_graph *graph = cost->model->graph;
    size_t values = graph->value_count + 1;
    lives lives = {calloc(values, sizeof *lives.first), calloc(values, sizeof *lives.last)};
    int64_t *curve = calloc(graph->node_count + 1, sizeof *curve);
    pyro_lifetimes lifetimes = {0};
    int status = lives.first && lives.last && curve ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK) {
        find_lives(graph, storages, &lives);
        for (uint32_t v = 0; v < graph->value_count; v++)
            pyro_lifetimes_add(&lifetimes, (pyro_piece){.bytes = storages->bytes[v],
                                                        .first = lives.first[v],
                                                        .last = lives.last[v],
                                                        .value = v});
        if (lifetimes.out_of_memory)
            status = pyro_fail_memory(error);
        else if (!run(cost, &lifetimes, curve, out))
            status = pyro_fail(error, PYRO_ERROR_LIMIT, "the peak memory does not fit in 64 bits");
    }
    pyro_lifetimes_free(&lifetimes);
    free(lives.first);
    free(lives.last);
    free(curve);
    return status;
}

static bool add_held(const pyro_cost *cost, pyro_peak *out)
{
    const pyro_model *model = cost->model;
    pyro_footprint held;
    for (size_t i = 0; i < model->input_count; i++) {
        int64_t bytes;
        if (!pyro_value_bytes(cost, model->inputs[i], &bytes) ||
            !pyro_add_i64(out->input_bytes, bytes, &out->input_bytes))
            return false;
    }
    pyro_cost_footprint(cost, &held);
    return pyro_add_i64(held.weight_bytes, out->input_bytes, &out->total_bytes) &&
           pyro_add_i64(out->total_bytes, out->activation_bytes, &out->total_bytes);
}

int pyro_cost_peak(const pyro_cost *cost, pyro_peak *out, pyro_error *error)
{
    pyro_storages storages;
    *out = (pyro_peak){.node = "", .layer = ""};
    int status = pyro_storages_find(&storages, cost, error);
    if (status == PYRO_OK)
        status = find_peak(cost, &storages, out, error);
    if (status == PYRO_OK && !add_held(cost, out))
        status = pyro_fail(error, PYRO_ERROR_LIMIT, "the peak memory does not fit in 64 bits");
    pyro_storages_free(&storages);
    return status;
}
