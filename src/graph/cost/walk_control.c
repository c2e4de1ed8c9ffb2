/* The walk over a graph: control flow. Branches, loops, scans, and vmap. */
#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/cost/walk.h"
#include <stdlib.h>
#include <string.h>

/* The first dim of the first tensor of a list argument; 1 without one. */
static int64_t leading_size(const pyro_walker *w, const pyro_frame *frame, const pyro_node *node,
                            uint32_t arg)
{
    int64_t size = 1;
    if (arg >= node->arg_count || node->args[arg].kind != PYRO_ARG_TENSORS ||
        !node->args[arg].count || node->args[arg].items.values[0] == PYRO_NO_VALUE)
        return 1;
    const pyro_value *value = &frame->graph->values[node->args[arg].items.values[0]];
    if (value->kind == PYRO_GRAPH_VALUE_TENSOR && value->rank &&
        pyro_size_value(w->model, value->sizes[0], &size))
        return size;
    return 1;
}

/* The FLOPs of a graph, cached so that nested conds are not measured again at every level. */
static int measure(pyro_walker *w, const pyro_graph *graph, int64_t *flops)
{
    uint32_t known = pyro_map_get(&w->measured_of_graph, (uint64_t)(uintptr_t)graph);
    if (known != PYRO_MAP_NONE) {
        *flops = w->measured[known];
        return PYRO_OK;
    }
    bool outer = w->measuring;
    int64_t saved = w->measured_flops;
    w->measuring = true;
    w->measured_flops = 0;
    int status = w->walk_graph(w, graph, 1);
    *flops = w->measured_flops;
    w->measured_flops = saved;
    w->measuring = outer;
    if (status < 0)
        return status;
    if (!pyro_grow(&w->measured, &w->measured_capacity, w->measured_count + 1,
                   sizeof *w->measured) ||
        !pyro_map_put(&w->measured_of_graph, (uint64_t)(uintptr_t)graph,
                      (uint32_t)w->measured_count))
        return pyro_fail_memory(w->error);
    w->measured[w->measured_count++] = *flops;
    return PYRO_OK;
}

/* The value of a literal argument that only readers set; -1 if it is unknown or missing. */
static int64_t literal_of(const pyro_node *node, const char *name)
{
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_INTEGER && !strcmp(node->args[a].name, name))
            return node->args[a].items.integers[0].literal;
    return -1;
}

/* The branch that runs if the reader knows it from the sizes; else NULL. */
static const pyro_graph *known_branch(const pyro_node *node)
{
    int64_t branch = literal_of(node, "branch");
    for (uint32_t a = 0; branch >= 0 && a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_GRAPH &&
            !strcmp(node->args[a].name, branch ? "else_branch" : "then_branch"))
            return node->args[a].items.graph;
    return NULL;
}

/* Counts the more expensive branch of a cond. */
static int walk_cond(pyro_walker *w, const pyro_frame *frame, const pyro_node *node)
{
    const pyro_graph *costliest = NULL;
    int64_t most = -1;
    if (known_branch(node))
        return w->walk_graph(w, known_branch(node), frame->times);
    for (uint32_t a = 0; a < node->arg_count; a++) {
        int64_t flops;
        if (node->args[a].kind != PYRO_ARG_GRAPH)
            continue;
        int status = measure(w, node->args[a].items.graph, &flops);
        if (status < 0)
            return status;
        if (flops > most) {
            most = flops;
            costliest = node->args[a].items.graph;
        }
    }
    if (!w->noted_cond &&
        !pyro_cost_note(w->cost, "cond: only the branch with more FLOPs is counted"))
        return pyro_fail_memory(w->error);
    w->noted_cond = true;
    if (!costliest)
        return PYRO_OK;
    if (!w->measuring)
        return w->walk_graph(w, costliest, frame->times);
    if (!pyro_mul_i64(most, frame->times, &most) ||
        !pyro_add_i64(w->measured_flops, most, &w->measured_flops))
        return pyro_walk_too_large(w, node);
    return PYRO_OK;
}

int pyro_walk_control(pyro_walker *w, const pyro_frame *frame, const pyro_node *node)
{
    pyro_call call;
    int64_t times = frame->times, trips = 1;
    int status = pyro_walk_call(w, frame, node, &call);
    if (status == PYRO_OK)
        status = pyro_walk_record(w, frame, node, &call, "Control", PYRO_CATEGORY_CONTROL,
                                  (pyro_work){0});
    if (status == PYRO_OK) {
        w->call = call;
        w->price = (pyro_price){0};
        w->priced = true;
        status = pyro_walk_visit(w, frame, node, true);
    }
    if (status < 0)
        return status;
    if (!strncmp(node->target, "higher_order.cond", 17) || !strcmp(node->target, "onnx.If"))
        return walk_cond(w, frame, node);
    if (!strcmp(node->target, "onnx.Loop") || !strcmp(node->target, "onnx.Scan")) {
        trips = literal_of(node, "trip_count");
        if (trips < 0 && !w->measuring)
            status = pyro_walk_count_uncounted(
                w, node->target, "how often it runs depends on data: one pass is counted");
        trips = trips < 0 ? 1 : trips;
    }
    if (!strncmp(node->target, "higher_order.scan", 17))
        trips = leading_size(w, frame, node, 2);
    else if (!strncmp(node->target, "higher_order.map", 16))
        trips = leading_size(w, frame, node, 1);
    else if (!strncmp(node->target, "higher_order.while_loop", 23) && !w->measuring)
        status = pyro_walk_count_uncounted(
            w, node->target, "how often it runs depends on data: one pass is counted");
    else if (!strncmp(node->target, "higher_order.associative_scan", 29) && !w->measuring)
        status = pyro_walk_count_uncounted(w, node->target, "its steps are counted once");
    if (!pyro_mul_i64(times, trips, &times))
        return pyro_walk_too_large(w, node);
    for (uint32_t a = 0; status == PYRO_OK && a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_GRAPH)
            status = w->walk_graph(w, node->args[a].items.graph, times);
    return status;
}

bool pyro_walk_has_subgraph(const pyro_node *node)
{
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_GRAPH)
            return true;
    return false;
}

int pyro_walk_vmap_mark(pyro_walker *w, pyro_frame *frame, const pyro_node *node)
{
    static const char mark[] = "torch._functorch.predispatch._vmap_";
    if (strncmp(node->target, mark, sizeof mark - 1))
        return PYRO_OK;
    const char *what = node->target + sizeof mark - 1;
    if (!strncmp(what, "decrement_nesting", 17) && frame->vmap_depth) {
        int64_t batch = frame->vmap_batches[--frame->vmap_depth];
        frame->times /= batch;
    } else if (!strncmp(what, "increment_nesting", 17)) {
        int64_t batch = 0;
        if (node->arg_count && node->args[0].kind == PYRO_ARG_INTEGER &&
            pyro_walk_integer(w, frame, &node->args[0].items.integers[0]) == PYRO_OK)
            batch = w->integers[--w->integer_count];
        if (batch < 1 || frame->vmap_depth == PYRO_MAX_VMAP_DEPTH ||
            !pyro_mul_i64(frame->times, batch, &frame->times))
            return pyro_walk_too_large(w, node);
        frame->vmap_batches[frame->vmap_depth++] = batch;
        if (!w->noted_vmap &&
            !pyro_cost_note(w->cost,
                            "vmap: operators that run per sample are counted once per sample, "
                            "including their weights"))
            return pyro_fail_memory(w->error);
        w->noted_vmap = true;
    }
    return PYRO_OK;
}
