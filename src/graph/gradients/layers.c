/* Backward of norms, pooling, look-ups and losses: what they keep beside inputs and outputs. */
#include "graph/gradients/kinds.h"

enum { STATISTICS_BYTES = 4, INDEX_BYTES = 8 };

static const pyro_tensor *normalized(const pyro_call *call)
{
    const pyro_tensor *input = pyro_call_tensor(call, "input", 0);
    return input ? input : pyro_call_first_tensor(call);
}

/* Mean and inverse deviation per channel. */
KIND(batch_norm)
{
    const pyro_tensor *input = normalized(call);
    (void)price;
    pyro_gradient_elements(call, flops, out);
    if (!input)
        return;
    out->other_flops = pyro_times(call, input->elements, flops);
    pyro_gradient_save(out, input);
    pyro_gradient_save(out, pyro_call_tensor(call, "weight", 1));
    if (input->rank > 1)
        out->extra_bytes = pyro_times(call, input->dims[1], 2 * STATISTICS_BYTES);
}

/* The number of groups of values that a norm computes statistics for. */
static int64_t statistics(pyro_call *call, const pyro_tensor *input)
{
    const pyro_call_arg *shape = pyro_call_find(call, "normalized_shape", 1);
    int64_t groups = pyro_call_integer(call, "num_groups", 1, 0), values = 1;
    if (groups == 0)
        groups = pyro_call_integer(call, "group", 6, 0);
    if (groups > 0 && input->rank)
        return pyro_times(call, input->dims[0], groups);
    if (shape && shape->integers)
        for (uint32_t i = 0; i < shape->count; i++)
            values = pyro_times(call, values, shape->integers[i]);
    else if (input->rank > 2 && !pyro_call_find(call, "normalized_shape", SIZE_MAX))
        return pyro_dims_product(call, input, 0, 2); /* instances: batch x channels */
    else if (input->rank)
        values = input->dims[input->rank - 1];
    return values > 0 ? input->elements / values : 0;
}

KIND(norm)
{
    const pyro_tensor *input = normalized(call);
    (void)price;
    pyro_gradient_elements(call, flops, out);
    if (!input)
        return;
    out->other_flops = pyro_times(call, input->elements, flops);
    pyro_gradient_save(out, input);
    pyro_gradient_save(out, pyro_call_tensor(call, "weight", 1));
    if (call->output_count > 1) /* native forms return mean and deviation */
        for (size_t o = 1; o < call->output_count; o++)
            pyro_gradient_save(out, &call->outputs[o]);
    else if (call->op->factor == 3) /* RMS: no mean */
        out->extra_bytes = pyro_times(call, statistics(call, input), STATISTICS_BYTES);
    else
        out->extra_bytes = pyro_times(call, statistics(call, input), 2 * STATISTICS_BYTES);
}

KIND(pool)
{
    (void)price;
    pyro_gradient_elements(call, flops, out);
    pyro_gradient_save(out, pyro_call_first_tensor(call));
}

KIND(max_pool)
{
    pyro_gradient_pool(call, price, flops, out);
    if (call->output_count > 1)
        pyro_gradient_save(out, &call->outputs[1]);
    else
        out->extra_bytes = pyro_times(call, pyro_output_elements(call), INDEX_BYTES);
}

/* embedding, index, gather: the gradient of the table is as large as the table. */
KIND(lookup)
{
    (void)price;
    out->flow = PYRO_FLOW_NEW;
    out->other_flops = pyro_times(call, pyro_output_elements(call), flops);
    pyro_gradient_save_inputs(call, out, false);
}

/* The gradient of what is written is gathered; that of the rest is a copy with zeros. */
KIND(scatter)
{
    (void)price;
    pyro_gradient_elements(call, flops, out);
    pyro_gradient_save_inputs(call, out, false);
}

/* sort, topk: the second output. */
KIND(from_indices)
{
    (void)price;
    pyro_gradient_elements(call, flops, out);
    if (call->output_count > 1)
        pyro_gradient_save(out, &call->outputs[1]);
}

/* The logarithms of the probabilities are kept; their gradient exists beside the input's. */
KIND(cross_entropy)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    (void)price;
    pyro_gradient_elements(call, flops, out);
    pyro_gradient_save_inputs(call, out, false);
    if (input)
        out->extra_bytes = out->scratch_bytes = pyro_tensor_bytes(call, input);
}
