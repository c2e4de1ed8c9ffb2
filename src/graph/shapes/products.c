/* Shape rules for convolutions, pooling, products and attention. */
#include "graph/call.h"
#include "graph/shapes/rules.h"

#include <string.h>

/* The nth of a list, which may have one value for all dims. */
static bool list_value(const pyro_call *call, const char *name, size_t n, int64_t otherwise,
                       int64_t *out)
{
    const pyro_call_arg *arg = pyro_call_find(call, name, SIZE_MAX);
    if (!arg || arg->kind == PYRO_ARG_NONE || (arg->integers && !arg->count)) {
        *out = otherwise;
        return true;
    }
    if (!arg->integers)
        return false;
    *out = arg->integers[arg->count == 1 ? 0 : n % arg->count];
    return true;
}

typedef struct sliding_window {
    int64_t kernel, stride, padding, dilation, output_padding;
} sliding_window;

/* Sizes from a file are untrusted: a size that does not fit has no shape. */
static bool slide(pyro_call *call, int64_t input, const sliding_window *w, bool up, int64_t *out)
{
    if (w->stride < 1 || w->dilation < 1 || w->kernel < 0 || w->padding < 0 ||
        w->kernel > INT32_MAX || w->padding > INT32_MAX || w->dilation > INT32_MAX ||
        w->stride > INT32_MAX || input > INT32_MAX * INT64_C(1024))
        return false;
    int64_t span = pyro_times(call, w->dilation, w->kernel - 1);
    *out = up ? (input - 1) * w->stride - 2 * w->padding + span + w->output_padding + 1
              : (input + 2 * w->padding - span - 1) / w->stride + 1;
    return !call->overflow && *out >= 0;
}

static bool same_padding(const pyro_call *call)
{
    const pyro_call_arg *padding = pyro_call_find(call, "padding", SIZE_MAX);
    return padding && padding->text && strstr(padding->text, "same");
}

static bool convolve(pyro_call *call, pyro_output *output, bool up)
{
    const pyro_tensor *input = pyro_call_nth_tensor(call, 0),
                      *weight = pyro_call_nth_tensor(call, 1);
    if (!input || !weight || weight->rank < 3)
        return false;
    size_t spatial = weight->rank - 2u;
    if (input->rank != spatial + 2 && input->rank != spatial + 1)
        return false;
    int64_t groups = pyro_call_integer(call, "groups", SIZE_MAX, 1);
    int64_t channels = up ? pyro_times(call, weight->dims[1], groups) : weight->dims[0];
    output->tensor.dtype = input->dtype;
    if (!pyro_output_append_dims(output, input, 0, input->rank - spatial - 1) ||
        !pyro_output_append(output, channels))
        return false;
    bool same = same_padding(call);
    for (size_t d = 0; d < spatial; d++) {
        sliding_window w = {.kernel = weight->dims[2 + d]};
        int64_t size = input->dims[input->rank - spatial + d];
        /* The stride must be known: a trace without concrete inputs does not define the output. */
        const pyro_call_arg *stride = pyro_call_find(call, "stride", SIZE_MAX);
        if (!stride || !stride->integers || !stride->count ||
            !list_value(call, "stride", d, 1, &w.stride) ||
            !list_value(call, "dilation", d, 1, &w.dilation) ||
            !list_value(call, "output_padding", d, 0, &w.output_padding))
            return false;
        if (!same && !list_value(call, "padding", d, 0, &w.padding) &&
            !pyro_call_find(call, "padding", SIZE_MAX)->text)
            return false;
        if (!(same ? pyro_output_append(output, size)
                   : slide(call, size, &w, up, &size) && pyro_output_append(output, size)))
            return false;
    }
    return true;
}

SHAPE_RULE(convolution)
{
    return convolve(call, output, false);
}

SHAPE_RULE(convolution_transposed)
{
    return convolve(call, output, true);
}

SHAPE_RULE(convolution_by_flag)
{
    return convolve(call, output, pyro_call_integer(call, "transposed", SIZE_MAX, 0) != 0);
}

SHAPE_RULE(pool)
{
    const pyro_tensor *input = pyro_call_nth_tensor(call, 0);
    size_t spatial = (size_t)call->op->factor;
    if (!input || input->rank < spatial)
        return false;
    output->tensor.dtype = input->dtype;
    if (!pyro_output_append_dims(output, input, 0, input->rank - spatial))
        return false;
    bool ceil_mode = pyro_call_integer(call, "ceil_mode", SIZE_MAX, 0) != 0;
    for (size_t d = 0; d < spatial; d++) {
        sliding_window w = {0};
        int64_t size = input->dims[input->rank - spatial + d], pooled;
        const pyro_call_arg *kernel = pyro_call_find(call, "kernel_size", SIZE_MAX);
        if (!kernel || !kernel->integers || !kernel->count ||
            !list_value(call, "kernel_size", d, 1, &w.kernel) ||
            !list_value(call, "stride", d, w.kernel, &w.stride) ||
            !list_value(call, "padding", d, 0, &w.padding) ||
            !list_value(call, "dilation", d, 1, &w.dilation) ||
            !slide(call, size, &w, false, &pooled))
            return false;
        int64_t reached = (pooled - 1) * w.stride + w.dilation * (w.kernel - 1) + 1;
        /* A last, partial window counts unless it starts in the trailing padding. */
        if (ceil_mode && reached < size + 2 * w.padding && pooled * w.stride < size + w.padding)
            pooled++;
        if (!pyro_output_append(output, pooled))
            return false;
    }
    return true;
}

