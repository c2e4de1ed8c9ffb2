/* Rules for convolutions: a weight applies at every output position (transposed: input). */
#include "graph/call.h"
#include "graph/rules/rules.h"

/* Their names in the libraries behind torch. */
static const char *const input_names[] = {"input", "self", "X", "qx", NULL};
static const char *const weight_names[] = {"weight", "W", "qw", NULL};
static const char *const bias_names[] = {"bias", "B", NULL};

/* Number of positions of a tensor: N times its `spatial` spatial dims; it may be unbatched. */
static int64_t positions(pyro_call *call, const pyro_tensor *tensor, size_t spatial)
{
    if (tensor->rank == spatial + 1)
        return pyro_dims_product(call, tensor, 1, tensor->rank);
    return pyro_times(call, tensor->dims[0], pyro_dims_product(call, tensor, 2, tensor->rank));
}

static bool convolve(pyro_call *call, pyro_price *price, bool transposed)
{
    const pyro_tensor *input = pyro_call_tensor_of(call, input_names, 0);
    const pyro_tensor *weight = pyro_call_tensor_of(call, weight_names, 1);
    if (!input || !weight || !call->output_count || weight->rank < 3)
        return false;
    size_t spatial = weight->rank - 2u;
    const pyro_tensor *over = transposed ? input : &call->outputs[0];
    if (over->rank != spatial + 1 && over->rank != spatial + 2)
        return false;
    /* The weight's shape includes groups: its second dim is the input channels of one group. */
    price->macs = pyro_times(call, positions(call, over, spatial), weight->elements);
    if (pyro_call_tensor_of(call, bias_names, 2))
        price->other_flops = pyro_output_elements(call);
    const pyro_call_arg *padding = pyro_call_find(call, "padding", 4);
    if (padding && padding->kind == PYRO_ARG_TEXT)
        price->fvcore_flops =
            0; /* to fvcore, "same" is a separate operator, which it does not count */
    return true;
}

bool pyro_rule_convolution(pyro_call *call, pyro_price *price)
{
    return convolve(call, price, false);
}

bool pyro_rule_transposed_convolution(pyro_call *call, pyro_price *price)
{
    return convolve(call, price, true);
}

/* aten.convolution has a flag for transposed. */
bool pyro_rule_any_convolution(pyro_call *call, pyro_price *price)
{
    return convolve(call, price, pyro_call_integer(call, "transposed", 6, 0) != 0);
}

/* Every tap is sampled bilinearly (7 FLOPs per input value) before the multiplication. */
bool pyro_rule_deformable_convolution(pyro_call *call, pyro_price *price)
{
    if (!convolve(call, price, false))
        return false;
    const pyro_tensor *input = pyro_call_tensor(call, "input", 0);
    const pyro_tensor *weight = pyro_call_tensor(call, "weight", 1);
    int64_t taps = pyro_dims_product(call, weight, 2, weight->rank);
    int64_t samples = pyro_times(call, positions(call, &call->outputs[0], 2),
                                 pyro_times(call, taps, input->rank > 1 ? input->dims[1] : 1));
    price->other_flops = pyro_plus(call, price->other_flops, pyro_times(call, samples, 7));
    price->torch_macs = price->fvcore_flops = 0; /* neither knows the operator */
    return true;
}
