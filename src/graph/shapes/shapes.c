/* Output shapes: the tables of rules, and what rules build outputs with. */
#include "graph/shapes/shapes.h"

#include "graph/call.h"
#include "graph/rules/rules.h"
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

static const struct {
    pyro_rule cost;
    pyro_shape_rule shape;
} by_rule[] = {
#define SHAPE(cost, shape) {pyro_rule_##cost, pyro_shape_##shape},
#define SHAPE_OF(name, shape)
#include "graph/shapes/shapes.def"
#undef SHAPE
#undef SHAPE_OF
};

static const struct {
    const char *name;
    pyro_shape_rule shape;
} by_name[] = {
#define SHAPE(cost, shape)
#define SHAPE_OF(name, shape) {name, pyro_shape_##shape},
#include "graph/shapes/shapes.def"
#undef SHAPE
#undef SHAPE_OF
};

static const struct {
    const char *name, *arguments;
} arguments[] = {
#define ARGUMENTS(name, names) {name, names},
#include "graph/arguments.def"
#undef ARGUMENTS
};

static pyro_shape_rule find_rule(const pyro_op *op)
{
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (!strcmp(by_name[i].name, op->name))
            return by_name[i].shape;
    for (size_t i = 0; i < sizeof by_rule / sizeof *by_rule; i++)
        if (by_rule[i].cost == op->rule)
            return by_rule[i].shape;
    return pyro_shape_unknown;
}

bool pyro_infer_output(pyro_call *call, pyro_output *output)
{
    pyro_shape_rule rule = find_rule(call->op);
    *output = (pyro_output){.tensor = {.id = UINT64_MAX}};
    call->outputs = NULL;
    call->output_count = 0;
    if (rule == pyro_shape_nothing)
        return true;
    if (!rule(call, output) || call->overflow)
        return false;
    output->tensor.dims = output->dims;
    output->tensor.elements = pyro_dims_product(call, &output->tensor, 0, output->tensor.rank);
    call->outputs = &output->tensor;
    call->output_count = 1;
    return !call->overflow;
}

const char *pyro_argument_names(const char *op_name)
{
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        if (!strcmp(arguments[i].name, op_name))
            return arguments[i].arguments;
    return NULL;
}
