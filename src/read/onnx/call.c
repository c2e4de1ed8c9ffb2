/* What shape rules use: inputs and attributes of a node, arithmetic on sizes, and its outputs. */
#include "base/checked.h"
#include "base/error.h"
#include "read/onnx/infer.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const onnx_shape *onnx_in(const onnx_call *call, size_t position)
{
    if (position >= call->input_count || !call->inputs[position].is_known)
        return NULL;
    return &call->inputs[position];
}

bool onnx_has_input(const onnx_call *call, size_t position)
{
    const pyro_node *node = call->node;
    if (node->arg_count && node->args[0].kind == PYRO_ARG_TENSORS)
        return position < node->args[0].count;
    return position < node->arg_count && node->args[position].kind == PYRO_ARG_TENSOR;
}

const onnx_values *onnx_in_values(const onnx_call *call, size_t position)
{
    return position < call->input_count ? call->inputs[position].values : NULL;
}

const pyro_arg *onnx_attribute(const onnx_call *call, const char *name)
{
    for (uint32_t a = 0; a < call->node->arg_count; a++)
        if (call->node->args[a].kind > PYRO_ARG_TENSORS && !strcmp(call->node->args[a].name, name))
            return &call->node->args[a];
    return NULL;
}

int64_t onnx_integer(const onnx_call *call, const char *name, int64_t otherwise)
{
    const pyro_arg *arg = onnx_attribute(call, name);
    return arg && arg->kind == PYRO_ARG_INTEGER && arg->count ? arg->items.integers[0].literal
                                                              : otherwise;
}

const char *onnx_word(const onnx_call *call, const char *name, const char *otherwise)
{
    const pyro_arg *arg = onnx_attribute(call, name);
    return arg && arg->kind == PYRO_ARG_TEXT ? arg->items.text : otherwise;
}

bool onnx_list(const onnx_call *call, const char *name, size_t position, const int64_t **items,
               size_t *count)
{
    const pyro_arg *arg = onnx_attribute(call, name);
    const onnx_values *values = onnx_in_values(call, position);
    if (arg && arg->kind == PYRO_ARG_INTEGERS) {
        int64_t *copy = pyro_arena_array(&call->inference->scratch, arg->count + 1u, sizeof *copy);
        for (uint32_t i = 0; copy && i < arg->count; i++)
            copy[i] = arg->items.integers[i].literal;
        *items = copy;
        *count = arg->count;
        return copy != NULL;
    }
    if (!values || !values->integers)
        return false;
    *items = values->integers;
    *count = values->count;
    return true;
}

int onnx_axis(int64_t axis, size_t rank)
{
    axis += axis < 0 ? (int64_t)rank : 0;
    return axis >= 0 && axis < (int64_t)rank ? (int)axis : -1;
}

/* The result for sizes of which one is open or invalid. */
static int64_t open_result(int64_t a, int64_t b)
{
    return a == ONNX_INVALID || b == ONNX_INVALID ? ONNX_INVALID : ONNX_UNKNOWN;
}

int64_t onnx_times(int64_t a, int64_t b)
{
    int64_t product;
    if (a < 0 || b < 0)
        return open_result(a, b);
    return pyro_mul_i64(a, b, &product) ? product : ONNX_INVALID;
}

int64_t onnx_plus(int64_t a, int64_t b)
{
    int64_t sum;
    if (a < 0 || b < 0)
        return open_result(a, b);
    return pyro_add_i64(a, b, &sum) ? sum : ONNX_INVALID;
}

int64_t onnx_size(int64_t number)
{
    return number >= 0 || number == ONNX_UNKNOWN ? number : ONNX_INVALID;
}

int64_t onnx_real_size(double number)
{
    if (isnan(number))
        return ONNX_UNKNOWN;
    return number >= 0 && number < 0x1p62 ? (int64_t)number : ONNX_INVALID;
}

bool onnx_positive(onnx_call *call, const char *name, int64_t otherwise, int64_t *out)
{
    char what[80];
    *out = onnx_integer(call, name, otherwise);
    if (*out > 0)
        return true;
    snprintf(what, sizeof what, "'%.40s' must be 1 or more", name);
    return onnx_mismatch(call, what);
}

bool onnx_broadcast(const onnx_shape *a, const onnx_shape *b, int64_t *dims, size_t *rank)
{
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (size_t i = 0; i < *rank; i++) {
        size_t from_end = *rank - i;
        int64_t left = from_end <= a->rank ? a->dims[a->rank - from_end] : 1;
        int64_t right = from_end <= b->rank ? b->dims[b->rank - from_end] : 1;
        if (left >= 0 && right >= 0 && left != right && left != 1 && right != 1)
            return false;
        /* An open size may be 1, so that a known one above 1 decides. */
        dims[i] = left == 1 ? right : right == 1 ? left : left >= 0 ? left : right;
    }
    return true;
}

