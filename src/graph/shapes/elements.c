/* Shape rules for maps, reductions, look-ups, copies and creation. */
#include "graph/call.h"
#include "graph/shapes/rules.h"

#include <string.h>

SHAPE_RULE(nothing)
{
    (void)call;
    (void)output;
    return true;
}

SHAPE_RULE(unknown)
{
    (void)call;
    (void)output;
    return false;
}

SHAPE_RULE(first)
{
    return pyro_output_like(output, pyro_call_nth_tensor(call, 0));
}

SHAPE_RULE(second)
{
    return pyro_output_like(output, pyro_call_nth_tensor(call, 1));
}

SHAPE_RULE(scalar)
{
    const pyro_tensor *first = pyro_call_nth_tensor(call, 0);
    output->tensor.dtype = first ? first->dtype : PYRO_DTYPE_FLOAT32;
    return true;
}

/* As many values as a list of tensors has, whatever their shapes. */
SHAPE_RULE(list)
{
    const pyro_call_arg *list = call->arg_count ? &call->args[0] : NULL;
    if (!list || !list->tensors || !list->count)
        return false;
    int64_t elements = 0;
    for (uint32_t i = 0; i < list->count; i++)
        elements = pyro_plus(call, elements, list->tensors[i].elements);
    output->tensor.dtype = list->tensors[0].dtype;
    return pyro_output_append(output, elements);
}

/* Type promotion: tensors with dims win over those without, floating over integer types, large
 * over small types. */
static int type_rank(const pyro_tensor *tensor)
{
    return (tensor->rank > 0) * 1000 + pyro_dtype_is_floating(tensor->dtype) * 100 +
           (int)pyro_dtype_bytes(tensor->dtype) + (tensor->dtype != PYRO_DTYPE_UNKNOWN);
}

SHAPE_RULE(broadcast)
{
    if (call->arg_count && call->args[0].kind == PYRO_ARG_TENSORS)
        return pyro_shape_list(call, output);
    int best = -1;
    for (size_t a = 0; a < call->arg_count; a++) {
        const pyro_tensor *tensor = call->args[a].kind == PYRO_ARG_TENSOR
                                        ? pyro_call_tensor_at(call, a)
                                        : NULL;
        if (!tensor)
            continue;
        if (!pyro_output_broadcast(output, tensor))
            return false;
        if (type_rank(tensor) > best) {
            best = type_rank(tensor);
            output->tensor.dtype = tensor->dtype;
        }
    }
    return best >= 0;
}

SHAPE_RULE(compare)
{
    bool known = pyro_shape_broadcast(call, output);
    output->tensor.dtype = PYRO_DTYPE_BOOL;
    return known;
}

SHAPE_RULE(outer)
{
    const pyro_tensor *a = pyro_call_nth_tensor(call, 0), *b = pyro_call_nth_tensor(call, 1);
    return a && b && pyro_output_like(output, a) && pyro_output_append_dims(output, b, 0, b->rank);
}

/* Removes the dims that an argument lists, or sets them to 1; all dims if it lists none. */
static bool reduced(pyro_call *call, pyro_output *output, size_t dims_at, size_t keep_at)
{
    const pyro_tensor *input = pyro_call_nth_tensor(call, 0);
    if (!input)
        return false;
    const pyro_call_arg *dims = dims_at < call->arg_count ? &call->args[dims_at] : NULL;
    bool keep = pyro_call_integer(call, "keepdim", keep_at, 0) != 0, drop[PYRO_MAX_RANK];
    /* A single number in place of the dims is an element type: sum(input, dtype). */
    bool all = !dims || !dims->integers || !dims->count ||
               (dims->kind == PYRO_ARG_INTEGER && call->arg_count <= dims_at + 1);
    memset(drop, all, sizeof drop);
    for (uint32_t i = 0; !all && i < dims->count; i++) {
        int64_t dim = dims->integers[i] + (dims->integers[i] < 0 ? input->rank : 0);
        if (dim < 0 || dim >= input->rank)
            return false;
        drop[dim] = true;
    }
    output->tensor.dtype = input->dtype;
    for (size_t d = 0; d < input->rank; d++)
        if ((!drop[d] && !pyro_output_append(output, input->dims[d])) ||
            (drop[d] && keep && !pyro_output_append(output, 1)))
            return false;
    return true;
}

