/*
 * Decides which stored values are parameters. torch's exporter says so; for other files the use of
 * a value does: weights of products, norms and tables are parameters, running statistics are
 * buffers, and numbers that an exporter put into the graph are constants.
 */
#include "read/onnx/onnx.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

/* What the nodes do with a stored value. */
enum use { USE_NONE = 0, USE_WEIGHT = 1, USE_STATISTIC = 2, USE_ADDEND = 4, USE_SCALE = 8 };

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && !strcmp(text + length - end_length, end);
}

/* Operators with weights: those inputs of them, as bits by position. */
static const struct weight_use {
    const char *op;
    uint32_t weights, statistics, scales;
} weight_uses[] = {
    {"onnx.Conv", 0x6, 0, 0},
    {"onnx.ConvTranspose", 0x6, 0, 0},
    {"onnx.DeformConv", 0xa, 0, 0},
    {"onnx.Gemm", 0x7, 0, 0},
    {"onnx.MatMul", 0x3, 0, 0},
    {"onnx.BatchNormalization", 0x6, 0x18, 0},
    {"onnx.LayerNormalization", 0x6, 0, 0},
    {"onnx.InstanceNormalization", 0x6, 0, 0},
    {"onnx.GroupNormalization", 0x6, 0, 0},
    {"onnx.RMSNormalization", 0x2, 0, 0},
    {"onnx.PRelu", 0x2, 0, 0},
    {"onnx.LSTM", 0x8e, 0, 0},
    {"onnx.GRU", 0xe, 0, 0},
    {"onnx.RNN", 0xe, 0, 0},
    {"onnx.Gather", 0x1, 0, 0},
    {"onnx.ConvInteger", 0x2, 0, 0xc},
    {"onnx.MatMulInteger", 0x2, 0, 0xc},
    {"onnx.QLinearConv", 0x108, 0, 0xf6},
    {"onnx.QLinearMatMul", 0x9, 0, 0xf6},
    {"onnx.DequantizeLinear", 0x1, 0, 0x6},
    {"onnx.QuantizeLinear", 0x1, 0, 0x6},
    {"onnx.CausalConvWithState", 0x6, 0, 0},
    {"microsoft.MatMulNBits", 0x2, 0, 0xc},
    {"microsoft.FusedMatMul", 0x3, 0, 0},
    {"microsoft.FusedConv", 0x6, 0, 0},
    {"microsoft.FusedGemm", 0x7, 0, 0},
    {"microsoft.Attention", 0x6, 0, 0},
    {"microsoft.SkipLayerNormalization", 0x1c, 0, 0},
    {"microsoft.SkipSimplifiedLayerNormalization", 0xc, 0, 0},
    {"microsoft.SimplifiedLayerNormalization", 0x2, 0, 0},
    {"onnx.SimplifiedLayerNormalization", 0x2, 0, 0},
    {"microsoft.EmbedLayerNormalization", 0x7c, 0, 0},
    {"microsoft.BiasGelu", 0x2, 0, 0},
    {"microsoft.FastGelu", 0x2, 0, 0},
    {"microsoft.MoE", 0x3fc, 0, 0},
    {"microsoft.QMoE", 0x3fc, 0, 0},
    {"microsoft.MatMulInteger16", 0x2, 0, 0},
    {"microsoft.QLinearAdd", 0x9, 0, 0xf6},
    {"microsoft.QAttention", 0x6, 0, 0xf8},
    {"microsoft.DynamicQuantizeMatMul", 0x12, 0, 0xc},
    {"microsoft.MatMulIntegerToFloat", 0x42, 0, 0xbc},
};

static bool is_op(const char *target, const char *op)
{
    size_t length = strlen(op);
    return !strncmp(target, op, length) && (!target[length] || target[length] == '.');
}

