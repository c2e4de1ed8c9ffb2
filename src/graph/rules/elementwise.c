/* Rules for work proportional to values: maps, reductions, norms, pooling, sampling. */
#include "graph/call.h"
#include "graph/rules/rules.h"

/* The first tensor among the arguments, or NULL. */
static const pyro_tensor *first_input(const pyro_call *call)
{
    for (size_t a = 0; a < call->arg_count; a++)
        if (call->args[a].tensors && call->args[a].count && call->args[a].tensors[0].dims)
            return &call->args[a].tensors[0];
    return NULL;
}

static int64_t largest_elements(const pyro_call *call)
{
    const pyro_tensor *input = first_input(call);
    int64_t output = pyro_output_elements(call);
    return input && input->elements > output ? input->elements : output;
}

/* `factor` FLOPs per output value. */
bool pyro_rule_elementwise(pyro_call *call, pyro_price *price)
{
    price->other_flops = pyro_times(call, pyro_output_elements(call), call->op->factor);
    return true;
}

/* The same for every tensor of an output list; in-place forms have only the input list. */
bool pyro_rule_elementwise_lists(pyro_call *call, pyro_price *price)
{
    int64_t elements = 0;
    for (size_t o = 0; o < call->output_count; o++)
        elements = pyro_plus(call, elements, call->outputs[o].elements);
    for (uint32_t i = 0; !call->output_count && call->arg_count && i < call->args[0].count; i++)
        if (call->args[0].tensors)
            elements = pyro_plus(call, elements, call->args[0].tensors[i].elements);
    price->other_flops = pyro_times(call, elements, call->op->factor);
    return true;
}

/* `factor` FLOPs per input value; forms that compare two tensors have larger outputs. */
bool pyro_rule_reduction(pyro_call *call, pyro_price *price)
{
    price->other_flops = pyro_times(call, largest_elements(call), call->op->factor);
    return true;
}

bool pyro_rule_softmax(pyro_call *call, pyro_price *price)
{
    return pyro_rule_elementwise(call, price);
}

/* In evaluation a scale and a shift; in training also the mean and variance of the batch. */
bool pyro_rule_batch_norm(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = first_input(call);
    if (!input)
        return false;
    bool training = pyro_call_integer(call, "training", 5, 0) != 0 ||
                    pyro_call_integer(call, "train", 5, 0) != 0 ||
                    pyro_call_integer(call, "use_input_stats", 5, 0) != 0;
    bool affine = pyro_call_tensor(call, "weight", 1) != NULL;
    price->other_flops = pyro_times(call, input->elements, training ? 7 : 2);
    price->fvcore_flops = pyro_times(call, input->elements, (training ? 4 : 1) + affine);
    return true;
}

/*
 * Layer, group, instance (factor 5: mean, centre, square, sum, scale) and RMS norm (factor 3),
 * which fvcore does not know.
 */
bool pyro_rule_norm(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = first_input(call);
    if (!input)
        return false;
    bool weight = pyro_call_tensor(call, "weight", 1) != NULL;
    bool bias = pyro_call_tensor(call, "bias", 2) != NULL;
    price->other_flops = pyro_times(call, input->elements, call->op->factor + weight + bias);
    price->fvcore_flops = call->op->factor == 3 ? 0 : pyro_times(call, input->elements, 4 + weight);
    return true;
}

/* One FLOP per value of the window, for every output. */
bool pyro_rule_pool(pyro_call *call, pyro_price *price)
{
    size_t dims = (size_t)call->op->factor;
    const pyro_call_arg *kernel = pyro_call_find(call, "kernel_size", 1);
    if (!kernel || !kernel->integers || !kernel->count)
        return false;
    int64_t window = 1;
    for (size_t d = 0; d < dims; d++)
        window = pyro_times(call, window,
                            kernel->integers[kernel->count == 1 ? 0 : d % kernel->count]);
    price->other_flops = pyro_times(call, pyro_output_elements(call), window);
    price->fvcore_flops = 0;
    return true;
}

/* Every input value is in about one window. Factor 1: fvcore counts it too. */
bool pyro_rule_adaptive_pool(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = first_input(call);
    if (!input)
        return false;
    price->other_flops = largest_elements(call);
    price->fvcore_flops = call->op->factor ? input->elements : 0;
    return true;
}

/* `factor` FLOPs per output value. */
bool pyro_rule_resample(pyro_call *call, pyro_price *price)
{
    return pyro_rule_elementwise(call, price);
}

/* The same; fvcore counts 4 for linear filters and 1 for copies. */
bool pyro_rule_resample_counted(pyro_call *call, pyro_price *price)
{
    price->fvcore_flops = pyro_times(call, pyro_output_elements(call), call->op->factor ? 4 : 1);
    return pyro_rule_elementwise(call, price);
}

