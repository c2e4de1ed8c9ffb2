/* Shapes of convolutions, products, pools, recurrent layers and attention. */
#include "read/onnx/infer.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The sizes of windows over the spatial dims. */
typedef struct windows {
    size_t spatial;
    int64_t kernel[PYRO_MAX_RANK], stride[PYRO_MAX_RANK], dilation[PYRO_MAX_RANK];
    int64_t padding[PYRO_MAX_RANK]; /* both sides */
    bool is_same; /* auto_pad: as many outputs as strides */
    bool is_ceil;
} windows;

/* A list of one number per spatial dim, each 1 or more; else inference fails. */
static bool fill(onnx_call *call, const char *name, size_t spatial, int64_t *out)
{
    const int64_t *items;
    size_t count = 0;
    char what[80];
    bool given = onnx_list(call, name, SIZE_MAX, &items, &count);
    for (size_t d = 0; d < spatial; d++) {
        out[d] = given && d < count ? items[d] : 1;
        if (out[d] >= 1)
            continue;
        snprintf(what, sizeof what, "'%.20s' has %" PRId64 ", which must be 1 or more", name,
                 out[d]);
        return onnx_mismatch(call, what);
    }
    return true;
}

static bool read_windows(onnx_call *call, size_t spatial, windows *out)
{
    const int64_t *pads;
    size_t count = 0;
    const char *automatic = onnx_word(call, "auto_pad", "NOTSET");
    *out = (windows){.spatial = spatial};
    if (!fill(call, "kernel_size", spatial, out->kernel) ||
        !fill(call, "stride", spatial, out->stride) ||
        !fill(call, "dilation", spatial, out->dilation))
        return false;
    out->is_same = !strncmp(automatic, "SAME", 4);
    out->is_ceil = onnx_integer(call, "ceil_mode", 0) != 0;
    if (strcmp(automatic, "VALID") && onnx_list(call, "padding", SIZE_MAX, &pads, &count))
        for (size_t d = 0; d < spatial && d + spatial < count; d++) {
            out->padding[d] = onnx_plus(onnx_size(pads[d]), onnx_size(pads[d + spatial]));
            if (out->padding[d] < 0)
                return onnx_mismatch(call, "the padding is negative or too large");
        }
    return true;
}

/* The number of windows along a dim; ONNX_UNKNOWN if it is open, -2 if none fits. */
static int64_t window_count(const windows *w, size_t d, int64_t size, bool pools)
{
    int64_t reach, whole, past;
    if (size < 0 || w->kernel[d] < 1)
        return ONNX_UNKNOWN;
    if (w->is_same)
        return size / w->stride[d] + (size % w->stride[d] != 0);
    if (__builtin_mul_overflow(w->kernel[d] - 1, w->dilation[d], &reach) ||
        __builtin_add_overflow(size, w->padding[d], &whole) ||
        __builtin_sub_overflow(whole - 1, reach, &whole))
        return ONNX_INVALID;
    if (whole < 0)
        return -2;
    int64_t count = whole / w->stride[d];
    if (w->is_ceil && whole % w->stride[d]) {
        count++;
        /* A window that starts in the padding behind the input is dropped. */
        if (pools && (__builtin_mul_overflow(count, w->stride[d], &past) ||
                      past >= size + w->padding[d] / 2))
            count--;
    }
    return count + 1;
}

static bool slide(onnx_call *call, const onnx_shape *input, const windows *w, int64_t channels,
                  uint8_t dtype, size_t output, bool pools)
{
    int64_t dims[PYRO_MAX_RANK];
    dims[0] = input->dims[0];
    dims[1] = channels;
    for (size_t d = 0; d < w->spatial; d++) {
        dims[d + 2] = window_count(w, d, input->dims[d + 2], pools);
        if (dims[d + 2] == -2)
            return onnx_mismatch(call, "the input is too small");
    }
    return onnx_out(call, output, dtype, input->rank, dims);
}