static uint32_t use_of(const pyro_node *node, size_t position)
{
    static const char *const addends[] = {"onnx.Add", "onnx.Mul", "onnx.Sub", "onnx.Div"};
    for (size_t i = 0; i < sizeof weight_uses / sizeof *weight_uses; i++) {
        const struct weight_use *use = &weight_uses[i];
        if (!is_op(node->target, use->op))
            continue;
        uint32_t bit = position < 32 ? 1u << position : 0;
        return use->weights & bit      ? USE_WEIGHT
               : use->statistics & bit ? USE_STATISTIC
               : use->scales & bit     ? USE_SCALE
                                       : USE_NONE;
    }
    for (size_t i = 0; i < sizeof addends / sizeof *addends; i++)
        if (is_op(node->target, addends[i]))
            return USE_ADDEND;
    return USE_NONE;
}

/* The value of the main graph behind a value of any graph. */
static uint32_t main_value(const onnx_graph *graph, uint32_t index)
{
    while (graph->outer && graph->values[index].captured_from != PYRO_NO_VALUE) {
        index = graph->values[index].captured_from;
        graph = graph->outer;
    }
    return graph->outer ? PYRO_NO_VALUE : index;
}

/* Values pass through these unchanged: the use of their output is a use of their input. */
static bool passes_on(const char *target)
{
    static const char *const ops[] = {"onnx.Identity", "onnx.Transpose",       "onnx.Reshape",
                                      "onnx.Cast",     "onnx.Unsqueeze",       "onnx.Squeeze",
                                      "onnx.CastLike", "onnx.DequantizeLinear"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(target, ops[i]))
            return true;
    return false;
}

/* Notes the uses of values by a graph, the last node first: what passes on comes before its use. */
static void note_uses(const onnx_graph *beside, uint32_t *uses)
{
    const pyro_graph *graph = beside->graph;
    for (size_t n = graph->node_count; n-- > 0;) {
        const pyro_node *node = &graph->nodes[n];
        uint32_t passed = 0, out = node->output_count ? node->outputs[0] : PYRO_NO_VALUE;
        out = out == PYRO_NO_VALUE ? out : main_value(beside, out);
        if (passes_on(node->target) && out != PYRO_NO_VALUE)
            passed = uses[out];
        for (uint32_t a = 0; a < node->arg_count && node->args[a].kind <= PYRO_ARG_TENSORS; a++) {
            uint32_t value = node->args[a].kind == PYRO_ARG_TENSOR ? node->args[a].items.values[0]
                                                                   : PYRO_NO_VALUE;
            value = value == PYRO_NO_VALUE ? value : main_value(beside, value);
            if (value != PYRO_NO_VALUE)
                uses[value] |= use_of(node, a) | (a == 0 ? passed : 0);
        }
    }
}

static int64_t elements_of(const onnx_value *value)
{
    int64_t elements = 1;
    for (size_t d = 0; d < value->declared_rank; d++)
        if (value->declared[d] < 0 ||
            __builtin_mul_overflow(elements, value->declared[d], &elements))
            return -1;
    return elements;
}

/* Exporters call their own numbers val_12, onnx::Mul_7, /Constant_output_0. */
static bool has_path(const char *name)
{
    return strchr(name, '.') && !strchr(name, ':') && name[0] != '/' && strncmp(name, "val_", 4);
}

static pyro_role role_of(const pyro_value *value, const onnx_value *beside, uint32_t use)
{
    bool floating = pyro_dtype_is_floating(beside->declared_dtype);
    if (beside->role)
        return (pyro_role)beside->role;
    if (use & USE_STATISTIC || ends_with(value->name, ".running_mean") ||
        ends_with(value->name, ".running_var") || ends_with(value->name, ".num_batches_tracked"))
        return PYRO_ROLE_BUFFER;
    if (use & USE_WEIGHT && beside->declared_rank > 0)
        return PYRO_ROLE_PARAMETER;
    if (use & USE_SCALE)
        return PYRO_ROLE_BUFFER;
    if (!floating || beside->is_generated)
        return PYRO_ROLE_CONSTANT;
    if (has_path(value->name))
        return PYRO_ROLE_PARAMETER;
    bool is_bias = use & USE_ADDEND && beside->declared_rank == 1 && elements_of(beside) > 1;
    return is_bias ? PYRO_ROLE_PARAMETER : PYRO_ROLE_CONSTANT;
}

