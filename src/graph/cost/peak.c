/*
 * Computes the peak of memory by liveness: the main graph runs in the order of the file, a tensor
 * lives from the operator that makes it to the last one that reads it or a view of it.
 */
#include "base/checked.h"
#include "base/error.h"
#include "graph/cost/cost.h"
#include <stdlib.h>
#include <string.h>

#define FOREVER SIZE_MAX

/* What is known of the storages of all values of the main graph. */
typedef struct liveness {
    const pyro_cost *cost;
    const pyro_graph *graph;
    uint32_t *storage; /* by value: the value that owns its memory */
    size_t *last_use;  /* by owner: the last node that reads it */
    int64_t *bytes;    /* by owner; 0 for inputs and weights */
    uint32_t *expiring; /* by node: the first owner that dies there; PYRO_NO_VALUE: none */
    uint32_t *next;     /* by owner: the next one that dies with it */
    bool *moves;        /* by node: it reads or writes bytes, so that it is no view */
} liveness;

static bool prepare(liveness *l)
{
    size_t values = l->graph->value_count + 1, nodes = l->graph->node_count + 1;
    l->storage = malloc(values * sizeof *l->storage);
    l->last_use = calloc(values, sizeof *l->last_use);
    l->bytes = calloc(values, sizeof *l->bytes);
    l->next = malloc(values * sizeof *l->next);
    l->expiring = malloc(nodes * sizeof *l->expiring);
    l->moves = calloc(nodes, sizeof *l->moves);
    if (!l->storage || !l->last_use || !l->bytes || !l->next || !l->expiring || !l->moves)
        return false;
    for (size_t v = 0; v < values; v++)
        l->storage[v] = (uint32_t)v;
    for (size_t n = 0; n < nodes; n++)
        l->expiring[n] = PYRO_NO_VALUE;
    return true;
}

static void release(liveness *l)
{
    free(l->storage);
    free(l->last_use);
    free(l->bytes);
    free(l->next);
    free(l->expiring);
    free(l->moves);
}

/* A node that moves nothing makes views; control flow and bodies count as moving. */
static void find_moves(liveness *l)
{
    for (size_t i = 0; i < l->cost->node_count; i++) {
        const pyro_work *work = &l->cost->nodes[i].work;
        uint32_t n = l->cost->node_origins[i];
        if (n < l->graph->node_count)
            l->moves[n] |= work->activation_read_bytes || work->weight_read_bytes ||
                           work->written_bytes || !strcmp(l->cost->nodes[i].category, "control");
    }
}

static bool begins(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* "aten.relu_.default" writes into its input. */
static bool writes_in_place(const char *target)
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

static bool is_view(const liveness *l, size_t n)
{
    const char *target = l->graph->nodes[n].target;
    if (begins(target, "aten.empty") || begins(target, "aten.new_empty"))
        return false; /* free, because nothing is written yet */
    return !l->moves[n] || writes_in_place(target);
}

/* Bytes of a value; 0 if a size is open. False: they overflow. */
static bool bytes_of(const liveness *l, const pyro_value *value, int64_t *bytes)
{
    int64_t elements = 1, size;
    *bytes = 0;
    if (value->kind != PYRO_GRAPH_VALUE_TENSOR)
        return true;
    for (size_t d = 0; d < value->rank; d++) {
        if (!pyro_size_value(l->cost->model, value->sizes[d], &size))
            return true;
        if (!pyro_mul_i64(elements, size, &elements))
            return false;
    }
    return pyro_dtype_storage(pyro_cost_price_dtype(l->cost, value->dtype), elements, bytes);
}

/* Finds the owner and the bytes of every output. */
static bool find_storages(liveness *l)
{
    for (size_t n = 0; n < l->graph->node_count; n++) {
        const pyro_node *node = &l->graph->nodes[n];
        uint32_t viewed = is_view(l, n) ? first_tensor(l->graph, node) : PYRO_NO_VALUE;
        for (uint32_t o = 0; o < node->output_count; o++) {
            uint32_t out = node->outputs[o];
            if (out == PYRO_NO_VALUE)
                continue;
            if (viewed != PYRO_NO_VALUE)
                l->storage[out] = l->storage[viewed];
            else if (!bytes_of(l, &l->graph->values[out], &l->bytes[out]))
                return false;
            l->last_use[l->storage[out]] = n;
        }
    }
    return true;
}

static void use(liveness *l, uint32_t value, size_t n)
{
    if (value != PYRO_NO_VALUE && l->last_use[l->storage[value]] != FOREVER)
        l->last_use[l->storage[value]] = n;
}

/* Lists, per node, the storages that die behind it; outputs of the graph never do. */
static void find_ends(liveness *l)
{
    for (size_t n = 0; n < l->graph->node_count; n++) {
        const pyro_node *node = &l->graph->nodes[n];
        for (uint32_t a = 0; a < node->arg_count; a++) {
            const pyro_arg *arg = &node->args[a];
            bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
            for (uint32_t i = 0; tensors && i < arg->count; i++)
                use(l, arg->items.values[i], n);
        }
    }
    for (size_t i = 0; i < l->graph->output_count; i++)
        use(l, l->graph->outputs[i], FOREVER);
    for (uint32_t v = 0; v < l->graph->value_count; v++)
        if (l->bytes[v] && l->last_use[v] < l->graph->node_count) {
            l->next[v] = l->expiring[l->last_use[v]];
            l->expiring[l->last_use[v]] = v;
        }
}

/* Runs the graph: what a node makes is added, then what dies behind it is taken away. */
static bool run(const liveness *l, pyro_peak *out)
{
    int64_t alive = 0;
    for (size_t n = 0; n < l->graph->node_count; n++) {
        const pyro_node *node = &l->graph->nodes[n];
        for (uint32_t o = 0; o < node->output_count; o++)
            if (node->outputs[o] != PYRO_NO_VALUE &&
                l->storage[node->outputs[o]] == node->outputs[o])
                if (!pyro_add_i64(alive, l->bytes[node->outputs[o]], &alive))
                    return false;
        if (alive > out->activation_bytes) {
            out->activation_bytes = alive;
            out->node = node->name;
            out->layer = l->cost->model->modules[node->module].path;
        }
        for (uint32_t v = l->expiring[n]; v != PYRO_NO_VALUE; v = l->next[v])
            alive -= l->bytes[v];
    }
    return true;
}

static bool add_held(const liveness *l, pyro_peak *out)
{
    const pyro_model *model = l->cost->model;
    pyro_footprint held;
    for (size_t i = 0; i < model->input_count; i++) {
        int64_t bytes;
        if (!bytes_of(l, &model->graph->values[model->inputs[i]], &bytes) ||
            !pyro_add_i64(out->input_bytes, bytes, &out->input_bytes))
            return false;
    }
    pyro_cost_footprint(l->cost, &held);
    return pyro_add_i64(held.weight_bytes, out->input_bytes, &out->total_bytes) &&
           pyro_add_i64(out->total_bytes, out->activation_bytes, &out->total_bytes);
}

int pyro_cost_peak(const pyro_cost *cost, pyro_peak *out, pyro_error *error)
{
    liveness l = {.cost = cost, .graph = cost->model->graph};
    *out = (pyro_peak){.node = "", .layer = ""};
    int status = prepare(&l) ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK) {
        find_moves(&l);
        bool fits = find_storages(&l);
        if (fits)
            find_ends(&l);
        if (!fits || !run(&l, out) || !add_held(&l, out))
            status = pyro_fail(error, PYRO_ERROR_LIMIT, "the peak memory does not fit in 64 bits");
    }
    release(&l);
    return status;
}
