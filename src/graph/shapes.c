/* Output shapes by rule; each rule knows one family of operators. */
#include "graph/shapes.h"

#include "graph/call.h"
#include "graph/rules.h"
#include <string.h>

typedef bool (*shape_rule)(pyro_call *call, pyro_output *output);

static const pyro_tensor *tensor_at(const pyro_call *call, size_t position)
{
    if (position >= call->arg_count || !call->args[position].tensors ||
        !call->args[position].count || !call->args[position].tensors[0].dims)
        return NULL;
    return &call->args[position].tensors[0];
}

static const pyro_tensor *nth_tensor(const pyro_call *call, size_t n)
{
    for (size_t a = 0; a < call->arg_count; a++)
        if (tensor_at(call, a) && n-- == 0)
            return tensor_at(call, a);
    return NULL;
}

static bool append(pyro_output *output, int64_t size)
{
    if (output->tensor.rank >= PYRO_MAX_RANK || size < 0)
        return false;
    output->dims[output->tensor.rank++] = size;
    return true;
}

static bool append_dims(pyro_output *output, const pyro_tensor *tensor, size_t from, size_t to)
{
    for (size_t d = from; d < to; d++)
        if (!append(output, tensor->dims[d]))
            return false;
    return true;
}

static bool like(pyro_output *output, const pyro_tensor *tensor)
{
    if (!tensor)
        return false;
    output->tensor.dtype = tensor->dtype;
    return append_dims(output, tensor, 0, tensor->rank);
}

static bool shape_nothing(pyro_call *call, pyro_output *output)
{
    (void)call;
    (void)output;
    return true;
}

static bool shape_unknown(pyro_call *call, pyro_output *output)
{
    (void)call;
    (void)output;
    return false;
}

static bool shape_first(pyro_call *call, pyro_output *output)
{
    return like(output, nth_tensor(call, 0));
}

static bool shape_second(pyro_call *call, pyro_output *output)
{
    return like(output, nth_tensor(call, 1));
}

static bool shape_scalar(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *first = nth_tensor(call, 0);
    output->tensor.dtype = first ? first->dtype : PYRO_DTYPE_FLOAT32;
    return true;
}

/* As many values as a list of tensors holds, whatever their shapes. */
static bool shape_list(pyro_call *call, pyro_output *output)
{
    const pyro_call_arg *list = call->arg_count ? &call->args[0] : NULL;
    if (!list || !list->tensors || !list->count)
        return false;
    int64_t elements = 0;
    for (uint32_t i = 0; i < list->count; i++)
        elements = pyro_plus(call, elements, list->tensors[i].elements);
    output->tensor.dtype = list->tensors[0].dtype;
    return append(output, elements);
}

/* Tensors with dims outrank those without, floating types integers, and large types small ones. */
static int type_rank(const pyro_tensor *tensor)
{
    return (tensor->rank > 0) * 1000 + pyro_dtype_is_floating(tensor->dtype) * 100 +
           (int)pyro_dtype_bytes(tensor->dtype) + (tensor->dtype != PYRO_DTYPE_UNKNOWN);
}

static bool broadcast_with(pyro_output *output, const pyro_tensor *tensor)
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

static bool shape_broadcast(pyro_call *call, pyro_output *output)
{
    if (call->arg_count && call->args[0].kind == PYRO_ARG_TENSORS)
        return shape_list(call, output);
    int best = -1;
    for (size_t a = 0; a < call->arg_count; a++) {
        const pyro_tensor *tensor = call->args[a].kind == PYRO_ARG_TENSOR ? tensor_at(call, a)
                                                                          : NULL;
        if (!tensor)
            continue;
        if (!broadcast_with(output, tensor))
            return false;
        if (type_rank(tensor) > best) {
            best = type_rank(tensor);
            output->tensor.dtype = tensor->dtype;
        }
    }
    return best >= 0;
}

static bool shape_compare(pyro_call *call, pyro_output *output)
{
    bool known = shape_broadcast(call, output);
    output->tensor.dtype = PYRO_DTYPE_BOOL;
    return known;
}

static bool shape_outer(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *a = nth_tensor(call, 0), *b = nth_tensor(call, 1);
    return a && b && like(output, a) && append_dims(output, b, 0, b->rank);
}

