/* Derives the output of a call with the shape rule of its operator. */
#include "graph/shapes/shapes.h"

#include "graph/call.h"
#include "graph/rules/rules.h"
#include "graph/shapes/rules.h"

static pyro_shape_rule shape_of_rule(pyro_rule rule)
{
    static const struct {
        pyro_rule cost;
        pyro_shape_rule shape;
    } pairs[] = {
#define RULE(name, shape) {pyro_rule_##name, pyro_shape_##shape},
#include "graph/rules/rules.def"
#undef RULE
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].cost == rule)
            return pairs[i].shape;
    return pyro_shape_unknown;
}

bool pyro_infer_output(pyro_call *call, pyro_output *output)
{
    pyro_shape_rule rule = call->op->shape ? call->op->shape : shape_of_rule(call->op->rule);
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
