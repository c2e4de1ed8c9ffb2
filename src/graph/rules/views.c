/*
 * Rules for views: other shapes over the same bytes. They track whether values are still dense and
 * in order. A dense tensor with permuted axes stores their order as a number: 4 bits per axis, the
 * outermost first, in the lowest bits. It is never 0.
 */
#include "graph/call.h"
#include "graph/rules/rules.h"
#include <string.h>

enum { MAX_ORDERED = 8, AXIS_BITS = 4, AXIS_MASK = 15 };

static bool has_same_dims(const pyro_tensor *a, const pyro_tensor *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

/* Another shape over the same bytes. */
bool pyro_rule_view(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    price->is_free = true;
    price->is_strided = input && input->is_strided;
    if (price->is_strided && call->output_count && call->outputs[0].dims &&
        has_same_dims(input, &call->outputs[0]))
        price->order = input->order;
    return true;
}

/* A view whose values are no longer dense and in order. */
bool pyro_rule_strided_view(pyro_call *call, pyro_price *price)
{
    (void)call;
    price->is_free = true;
    price->is_strided = true;
    return true;
}

void pyro_price_order(pyro_price *price, const pyro_tensor *output, const uint8_t *axes)
{
    int latest = -1;
    price->is_strided = false;
    price->order = 0;
    for (uint8_t i = 0; i < output->rank; i++) {
        if (output->dims[axes[i]] == 1) /* the place of such an axis makes no difference */
            continue;
        price->is_strided |= axes[i] < latest;
        latest = axes[i];
    }
    for (uint8_t i = 0; price->is_strided && i < output->rank; i++)
        price->order |= (uint32_t)axes[i] << (AXIS_BITS * i);
}

/* The axis of an integer; negative integers count from the end. -1: invalid. */
static int axis_of(const pyro_tensor *tensor, int64_t axis)
{
    axis += axis < 0 ? tensor->rank : 0;
    return axis >= 0 && axis < tensor->rank ? (int)axis : -1;
}

/* Swaps two axes: those named by the call (factor 1), or the last two. */
static bool find_swap(const pyro_call *call, const pyro_tensor *input, uint8_t *from)
{
    int first = input->rank - 2, second = input->rank - 1;
    if (call->op->factor == 1) {
        const pyro_call_arg *a = pyro_call_find(call, "dim0", 1),
                            *b = pyro_call_find(call, "dim1", 2);
        if (!a || !b || !a->integers || !b->integers || !a->count || !b->count)
            return false;
        first = axis_of(input, a->integers[0]);
        second = axis_of(input, b->integers[0]);
    }
    if (first < 0 || second < 0)
        return false;
    for (uint8_t i = 0; i < input->rank && i < MAX_ORDERED; i++)
        from[i] = i;
    from[first] = (uint8_t)second;
    from[second] = (uint8_t)first;
    return true;
}

/* `from`: the input axis of every output axis. */
static bool find_axes(const pyro_call *call, const pyro_tensor *input, uint8_t *from)
{
    const pyro_call_arg *dims = pyro_call_find(call, "dims", 1);
    unsigned seen = 0;
    if (call->op->factor)
        return find_swap(call, input, from);
    if (!dims || !dims->integers || dims->count != input->rank)
        return false;
    for (uint8_t i = 0; i < input->rank; i++) {
        int axis = axis_of(input, dims->integers[i]);
        if (axis < 0 || seen >> axis & 1)
            return false;
        seen |= 1u << axis;
        from[i] = (uint8_t)axis;
    }
    return true;
}

/* permute (factor 0), transpose and so on: the same values with permuted axes. */
bool pyro_rule_reordered_view(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    uint8_t from[MAX_ORDERED], to[MAX_ORDERED], axes[MAX_ORDERED];
    price->is_free = true;
    price->is_strided = true;
    if (!input || input->rank > MAX_ORDERED || (input->is_strided && !input->order) ||
        !call->output_count || !call->outputs[0].dims || call->outputs[0].rank != input->rank ||
        !find_axes(call, input, from))
        return true;
    for (uint8_t i = 0; i < input->rank; i++)
        to[from[i]] = i;
    for (uint8_t i = 0; i < input->rank; i++) {
        uint32_t axis = input->is_strided ? input->order >> (AXIS_BITS * i) & AXIS_MASK : i;
        axes[i] = to[axis];
    }
    pyro_price_order(price, &call->outputs[0], axes);
    return true;
}

/* slice, split: a dense block if only the outermost axis larger than 1 is sliced. */
bool pyro_rule_cut_view(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    price->is_free = true;
    price->is_strided = true;
    if (!input || !call->output_count || !call->outputs[0].dims ||
        call->outputs[0].rank != input->rank)
        return true;
    const pyro_tensor *output = &call->outputs[0];
    if (has_same_dims(input, output)) {
        price->is_strided = input->is_strided;
        price->order = input->order;
        return true;
    }
    size_t axis = 0;
    while (axis < input->rank && input->dims[axis] == 1)
        axis++;
    bool is_outermost = axis < input->rank && output->dims[axis] != input->dims[axis];
    for (size_t i = axis + 1; i < input->rank; i++)
        is_outermost &= output->dims[i] == input->dims[i];
    price->is_strided = input->is_strided || !is_outermost ||
                        pyro_call_integer(call, "step", 4, 1) != 1;
    return true;
}

/* expand: changes nothing if it repeats nothing. */
bool pyro_rule_expanded_view(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    price->is_free = true;
    price->is_strided = true;
    if (!input || !call->output_count || call->outputs[0].elements != input->elements)
        return true;
    price->is_strided = input->is_strided;
    price->order = call->outputs[0].rank == input->rank ? input->order : 0;
    return true;
}
