/* Shapes of tensors that are taken out of sequences: by the node that made the sequence. */
#include "read/onnx/infer.h"

#include <string.h>

/* What is known of an input of another node of the graph; false: nothing. */
static bool input_of(onnx_call *call, const pyro_node *node, size_t position, onnx_shape *out)
{
    bool given = position < node->arg_count && node->args[position].kind == PYRO_ARG_TENSOR;
    return given &&
           onnx_get_value(call->inference, call->graph, node->args[position].items.values[0], out);
}

/* One of two integer attributes of another node. */
static int64_t integer_of(const pyro_node *node, const char *name, int64_t otherwise)
{
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_INTEGER && !strcmp(node->args[a].name, name))
            return node->args[a].items.integers[0].literal;
    return otherwise;
}

/* The size of a part: of a list of sizes, or of equal parts of which the last may be smaller. */
static int64_t part_size(const onnx_values *split, const onnx_shape *shape, int64_t whole,
                         int64_t index)
{
    if (!split || !split->integers || !split->count || index < 0)
        return ONNX_UNKNOWN;
    if (shape->is_known && shape->rank == 1)
        return index < split->count ? split->integers[index] : ONNX_UNKNOWN;
    int64_t each = split->integers[0], before = onnx_times(index, each);
    if (each < 1 || before < 0 || whole < 0 || before >= whole)
        return ONNX_UNKNOWN;
    return whole - before < each ? whole - before : each;
}

/* A part of SplitToSequence(input, split). */
static bool part(onnx_call *call, const pyro_node *maker, int64_t index)
{
    onnx_shape input, split = {.is_known = false};
    int64_t dims[PYRO_MAX_RANK];
    if (!input_of(call, maker, 0, &input) || !input.is_known)
        return false;
    int axis = onnx_axis(integer_of(maker, "dim", 0), input.rank);
    bool given = input_of(call, maker, 1, &split);
    if (axis < 0)
        return false;
    size_t rank = 0;
    bool keeps = given || integer_of(maker, "keepdims", 1);
    for (int d = 0; d < input.rank; d++) {
        int64_t size = d != axis ? input.dims[d]
                       : given   ? part_size(split.values, &split, input.dims[d], index)
                                 : 1;
        if (d != axis || keeps)
            dims[rank++] = size;
    }
    return onnx_out(call, 0, input.dtype, rank, dims);
}

bool onnx_shape_sequence_item(onnx_call *call)
{
    const pyro_node *node = call->node;
    uint32_t sequence = node->arg_count && node->args[0].kind == PYRO_ARG_TENSOR
                            ? node->args[0].items.values[0]
                            : PYRO_NO_VALUE;
    uint32_t index_of_maker = sequence == PYRO_NO_VALUE ? PYRO_NO_VALUE
                                                        : call->graph->values[sequence].maker;
    const onnx_values *chosen = onnx_in_values(call, 1);
    if (index_of_maker == PYRO_NO_VALUE || !chosen || !chosen->integers || chosen->count != 1)
        return false;
    const pyro_node *maker = &call->graph->graph->nodes[index_of_maker];
    onnx_shape item;
    int64_t index = chosen->integers[0];
    if (!strcmp(maker->target, "onnx.SplitToSequence"))
        return part(call, maker, index);
    if (strcmp(maker->target, "onnx.SequenceConstruct") || index < 0 ||
        !input_of(call, maker, (size_t)index, &item) || !item.is_known)
        return false;
    return onnx_out_like(call, 0, item.dtype, &item);
}