/* The nth of a list that may stand for all dims with one value. */
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

typedef struct window {
    int64_t kernel, stride, padding, dilation, output_padding;
} window;

/* Sizes from a file are anything: what does not fit has no shape. */
static bool slide(pyro_call *call, int64_t input, const window *w, bool up, int64_t *out)
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
    const pyro_tensor *input = nth_tensor(call, 0), *weight = nth_tensor(call, 1);
    if (!input || !weight || weight->rank < 3)
        return false;
    size_t spatial = weight->rank - 2u;
    if (input->rank != spatial + 2 && input->rank != spatial + 1)
        return false;
    int64_t groups = pyro_call_integer(call, "groups", SIZE_MAX, 1);
    int64_t channels = up ? pyro_times(call, weight->dims[1], groups) : weight->dims[0];
    output->tensor.dtype = input->dtype;
    if (!append_dims(output, input, 0, input->rank - spatial - 1) || !append(output, channels))
        return false;
    bool same = same_padding(call);
    for (size_t d = 0; d < spatial; d++) {
        window w = {.kernel = weight->dims[2 + d]};
        int64_t size = input->dims[input->rank - spatial + d];
        /* The stride must be known: a trace without concrete inputs does not tell the output. */
        const pyro_call_arg *stride = pyro_call_find(call, "stride", SIZE_MAX);
        if (!stride || !stride->integers || !stride->count ||
            !list_value(call, "stride", d, 1, &w.stride) ||
            !list_value(call, "dilation", d, 1, &w.dilation) ||
            !list_value(call, "output_padding", d, 0, &w.output_padding))
            return false;
        if (!same && !list_value(call, "padding", d, 0, &w.padding) &&
            !pyro_call_find(call, "padding", SIZE_MAX)->text)
            return false;
        if (!(same ? append(output, size)
                   : slide(call, size, &w, up, &size) && append(output, size)))
            return false;
    }
    return true;
}

static bool shape_convolution(pyro_call *call, pyro_output *output)
{
    return convolve(call, output, false);
}

static bool shape_convolution_transposed(pyro_call *call, pyro_output *output)
{
    return convolve(call, output, true);
}

static bool shape_convolution_by_flag(pyro_call *call, pyro_output *output)
{
    return convolve(call, output, pyro_call_integer(call, "transposed", SIZE_MAX, 0) != 0);
}

static bool shape_pool(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *input = nth_tensor(call, 0);
    size_t spatial = (size_t)call->op->factor;
    if (!input || input->rank < spatial)
        return false;
    output->tensor.dtype = input->dtype;
    if (!append_dims(output, input, 0, input->rank - spatial))
        return false;
    bool ceil_mode = pyro_call_integer(call, "ceil_mode", SIZE_MAX, 0) != 0;
    for (size_t d = 0; d < spatial; d++) {
        window w = {0};
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
        /* A last, partial window counts unless it starts in the padding behind. */
        if (ceil_mode && reached < size + 2 * w.padding && pooled * w.stride < size + w.padding)
            pooled++;
        if (!append(output, pooled))
            return false;
    }
    return true;
}

/* The sizes that an argument lists replace the last dims. */
static bool resized(pyro_call *call, pyro_output *output, size_t position)
{
    const pyro_tensor *input = nth_tensor(call, 0);
    if (!input || position >= call->arg_count || !call->args[position].integers ||
        !call->args[position].count)
        return false;
    const pyro_call_arg *sizes = &call->args[position];
    if (sizes->count > input->rank)
        return false;
    output->tensor.dtype = input->dtype;
    if (!append_dims(output, input, 0, input->rank - sizes->count))
        return false;
    for (uint32_t i = 0; i < sizes->count; i++)
        if (!append(output, sizes->integers[i]))
            return false;
    return true;
}

static bool shape_adaptive_pool(pyro_call *call, pyro_output *output)
{
    return resized(call, output, 1);
}

static bool shape_resample(pyro_call *call, pyro_output *output)
{
    return resized(call, output, 1);
}

static bool shape_linear(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *input = nth_tensor(call, 0), *weight = nth_tensor(call, 1);
    if (!input || !weight || !input->rank || !weight->rank || weight->rank > 2)
        return false;
    output->tensor.dtype = input->dtype;
    return append_dims(output, input, 0, input->rank - 1u) &&
           (weight->rank == 1 || append(output, weight->dims[0]));
}

