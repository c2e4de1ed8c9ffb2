/* Derives the shapes of all values at the current sizes, node by node. */
#include "read/onnx/infer.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const onnx_rule_row rules[] = {
#define INFER(target, name) {target, onnx_shape_##name},
#include "read/onnx/shapes.def"
#undef INFER
};

enum { NODES_PER_NODE = 64, SCRATCH_BYTES = 1 << 16 };

/* The file's own description of an output; unknown where it has none. */
static bool use_declared(onnx_inference *inference, onnx_graph *graph, uint32_t index)
{
    onnx_value *beside = &graph->values[index];
    int64_t dims[PYRO_MAX_RANK];
    if (!beside->declared || beside->declared_dtype == PYRO_DTYPE_UNKNOWN) {
        onnx_forget_value(graph, index);
        return true;
    }
    for (size_t d = 0; d < beside->declared_rank; d++) {
        pyro_size size = beside->declared[d];
        if (!pyro_size_value(inference->model, size, &dims[d]))
            dims[d] = size;
    }
    return onnx_set_value(inference, graph, index, beside->declared_dtype, beside->declared_rank,
                          dims);
}

static onnx_rule find_rule(onnx_inference *inference, const char *target)
{
    uint64_t key = (uint64_t)(uintptr_t)target;
    uint32_t found = pyro_map_get(&inference->rule_of_target, key);
    if (found == PYRO_MAP_NONE) {
        size_t length = strlen(target);
        const char *dot = strchr(target, '.'), *last = strrchr(target, '.');
        if (last && last != dot) /* "onnx.Conv.2d" */
            length = (size_t)(last - target);
        found = 0;
        for (size_t i = 0; i < sizeof rules / sizeof *rules && !found; i++)
            if (!strncmp(rules[i].target, target, length) && !rules[i].target[length])
                found = (uint32_t)i + 1;
        pyro_map_put(&inference->rule_of_target, key, found);
    }
    return found ? rules[found - 1].shape : NULL;
}

/* Collects what is known of the inputs of a node. */
static bool look_at_inputs(onnx_call *call)
{
    const pyro_node *node = call->node;
    bool list = node->arg_count && node->args[0].kind == PYRO_ARG_TENSORS;
    size_t count = list ? node->args[0].count : 0;
    while (!list && count < node->arg_count && node->args[count].kind <= PYRO_ARG_TENSOR)
        count++;
    onnx_shape *inputs = pyro_arena_array(&call->inference->scratch, count + 1, sizeof *inputs);
    if (!inputs)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = list                                    ? node->args[0].items.values[i]
                         : node->args[i].kind == PYRO_ARG_TENSOR ? node->args[i].items.values[0]
                                                                 : PYRO_NO_VALUE;
        if (!onnx_get_value(call->inference, call->graph, index, &inputs[i]))
            return false;
    }
    call->inputs = inputs;
    call->input_count = count;
    return true;
}

static int infer_node(onnx_inference *inference, onnx_graph *graph, const pyro_node *node)
{
    onnx_call call = {.inference = inference, .graph = graph, .node = node};
    if (--inference->nodes_left < 0)
        return pyro_fail(inference->error, PYRO_ERROR_LIMIT,
                         "loops are nested too deep to derive the shapes inside them");
    if (!look_at_inputs(&call))
        return pyro_fail_memory(inference->error);
    for (uint32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] != PYRO_NO_VALUE)
            onnx_forget_value(graph, node->outputs[o]);
    onnx_rule rule = find_rule(inference, node->target);
    if (rule)
        rule(&call);
    if (call.status < 0)
        return call.status;
    for (uint32_t o = 0; o < node->output_count; o++) {
        uint32_t index = node->outputs[o];
        if (index != PYRO_NO_VALUE &&
            graph->graph->values[index].kind == PYRO_GRAPH_VALUE_UNDESCRIBED &&
            !use_declared(inference, graph, index))
            return pyro_fail_memory(inference->error);
    }
    onnx_propagate(&call);
    if (inference->depth == 0 && inference->scratch.total_bytes > SCRATCH_BYTES) {
        pyro_arena_free(&inference->scratch);
        pyro_arena_init(&inference->scratch);
    }
    return PYRO_OK;
}

