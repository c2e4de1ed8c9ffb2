/*
 * Marks what lies between DequantizeLinear and QuantizeLinear. A runtime fuses the pair into the
 * operators between them, which then read and write integers: their tensors get the integer type,
 * and both conversions are free.
 */
#include "read/onnx/onnx.h"

#include <stdlib.h>
#include <string.h>

static bool is_op(const pyro_node *node, const char *name)
{
    return !strncmp(node->target, "onnx.", 5) && !strcmp(node->target + 5, name);
}

static bool is_dequantize(const pyro_node *node)
{
    return !strcmp(node->target, "onnx.DequantizeLinear") ||
           !strcmp(node->target, "microsoft.DequantizeLinear");
}

static bool is_quantize(const pyro_node *node)
{
    return !strcmp(node->target, "onnx.QuantizeLinear") ||
           !strcmp(node->target, "microsoft.QuantizeLinear");
}

static uint32_t first_input(const pyro_node *node)
{
    return node->arg_count && node->args[0].kind == PYRO_ARG_TENSOR ? node->args[0].items.values[0]
                                                                    : PYRO_NO_VALUE;
}

/* How many nodes read each value. */
static void count_readers(const pyro_graph *graph, uint32_t *readers)
{
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t a = 0; a < graph->nodes[n].arg_count; a++) {
            const pyro_arg *arg = &graph->nodes[n].args[a];
            bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
            for (uint32_t i = 0; tensors && i < arg->count; i++)
                if (arg->items.values[i] != PYRO_NO_VALUE)
                    readers[arg->items.values[i]]++;
        }
}

/* The output of an operator that only QuantizeLinear reads, behind activations that are fused. */
static void mark_written(pyro_graph *graph, const onnx_graph *beside, const uint32_t *readers,
                         uint32_t index, uint8_t dtype)
{
    while (index != PYRO_NO_VALUE && readers[index] == 1 &&
           beside->values[index].maker != PYRO_NO_VALUE) {
        const pyro_node *maker = &graph->nodes[beside->values[index].maker];
        if (graph->values[index].kind != PYRO_GRAPH_VALUE_TENSOR)
            return;
        graph->values[index].dtype = dtype;
        if (!is_op(maker, "Relu") && !is_op(maker, "Clip") && !is_op(maker, "Reshape") &&
            !is_op(maker, "Transpose") && !is_op(maker, "Flatten"))
            return;
        index = first_input(maker);
    }
}

void onnx_mark_quantized(pyro_model *model, onnx_graph *main)
{
    pyro_graph *graph = model->graph;
    bool found = false;
    for (size_t n = 0; n < graph->node_count && !found; n++)
        found = is_dequantize(&graph->nodes[n]);
    uint32_t *readers = found ? calloc(graph->value_count + 1, sizeof *readers) : NULL;
    if (!readers)
        return;
    count_readers(graph, readers);
    for (size_t n = 0; n < graph->node_count; n++) {
        const pyro_node *node = &graph->nodes[n];
        uint32_t in = first_input(node);
        uint32_t out = node->output_count ? node->outputs[0] : PYRO_NO_VALUE;
        if (in == PYRO_NO_VALUE || out == PYRO_NO_VALUE ||
            graph->values[in].kind != PYRO_GRAPH_VALUE_TENSOR ||
            graph->values[out].kind != PYRO_GRAPH_VALUE_TENSOR)
            continue;
        if (is_dequantize(node)) {
            graph->values[out].dtype = graph->values[in].dtype;
            if (graph->values[in].role >= PYRO_ROLE_PARAMETER)
                graph->values[out].role = graph->values[in].role;
        } else if (is_quantize(node)) {
            mark_written(graph, main, readers, in, graph->values[out].dtype);
        }
    }
    free(readers);
}