/* Conv, FusedConv, DeformConv (X, W); ConvInteger; QLinearConv (x, scale, zero, w, ...). */
bool onnx_shape_convolution(onnx_call *call)
{
    bool linear = strstr(call->node->target, "QLinear") != NULL;
    bool integer = strstr(call->node->target, "ConvInteger") != NULL;
    const onnx_shape *input = onnx_in(call, 0), *weight = onnx_in(call, linear ? 3 : 1);
    const onnx_shape *zero = linear ? onnx_in(call, 7) : NULL;
    windows w;
    if (!input || !weight || input->rank < 3)
        return false;
    if (weight->rank != input->rank)
        return onnx_mismatch(call, "input and weight have different ranks");
    int64_t group;
    if (!read_windows(call, input->rank - 2u, &w) || !onnx_positive(call, "groups", 1, &group))
        return false;
    pyro_copy(w.kernel, weight->dims + 2, w.spatial * sizeof *w.kernel);
    if (input->dims[1] >= 0 && weight->dims[1] >= 0 &&
        input->dims[1] != onnx_times(weight->dims[1], group))
        return onnx_mismatch(call, "the channels of input and weight do not match");
    uint8_t dtype = integer ? PYRO_DTYPE_INT32 : zero ? zero->dtype : input->dtype;
    return slide(call, input, &w, weight->dims[0], dtype, 0, false);
}

bool onnx_shape_transposed_convolution(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0), *weight = onnx_in(call, 1);
    const int64_t *given, *extra;
    size_t given_count = 0, extra_count = 0;
    int64_t dims[PYRO_MAX_RANK];
    windows w;
    if (!input || !weight || input->rank < 3 || weight->rank != input->rank)
        return false;
    int64_t group;
    if (!read_windows(call, input->rank - 2u, &w) || !onnx_positive(call, "groups", 1, &group))
        return false;
    bool sized = onnx_list(call, "output_shape", SIZE_MAX, &given, &given_count);
    bool padded = onnx_list(call, "output_padding", SIZE_MAX, &extra, &extra_count);
    dims[0] = input->dims[0];
    dims[1] = onnx_times(weight->dims[1], group);
    for (size_t d = 0; d < w.spatial; d++) {
        int64_t size = input->dims[d + 2], kernel = weight->dims[d + 2], reach;
        if (sized && given_count >= w.spatial) {
            dims[d + 2] = onnx_size(given[given_count - w.spatial + d]);
        } else if (size < 1 || kernel < 1) {
            dims[d + 2] = size == 0 ? 0 : ONNX_UNKNOWN;
        } else if (w.is_same) {
            dims[d + 2] = onnx_times(size, w.stride[d]);
        } else {
            reach = onnx_plus(onnx_times(kernel - 1, w.dilation[d]), 1);
            int64_t whole = onnx_plus(onnx_times(size - 1, w.stride[d]), reach);
            whole = padded && d < extra_count ? onnx_plus(whole, onnx_size(extra[d])) : whole;
            dims[d + 2] = whole < 0              ? whole
                          : whole < w.padding[d] ? ONNX_INVALID
                                                 : whole - w.padding[d];
        }
    }
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

bool onnx_shape_pool(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    windows w;
    if (!input || input->rank < 3)
        return false;
    return read_windows(call, input->rank - 2u, &w) &&
           slide(call, input, &w, input->dims[1], input->dtype, 0, true) &&
           slide(call, input, &w, input->dims[1], PYRO_DTYPE_INT64, 1, true);
}

