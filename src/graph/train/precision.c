/*
 * Element types under mixed precision, as torch.autocast chooses them: products run in bfloat16,
 * sums and norms that lose digits in float32, everything else in the widest type of its inputs.
 */
#include "base/error.h"
#include "graph/train/train.h"
#include <string.h>

/* Operators that autocast runs in float32, by label of ops.def. */
static bool is_full(const pyro_op *op)
{
    static const char *const labels[] = {
        "LayerNorm",  "GroupNorm",  "InstanceNorm", "Softmax",
        "LogSoftmax", "Loss",       "Exp",          "Expm1",
        "Log",        "Log10",      "Log1p",        "Log2",
        "Pow",        "Reciprocal", "Rsqrt",        "Sinh",
        "Cosh",       "Tan",        "Acos",         "Asin",
        "Softplus",   "Sum",        "Prod",         "Cumsum",
        "Cumprod",    "Norm",       "Renorm",       "LinalgVectorNorm",
        "Distance",   "Erfinv",
    };
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (!strcmp(op->label, labels[i]))
            return true;
    return false;
}

static bool is_low(const pyro_op *op)
{
    return op->category == PYRO_CATEGORY_CONVOLUTION || op->category == PYRO_CATEGORY_MATMUL ||
           op->category == PYRO_CATEGORY_ATTENTION || op->category == PYRO_CATEGORY_RECURRENT;
}

/* The widest floating point type of the inputs; that of the file without one. */
static uint8_t widest(const pyro_train *train, const pyro_node *node, uint8_t otherwise)
{
    uint8_t found = PYRO_DTYPE_UNKNOWN;
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; tensors && i < arg->count; i++) {
            uint32_t value = arg->items.values[i];
            if (value == PYRO_NO_VALUE || train->model->graph->values[value].rank == 0 ||
                !pyro_dtype_is_floating(train->dtypes[value]))
                continue;
            if (found == PYRO_DTYPE_UNKNOWN ||
                pyro_dtype_bytes(train->dtypes[value]) > pyro_dtype_bytes(found))
                found = train->dtypes[value];
        }
    }
    return found == PYRO_DTYPE_UNKNOWN ? otherwise : found;
}

/* An explicit conversion keeps the type that it asks for, unless that is the file's own. */
static uint8_t result_type(const pyro_train *train, const pyro_op *op, const pyro_node *node,
                           uint8_t stated)
{
    if (op && is_low(op))
        return PYRO_DTYPE_BFLOAT16;
    if (op && is_full(op))
        return PYRO_DTYPE_FLOAT32;
    if (op && (!strcmp(op->label, "Convert") || !strcmp(op->name, "aten._to_copy")))
        return stated;
    if (op && !strcmp(op->label, "BatchNorm") && node->arg_count &&
        node->args[0].kind == PYRO_ARG_TENSOR)
        return train->dtypes[node->args[0].items.values[0]];
    return widest(train, node, stated);
}

/* Weights of products are read as bfloat16 copies, or 8 bits if they are matrices. */
static void lower_weights(pyro_train *train, const pyro_op *op, const pyro_node *node)
{
    bool in_eight = train->options.precision == PYRO_PRECISION_FP8 &&
                    op->category == PYRO_CATEGORY_MATMUL;
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; tensors && i < arg->count; i++) {
            uint32_t value = arg->items.values[i];
            if (value != PYRO_NO_VALUE && train->parameter_of[value] &&
                pyro_dtype_is_floating(train->dtypes[value]))
                train->dtypes[value] = in_eight && train->model->graph->values[value].rank == 2
                                           ? PYRO_DTYPE_FLOAT8_E4M3FN
                                           : PYRO_DTYPE_BFLOAT16;
        }
    }
}

int pyro_train_find_dtypes(pyro_train *train, pyro_error *error)
{
    const pyro_graph *graph = train->model->graph;
    pyro_op_index index;
    train->dtypes = pyro_arena_array(&train->arena, graph->value_count + 1, sizeof *train->dtypes);
    train->lowered = pyro_arena_array(&train->arena, graph->node_count + 1, sizeof *train->lowered);
    if (!train->dtypes || !train->lowered || !pyro_op_index_init(&index))
        return pyro_fail_memory(error);
    for (size_t v = 0; v < graph->value_count; v++)
        train->dtypes[v] = pyro_dtype_is_floating(graph->values[v].dtype) ? PYRO_DTYPE_FLOAT32
                                                                          : graph->values[v].dtype;
    for (size_t n = 0; n < graph->node_count; n++) {
        const pyro_node *node = &graph->nodes[n];
        const pyro_op *op = pyro_op_find(&index, node->target);
        train->lowered[n] = op && is_low(op);
        for (uint32_t o = 0; o < node->output_count; o++) {
            uint32_t out = node->outputs[o];
            if (out != PYRO_NO_VALUE && pyro_dtype_is_floating(train->dtypes[out]))
                train->dtypes[out] = result_type(train, op, node, train->dtypes[out]);
        }
        if (op && is_low(op))
            lower_weights(train, op, node);
    }
    pyro_op_index_free(&index);
    return PYRO_OK;
}