/* Bilinear samples (7 FLOPs each), as many per bin as the ratio sets; 4 if adaptive. */
bool pyro_rule_roi(pyro_call *call, pyro_price *price)
{
    int64_t ratio = pyro_call_integer(call, "sampling_ratio", 5, -1);
    int64_t samples = ratio > 0 ? pyro_times(call, ratio, ratio) : 4;
    price->other_flops = pyro_times(call, pyro_output_elements(call),
                                    pyro_times(call, samples, 7 + 1));
    return true;
}

static int64_t log2_ceil(int64_t value)
{
    int64_t result = 0;
    while (result < 62 && (INT64_C(1) << result) < value)
        result++;
    return result;
}

static int64_t chosen_dim(const pyro_call *call, const pyro_tensor *input, const char *name,
                          size_t position)
{
    int64_t dim = pyro_call_integer(call, name, position, -1);
    if (dim < 0)
        dim += input->rank;
    return dim >= 0 && dim < input->rank ? input->dims[dim] : 1;
}

/* n log n comparisons along the sorted dim. */
bool pyro_rule_sort(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = first_input(call);
    if (!input)
        return false;
    int64_t length = chosen_dim(call, input, "dim", (size_t)call->op->factor);
    price->other_flops = pyro_times(call, input->elements, log2_ceil(length));
    return true;
}

/* log2(n) comparisons per searched value. */
bool pyro_rule_search(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *sorted = pyro_call_tensor(call, "boundaries", 1);
    if (!sorted)
        sorted = pyro_call_tensor(call, "sorted_sequence", 0);
    if (!sorted || sorted->rank == 0)
        return false;
    price->other_flops = pyro_times(call, pyro_output_elements(call),
                                    log2_ceil(sorted->dims[sorted->rank - 1]));
    return true;
}

/* `factor` FLOPs per pair of boxes: the worst case of suppression. */
bool pyro_rule_box_pairs(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *boxes = first_input(call);
    if (!boxes || boxes->rank != 2)
        return false;
    int64_t pairs = pyro_times(call, boxes->dims[0], boxes->dims[0]) / 2;
    price->other_flops = pyro_times(call, pairs, call->op->factor);
    return true;
}

/* Bits of the factor of fourier: which dims are transformed where the call names none. */
enum { ONE_SIDE_REAL = 2, LAST_TWO_DIMS = 4, ALL_DIMS = 8 };

/* Points of one transform of a tensor of this shape. */
static int64_t transform_length(pyro_call *call, const pyro_tensor *shape)
{
    const pyro_call_arg *dims = pyro_call_find(call, "dim", 1);
    int64_t length = 1;
    if (dims && dims->integers && dims->count) {
        for (uint32_t i = 0; i < dims->count; i++) {
            int64_t dim = dims->integers[i] < 0 ? dims->integers[i] + shape->rank
                                                : dims->integers[i];
            if (dim >= 0 && dim < shape->rank)
                length = pyro_times(call, length, shape->dims[dim]);
        }
        return length;
    }
    const pyro_call_arg *sizes = pyro_call_find(call, "s", 1);
    size_t last = call->op->factor & LAST_TWO_DIMS ? 2 : 1;
    if (call->op->factor & ALL_DIMS)
        last = sizes && sizes->integers && sizes->count ? sizes->count : shape->rank;
    return pyro_dims_product(call, shape, shape->rank > last ? shape->rank - last : 0, shape->rank);
}

/* 5 n log2(n), the usual count for a complex transform; half of it if one side is real. */
bool pyro_rule_fourier(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = first_input(call);
    if (!input)
        return false;
    int64_t points = largest_elements(call);
    const pyro_tensor *shape = input->elements >= pyro_output_elements(call) ? input
                                                                             : &call->outputs[0];
    int64_t length = transform_length(call, shape);
    int64_t flops = pyro_times(call, pyro_times(call, points, log2_ceil(length)), 5);
    price->other_flops = call->op->factor & ONE_SIDE_REAL ? flops / 2 : flops;
    return true;
}

/* One real transform of n_fft points per frame; the frames are those of the spectrum, which is the
 * output or, for the inverse (factor 1), the input. */
bool pyro_rule_short_fourier(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *spectrum = call->op->factor ? first_input(call) : call->outputs;
    int64_t points = pyro_call_integer(call, "n_fft", 1, 0);
    if (!spectrum || !call->output_count || !spectrum->dims || points <= 0)
        return false;
    int64_t frames = spectrum->elements / (points / 2 + 1);
    int64_t flops = pyro_times(call, pyro_times(call, points, log2_ceil(points)), 5) / 2;
    price->other_flops = pyro_times(call, frames, pyro_plus(call, flops, points));
    return true;
}

/* `factor` FLOPs per value of the prediction. */
bool pyro_rule_loss(pyro_call *call, pyro_price *price)
{
    return pyro_rule_reduction(call, price);
}

/* Nothing in evaluation; in training a random mask and a scale. */
bool pyro_rule_dropout(pyro_call *call, pyro_price *price)
{
    if (pyro_call_integer(call, "train", 2, 0) == 0) {
        price->is_free = true;
        return true;
    }
    price->other_flops = pyro_times(call, pyro_output_elements(call), 2);
    return true;
}