bool onnx_shape_global_pool(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t dims[PYRO_MAX_RANK];
    if (!input || input->rank < 2)
        return false;
    for (size_t d = 0; d < input->rank; d++)
        dims[d] = d < 2 ? input->dims[d] : 1;
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

/* The product of the last two dims, broadcast over the others; vectors as in NumPy. */
static bool multiply(onnx_call *call, const onnx_shape *a, const onnx_shape *b, uint8_t dtype)
{
    int64_t dims[PYRO_MAX_RANK];
    size_t rank;
    if (a->rank == 0 || b->rank == 0)
        return onnx_mismatch(call, "a product needs vectors or matrices");
    int64_t inner = a->dims[a->rank - 1], other = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    if (inner >= 0 && other >= 0 && inner != other)
        return onnx_mismatch(call, "the inputs do not match");
    onnx_shape left = *a, right = *b;
    left.rank = (uint8_t)(a->rank > 2 ? a->rank - 2 : 0);
    right.rank = (uint8_t)(b->rank > 2 ? b->rank - 2 : 0);
    if (!onnx_broadcast(&left, &right, dims, &rank))
        return onnx_mismatch(call, "the inputs do not match");
    if (a->rank > 1)
        dims[rank++] = a->dims[a->rank - 2];
    if (b->rank > 1)
        dims[rank++] = b->dims[b->rank - 1];
    return onnx_out(call, 0, dtype, rank, dims);
}

/* Swaps the last two sizes of a matrix that an attribute transposes. */
static const onnx_shape *turned(onnx_call *call, const onnx_shape *shape, const char *name,
                                onnx_shape *room, int64_t *dims)
{
    if (!shape || shape->rank < 2 || !onnx_integer(call, name, 0))
        return shape;
    pyro_copy(dims, shape->dims, shape->rank * sizeof *dims);
    dims[shape->rank - 1] = shape->dims[shape->rank - 2];
    dims[shape->rank - 2] = shape->dims[shape->rank - 1];
    *room = *shape;
    room->dims = dims;
    return room;
}

bool onnx_shape_matmul(onnx_call *call)
{
    bool linear = strstr(call->node->target, "QLinear") != NULL;
    bool integer = strstr(call->node->target, "MatMulInteger") != NULL;
    const onnx_shape *a = onnx_in(call, 0), *b = onnx_in(call, linear ? 3 : 1);
    const onnx_shape *zero = linear ? onnx_in(call, 7) : NULL;
    onnx_shape rooms[2];
    int64_t dims[2][PYRO_MAX_RANK];
    a = turned(call, a, "transA", &rooms[0], dims[0]);
    b = turned(call, b, "transB", &rooms[1], dims[1]);
    return a && b &&
           multiply(call, a, b,
                    integer ? PYRO_DTYPE_INT32
                    : zero  ? zero->dtype
                            : a->dtype);
}

bool onnx_shape_gemm(onnx_call *call)
{
    const onnx_shape *a = onnx_in(call, 0), *b = onnx_in(call, 1);
    if (a && b && (a->rank != 2 || b->rank != 2))
        return onnx_mismatch(call, "a product needs matrices");
    return onnx_shape_matmul(call);
}

/* X [sequence, batch, in], R [directions, gates, hidden]; the outputs Y, Y_h, Y_c. */
bool onnx_shape_recurrent(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0), *weight = onnx_in(call, 2);
    if (!input || !weight || input->rank != 3 || weight->rank != 3)
        return false;
    int64_t hidden = onnx_size(onnx_integer(call, "hidden_size", weight->dims[2]));
    bool batch_first = onnx_integer(call, "layout", 0) != 0;
    int64_t steps = input->dims[batch_first], batch = input->dims[!batch_first];
    int64_t plain[4] = {steps, weight->dims[0], batch, hidden};
    int64_t turned_dims[4] = {batch, steps, weight->dims[0], hidden};
    int64_t state[3] = {weight->dims[0], batch, hidden};
    int64_t turned_state[3] = {batch, weight->dims[0], hidden};
    return onnx_out(call, 0, input->dtype, 4, batch_first ? turned_dims : plain) &&
           onnx_out(call, 1, input->dtype, 3, batch_first ? turned_state : state) &&
           onnx_out(call, 2, input->dtype, 3, batch_first ? turned_state : state);
}

/* The number of keys behind the cached ones. */
static int64_t key_count(const onnx_shape *key, const onnx_shape *past)
{
    int64_t fresh = key->dims[key->rank - 2];
    return past && past->rank == 4 ? onnx_plus(past->dims[2], fresh) : fresh;
}

