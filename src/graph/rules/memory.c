/* Rules for operators that compute nothing: copies, look-ups, and host-only work. */
#include "graph/call.h"
#include "graph/rules/rules.h"

/* True if a run lets the kernel read the heads that this call repeats (exported.h). */
static bool is_repetition(const pyro_call *call)
{
    return call->output_count && call->outputs[0].repeats > 1;
}

/* True if two shapes differ only in axes of size 1. */
static bool has_same_axes(const pyro_tensor *a, const pyro_tensor *b)
{
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a->rank && a->dims[i] == 1)
            i++;
        while (j < b->rank && b->dims[j] == 1)
            j++;
        if (i == a->rank || j == b->rank)
            return i == a->rank && j == b->rank;
        if (a->dims[i] != b->dims[j])
            return false;
    }
}

/*
 * reshape, flatten, contiguous: free for a dense tensor, a copy of a strided one. A reshape (factor
 * 1) that merges and splits no axes is a view of a strided one too.
 */
bool pyro_rule_maybe_copy(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    price->is_free = !input || !input->is_strided || is_repetition(call);
    if (price->is_free || !call->op->factor || !call->output_count || !call->outputs[0].dims ||
        !has_same_axes(input, &call->outputs[0]))
        return true;
    price->is_free = price->is_strided = true;
    price->order = call->outputs[0].rank == input->rank ? input->order : 0;
    return true;
}

/* Only `bytes` of a tensor are read, which fill_bytes() counted in full. */
static void read_only(pyro_call *call, pyro_price *price, const pyro_tensor *tensor, int64_t bytes)
{
    int64_t *total = tensor->is_weight ? &price->weight_read_bytes : &price->activation_read_bytes;
    *total = pyro_plus(call, *total - pyro_tensor_bytes(call, tensor), bytes);
}

/* to, type_as: free if the element type stays the same. */
bool pyro_rule_convert(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    if (!input || !call->output_count)
        return false;
    const pyro_tensor *like = pyro_call_tensor(call, "other", 1); /* only its type matters */
    if (like && like->id != input->id)
        read_only(call, price, like, 0);
    if (input->dtype == call->outputs[0].dtype) {
        price->is_free = true;
        price->is_strided = input->is_strided;
        price->order = input->order;
    }
    return true;
}

/* Everything read, everything written. */
bool pyro_rule_copy(pyro_call *call, pyro_price *price)
{
    price->is_free = is_repetition(call);
    return true;
}

/* cat: a cache of past tokens has space for new ones, so only these are written; else a copy. */
bool pyro_rule_concatenate(pyro_call *call, pyro_price *price)
{
    const pyro_call_arg *tensors = pyro_call_find(call, "tensors", 0);
    if (!tensors || !tensors->tensors || !tensors->count || !tensors->tensors[0].grows_along)
        return true;
    const pyro_tensor *cache = &tensors->tensors[0];
    int64_t axis = pyro_call_integer(call, "dim", 1, 0);
    if ((axis < 0 ? axis + cache->rank : axis) != cache->grows_along - 1)
        return true;
    read_only(call, price, cache, 0);
    price->written_bytes -= pyro_tensor_bytes(call, cache);
    return true;
}

/* copy_(self, src): self is written, not read. */
bool pyro_rule_overwrite(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *self = pyro_call_tensor(call, "self", 0);
    if (!self)
        return false;
    read_only(call, price, self, 0);
    return true;
}

/* zeros_like, full, arange: only the shapes of the arguments matter. */
bool pyro_rule_create(pyro_call *call, pyro_price *price)
{
    price->activation_read_bytes = price->weight_read_bytes = 0;
    price->other_flops = pyro_times(call, pyro_output_elements(call), call->op->factor);
    return true;
}

/* Reads only the selected rows of the table, and all indices. */
bool pyro_rule_gather(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *table = pyro_call_tensor(call, "weight", 0);
    if (!table)
        table = pyro_call_tensor(call, "self", 0);
    if (!table || !call->output_count)
        return false;
    read_only(call, price, table, pyro_tensor_bytes(call, &call->outputs[0]));
    return true;
}

/* One row of the table per index, summed per bag. */
bool pyro_rule_embedding_bag(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *table = pyro_call_tensor(call, "weight", 0);
    const pyro_tensor *indices = pyro_call_tensor(call, "indices", 1);
    if (!table || !indices || table->rank != 2)
        return false;
    int64_t values = pyro_times(call, indices->elements, table->dims[1]);
    read_only(call, price, table, pyro_times(call, values, pyro_dtype_bytes(table->dtype)));
    price->other_flops = values;
    return true;
}

/* The source of a scatter under its several names. */
static const pyro_tensor *scattered(const pyro_call *call)
{
    static const char *const names[] = {"src", "values", "source", "mask", "index"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const pyro_tensor *tensor = pyro_call_tensor(call, names[i], SIZE_MAX);
        if (tensor)
            return tensor;
    }
    return NULL;
}

/* In place: writes as many values of self as the source has (factor 1: and adds them). */
bool pyro_rule_scatter(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *self = pyro_call_tensor(call, "self", 0), *source = scattered(call);
    if (!self)
        return false;
    int64_t touched = source ? source->elements : self->elements;
    int64_t bytes = pyro_times(call, touched, pyro_dtype_bytes(self->dtype));
    read_only(call, price, self, call->op->factor ? bytes : 0);
    price->written_bytes = bytes;
    price->other_flops = pyro_times(call, touched, call->op->factor);
    return true;
}

/* Not in place: self is copied as well. */
bool pyro_rule_scatter_copy(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *source = scattered(call);
    price->other_flops = pyro_times(call, source ? source->elements : 0, call->op->factor);
    return true;
}

/* Python's arithmetic on sizes. A call that makes a tensor is something else and is not free. */
bool pyro_rule_host(pyro_call *call, pyro_price *price)
{
    for (size_t o = 0; o < call->output_count; o++)
        if (call->outputs[o].dims)
            return false;
    price->is_free = true;
    return true;
}

/* Sizes, assertions, uninitialised memory: nothing is moved. */
bool pyro_rule_scalar(pyro_call *call, pyro_price *price)
{
    (void)call;
    price->is_free = true;
    return true;
}
