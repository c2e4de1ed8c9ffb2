/* Rules for gradients: the backward of an operator costs what the operator's shapes imply. */
#include "graph/call.h"
#include "graph/rules/rules.h"

static int64_t positions(pyro_call *call, const pyro_tensor *tensor, size_t spatial)
{
    if (tensor->rank == spatial + 1)
        return pyro_dims_product(call, tensor, 1, tensor->rank);
    return pyro_times(call, tensor->dims[0], pyro_dims_product(call, tensor, 2, tensor->rank));
}

/*
 * Gradients of input and weight each need as many MACs as the forward, groups included; the mask
 * selects them. Without a mask the cost is unknown.
 */
bool pyro_rule_convolution_backward(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *gradient = pyro_call_tensor(call, "grad_output", 0);
    const pyro_tensor *input = pyro_call_tensor(call, "input", 1);
    const pyro_tensor *weight = pyro_call_tensor(call, "weight", 2);
    const pyro_call_arg *mask = pyro_call_find(call, "output_mask", 10);
    if (!gradient || !input || !weight || !mask || !mask->integers || mask->count < 2 ||
        weight->rank < 3)
        return false;
    size_t spatial = weight->rank - 2u;
    bool transposed = pyro_call_integer(call, "transposed", 7, 0) != 0;
    const pyro_tensor *over = transposed ? input : gradient;
    if (over->rank != spatial + 1 && over->rank != spatial + 2)
        return false;
    int64_t forward = pyro_times(call, positions(call, over, spatial), weight->elements);
    int64_t wanted = (mask->integers[0] != 0) + (mask->integers[1] != 0);
    price->macs = pyro_times(call, forward, wanted);
    if (mask->count > 2 && mask->integers[2])
        price->other_flops = gradient->elements;
    /* The preset bytes include writing the gradient of the input, requested or not. */
    price->written_bytes = 0;
    if (mask->integers[0])
        price->written_bytes = pyro_tensor_bytes(call, input);
    if (mask->integers[1])
        price->written_bytes = pyro_plus(call, price->written_bytes,
                                         pyro_tensor_bytes(call, weight));
    return true;
}

/*
 * Scores are computed again, then the gradients of values, probabilities, queries and keys: five
 * products where the forward had two.
 */
static bool attend_backward(pyro_call *call, pyro_price *price, int64_t rows, int64_t keys,
                            const pyro_tensor *query, const pyro_tensor *value)
{
    enum { FLOPS_A_SCORE = 12 };
    int64_t scores = pyro_times(call, rows, keys);
    int64_t widths = pyro_plus(call, pyro_times(call, 3, query->dims[query->rank - 1]),
                               pyro_times(call, 2, value->dims[value->rank - 1]));
    price->macs = pyro_times(call, scores, widths);
    price->other_flops = pyro_times(call, scores, FLOPS_A_SCORE);
    price->fvcore_flops = 0;
    return true;
}

/* Tensors [..., heads, sequence, dim]. */
bool pyro_rule_attention_backward(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *query = pyro_call_tensor(call, "query", 1);
    const pyro_tensor *key = pyro_call_tensor(call, "key", 2);
    const pyro_tensor *value = pyro_call_tensor(call, "value", 3);
    if (!query || !key || !value || query->rank < 2 || key->rank < 2 || value->rank < 2)
        return false;
    return attend_backward(call, price, pyro_dims_product(call, query, 0, query->rank - 1u),
                           key->dims[key->rank - 2], query, value);
}

/* Tensors [batch, sequence, heads, dim]. */
bool pyro_rule_attention_backward_sequence_first(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *query = pyro_call_tensor(call, "query", 1);
    const pyro_tensor *key = pyro_call_tensor(call, "key", 2);
    const pyro_tensor *value = pyro_call_tensor(call, "value", 3);
    if (!query || !key || !value || query->rank != 4 || key->rank != 4 || value->rank != 4)
        return false;
    return attend_backward(call, price, pyro_dims_product(call, query, 0, 3), key->dims[1], query,
                           value);
}

/* Maximum: one addition per gradient; mean (factor: spatial dims): one per value of its window. */
bool pyro_rule_pool_backward(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *gradient = pyro_call_tensor(call, "grad_output", 0);
    if (!gradient)
        return false;
    price->other_flops = gradient->elements;
    const pyro_call_arg *kernel = pyro_call_find(call, "kernel_size", 2);
    if (call->op->factor && (!kernel || !kernel->integers || !kernel->count))
        return false;
    for (int d = 0; d < call->op->factor; d++)
        price->other_flops = pyro_times(call, price->other_flops,
                                        kernel->integers[(uint32_t)d % kernel->count]);
    price->fvcore_flops = 0;
    return true;
}

/* `factor` FLOPs per value of the output gradient. */
bool pyro_rule_gradient(pyro_call *call, pyro_price *price)
{
    price->other_flops = pyro_times(call, pyro_output_elements(call), call->op->factor);
    price->fvcore_flops = 0;
    return call->output_count > 0;
}

/* Every row of the gradient is added to a row of the table. */
bool pyro_rule_embedding_backward(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *gradient = pyro_call_tensor(call, "grad_output", 0);
    if (!gradient)
        return false;
    price->other_flops = gradient->elements;
    price->fvcore_flops = 0;
    return true;
}