SHAPE_RULE(reduce)
{
    return reduced(call, output, 1, 2);
}

/* norm(input, p, dims, keepdim) */
SHAPE_RULE(reduce_norm)
{
    return reduced(call, output, 2, 3);
}

SHAPE_RULE(reduce_or_compare)
{
    return pyro_call_nth_tensor(call, 1) ? pyro_shape_broadcast(call, output)
                                         : reduced(call, output, 1, 2);
}

SHAPE_RULE(topk)
{
    const pyro_tensor *input = pyro_call_nth_tensor(call, 0);
    int64_t count = pyro_call_integer(call, "k", 1, -1),
            dim = pyro_call_integer(call, "dim", 2, -1);
    if (!pyro_output_like(output, input) || count < 0)
        return false;
    dim += dim < 0 ? input->rank : 0;
    if (dim < 0 || dim >= input->rank)
        return input->rank == 0;
    output->dims[dim] = count;
    return true;
}

/* gather(input, dim, index): the shape of the index. */
SHAPE_RULE(gather)
{
    const pyro_tensor *table = pyro_call_nth_tensor(call, 0),
                      *index = pyro_call_nth_tensor(call, 1);
    bool known = table && pyro_output_like(output, index);
    output->tensor.dtype = table ? table->dtype : PYRO_DTYPE_UNKNOWN;
    return known;
}

SHAPE_RULE(embedding)
{
    const pyro_tensor *table = pyro_call_nth_tensor(call, 0),
                      *index = pyro_call_nth_tensor(call, 1);
    if (!table || !index || table->rank != 2)
        return false;
    bool known = pyro_output_like(output, index) && pyro_output_append(output, table->dims[1]);
    output->tensor.dtype = table->dtype;
    return known;
}

SHAPE_RULE(index_select)
{
    const pyro_tensor *table = pyro_call_nth_tensor(call, 0),
                      *index = pyro_call_nth_tensor(call, 1);
    int64_t dim = pyro_call_integer(call, "dim", 1, 0);
    if (!index || !pyro_output_like(output, table))
        return false;
    dim += dim < 0 ? table->rank : 0;
    if (dim < 0 || dim >= table->rank)
        return false;
    output->dims[dim] = index->elements;
    return true;
}

SHAPE_RULE(concatenate)
{
    const pyro_call_arg *list = call->arg_count ? &call->args[0] : NULL;
    int64_t dim = pyro_call_integer(call, "dim", 1, 0);
    if (!list || !list->tensors || !list->count || !pyro_output_like(output, &list->tensors[0]))
        return false;
    dim += dim < 0 ? output->tensor.rank : 0;
    if (dim < 0 || dim >= output->tensor.rank)
        return false;
    for (uint32_t i = 1; i < list->count; i++)
        if (list->tensors[i].rank == output->tensor.rank)
            output->dims[dim] = pyro_plus(call, output->dims[dim], list->tensors[i].dims[dim]);
    return true;
}

SHAPE_RULE(stack)
{
    if (!call->arg_count || !call->args[0].tensors || !call->args[0].count)
        return false;
    return pyro_output_like(output, &call->args[0].tensors[0]) &&
           pyro_output_append(output, call->args[0].count);
}

/* Pairs of (before, after), the last dim first. */
SHAPE_RULE(pad)
{
    const pyro_call_arg *pads = call->arg_count > 1 ? &call->args[1] : NULL;
    if (!pads || !pads->integers || !pyro_shape_first(call, output) ||
        pads->count / 2 > output->tensor.rank)
        return false;
    for (uint32_t i = 0; i + 1 < pads->count; i += 2) {
        int64_t *size = &output->dims[output->tensor.rank - 1 - i / 2];
        *size = pyro_plus(call, *size, pyro_plus(call, pads->integers[i], pads->integers[i + 1]));
        if (*size < 0)
            return false;
    }
    return true;
}