/* Two values at the same place of an external file are one. */
static uint32_t find_tie(const onnx_reader *reader, const onnx_value *value)
{
    const pyro_model *model = reader->model;
    for (size_t p = model->parameter_count; value->location && p-- > 0;) {
        const onnx_value *other = &reader->main->values[model->parameters[p].value];
        if (other->location && other->location_offset == value->location_offset &&
            !strcmp(other->location, value->location))
            return (uint32_t)p;
        if (model->parameter_count - p > 4096) /* ties are near; a search of all is quadratic */
            break;
    }
    return PYRO_NO_VALUE;
}

static bool add_parameter(onnx_reader *reader, uint32_t index, pyro_role role)
{
    pyro_model *model = reader->model;
    const char *path = model->graph->values[index].name, *dot = strrchr(path, '.');
    bool plain = dot && dot != path && !strpbrk(path, "/:@");
    uint32_t owner = pyro_model_module(model, path, plain ? (size_t)(dot - path) : 0);
    uint32_t id = pyro_intern_add(&model->parameter_paths, path, strlen(path));
    if (id == PYRO_INTERN_NONE || owner == PYRO_NO_VALUE ||
        !pyro_grow(&model->parameters, &model->parameter_capacity, model->parameter_count + 1,
                   sizeof *model->parameters))
        return onnx_out_of_memory(reader);
    model->parameters[model->parameter_count] = (pyro_parameter){
        .path = path,
        .value = index,
        .module = owner,
        .role = (uint8_t)role,
        .tied_to = find_tie(reader, &reader->main->values[index]),
    };
    model->parameter_count++;
    return true;
}

static void describe(pyro_value *value, const onnx_value *beside, pyro_role role)
{
    value->role = (uint8_t)role;
    value->kind = PYRO_GRAPH_VALUE_OTHER;
    if (!beside->declared || beside->declared_dtype == PYRO_DTYPE_UNKNOWN)
        return; /* texts */
    value->kind = PYRO_GRAPH_VALUE_TENSOR;
    value->sizes = beside->declared;
    value->rank = beside->declared_rank;
    value->dtype = beside->declared_dtype;
}

/* Says how the stored values differ from the parameters: folded norms, statistics, constants. */
static bool note_stored(onnx_reader *reader, int64_t stored, int64_t parameters)
{
    if (stored == parameters || parameters == 0)
        return true;
    return pyro_model_note(reader->model,
                           "the file stores %lld values; %lld of them are parameters, the others "
                           "statistics and constants",
                           (long long)stored, (long long)parameters)
               ? true
               : onnx_out_of_memory(reader);
}

bool onnx_add_parameters(onnx_reader *reader)
{
    pyro_model *model = reader->model;
    pyro_graph *graph = model->graph;
    uint32_t *uses = calloc(graph->value_count + 1, sizeof *uses);
    if (!uses)
        return onnx_out_of_memory(reader);
    for (pyro_graph *each = model->all_graphs; each; each = each->next)
        note_uses(each->reader_data, uses);
    bool good = true;
    int64_t stored = 0, parameters = 0;
    for (uint32_t v = 0; good && v < graph->value_count; v++) {
        const onnx_value *beside = &reader->main->values[v];
        if (!beside->is_stored)
            continue;
        pyro_role role = role_of(&graph->values[v], beside, uses[v]);
        describe(&graph->values[v], beside, role);
        int64_t elements = graph->values[v].kind == PYRO_GRAPH_VALUE_TENSOR ? elements_of(beside)
                                                                            : 0;
        if (graph->values[v].kind != PYRO_GRAPH_VALUE_TENSOR || elements < 0)
            continue;
        good = role == PYRO_ROLE_CONSTANT && beside->is_generated ? true
                                                                  : add_parameter(reader, v, role);
        if (__builtin_add_overflow(stored, elements, &stored))
            good = pyro_wire_fail(&reader->wire, 0, "the values of the file do not fit in 64 bits");
        parameters += role == PYRO_ROLE_PARAMETER ? elements : 0;
    }
    free(uses);
    return good && note_stored(reader, stored, parameters);
}
