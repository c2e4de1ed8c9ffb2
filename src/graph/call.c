/* Accesses the arguments of a call, and computes the bytes that any operator moves. */
#include "graph/call.h"

#include "base/checked.h"
#include <string.h>

enum { LOOKED_BACK = 256 };

const pyro_call_arg *pyro_call_find(const pyro_call *call, const char *name, size_t position)
{
    for (size_t i = 0; i < call->arg_count; i++)
        if (!strcmp(call->args[i].name, name))
            return &call->args[i];
    if (position < call->arg_count && !call->args[position].name[0])
        return &call->args[position];
    return NULL;
}

const pyro_tensor *pyro_call_tensor(const pyro_call *call, const char *name, size_t position)
{
    const pyro_call_arg *arg = pyro_call_find(call, name, position);
    if (!arg || (arg->kind != PYRO_ARG_TENSOR && arg->kind != PYRO_ARG_TENSORS) ||
        arg->count != 1 || !arg->tensors[0].dims)
        return NULL;
    return &arg->tensors[0];
}

const pyro_tensor *pyro_call_tensor_of(const pyro_call *call, const char *const *names,
                                       size_t position)
{
    const pyro_tensor *found = NULL;
    for (; *names && !found; names++)
        found = pyro_call_tensor(call, *names, position);
    return found;
}

const pyro_tensor *pyro_call_first_tensor(const pyro_call *call)
{
    for (size_t a = 0; a < call->arg_count; a++)
        if (call->args[a].kind == PYRO_ARG_TENSOR && call->args[a].tensors[0].dims)
            return &call->args[a].tensors[0];
    return NULL;
}

int64_t pyro_call_integer(const pyro_call *call, const char *name, size_t position,
                          int64_t otherwise)
{
    const pyro_call_arg *arg = pyro_call_find(call, name, position);
    return arg && arg->integers && arg->count ? arg->integers[0] : otherwise;
}

int64_t pyro_call_integers_product(pyro_call *call, const char *name, size_t position,
                                   int64_t otherwise)
{
    const pyro_call_arg *arg = pyro_call_find(call, name, position);
    if (!arg || !arg->integers || !arg->count)
        return otherwise;
    int64_t product = 1;
    for (uint32_t i = 0; i < arg->count; i++)
        product = pyro_times(call, product, arg->integers[i]);
    return product;
}

int64_t pyro_times(pyro_call *call, int64_t a, int64_t b)
{
    int64_t product = 0;
    if (pyro_mul_i64(a, b, &product))
        return product;
    call->overflow = true;
    return 0;
}

int64_t pyro_plus(pyro_call *call, int64_t a, int64_t b)
{
    int64_t sum = 0;
    if (pyro_add_i64(a, b, &sum))
        return sum;
    call->overflow = true;
    return 0;
}

int64_t pyro_dims_product(pyro_call *call, const pyro_tensor *tensor, size_t from, size_t to)
{
    int64_t product = 1;
    for (size_t d = from; d < to && d < tensor->rank; d++)
        product = pyro_times(call, product, tensor->dims[d]);
    return product;
}

int64_t pyro_output_elements(const pyro_call *call)
{
    return call->output_count ? call->outputs[0].elements : 0;
}

int64_t pyro_tensor_bytes(pyro_call *call, const pyro_tensor *tensor)
{
    int64_t bytes = 0;
    if (tensor->dims && !pyro_dtype_storage(tensor->dtype, tensor->elements, &bytes)) {
        call->overflow = true;
        return 0;
    }
    return bytes;
}

/* Bytes moved by reading a tensor once. */
static int64_t read_bytes(pyro_call *call, const pyro_tensor *tensor)
{
    if (tensor->is_skipped)
        return 0;
    return pyro_tensor_bytes(call, tensor) / (tensor->repeats ? tensor->repeats : 1);
}

/* True if the same value is an earlier argument. */
static bool read_before(const pyro_call *call, size_t arg, size_t item)
{
    uint64_t id = call->args[arg].tensors[item].id;
    for (size_t a = 0; a <= arg; a++) {
        size_t end = a == arg ? item : call->args[a].count;
        for (size_t i = 0; call->args[a].tensors && i < end; i++)
            if (call->args[a].tensors[i].dims && call->args[a].tensors[i].id == id)
                return true;
    }
    return false;
}

static void fill_bytes(pyro_call *call, pyro_price *price)
{
    size_t tensors = 0;
    for (size_t a = 0; a < call->arg_count; a++)
        tensors += call->args[a].tensors ? call->args[a].count : 0;
    for (size_t a = 0; a < call->arg_count; a++) {
        const pyro_call_arg *arg = &call->args[a];
        for (uint32_t i = 0; arg->tensors && i < arg->count; i++) {
            /* Long lists (a cat of thousands) count as distinct: comparing is quadratic. */
            if (!arg->tensors[i].dims || (tensors < LOOKED_BACK && read_before(call, a, i)))
                continue;
            int64_t bytes = read_bytes(call, &arg->tensors[i]);
            int64_t *total = arg->tensors[i].is_weight ? &price->weight_read_bytes
                                                       : &price->activation_read_bytes;
            *total = pyro_plus(call, *total, bytes);
        }
    }
    for (size_t o = 0; o < call->output_count; o++)
        price->written_bytes = pyro_plus(call, price->written_bytes,
                                         pyro_tensor_bytes(call, &call->outputs[o]));
}

/* True if only an export makes the tensors that the call makes. */
static bool is_skipped(const pyro_call *call)
{
    size_t skipped = 0;
    for (size_t o = 0; o < call->output_count; o++)
        skipped += call->outputs[o].is_skipped;
    return skipped > 0 && skipped == call->output_count;
}

bool pyro_op_price(pyro_call *call, pyro_price *price)
{
    memset(price, 0, sizeof *price);
    if (is_skipped(call)) {
        price->is_free = price->is_skipped = true;
        return true;
    }
    price->torch_macs = price->fvcore_flops = PYRO_SAME;
    fill_bytes(call, price);
    if (!call->op || !call->op->rule(call, price))
        return false;
    if (price->is_free)
        price->activation_read_bytes = price->weight_read_bytes = price->written_bytes = 0;
    if (price->torch_macs == PYRO_SAME)
        price->torch_macs = price->macs;
    if (price->fvcore_flops == PYRO_SAME)
        price->fvcore_flops = price->macs;
    /* Sizes are never negative, but arguments of an invalid call may be: a kernel of -3. */
    return price->macs >= 0 && price->other_flops >= 0 && price->torch_macs >= 0 &&
           price->fvcore_flops >= 0;
}