static int infer_graph(onnx_inference *inference, onnx_graph *graph)
{
    int status = PYRO_OK;
    for (size_t v = 0; v < graph->graph->value_count && v < graph->capacity; v++)
        if (graph->values[v].is_stored)
            graph->values[v].known = graph->values[v].constant;
    for (size_t n = 0; status == PYRO_OK && n < graph->graph->node_count; n++)
        status = infer_node(inference, graph, &graph->graph->nodes[n]);
    return status;
}

/* Values of the enclosing graph have the same shape, role and values inside. */
static bool copy_captured(onnx_inference *inference, onnx_graph *body)
{
    for (size_t i = 0; i < body->captured_count; i++) {
        uint32_t index = body->captured[i], from = body->values[index].captured_from;
        onnx_shape shape;
        if (!onnx_get_value(inference, body->outer, from, &shape))
            return false;
        if (shape.is_known)
            onnx_set_value(inference, body, index, shape.dtype, shape.rank, shape.dims);
        else
            onnx_forget_value(body, index);
        body->graph->values[index].role = body->outer->graph->values[from].role;
        if (body->graph->values[index].role == PYRO_ROLE_INPUT)
            body->graph->values[index].role = PYRO_ROLE_ACTIVATION;
        body->values[index].known = shape.values;
    }
    return true;
}

/* Derives the shapes of a body whose inputs are set. */
static bool infer_body(onnx_call *call, onnx_graph *body)
{
    onnx_inference *inference = call->inference;
    if (!copy_captured(inference, body)) {
        call->status = pyro_fail_memory(inference->error);
        return false;
    }
    inference->depth++;
    int status = infer_graph(inference, body);
    inference->depth--;
    if (status < 0)
        call->status = status;
    return status == PYRO_OK;
}

/* Says what sizes count as that neither the file nor the user sets. */
static bool note_open_sizes(pyro_model *model, onnx_graph *main)
{
    pyro_buf names = PYRO_BUF_INIT;
    for (size_t i = 0; i < model->exprs.symbol_count && names.length < 200; i++) {
        const pyro_symbol *symbol = &model->exprs.symbols[i];
        if (symbol->has_hint && !symbol->pinned)
            pyro_buf_addf(&names, "%s%.60s = %" PRId64, names.length ? ", " : "", symbol->name,
                          symbol->value);
    }
    bool good = !names.failed;
    if (main->open_note) {
        size_t at = main->open_note - 1;
        memmove(model->notes + at, model->notes + at + 1,
                (model->note_count - at - 1) * sizeof *model->notes);
        model->note_count--;
        main->open_note = 0;
    }
    if (good && names.length) {
        good = pyro_model_note(model,
                               "sizes that the file leaves open: %.300s (set them with "
                               "--input-shape or --size)",
                               names.data);
        main->open_note = good ? model->note_count : 0;
    }
    pyro_buf_free(&names);
    return good;
}

int onnx_infer(pyro_model *model, pyro_error *error)
{
    onnx_inference inference = {.model = model,
                                .error = error,
                                .infer_body = infer_body,
                                .nodes_left = NODES_PER_NODE * ((int64_t)model->total_nodes + 64)};
    onnx_graph *main = model->graph->reader_data;
    pyro_arena_init(&inference.values);
    pyro_arena_init(&inference.scratch);
    int status = note_open_sizes(model, main) ? infer_graph(&inference, main)
                                              : pyro_fail_memory(error);
    if (status == PYRO_OK)
        onnx_mark_quantized(model, main);
    for (pyro_graph *graph = model->all_graphs; graph; graph = graph->next) {
        onnx_graph *beside = graph->reader_data;
        for (size_t v = 0; v < graph->value_count && v < beside->capacity; v++)
            beside->values[v].known = NULL;
    }
    pyro_arena_free(&inference.values);
    pyro_arena_free(&inference.scratch);
    pyro_map_free(&inference.rule_of_target);
    return status;
}
