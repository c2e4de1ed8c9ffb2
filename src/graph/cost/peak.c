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
#include <string.h>

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

static int by_bytes(const void *left, const void *right)
{
    const pyro_memory_item *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* Lists the pieces that are alive at the peak. */
static bool list_alive(const pyro_cost *cost, const pyro_lifetimes *lifetimes,
                       pyro_memory_curve *out)
{
    const pyro_graph *graph = cost->model->graph;
    out->alive = malloc((lifetimes->count + 1) * sizeof *out->alive);
    if (!out->alive)
        return false;
    for (size_t i = 0; i < lifetimes->count; i++) {
        const pyro_piece *piece = &lifetimes->pieces[i];
        if (piece->first <= out->peak && piece->last >= out->peak)
            out->alive[out->alive_count++] = (pyro_memory_item){
                .what = "activation",
                .name = graph->values[piece->value].name,
                .layer = cost->model->modules[graph->nodes[piece->first].module].path,
                .bytes = piece->bytes};
    }
    qsort(out->alive, out->alive_count, sizeof *out->alive, by_bytes);
    return true;
}

static int add_pieces(pyro_lifetimes *out, const pyro_graph *graph, const pyro_storages *storages,
                      pyro_error *error)
{
    size_t values = graph->value_count + 1;
    lives lives = {calloc(values, sizeof *lives.first), calloc(values, sizeof *lives.last)};
    int status = lives.first && lives.last ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK) {
        find_lives(graph, storages, &lives);
        for (uint32_t v = 0; v < graph->value_count; v++)
            pyro_lifetimes_add(out, (pyro_piece){.bytes = storages->bytes[v],
                                                 .first = lives.first[v],
                                                 .last = lives.last[v],
                                                 .value = v,
                                                 .node = (uint32_t)lives.first[v]});
        if (out->out_of_memory)
            status = pyro_fail_memory(error);
    }
    free(lives.first);
    free(lives.last);
    return status;
}

int pyro_cost_lifetimes(const pyro_cost *cost, pyro_lifetimes *out, pyro_error *error)
{
    pyro_storages storages;
    *out = (pyro_lifetimes){0};
    int status = pyro_storages_find(&storages, cost, error);
    if (status == PYRO_OK)
        status = add_pieces(out, cost->model->graph, &storages, error);
    pyro_storages_free(&storages);
    if (status < 0)
        pyro_lifetimes_free(out);
    return status;
}

int pyro_cost_curve(const pyro_cost *cost, pyro_memory_curve *out, pyro_error *error)
{
    pyro_lifetimes lifetimes;
    *out = (pyro_memory_curve){0};
    int status = pyro_cost_lifetimes(cost, &lifetimes, error);
    if (status < 0)
        return status;
    out->count = cost->model->graph->node_count;
    out->bytes = calloc(out->count + 1, sizeof *out->bytes);
    if (!out->bytes)
        status = pyro_fail_memory(error);
    else if (!pyro_lifetimes_run(&lifetimes, out->bytes, out->count, &out->peak))
        status = pyro_fail(error, PYRO_ERROR_LIMIT, "the peak memory does not fit in 64 bits");
    else if (!list_alive(cost, &lifetimes, out))
        status = pyro_fail_memory(error);
    pyro_lifetimes_free(&lifetimes);
    if (status < 0)
        pyro_memory_curve_free(out);
    return status;
}

void pyro_memory_curve_free(pyro_memory_curve *curve)
{
    free(curve->bytes);
    free(curve->alive);
    *curve = (pyro_memory_curve){0};
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
    const pyro_graph *graph = cost->model->graph;
    pyro_memory_curve curve;
    *out = (pyro_peak){.node = "", .layer = ""};
    int status = pyro_cost_curve(cost, &curve, error);
    if (status < 0)
        return status;
    if (curve.count && curve.bytes[curve.peak] > 0) {
        out->activation_bytes = curve.bytes[curve.peak];
        out->node = graph->nodes[curve.peak].name;
        out->layer = cost->model->modules[graph->nodes[curve.peak].module].path;
    }
    pyro_memory_curve_free(&curve);
    return add_held(cost, out)
               ? PYRO_OK
               : pyro_fail(error, PYRO_ERROR_LIMIT, "the peak memory does not fit in 64 bits");
}
