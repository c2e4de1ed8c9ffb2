/* Helpers of shape rules: access to arguments, and building of outputs. */
#include "graph/shapes/rules.h"

#include <string.h>

const pyro_tensor *pyro_call_tensor_at(const pyro_call *call, size_t position)
{
    if (position >= call->arg_count || !call->args[position].tensors ||
        !call->args[position].count || !call->args[position].tensors[0].dims)
        return NULL;
    return &call->args[position].tensors[0];
}

const pyro_tensor *pyro_call_nth_tensor(const pyro_call *call, size_t n)
{
    for (size_t a = 0; a < call->arg_count; a++)
        if (pyro_call_tensor_at(call, a) && n-- == 0)
            return pyro_call_tensor_at(call, a);
    return NULL;
}

bool pyro_output_append(pyro_output *output, int64_t size)
{
    if (output->tensor.rank >= PYRO_MAX_RANK || size < 0)
        return false;
    output->dims[output->tensor.rank++] = size;
    return true;
}

bool pyro_output_append_dims(pyro_output *output, const pyro_tensor *tensor, size_t from, size_t to)
{
    for (size_t d = from; d < to; d++)
        if (!pyro_output_append(output, tensor->dims[d]))
            return false;
    return true;
}

bool pyro_output_like(pyro_output *output, const pyro_tensor *tensor)
{
    if (!tensor)
        return false;
    output->tensor.dtype = tensor->dtype;
    return pyro_output_append_dims(output, tensor, 0, tensor->rank);
}

bool pyro_output_broadcast(pyro_output *output, const pyro_tensor *tensor)
{
    size_t rank = output->tensor.rank;
    if (tensor->rank > rank) {
        size_t more = tensor->rank - rank;
        memmove(output->dims + more, output->dims, rank * sizeof *output->dims);
        memcpy(output->dims, tensor->dims, more * sizeof *output->dims);
        output->tensor.rank = tensor->rank;
    }
    size_t lead = output->tensor.rank - tensor->rank;
    for (size_t d = 0; d < tensor->rank; d++) {
        int64_t *size = &output->dims[lead + d];
        if (*size == 1)
            *size = tensor->dims[d];
        else if (tensor->dims[d] != 1 && tensor->dims[d] != *size)
            return false;
    }
    return true;
}
