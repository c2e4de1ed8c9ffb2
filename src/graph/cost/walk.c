/* Walks the graph: turns every node into a call, computes its cost, and records it. */
#include "base/error.h"
#include "base/pages.h"
#include "graph/cost/walk.h"
#include <stdio.h>
#include <stdlib.h>

static void view_tensor(pyro_op_tensor *out, const pyro_tensor *tensor, const char *name)
{
    *out = (pyro_op_tensor){name, pyro_dtype_name(tensor->dtype), tensor->rank, tensor->dims,
                            tensor->is_weight};
}

/* Calls the caller's rule; returns 1 if it set the cost. */
static int ask_custom_rule(pyro_walker *w, const pyro_node *node, const pyro_call *call,
                           pyro_price *price)
{
    const pyro_cost_options *options = &w->cost->options;
    pyro_op_tensor *views = pyro_arena_array(&w->arena, w->tensor_count + call->output_count + 1,
                                             sizeof *views);
    if (!views)
        return pyro_fail_memory(w->error);
    size_t inputs = 0;
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++)
            if (call->args[a].tensors[i].dims)
                view_tensor(&views[inputs++], &call->args[a].tensors[i], call->args[a].name);
    pyro_op_view view = {
        .op = node->target, .input_count = inputs, .inputs = views, .outputs = views + inputs};
    for (size_t o = 0; o < call->output_count; o++)
        if (call->outputs[o].dims)
            view_tensor(&views[inputs + view.output_count++], &call->outputs[o], "");
    int64_t macs = 0, other_flops = 0;
    int answer = options->rule(options->rule_user, &view, &macs, &other_flops, w->error);
    if (answer < 0)
        pyro_fail(w->error, PYRO_ERROR_ARGUMENT, "the custom rule failed for '%.100s'",
                  node->target);
    if (answer == 1 && (macs < 0 || other_flops < 0))
        return pyro_fail(w->error, PYRO_ERROR_ARGUMENT,
                         "the custom rule returned a negative amount for '%.100s'", node->target);
    if (answer == 1) {
        price->macs = price->torch_macs = price->fvcore_flops = macs;
        price->other_flops = other_flops;
    }
    return answer;
}

static int note_exported(pyro_walker *w)
{
    if (w->noted_exported || w->measuring)
        return PYRO_OK;
    w->noted_exported = true;
    return pyro_cost_note(w->cost, "transformers: causal masks, and heads repeated for them, that "
                                   "only an export makes are not counted")
               ? PYRO_OK
               : pyro_fail_memory(w->error);
}

static int price_node(pyro_walker *w, const pyro_frame *frame, const pyro_node *node)
{
    pyro_call call;
    pyro_price price;
    char reason[200];
    w->open_size = w->shapeless = NULL;
    int status = pyro_walk_call(w, frame, node, &call);
    if (status < 0)
        return status;
    bool priced = pyro_op_price(&call, &price);
    if (w->cost->options.rule && !w->open_size && !price.is_skipped) {
        status = ask_custom_rule(w, node, &call, &price);
        if (status < 0)
            return status;
        priced |= status == 1;
    }
    if (call.overflow)
        return pyro_walk_too_large(w, node);
    w->call = call;
    w->price = price;
    w->priced = priced && !w->open_size && !w->shapeless;
    for (uint32_t o = 0; priced && o < node->output_count; o++)
        if (node->outputs[o] != PYRO_NO_VALUE) {
            frame->strided[node->outputs[o]] = price.is_strided;
            frame->orders[node->outputs[o]] = price.order;
        }
    if (w->open_size && !(priced && price.is_free)) {
        snprintf(reason, sizeof reason,
                 "size depends on data: %.100s (give it with --size %.20s=N)", w->open_size,
                 w->open_size);
        return pyro_walk_record_uncounted(w, frame, node, &call, NULL, reason);
    }
    if (w->shapeless && !(priced && price.is_free)) {
        snprintf(reason, sizeof reason,
                 call.op ? "the shape of '%.100s' is not in the file and cannot be derived"
                         : "no rule",
                 w->shapeless);
        return pyro_walk_record_uncounted(w, frame, node, &call, NULL, reason);
    }
    if (!priced)
        return pyro_walk_record_uncounted(w, frame, node, &call, &price,
                                          call.op ? "its arguments are not understood" : "no rule");
    pyro_work work = {.macs = price.macs,
                      .activation_read_bytes = price.activation_read_bytes,
                      .weight_read_bytes = price.weight_read_bytes,
                      .written_bytes = price.written_bytes};
    /* The choice of a cond's branch must not depend on the convention, or the MACs would. */
    pyro_convention convention = w->measuring ? PYRO_CONVENTION_FULL : w->cost->options.convention;
    if (!pyro_convention_flops(convention, &price, &work.flops))
        return pyro_walk_too_large(w, node);
    pyro_category category = call.op ? call.op->category : PYRO_CATEGORY_ELEMENTWISE;
    if (price.is_free && category == PYRO_CATEGORY_MEMORY)
        category = PYRO_CATEGORY_VIEW;
    const char *label = call.op ? call.op->label : pyro_walk_base_name(w, node->target);
    if (price.is_skipped) {
        category = PYRO_CATEGORY_VIEW;
        label = "Export only";
        status = note_exported(w);
    }
    if (status < 0)
        return status;
    return label ? pyro_walk_record(w, frame, node, &call, label, category, work)
                 : pyro_fail_memory(w->error);
}

static int walk_graph(pyro_walker *w, const pyro_graph *graph, int64_t times)
{
    int status = PYRO_OK;
    pyro_frame frame = {.graph = graph,
                        .strided = pyro_calloc_pages(graph->value_count + 1, sizeof *frame.strided),
                        .orders = pyro_calloc_pages(graph->value_count + 1, sizeof *frame.orders),
                        .times = times};
    if (!frame.strided || !frame.orders || !pyro_exported_find(&frame.exported, w->model, graph))
        status = pyro_fail_memory(w->error);
    for (size_t n = 0; status == PYRO_OK && n < graph->node_count; n++) {
        const pyro_node *node = &graph->nodes[n];
        bool control = pyro_walk_has_subgraph(node) && !pyro_walk_op(w, node->target);
        if (graph == w->model->graph)
            w->origin = (uint32_t)n;
        status = pyro_walk_vmap_mark(w, &frame, node);
        if (status < 0)
            break;
        status = control ? pyro_walk_control(w, &frame, node) : price_node(w, &frame, node);
        if (status == PYRO_OK && !control)
            status = pyro_walk_visit(w, &frame, node, false);
        if (n % 1024 == 1023) {
            pyro_arena_free(&w->arena);
            pyro_arena_init(&w->arena);
        }
    }
    free(frame.strided);
    free(frame.orders);
    pyro_exported_free(&frame.exported);
    return status;
}

int pyro_cost_walk(pyro_cost *cost, pyro_error *error)
{
    pyro_walker w = {.cost = cost, .model = cost->model, .error = error, .walk_graph = walk_graph};
    pyro_arena_init(&w.arena);
    int status = pyro_op_index_init(&w.index) ? walk_graph(&w, cost->model->graph, 1)
                                              : pyro_fail_memory(error);
    pyro_op_index_free(&w.index);
    pyro_map_free(&w.op_of_target);
    pyro_map_free(&w.measured_of_graph);
    free(w.measured);
    pyro_arena_free(&w.arena);
    free(w.args);
    free(w.tensors);
    free(w.integers);
    return status;
}