static bool shape_matmul(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *a = nth_tensor(call, 0), *b = nth_tensor(call, 1);
    if (!a || !b || !a->rank || !b->rank)
        return false;
    pyro_tensor lead_a = *a, lead_b = *b;
    lead_a.rank = a->rank > 2 ? (uint8_t)(a->rank - 2) : 0;
    lead_b.rank = b->rank > 2 ? (uint8_t)(b->rank - 2) : 0;
    output->tensor.dtype = a->dtype;
    return broadcast_with(output, &lead_a) && broadcast_with(output, &lead_b) &&
           (a->rank == 1 || append(output, a->dims[a->rank - 2])) &&
           (b->rank == 1 || append(output, b->dims[b->rank - 1]));
}

static bool shape_matrix_product(pyro_call *call, pyro_output *output)
{
    size_t first = call->op->factor ? 1 : 0; /* an addend in front */
    const pyro_tensor *a = tensor_at(call, first), *b = tensor_at(call, first + 1);
    if (!a || !b || a->rank < 2 || b->rank < 2)
        return false;
    output->tensor.dtype = a->dtype;
    return append_dims(output, a, 0, a->rank - 1u) && append(output, b->dims[b->rank - 1]);
}

static bool shape_vector_product(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *a = tensor_at(call, call->op->factor ? 1 : 0);
    if (!a || !a->rank)
        return false;
    output->tensor.dtype = a->dtype;
    return append_dims(output, a, 0, a->rank - 1u);
}

static bool shape_grouped_matmul(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *a = nth_tensor(call, 0), *b = nth_tensor(call, 1);
    if (!a || !b || a->rank < 2 || b->rank != 3)
        return false;
    output->tensor.dtype = a->dtype;
    return append_dims(output, a, 0, a->rank - 1u) && append(output, b->dims[2]);
}

static bool shape_attention(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *query = nth_tensor(call, 0), *value = nth_tensor(call, 2);
    if (!query || !value || query->rank < 2 || value->rank < 2)
        return false;
    output->tensor.dtype = query->dtype;
    return append_dims(output, query, 0, query->rank - 1u) &&
           append(output, value->dims[value->rank - 1]);
}

/* [time, batch, hidden x directions] or batch first. */
static bool shape_recurrent(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *input = tensor_at(call, 0), *hidden = tensor_at(call, 1);
    if (!input || !hidden || input->rank != 3 || !hidden->rank)
        return false;
    int64_t directions = pyro_call_integer(call, "bidirectional", 7, 0) ? 2 : 1;
    output->tensor.dtype = input->dtype;
    return append_dims(output, input, 0, 2) &&
           append(output, pyro_times(call, hidden->dims[hidden->rank - 1], directions));
}

/* Without the dims that an argument lists, or with 1 in their places; all where it lists none. */
static bool reduced(pyro_call *call, pyro_output *output, size_t dims_at, size_t keep_at)
{
    const pyro_tensor *input = nth_tensor(call, 0);
    if (!input)
        return false;
    const pyro_call_arg *dims = dims_at < call->arg_count ? &call->args[dims_at] : NULL;
    bool keep = pyro_call_integer(call, "keepdim", keep_at, 0) != 0, drop[PYRO_MAX_RANK];
    /* A lone number in the place of the dims is an element type: sum(input, dtype). */
    bool all = !dims || !dims->integers || !dims->count ||
               (dims->kind == PYRO_ARG_INTEGER && call->arg_count <= dims_at + 1);
    memset(drop, all, sizeof drop);
    for (uint32_t i = 0; !all && i < dims->count; i++) {
        int64_t dim = dims->integers[i] + (dims->integers[i] < 0 ? input->rank : 0);
        if (dim < 0 || dim >= input->rank)
            return false;
        drop[dim] = true;
    }
    output->tensor.dtype = input->dtype;
    for (size_t d = 0; d < input->rank; d++)
        if ((!drop[d] && !append(output, input->dims[d])) ||
            (drop[d] && keep && !append(output, 1)))
            return false;
    return true;
}

static bool shape_reduce(pyro_call *call, pyro_output *output)
{
    return reduced(call, output, 1, 2);
}