/* Q, K, V as [batch, heads, sequence, dim], or as [batch, sequence, heads x dim]. */
bool onnx_shape_attention(onnx_call *call)
{
    const onnx_shape *q = onnx_in(call, 0), *k = onnx_in(call, 1), *v = onnx_in(call, 2);
    const onnx_shape *past = onnx_in(call, 4), *past_value = onnx_in(call, 5);
    if (!q || !k || !v || q->rank != k->rank || q->rank != v->rank || q->rank < 3)
        return false;
    int64_t heads = onnx_integer(call, "q_num_heads", 0);
    int64_t shared = onnx_integer(call, "kv_num_heads", heads);
    bool flat = q->rank == 3;
    if (flat && (heads < 1 || shared < 1))
        return onnx_mismatch(call, "the numbers of heads must be 1 or more");
    int64_t key_dim = flat ? (k->dims[2] < 0 ? ONNX_UNKNOWN : k->dims[2] / shared) : k->dims[3];
    int64_t dim = flat ? (v->dims[2] < 0 ? ONNX_UNKNOWN : v->dims[2] / shared) : v->dims[3];
    int64_t keys = key_count(k, past), rows = q->dims[q->rank - 2];
    int64_t four[4] = {q->dims[0], flat ? heads : q->dims[1], rows, dim};
    int64_t three[3] = {q->dims[0], rows, onnx_times(flat ? heads : 1, dim)};
    int64_t present[4] = {q->dims[0], flat ? shared : k->dims[1], keys, key_dim};
    int64_t present_value[4] = {q->dims[0], flat ? shared : v->dims[1],
                                past_value ? keys : v->dims[v->rank - 2], dim};
    int64_t scores[4] = {q->dims[0], flat ? heads : q->dims[1], rows, keys};
    return onnx_out(call, 0, q->dtype, flat ? 3 : 4, flat ? three : four) &&
           onnx_out(call, 1, k->dtype, 4, present) &&
           onnx_out(call, 2, v->dtype, 4, present_value) && onnx_out(call, 3, q->dtype, 4, scores);
}

/* Outputs of "ij,jk->ik"; without an arrow the labels that occur once, in order. */
bool onnx_shape_einsum(onnx_call *call)
{
    const char *equation = onnx_word(call, "equation", ""), *arrow = strstr(equation, "->");
    int64_t sizes[128], dims[PYRO_MAX_RANK];
    uint8_t seen[128] = {0};
    size_t rank = 0, position = 0, axis = 0;
    for (size_t i = 0; i < 128; i++)
        sizes[i] = ONNX_UNKNOWN;
    const onnx_shape *input = onnx_in(call, 0);
    if (!input || strstr(equation, "...") || !*equation)
        return false;
    uint8_t dtype = input->dtype;
    for (const char *at = equation; *at && at != arrow; at++) {
        unsigned char label = (unsigned char)*at;
        if (label == ',') {
            input = onnx_in(call, ++position);
            axis = 0;
            if (!input)
                return false;
        } else if (label != ' ' && label < 128) {
            if (axis >= input->rank)
                return onnx_mismatch(call, "the equation has more labels than dims");
            int64_t size = input->dims[axis++];
            sizes[label] = sizes[label] < 0 || sizes[label] == 1 ? size : sizes[label];
            seen[label] += seen[label] < 2;
        }
    }
    for (const char *at = arrow ? arrow + 2 : NULL; at && *at; at++)
        if (*at != ' ' && rank < PYRO_MAX_RANK && (unsigned char)*at < 128)
            dims[rank++] = sizes[(unsigned char)*at];
    for (size_t label = 0; !arrow && label < 128; label++)
        if (seen[label] == 1 && rank < PYRO_MAX_RANK)
            dims[rank++] = sizes[label];
    return onnx_out(call, 0, dtype, rank, dims);
}

static bool regions(onnx_call *call, int64_t height, int64_t width)
{
    const onnx_shape *input = onnx_in(call, 0), *rois = onnx_in(call, 1);
    if (!input || !rois || input->rank != 4 || rois->rank < 1)
        return false;
    int64_t dims[4] = {rois->dims[0], input->dims[1], onnx_size(height), onnx_size(width)};
    return onnx_out(call, 0, input->dtype, 4, dims);
}

bool onnx_shape_roi_align(onnx_call *call)
{
    return regions(call, onnx_integer(call, "output_height", 1),
                   onnx_integer(call, "output_width", 1));
}

bool onnx_shape_roi_pool(onnx_call *call)
{
    const int64_t *size;
    size_t count;
    return onnx_list(call, "pooled_shape", SIZE_MAX, &size, &count) && count == 2 &&
           regions(call, size[0], size[1]);
}