SHAPE_RULE(repeat)
{
    const pyro_call_arg *times = call->arg_count > 1 ? &call->args[1] : NULL;
    const pyro_tensor *input = pyro_call_nth_tensor(call, 0);
    if (!input || !times || !times->integers || times->count < input->rank)
        return false;
    output->tensor.dtype = input->dtype;
    size_t lead = times->count - input->rank;
    for (uint32_t i = 0; i < times->count; i++)
        if (!pyro_output_append(
                output, i < lead ? times->integers[i]
                                 : pyro_times(call, times->integers[i], input->dims[i - lead])))
            return false;
    return true;
}

/* The element type of a c10::ScalarType number; .pt2 counts from 1. */
static pyro_dtype scalar_type(int64_t code)
{
    if (code == 15)
        return PYRO_DTYPE_BFLOAT16;
    if (code == 23 || code == 24)
        return code == 23 ? PYRO_DTYPE_FLOAT8_E5M2 : PYRO_DTYPE_FLOAT8_E4M3FN;
    return code >= 0 && code <= 11 ? pyro_dtype_from_pt2(code + 1) : PYRO_DTYPE_UNKNOWN;
}

SHAPE_RULE(convert)
{
    const pyro_tensor *input = pyro_call_nth_tensor(call, 0),
                      *other = pyro_call_nth_tensor(call, 1);
    if (!pyro_output_like(output, input))
        return false;
    for (size_t a = 1; a < call->arg_count && a < 3; a++)
        if (call->args[a].kind == PYRO_ARG_INTEGER &&
            scalar_type(call->args[a].integers[0]) != PYRO_DTYPE_UNKNOWN) {
            output->tensor.dtype = scalar_type(call->args[a].integers[0]);
            return true;
        }
    if (other)
        output->tensor.dtype = other->dtype;
    return true;
}

SHAPE_RULE(convert_always)
{
    return pyro_shape_convert(call, output);
}

/* A shape among the arguments: zeros(size), new_zeros(input, size), select_backward(grad, size). */
static bool sized(pyro_call *call, pyro_output *output, size_t position)
{
    if (position >= call->arg_count || call->args[position].kind != PYRO_ARG_INTEGERS)
        return false;
    for (uint32_t i = 0; i < call->args[position].count; i++)
        if (!pyro_output_append(output, call->args[position].integers[i]))
            return false;
    return true;
}

SHAPE_RULE(sized_second)
{
    const pyro_tensor *first = pyro_call_nth_tensor(call, 0);
    output->tensor.dtype = first ? first->dtype : PYRO_DTYPE_UNKNOWN;
    return sized(call, output, 1);
}

SHAPE_RULE(sized_third)
{
    const pyro_tensor *first = pyro_call_nth_tensor(call, 0);
    output->tensor.dtype = first ? first->dtype : PYRO_DTYPE_UNKNOWN;
    return sized(call, output, 2);
}

SHAPE_RULE(created)
{
    const pyro_tensor *first = pyro_call_nth_tensor(call, 0);
    if (!first) {
        output->tensor.dtype = PYRO_DTYPE_FLOAT32;
        /* zeros(size, dtype), full(size, value, dtype) */
        for (size_t a = 1; a < call->arg_count && a < 3; a++)
            if (call->args[a].kind == PYRO_ARG_INTEGER &&
                a == (strstr(call->op->name, "full") ? 2u : 1u))
                output->tensor.dtype = scalar_type(call->args[a].integers[0]);
        return sized(call, output, 0);
    }
    if (strstr(call->op->name, ".new_"))
        return pyro_shape_sized_second(call, output);
    return pyro_output_like(output, first);
}

SHAPE_RULE(embedding_backward)
{
    const pyro_tensor *gradient = pyro_call_nth_tensor(call, 0);
    int64_t rows = pyro_call_integer(call, "num_weights", 2, -1);
    if (!gradient || !gradient->rank || rows < 0)
        return false;
    output->tensor.dtype = gradient->dtype;
    return pyro_output_append(output, rows) &&
           pyro_output_append(output, gradient->dims[gradient->rank - 1]);
}