/* norm(input, p, dims, keepdim) */
static bool shape_reduce_norm(pyro_call *call, pyro_output *output)
{
    return reduced(call, output, 2, 3);
}

static bool shape_reduce_or_compare(pyro_call *call, pyro_output *output)
{
    return nth_tensor(call, 1) ? shape_broadcast(call, output) : reduced(call, output, 1, 2);
}

static bool shape_topk(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *input = nth_tensor(call, 0);
    int64_t count = pyro_call_integer(call, "k", 1, -1),
            dim = pyro_call_integer(call, "dim", 2, -1);
    if (!like(output, input) || count < 0)
        return false;
    dim += dim < 0 ? input->rank : 0;
    if (dim < 0 || dim >= input->rank)
        return input->rank == 0;
    output->dims[dim] = count;
    return true;
}

/* gather(input, dim, index): as the index. */
static bool shape_gather(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *table = nth_tensor(call, 0), *index = nth_tensor(call, 1);
    bool known = table && like(output, index);
    output->tensor.dtype = table ? table->dtype : PYRO_DTYPE_UNKNOWN;
    return known;
}

static bool shape_embedding(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *table = nth_tensor(call, 0), *index = nth_tensor(call, 1);
    if (!table || !index || table->rank != 2)
        return false;
    bool known = like(output, index) && append(output, table->dims[1]);
    output->tensor.dtype = table->dtype;
    return known;
}

static bool shape_index_select(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *table = nth_tensor(call, 0), *index = nth_tensor(call, 1);
    int64_t dim = pyro_call_integer(call, "dim", 1, 0);
    if (!index || !like(output, table))
        return false;
    dim += dim < 0 ? table->rank : 0;
    if (dim < 0 || dim >= table->rank)
        return false;
    output->dims[dim] = index->elements;
    return true;
}

static bool shape_concatenate(pyro_call *call, pyro_output *output)
{
    const pyro_call_arg *list = call->arg_count ? &call->args[0] : NULL;
    int64_t dim = pyro_call_integer(call, "dim", 1, 0);
    if (!list || !list->tensors || !list->count || !like(output, &list->tensors[0]))
        return false;
    dim += dim < 0 ? output->tensor.rank : 0;
    if (dim < 0 || dim >= output->tensor.rank)
        return false;
    for (uint32_t i = 1; i < list->count; i++)
        if (list->tensors[i].rank == output->tensor.rank)
            output->dims[dim] = pyro_plus(call, output->dims[dim], list->tensors[i].dims[dim]);
    return true;
}

static bool shape_stack(pyro_call *call, pyro_output *output)
{
    if (!call->arg_count || !call->args[0].tensors || !call->args[0].count)
        return false;
    return like(output, &call->args[0].tensors[0]) && append(output, call->args[0].count);
}

/* Pairs of (before, after), the last dim first. */
static bool shape_pad(pyro_call *call, pyro_output *output)
{
    const pyro_call_arg *pads = call->arg_count > 1 ? &call->args[1] : NULL;
    if (!pads || !pads->integers || !shape_first(call, output) ||
        pads->count / 2 > output->tensor.rank)
        return false;
    for (uint32_t i = 0; i + 1 < pads->count; i += 2) {
        int64_t *size = &output->dims[output->tensor.rank - 1 - i / 2];
        *size = pyro_plus(call, *size, pyro_plus(call, pads->integers[i], pads->integers[i + 1]));
        if (*size < 0)
            return false;
    }
    return true;
}

static bool shape_repeat(pyro_call *call, pyro_output *output)
{
    const pyro_call_arg *times = call->arg_count > 1 ? &call->args[1] : NULL;
    const pyro_tensor *input = nth_tensor(call, 0);
    if (!input || !times || !times->integers || times->count < input->rank)
        return false;
    output->tensor.dtype = input->dtype;
    size_t lead = times->count - input->rank;
    for (uint32_t i = 0; i < times->count; i++)
        if (!append(output, i < lead ? times->integers[i]
                                     : pyro_times(call, times->integers[i], input->dims[i - lead])))
            return false;
    return true;
}