bool onnx_shape_grid_sample(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0), *grid = onnx_in(call, 1);
    int64_t dims[PYRO_MAX_RANK];
    if (!input || !grid || input->rank != grid->rank || input->rank < 3)
        return false;
    dims[0] = input->dims[0];
    dims[1] = input->dims[1];
    for (size_t d = 2; d < input->rank; d++)
        dims[d] = grid->dims[d - 1];
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

bool onnx_shape_affine_grid(onnx_call *call)
{
    const onnx_shape *theta = onnx_in(call, 0);
    const int64_t *size;
    size_t count;
    int64_t dims[PYRO_MAX_RANK];
    if (!theta || !onnx_list(call, "", 1, &size, &count) || count < 4 || count > 5)
        return false;
    dims[0] = onnx_size(size[0]);
    for (size_t d = 2; d < count; d++)
        dims[d - 1] = onnx_size(size[d]);
    dims[count - 1] = (int64_t)count - 2;
    return onnx_out(call, 0, theta->dtype, count, dims);
}

bool onnx_shape_det(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    return input && input->rank >= 2 &&
           onnx_out(call, 0, input->dtype, input->rank - 2u, input->dims);
}

/* [batch, ..., signal, 1 or 2] to [batch, ..., signal, 2]. */
bool onnx_shape_dft(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const onnx_values *length = onnx_in_values(call, 1), *given = onnx_in_values(call, 2);
    int64_t dims[PYRO_MAX_RANK];
    if (!input || input->rank < 2 || (onnx_has_input(call, 2) && !given))
        return false;
    int64_t wanted = given && given->integers && given->count
                         ? given->integers[0]
                         : onnx_integer(call, "dim", onnx_has_input(call, 2) ? -2 : 1);
    int axis = onnx_axis(wanted, input->rank);
    if (axis < 0)
        return onnx_mismatch(call, "an axis is invalid");
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    if (onnx_has_input(call, 1))
        dims[axis] = length && length->integers && length->count ? onnx_size(length->integers[0])
                                                                 : ONNX_UNKNOWN;
    bool halved = onnx_integer(call, "onesided", 0) != 0;
    bool inverse = halved && onnx_integer(call, "inverse", 0);
    if (inverse && !onnx_has_input(call, 1))
        dims[axis] = dims[axis] < 1 ? ONNX_UNKNOWN : onnx_times(2, dims[axis] - 1);
    else if (halved && !inverse && dims[axis] >= 0)
        dims[axis] = dims[axis] / 2 + 1;
    dims[input->rank - 1] = inverse ? 1 : 2;
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

/* signal, frame_step, window, frame_length. */
bool onnx_shape_stft(onnx_call *call)
{
    const onnx_shape *signal = onnx_in(call, 0), *window = onnx_in(call, 2);
    const onnx_values *step = onnx_in_values(call, 1), *frame = onnx_in_values(call, 3);
    int64_t length = frame && frame->integers && frame->count ? frame->integers[0]
                     : window && window->rank == 1            ? window->dims[0]
                                                              : ONNX_UNKNOWN;
    if (!signal || signal->rank < 2 || !step || !step->integers || !step->count ||
        step->integers[0] < 1)
        return false;
    bool known = length >= 1 && signal->dims[1] >= length;
    int64_t dims[4] = {signal->dims[0],
                       known ? (signal->dims[1] - length) / step->integers[0] + 1 : ONNX_UNKNOWN,
                       length < 1                          ? ONNX_UNKNOWN
                       : onnx_integer(call, "onesided", 1) ? length / 2 + 1
                                                           : length,
                       2};
    return onnx_out(call, 0, signal->dtype, 4, dims);
}

bool onnx_shape_col2im(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const onnx_values *image = onnx_in_values(call, 1), *block = onnx_in_values(call, 2);
    int64_t dims[PYRO_MAX_RANK], volume = 1;
    if (!input || input->rank != 3 || !image || !image->integers || !block || !block->integers ||
        image->count + 2u > PYRO_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < block->count; i++)
        volume = onnx_times(volume, block->integers[i]);
    dims[0] = input->dims[0];
    dims[1] = volume > 0 && input->dims[1] >= 0 ? input->dims[1] / volume : ONNX_UNKNOWN;
    for (uint32_t i = 0; i < image->count; i++)
        dims[i + 2] = onnx_size(image->integers[i]);
    return onnx_out(call, 0, input->dtype, image->count + 2u, dims);
}

bool onnx_shape_unpool(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *given;
    size_t count;
    int64_t dims[PYRO_MAX_RANK];
    windows w;
    if (!input || input->rank < 3)
        return false;
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    if (onnx_has_input(call, 2)) {
        if (!onnx_list(call, "", 2, &given, &count) || count != input->rank)
            return false;
        for (size_t d = 0; d < count; d++)
            dims[d] = onnx_size(given[d]);
        return onnx_out(call, 0, input->dtype, count, dims);
    }
    if (!read_windows(call, input->rank - 2u, &w))
        return false;
    for (size_t d = 0; d < w.spatial; d++) {
        int64_t steps = input->dims[d + 2] > 0 ? input->dims[d + 2] - 1 : ONNX_UNKNOWN;
        int64_t whole = onnx_plus(onnx_times(steps, w.stride[d]), w.kernel[d]);
        dims[d + 2] = whole < 0              ? whole
                      : whole < w.padding[d] ? ONNX_INVALID
                                             : whole - w.padding[d];
    }
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

bool onnx_shape_mel_weights(onnx_call *call)
{
    const onnx_values *bins = onnx_in_values(call, 0), *length = onnx_in_values(call, 1);
    if (!bins || !bins->integers || !bins->count || !length || !length->integers ||
        !length->count || length->integers[0] < 0)
        return false;
    int64_t dims[2] = {length->integers[0] / 2 + 1, onnx_size(bins->integers[0])};
    return onnx_out(call, 0, onnx_dtype(onnx_integer(call, "output_datatype", 1)), 2, dims);
}

/* Query, key, value [batch, sequence, heads x dim], past state, ...: the output and the state. */
bool onnx_shape_linear_attention(onnx_call *call)
{
    const onnx_shape *q = onnx_in(call, 0), *k = onnx_in(call, 1), *v = onnx_in(call, 2);
    int64_t heads = onnx_integer(call, "q_num_heads", 1);
    int64_t shared = onnx_integer(call, "kv_num_heads", heads);
    if (!q || !k || !v || q->rank != 3 || v->rank != 3 || k->rank != 3 || heads < 1 || shared < 1)
        return false;
    int64_t dim = v->dims[2] < 0 ? ONNX_UNKNOWN : v->dims[2] / shared;
    int64_t key_dim = k->dims[2] < 0 ? ONNX_UNKNOWN : k->dims[2] / shared;
    int64_t dims[3] = {q->dims[0], q->dims[1], onnx_times(heads, dim)};
    int64_t state[4] = {q->dims[0], shared, key_dim, dim};
    return onnx_out(call, 0, q->dtype, 3, dims) && onnx_out(call, 1, q->dtype, 4, state);
}

/* Input [batch, channels, length]; the state is the last kernel - 1 values. */
bool onnx_shape_causal_conv(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0), *weight = onnx_in(call, 1);
    int64_t dims[PYRO_MAX_RANK];
    if (!input || !weight || !input->rank || !weight->rank || !onnx_shape_same(call))
        return false;
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    int64_t kernel = weight->dims[weight->rank - 1];
    dims[input->rank - 1] = kernel < 1 ? ONNX_UNKNOWN : kernel - 1;
    return onnx_out(call, 1, input->dtype, input->rank, dims);
}

/* Gate and value in one tensor are half as wide afterwards; in two they keep their shape. */
bool onnx_shape_swiglu(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t dims[PYRO_MAX_RANK];
    if (!input || !input->rank || onnx_has_input(call, 1))
        return onnx_shape_same(call);
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    int axis = onnx_axis(onnx_integer(call, "dim", -1), input->rank);
    if (axis < 0)
        return onnx_mismatch(call, "an axis is invalid");
    dims[axis] = dims[axis] < 0 ? ONNX_UNKNOWN : dims[axis] / 2;
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}
