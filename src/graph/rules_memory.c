/* Operators that compute nothing: views, copies, look-ups, and what only the host does. */
#include "graph/call.h"
#include "graph/rules.h"

static const pyro_tensor *first_tensor(const pyro_call *call)
{
    for (size_t a = 0; a < call->arg_count; a++)
        if (call->args[a].kind == PYRO_ARG_TENSOR && call->args[a].tensors[0].dims)
            return &call->args[a].tensors[0];
    return NULL;
}

/* Another shape over the same bytes. */
bool pyro_rule_view(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = first_tensor(call);
    price->is_free = true;
    price->is_strided = input && input->is_strided;
    return true;
}

/* A view whose values no longer lie densely in order. */
bool pyro_rule_strided_view(pyro_call *call, pyro_price *price)
{
    (void)call;
    price->is_free = true;
    price->is_strided = true;
    return true;
}

/* reshape, flatten, contiguous: free over a dense tensor, a copy of a strided one. */
bool pyro_rule_maybe_copy(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = first_tensor(call);
    price->is_free = !input || !input->is_strided;
    return true;
}

/* to, type_as: free where the element type stays. */
bool pyro_rule_convert(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = first_tensor(call);
    if (!input || !call->output_count)
        return false;
    if (input->dtype == call->outputs[0].dtype) {
        price->is_free = true;
        price->is_strided = input->is_strided;
    }
    return true;
}

/* Everything read, everything written. */
bool pyro_rule_copy(pyro_call *call, pyro_price *price)
{
    (void)call;
    (void)price;
    return true;
}

/* Of a tensor that fill_bytes() took for read whole, only `bytes` are. */
static void read_only(pyro_call *call, pyro_price *price, const pyro_tensor *tensor, int64_t bytes)
{
    int64_t *total = tensor->is_weight ? &price->weight_read_bytes : &price->activation_read_bytes;
    *total = pyro_plus(call, *total - pyro_tensor_bytes(call, tensor), bytes);
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

/* zeros_like, full, arange: their arguments only lend their shape. */
bool pyro_rule_create(pyro_call *call, pyro_price *price)
{
    price->activation_read_bytes = price->weight_read_bytes = 0;
    price->other_flops = pyro_times(call, pyro_output_elements(call), call->op->factor);
    return true;
}

/* Of the table only the rows that come out are read; the indices are read whole. */
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

/* One row of the table an index, added up a bag. */
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

/* In place: as many values of self as there are in the source are written (factor 1: and added). */
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

/* Not in place: the whole of self is copied as well. */
bool pyro_rule_scatter_copy(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *source = scattered(call);
    price->other_flops = pyro_times(call, source ? source->elements : 0, call->op->factor);
    return true;
}

/* Python's arithmetic on sizes. What makes a tensor is something else, and must not be free. */
bool pyro_rule_host(pyro_call *call, pyro_price *price)
{
    for (size_t o = 0; o < call->output_count; o++)
        if (call->outputs[o].dims)
            return false;
    price->is_free = true;
    return true;
}

/* Sizes, assertions, memory that nobody has written to: nothing is moved. */
bool pyro_rule_scalar(pyro_call *call, pyro_price *price)
{
    (void)call;
    price->is_free = true;
    return true;
}