bool onnx_mismatch(onnx_call *call, const char *what)
{
    char shapes[200];
    size_t length = 0;
    shapes[0] = 0;
    for (size_t i = 0; i < call->input_count && i < 3 && length < sizeof shapes - 32; i++) {
        const onnx_shape *input = onnx_in(call, i);
        length += (size_t)snprintf(shapes + length, sizeof shapes - length, "%s[", i ? ", " : "");
        for (size_t d = 0; input && d < input->rank && length < sizeof shapes - 32; d++)
            length += input->dims[d] < 0
                          ? (size_t)snprintf(shapes + length, sizeof shapes - length, "%s?",
                                             d ? ", " : "")
                          : (size_t)snprintf(shapes + length, sizeof shapes - length, "%s%" PRId64,
                                             d ? ", " : "", input->dims[d]);
        length += (size_t)snprintf(shapes + length, sizeof shapes - length, "]");
    }
    bool open = call->inference->model->exprs.symbol_count > 0;
    call->status = pyro_fail_at(call->inference->error, PYRO_ERROR_ARGUMENT, call->node->offset,
                                "'%.100s' (%.60s): %s%s%s%s", call->node->name, call->node->target,
                                what, *shapes ? ": " : "", shapes,
                                open ? "; set the sizes that the file leaves open with "
                                       "--input-shape or --size"
                                     : "");
    return false;
}

/* A size that depends on data: a symbol that the user can set. */
static pyro_size open_size(onnx_inference *inference, const onnx_graph *graph, uint32_t index,
                           size_t axis)
{
    char name[80];
    int length = graph->ordinal ? snprintf(name, sizeof name, "u%zub%u", graph->ordinal, index)
                                : snprintf(name, sizeof name, "u%u", index);
    if (axis)
        length += snprintf(name + length, sizeof name - (size_t)length, "_%zu", axis);
    pyro_exprs *exprs = &inference->model->exprs;
    int64_t id = pyro_exprs_add(exprs, name, (size_t)length);
    if (id < 0)
        return 0;
    pyro_symbol *symbol = pyro_expr_as_symbol(exprs, (size_t)id);
    exprs->items[id].state = symbol && symbol->known ? PYRO_EXPR_KNOWN : PYRO_EXPR_OPEN;
    exprs->items[id].value = symbol ? symbol->value : 0;
    if (symbol && symbol->known && symbol->value >= 0)
        return symbol->value;
    return ~(pyro_size)id;
}

/* A size as the graph keeps it; what is neither a size nor an open expression is unknown. */
static pyro_size kept_size(onnx_inference *inference, const onnx_graph *graph, uint32_t index,
                           size_t axis, int64_t size)
{
    const pyro_exprs *exprs = &inference->model->exprs;
    bool is_open = size < 0 && ~size < (int64_t)exprs->count &&
                   exprs->items[~size].state == PYRO_EXPR_OPEN;
    return size >= 0 || is_open ? size : open_size(inference, graph, index, axis);
}

bool onnx_set_value(onnx_inference *inference, onnx_graph *graph, uint32_t index, uint8_t dtype,
                    size_t rank, const int64_t *dims)
{
    onnx_value *beside = &graph->values[index];
    pyro_value *value = &graph->graph->values[index];
    if (rank > PYRO_MAX_RANK)
        return false;
    if (!beside->inferred || beside->inferred_room < rank) {
        beside->inferred = pyro_arena_array(&inference->model->arena, rank + 1, sizeof(pyro_size));
        beside->inferred_room = (uint8_t)rank;
        if (!beside->inferred)
            return false;
    }
    for (size_t d = 0; d < rank; d++)
        beside->inferred[d] = kept_size(inference, graph, index, d, dims[d]);
    value->kind = PYRO_GRAPH_VALUE_TENSOR;
    value->sizes = beside->inferred;
    value->rank = (uint8_t)rank;
    value->dtype = dtype;
    beside->known = NULL;
    return true;
}

void onnx_forget_value(onnx_graph *graph, uint32_t index)
{
    graph->graph->values[index].kind = PYRO_GRAPH_VALUE_UNDESCRIBED;
    graph->values[index].known = NULL;
}

bool onnx_get_value(onnx_inference *inference, const onnx_graph *graph, uint32_t index,
                    onnx_shape *out)
{
    *out = (onnx_shape){.is_known = false};
    if (index == PYRO_NO_VALUE)
        return true;
    const pyro_value *value = &graph->graph->values[index];
    out->values = graph->values[index].known;
    if (value->kind != PYRO_GRAPH_VALUE_TENSOR)
        return true;
    int64_t *dims = pyro_arena_array(&inference->scratch, value->rank + 1u, sizeof *dims);
    if (!dims)
        return false;
    for (size_t d = 0; d < value->rank; d++) {
        int64_t size;
        bool known = pyro_size_value(inference->model, value->sizes[d], &size);
        /* A negative size is reported by pyro_model_check_sizes. */
        dims[d] = !known ? value->sizes[d] : size < 0 ? ONNX_UNKNOWN : size;
    }
    out->is_known = true;
    out->rank = value->rank;
    out->dtype = value->dtype;
    out->dims = dims;
    return true;
}

bool onnx_out(onnx_call *call, size_t output, uint8_t dtype, size_t rank, const int64_t *dims)
{
    if (output >= call->node->output_count || call->node->outputs[output] == PYRO_NO_VALUE)
        return true;
    for (size_t d = 0; d < rank; d++)
        if (dims[d] == ONNX_INVALID)
            return onnx_mismatch(call,
                                 "a size of its output is negative or does not fit in 64 bits");
    return onnx_set_value(call->inference, call->graph, call->node->outputs[output], dtype, rank,
                          dims);
}

bool onnx_out_like(onnx_call *call, size_t output, uint8_t dtype, const onnx_shape *like)
{
    return onnx_out(call, output, dtype, like->rank, like->dims);
}