/* The element type that a number stands for in torch (c10::ScalarType); .pt2 counts from 1. */
static pyro_dtype scalar_type(int64_t code)
{
    if (code == 15)
        return PYRO_DTYPE_BFLOAT16;
    if (code == 23 || code == 24)
        return code == 23 ? PYRO_DTYPE_FLOAT8_E5M2 : PYRO_DTYPE_FLOAT8_E4M3FN;
    return code >= 0 && code <= 11 ? pyro_dtype_from_pt2(code + 1) : PYRO_DTYPE_UNKNOWN;
}

static bool shape_convert(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *input = nth_tensor(call, 0), *other = nth_tensor(call, 1);
    if (!like(output, input))
        return false;
    for (size_t a = 1; a < call->arg_count && a < 3; a++)
        if (call->args[a].kind == PYRO_ARG_INTEGER &&
            scalar_type(call->args[a].integers[0]) != PYRO_DTYPE_UNKNOWN) {
            output->tensor.dtype = scalar_type(call->args[a].integers[0]);
            return true;
        }
    if (other)
        output->tensor.dtype = other->dtype;
    return true;
}

static bool shape_convert_always(pyro_call *call, pyro_output *output)
{
    return shape_convert(call, output);
}

/* A shape among the arguments: zeros(size), new_zeros(input, size), select_backward(grad, size). */
static bool sized(pyro_call *call, pyro_output *output, size_t position)
{
    if (position >= call->arg_count || call->args[position].kind != PYRO_ARG_INTEGERS)
        return false;
    for (uint32_t i = 0; i < call->args[position].count; i++)
        if (!append(output, call->args[position].integers[i]))
            return false;
    return true;
}

static bool shape_sized_second(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *first = nth_tensor(call, 0);
    output->tensor.dtype = first ? first->dtype : PYRO_DTYPE_UNKNOWN;
    return sized(call, output, 1);
}

static bool shape_sized_third(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *first = nth_tensor(call, 0);
    output->tensor.dtype = first ? first->dtype : PYRO_DTYPE_UNKNOWN;
    return sized(call, output, 2);
}

static bool shape_created(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *first = nth_tensor(call, 0);
    if (!first) {
        output->tensor.dtype = PYRO_DTYPE_FLOAT32;
        /* zeros(size, dtype), full(size, value, dtype) */
        for (size_t a = 1; a < call->arg_count && a < 3; a++)
            if (call->args[a].kind == PYRO_ARG_INTEGER &&
                a == (strstr(call->op->name, "full") ? 2u : 1u))
                output->tensor.dtype = scalar_type(call->args[a].integers[0]);
        return sized(call, output, 0);
    }
    if (strstr(call->op->name, ".new_"))
        return shape_sized_second(call, output);
    return like(output, first);
}

static bool shape_embedding_backward(pyro_call *call, pyro_output *output)
{
    const pyro_tensor *gradient = nth_tensor(call, 0);
    int64_t rows = pyro_call_integer(call, "num_weights", 2, -1);
    if (!gradient || !gradient->rank || rows < 0)
        return false;
    output->tensor.dtype = gradient->dtype;
    return append(output, rows) && append(output, gradient->dims[gradient->rank - 1]);
}

static const struct {
    pyro_rule cost;
    shape_rule shape;
} by_rule[] = {
#define SHAPE(cost, shape) {pyro_rule_##cost, shape_##shape},
#define SHAPE_OF(name, shape)
#include "graph/shapes.def"
#undef SHAPE
#undef SHAPE_OF
};

static const struct {
    const char *name;
    shape_rule shape;
} by_name[] = {
#define SHAPE(cost, shape)
#define SHAPE_OF(name, shape) {name, shape_##shape},
#include "graph/shapes.def"
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

static shape_rule find_rule(const pyro_op *op)
{
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (!strcmp(by_name[i].name, op->name))
            return by_name[i].shape;
    for (size_t i = 0; i < sizeof by_rule / sizeof *by_rule; i++)
        if (by_rule[i].cost == op->rule)
            return by_rule[i].shape;
    return shape_unknown;
}

bool pyro_infer_output(pyro_call *call, pyro_output *output)
{
    shape_rule rule = find_rule(call->op);
    *output = (pyro_output){.tensor = {.id = UINT64_MAX}};
    call->outputs = NULL;
    call->output_count = 0;
    if (rule == shape_nothing)
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