/* The sizes that an argument lists replace the last dims. */
static bool resized(pyro_call *call, pyro_output *output, size_t position)
{
    const pyro_tensor *input = pyro_call_nth_tensor(call, 0);
    if (!input || position >= call->arg_count || !call->args[position].integers ||
        !call->args[position].count)
        return false;
    const pyro_call_arg *sizes = &call->args[position];
    if (sizes->count > input->rank)
        return false;
    output->tensor.dtype = input->dtype;
    if (!pyro_output_append_dims(output, input, 0, input->rank - sizes->count))
        return false;
    for (uint32_t i = 0; i < sizes->count; i++)
        if (!pyro_output_append(output, sizes->integers[i]))
            return false;
    return true;
}

SHAPE_RULE(adaptive_pool)
{
    return resized(call, output, 1);
}

SHAPE_RULE(resample)
{
    return resized(call, output, 1);
}

SHAPE_RULE(linear)
{
    const pyro_tensor *input = pyro_call_nth_tensor(call, 0),
                      *weight = pyro_call_nth_tensor(call, 1);
    if (!input || !weight || !input->rank || !weight->rank || weight->rank > 2)
        return false;
    output->tensor.dtype = input->dtype;
    return pyro_output_append_dims(output, input, 0, input->rank - 1u) &&
           (weight->rank == 1 || pyro_output_append(output, weight->dims[0]));
}

SHAPE_RULE(matmul)
{
    const pyro_tensor *a = pyro_call_nth_tensor(call, 0), *b = pyro_call_nth_tensor(call, 1);
    if (!a || !b || !a->rank || !b->rank)
        return false;
    pyro_tensor lead_a = *a, lead_b = *b;
    lead_a.rank = a->rank > 2 ? (uint8_t)(a->rank - 2) : 0;
    lead_b.rank = b->rank > 2 ? (uint8_t)(b->rank - 2) : 0;
    output->tensor.dtype = a->dtype;
    return pyro_output_broadcast(output, &lead_a) && pyro_output_broadcast(output, &lead_b) &&
           (a->rank == 1 || pyro_output_append(output, a->dims[a->rank - 2])) &&
           (b->rank == 1 || pyro_output_append(output, b->dims[b->rank - 1]));
}

SHAPE_RULE(matrix_product)
{
    size_t first = call->op->factor ? 1 : 0; /* an addend first */
    const pyro_tensor *a = pyro_call_tensor_at(call, first),
                      *b = pyro_call_tensor_at(call, first + 1);
    if (!a || !b || a->rank < 2 || b->rank < 2)
        return false;
    output->tensor.dtype = a->dtype;
    return pyro_output_append_dims(output, a, 0, a->rank - 1u) &&
           pyro_output_append(output, b->dims[b->rank - 1]);
}

SHAPE_RULE(vector_product)
{
    const pyro_tensor *a = pyro_call_tensor_at(call, call->op->factor ? 1 : 0);
    if (!a || !a->rank)
        return false;
    output->tensor.dtype = a->dtype;
    return pyro_output_append_dims(output, a, 0, a->rank - 1u);
}

SHAPE_RULE(grouped_matmul)
{
    const pyro_tensor *a = pyro_call_nth_tensor(call, 0), *b = pyro_call_nth_tensor(call, 1);
    if (!a || !b || a->rank < 2 || b->rank != 3)
        return false;
    output->tensor.dtype = a->dtype;
    return pyro_output_append_dims(output, a, 0, a->rank - 1u) &&
           pyro_output_append(output, b->dims[2]);
}

SHAPE_RULE(attention)
{
    const pyro_tensor *query = pyro_call_nth_tensor(call, 0),
                      *value = pyro_call_nth_tensor(call, 2);
    if (!query || !value || query->rank < 2 || value->rank < 2)
        return false;
    output->tensor.dtype = query->dtype;
    return pyro_output_append_dims(output, query, 0, query->rank - 1u) &&
           pyro_output_append(output, value->dims[value->rank - 1]);
}

/* [time, batch, hidden x directions] or batch first. */
SHAPE_RULE(recurrent)
{
    const pyro_tensor *input = pyro_call_tensor_at(call, 0), *hidden = pyro_call_tensor_at(call, 1);
    if (!input || !hidden || input->rank != 3 || !hidden->rank)
        return false;
    int64_t directions = pyro_call_integer(call, "bidirectional", 7, 0) ? 2 : 1;
    output->tensor.dtype = input->dtype;
    return pyro_output_append_dims(output, input, 0, 2) &&
           pyro_output_append(output, pyro_times(call, hidden->dims[hidden->rank - 1], directions));
}
