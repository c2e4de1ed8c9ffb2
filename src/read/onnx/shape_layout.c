/* Shapes of operators that move values: views, slices, joins, look-ups, resampling. */
#include "read/onnx/infer.h"

#include "base/bytes.h"

#include <math.h>
#include <string.h>

bool onnx_shape_shape(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    if (!input)
        return false;
    int64_t start = onnx_integer(call, "start", 0), end = onnx_integer(call, "end", INT64_MAX);
    int64_t rank = input->rank;
    start += start < 0 ? rank : 0;
    end += end < 0 ? rank : 0;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end < start ? start : end > rank ? rank : end;
    int64_t dim = end - start;
    return onnx_out(call, 0, PYRO_DTYPE_INT64, 1, &dim);
}

bool onnx_shape_size(onnx_call *call)
{
    return onnx_out(call, 0, PYRO_DTYPE_INT64, 0, NULL);
}

static int64_t elements_of(const onnx_shape *shape)
{
    int64_t elements = 1;
    for (size_t d = 0; d < shape->rank; d++)
        elements = onnx_times(elements, shape->dims[d]);
    return elements;
}

/* Resolves 0 (copy) and -1 (the rest) of a requested shape. */
bool onnx_shape_reshape(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *wanted;
    size_t count;
    int64_t dims[PYRO_MAX_RANK], product = 1;
    int rest = -1;
    if (!input || !onnx_list(call, "shape", 1, &wanted, &count) || count > PYRO_MAX_RANK)
        return false;
    bool copies = !onnx_integer(call, "allowzero", 0);
    for (size_t d = 0; d < count; d++) {
        dims[d] = wanted[d];
        if (wanted[d] == 0 && copies)
            dims[d] = d < input->rank ? input->dims[d] : ONNX_UNKNOWN;
        else if (wanted[d] == -1)
            rest = (int)d;
        else
            dims[d] = onnx_size(wanted[d]);
        if (rest != (int)d)
            product = onnx_times(product, dims[d]);
    }
    int64_t elements = elements_of(input);
    if (rest >= 0) {
        if (elements >= 0 && product > 0 && elements % product)
            return onnx_mismatch(call, "the requested shape has another number of values");
        dims[rest] = elements >= 0 && product > 0 ? elements / product
                     : product == 0               ? 0
                                                  : ONNX_UNKNOWN;
        /* An open batch in front is copied by most graphs: [batch, ...] to [batch, -1]. */
    } else if (elements >= 0 && product >= 0 && elements != product) {
        return onnx_mismatch(call, "the requested shape has another number of values");
    }
    return onnx_out(call, 0, input->dtype, count, dims);
}

bool onnx_shape_flatten(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t axis = onnx_integer(call, "dim", 1), dims[2] = {1, 1};
    if (!input)
        return false;
    axis += axis < 0 ? input->rank : 0;
    if (axis < 0 || axis > input->rank)
        return onnx_mismatch(call, "an axis is invalid");
    for (size_t d = 0; d < input->rank; d++)
        dims[(int64_t)d >= axis] = onnx_times(dims[(int64_t)d >= axis], input->dims[d]);
    return onnx_out(call, 0, input->dtype, 2, dims);
}

bool onnx_shape_transpose(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *order = NULL;
    size_t count = 0;
    int64_t dims[PYRO_MAX_RANK];
    if (!input)
        return false;
    if (onnx_list(call, "dims", SIZE_MAX, &order, &count) && count != input->rank)
        return onnx_mismatch(call, "the permutation has another rank");
    for (size_t d = 0; d < input->rank; d++) {
        int from = order ? onnx_axis(order[d], input->rank) : (int)(input->rank - 1 - d);
        if (from < 0)
            return onnx_mismatch(call, "an axis is invalid");
        dims[d] = input->dims[from];
    }
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

bool onnx_shape_squeeze(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *axes;
    size_t count, rank = 0;
    int64_t dims[PYRO_MAX_RANK];
    bool drop[PYRO_MAX_RANK] = {false};
    if (!input)
        return false;
    if (onnx_list(call, "axes", 1, &axes, &count)) {
        for (size_t i = 0; i < count; i++) {
            int axis = onnx_axis(axes[i], input->rank);
            if (axis < 0)
                return onnx_mismatch(call, "an axis is invalid");
            drop[axis] = true;
        }
    } else if (onnx_has_input(call, 1)) {
        return false;
    } else {
        for (size_t d = 0; d < input->rank; d++) {
            if (input->dims[d] < 0)
                return false;
            drop[d] = input->dims[d] == 1;
        }
    }
    for (size_t d = 0; d < input->rank; d++)
        if (!drop[d])
            dims[rank++] = input->dims[d];
    return onnx_out(call, 0, input->dtype, rank, dims);
}

bool onnx_shape_unsqueeze(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *axes;
    size_t count;
    int64_t dims[PYRO_MAX_RANK];
    bool added[PYRO_MAX_RANK] = {false};
    if (!input || !onnx_list(call, "axes", 1, &axes, &count) || input->rank + count > PYRO_MAX_RANK)
        return false;
    size_t rank = input->rank + count;
    for (size_t i = 0; i < count; i++) {
        int axis = onnx_axis(axes[i], rank);
        if (axis < 0 || added[axis])
            return onnx_mismatch(call, "an axis is invalid");
        added[axis] = true;
    }
    for (size_t d = 0, from = 0; d < rank; d++)
        dims[d] = added[d] ? 1 : input->dims[from++];
    return onnx_out(call, 0, input->dtype, rank, dims);
}

bool onnx_shape_concat(onnx_call *call)
{
    const onnx_shape *first = onnx_in(call, 0);
    int64_t dims[PYRO_MAX_RANK];
    int axis = first ? onnx_axis(onnx_integer(call, "dim", 0), first->rank) : -1;
    if (axis < 0)
        return false;
    pyro_copy(dims, first->dims, first->rank * sizeof *dims);
    for (size_t i = 1; i < call->input_count; i++) {
        const onnx_shape *next = onnx_in(call, i);
        if (!next)
            return false;
        if (next->rank != first->rank)
            return onnx_mismatch(call, "the inputs have other ranks");
        for (int d = 0; d < first->rank; d++) {
            if (d == axis)
                dims[d] = onnx_plus(dims[d], next->dims[d]);
            else if (dims[d] >= 0 && next->dims[d] >= 0 && dims[d] != next->dims[d])
                return onnx_mismatch(call, "the inputs do not match");
            else if (dims[d] < 0)
                dims[d] = next->dims[d];
        }
    }
    return onnx_out(call, 0, first->dtype, first->rank, dims);
}

bool onnx_shape_split(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *sizes;
    size_t count, parts = call->node->output_count;
    int64_t dims[PYRO_MAX_RANK];
    int axis = input ? onnx_axis(onnx_integer(call, "dim", 0), input->rank) : -1;
    if (axis < 0 || !parts)
        return false;
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    bool given = onnx_list(call, "split", 1, &sizes, &count);
    int64_t whole = input->dims[axis];
    int64_t each = whole < 0 ? ONNX_UNKNOWN
                             : whole / (int64_t)parts + (whole % (int64_t)parts != 0);
    for (size_t o = 0; o < parts; o++) {
        int64_t before = onnx_times((int64_t)o, each);
        int64_t left = whole < 0 ? ONNX_UNKNOWN : before < 0 ? 0 : whole - before;
        dims[axis] = given && o < count                 ? onnx_size(sizes[o])
                     : given || onnx_has_input(call, 1) ? ONNX_UNKNOWN
                     : each < 0                         ? ONNX_UNKNOWN
                     : left < each                      ? (left < 0 ? 0 : left)
                                                        : each;
        if (!onnx_out(call, o, input->dtype, input->rank, dims))
            return false;
    }
    return true;
}

/* The number of items of a slice with a step; bounds are clamped. */
static int64_t sliced(int64_t size, int64_t start, int64_t end, int64_t step)
{
    if (size < 0 || start == ONNX_UNKNOWN || end == ONNX_UNKNOWN || step == ONNX_UNKNOWN ||
        step == 0)
        return ONNX_UNKNOWN;
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    start = start < 0 ? (start < -size ? low : start + size) : start;
    end = end < 0 ? (end < -size ? low : end + size) : end;
    start = start < low ? low : start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    int64_t span = step > 0 ? end - start : start - end;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return span <= 0 ? 0 : (int64_t)(((uint64_t)span + stride - 1) / stride);
}

bool onnx_shape_slice(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *starts, *ends, *axes = NULL, *steps = NULL;
    size_t count, end_count, axis_count = 0, step_count = 0;
    int64_t dims[PYRO_MAX_RANK];
    if (!input)
        return false;
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    bool axes_known = onnx_list(call, "axes", 3, &axes, &axis_count);
    if (!axes_known && onnx_has_input(call, 3))
        return false;
    bool starts_known = onnx_list(call, "starts", 1, &starts, &count);
    bool ends_known = onnx_list(call, "ends", 2, &ends, &end_count);
    bool steps_known = onnx_list(call, "steps", 4, &steps, &step_count);
    if (!starts_known || !ends_known) { /* the axes that are cut have open sizes */
        for (size_t i = 0; i < (axes_known ? axis_count : input->rank); i++) {
            int axis = axes_known ? onnx_axis(axes[i], input->rank) : (int)i;
            if (axis >= 0)
                dims[axis] = ONNX_UNKNOWN;
        }
        return axes_known && onnx_out(call, 0, input->dtype, input->rank, dims);
    }
    if (count != end_count || (axes_known && axis_count != count) ||
        (!axes_known && count > input->rank))
        return onnx_mismatch(call, "starts, ends and axes have different lengths");
    for (size_t i = 0; i < count; i++) {
        int axis = axes_known ? onnx_axis(axes[i], input->rank) : (int)i;
        if (axis < 0)
            return onnx_mismatch(call, "an axis is invalid");
        int64_t step = steps_known && i < step_count ? steps[i]
                       : onnx_has_input(call, 4)     ? ONNX_UNKNOWN
                                                     : 1;
        dims[axis] = sliced(input->dims[axis], starts[i], ends[i], step);
    }
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

bool onnx_shape_gather(onnx_call *call)
{
    const onnx_shape *data = onnx_in(call, 0), *indices = onnx_in(call, 1);
    int64_t dims[2 * PYRO_MAX_RANK];
    size_t rank = 0;
    if (!data || !indices || data->rank + indices->rank > PYRO_MAX_RANK)
        return false;
    int axis = onnx_axis(onnx_integer(call, "dim", 0), data->rank);
    if (axis < 0)
        return onnx_mismatch(call, "an axis is invalid");
    for (int d = 0; d < axis; d++)
        dims[rank++] = data->dims[d];
    for (int d = 0; d < indices->rank; d++)
        dims[rank++] = indices->dims[d];
    for (int d = axis + 1; d < data->rank; d++)
        dims[rank++] = data->dims[d];
    return onnx_out(call, 0, data->dtype, rank, dims);
}

bool onnx_shape_gather_elements(onnx_call *call)
{
    const onnx_shape *data = onnx_in(call, 0), *indices = onnx_in(call, 1);
    return data && indices && onnx_out_like(call, 0, data->dtype, indices);
}

bool onnx_shape_gather_nd(onnx_call *call)
{
    const onnx_shape *data = onnx_in(call, 0), *indices = onnx_in(call, 1);
    int64_t dims[2 * PYRO_MAX_RANK], batch = onnx_integer(call, "batch_dims", 0);
    size_t rank = 0;
    if (!data || !indices || indices->rank == 0)
        return false;
    int64_t depth = indices->dims[indices->rank - 1];
    if (depth < 0 || batch < 0 || batch > data->rank || depth > data->rank - batch)
        return false;
    for (int d = 0; d + 1 < indices->rank; d++)
        dims[rank++] = indices->dims[d];
    for (int64_t d = batch + depth; d < data->rank; d++)
        dims[rank++] = data->dims[d];
    return rank <= PYRO_MAX_RANK && onnx_out(call, 0, data->dtype, rank, dims);
}

bool onnx_shape_expand(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *wanted;
    size_t count, rank;
    int64_t dims[PYRO_MAX_RANK], sizes[PYRO_MAX_RANK];
    if (!input || !onnx_list(call, "shape", 1, &wanted, &count) || count > PYRO_MAX_RANK)
        return false;
    for (size_t d = 0; d < count; d++)
        sizes[d] = wanted[d] < 0 ? ONNX_UNKNOWN : wanted[d];
    onnx_shape shape = {.is_known = true, .rank = (uint8_t)count, .dims = sizes};
    if (!onnx_broadcast(input, &shape, dims, &rank))
        return onnx_mismatch(call, "the shapes do not match");
    return onnx_out(call, 0, input->dtype, rank, dims);
}

bool onnx_shape_tile(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *repeats = NULL;
    size_t count = 0;
    int64_t dims[PYRO_MAX_RANK];
    if (!input)
        return false;
    bool known = onnx_list(call, "repeats", 1, &repeats, &count) && count == input->rank;
    for (size_t d = 0; d < input->rank; d++)
        dims[d] = known ? onnx_times(input->dims[d], onnx_size(repeats[d])) : ONNX_UNKNOWN;
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

bool onnx_shape_pad(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *pads, *axes = NULL;
    size_t count, axis_count = 0;
    int64_t dims[PYRO_MAX_RANK];
    if (!input)
        return false;
    bool some = onnx_list(call, "axes", 3, &axes, &axis_count);
    bool known = onnx_list(call, "padding", 1, &pads, &count);
    size_t padded = some ? axis_count : input->rank;
    if (known && count != 2 * padded)
        return onnx_mismatch(call, "the padding has another rank");
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    for (size_t i = 0; i < padded; i++) {
        int axis = some ? onnx_axis(axes[i], input->rank) : (int)i;
        if (axis < 0)
            return onnx_mismatch(call, "an axis is invalid");
        bool fixed = known && pads[i] != ONNX_UNKNOWN && pads[i + padded] != ONNX_UNKNOWN &&
                     dims[axis] >= 0;
        int64_t sum;
        if (!fixed)
            dims[axis] = ONNX_UNKNOWN;
        else if (__builtin_add_overflow(pads[i], pads[i + padded], &sum) ||
                 __builtin_add_overflow(dims[axis], sum, &dims[axis]))
            dims[axis] = ONNX_INVALID;
        else if (dims[axis] < 0)
            return onnx_mismatch(call, "the padding is larger than the input");
    }
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

/* Scales of the dims, floored; false if they are unknown. */
static bool resize_by_scales(onnx_call *call, const onnx_shape *input, const double *scales,
                             size_t count, const int64_t *axes, int64_t *dims)
{
    for (size_t i = 0; i < count; i++) {
        int axis = axes ? onnx_axis(axes[i], input->rank) : (int)i;
        if (axis < 0 || axis >= input->rank)
            return onnx_mismatch(call, "the scales have another rank");
        dims[axis] = input->dims[axis] < 0 ? ONNX_UNKNOWN
                                           : onnx_real_size((double)input->dims[axis] * scales[i]);
    }
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

/* Sizes of the dims; a policy keeps the ratio of all of them and rounds. */
static bool resize_by_sizes(onnx_call *call, const onnx_shape *input, const int64_t *sizes,
                            size_t count, const int64_t *axes)
{
    const char *policy = onnx_word(call, "keep_aspect_ratio_policy", "stretch");
    bool smaller = !strcmp(policy, "not_larger"), larger = !strcmp(policy, "not_smaller");
    int64_t dims[PYRO_MAX_RANK];
    double scale = smaller ? INFINITY : 0;
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    for (size_t i = 0; i < count; i++) {
        int axis = axes ? onnx_axis(axes[i], input->rank) : (int)i;
        if (axis < 0)
            return onnx_mismatch(call, "an axis is invalid");
        double each = (double)sizes[i] / (double)input->dims[axis];
        scale = smaller ? fmin(scale, each) : fmax(scale, each);
        dims[axis] = onnx_size(sizes[i]);
    }
    for (size_t i = 0; (smaller || larger) && i < count; i++) {
        int axis = axes ? onnx_axis(axes[i], input->rank) : (int)i;
        dims[axis] = input->dims[axis] < 0
                         ? ONNX_UNKNOWN
                         : onnx_real_size((double)input->dims[axis] * scale + 0.5);
    }
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

/* Resize (X, roi, scales, sizes); before opset 11, and for Upsample, (X, scales). */
bool onnx_shape_resize(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *axes = NULL, *sizes;
    size_t axis_count = 0, count;
    int64_t dims[PYRO_MAX_RANK];
    if (!input)
        return false;
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    onnx_list(call, "axes", SIZE_MAX, &axes, &axis_count);
    if (onnx_has_input(call, 3)) {
        if (!onnx_list(call, "", 3, &sizes, &count) || count != (axes ? axis_count : input->rank))
            return false;
        return resize_by_sizes(call, input, sizes, count, axes);
    }
    const onnx_values *scales = onnx_in_values(call, onnx_has_input(call, 2) ? 2 : 1);
    if (scales && scales->reals && scales->count == (axes ? axis_count : input->rank))
        return resize_by_scales(call, input, scales->reals, scales->count, axes, dims);
    const pyro_arg *attribute = onnx_attribute(call, "scales");
    if (attribute && attribute->kind == PYRO_ARG_NUMBERS)
        return resize_by_scales(call, input, attribute->items.numbers, attribute->count, NULL,
                                dims);
    return false;
}

bool onnx_shape_constant_of_shape(onnx_call *call)
{
    const onnx_values *shape = onnx_in_values(call, 0);
    const onnx_shape *value = onnx_in(call, 1); /* the attribute */
    const onnx_shape *input = onnx_in(call, 0);
    uint8_t dtype = value ? value->dtype : PYRO_DTYPE_FLOAT32;
    int64_t dims[PYRO_MAX_RANK];
    size_t rank = shape && shape->integers ? shape->count : 0;
    if (!shape && input && input->rank == 1 && input->dims[0] >= 0 &&
        input->dims[0] <= PYRO_MAX_RANK) {
        for (int64_t d = 0; d < input->dims[0]; d++)
            dims[d] = ONNX_UNKNOWN;
        return onnx_out(call, 0, dtype, (size_t)input->dims[0], dims);
    }
    if (!shape || !shape->integers || rank > PYRO_MAX_RANK)
        return false;
    for (size_t d = 0; d < rank; d++)
        dims[d] = onnx_size(shape->integers[d]);
    return onnx_out(call, 0, dtype, rank, dims);
}

bool onnx_shape_range(onnx_call *call)
{
    const onnx_shape *start = onnx_in(call, 0);
    const onnx_values *bounds[3] = {onnx_in_values(call, 0), onnx_in_values(call, 1),
                                    onnx_in_values(call, 2)};
    int64_t dim = ONNX_UNKNOWN;
    double limits[3] = {0, 0, 0};
    bool known = true;
    for (int i = 0; i < 3; i++) {
        known &= bounds[i] && bounds[i]->count == 1 &&
                 !(bounds[i]->integers && bounds[i]->integers[0] == ONNX_UNKNOWN);
        if (known)
            limits[i] = bounds[i]->integers ? (double)bounds[i]->integers[0] : bounds[i]->reals[0];
    }
    if (known && limits[2] != 0) {
        double size = ceil((limits[1] - limits[0]) / limits[2]);
        dim = size < 0 ? 0 : onnx_real_size(size);
    }
    return start && onnx_out(call, 0, start->dtype, 1, &dim);
}

static int64_t divided(int64_t size, int64_t by)
{
    return size < 0 || by <= 0 ? ONNX_UNKNOWN : size / by;
}

bool onnx_shape_depth_to_space(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t block;
    if (!input || input->rank != 4 || !onnx_positive(call, "blocksize", 1, &block))
        return false;
    int64_t dims[4] = {input->dims[0], divided(input->dims[1], onnx_times(block, block)),
                       onnx_times(input->dims[2], block), onnx_times(input->dims[3], block)};
    return onnx_out(call, 0, input->dtype, 4, dims);
}

bool onnx_shape_space_to_depth(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t block;
    if (!input || input->rank != 4 || !onnx_positive(call, "blocksize", 1, &block))
        return false;
    int64_t dims[4] = {input->dims[0], onnx_times(input->dims[1], onnx_times(block, block)),
                       divided(input->dims[2], block), divided(input->dims[3], block)};
    return onnx_out(call, 0, input->dtype, 4, dims);
}

bool onnx_shape_non_zero(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t dims[2] = {input ? (input->rank ? input->rank : 1) : 0, ONNX_UNKNOWN};
    return input && onnx_out(call, 0, PYRO_DTYPE_INT64, 2, dims);
}

bool onnx_shape_unique(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t dims[PYRO_MAX_RANK] = {ONNX_UNKNOWN}, open = ONNX_UNKNOWN;
    if (!input)
        return false;
    const pyro_arg *axis = onnx_attribute(call, "dim");
    size_t rank = axis ? input->rank : 1;
    int at = axis ? onnx_axis(onnx_integer(call, "dim", 0), rank) : 0;
    if (at < 0)
        return onnx_mismatch(call, "an axis is invalid");
    for (size_t d = 0; axis && d < rank; d++)
        dims[d] = input->dims[d];
    dims[at] = ONNX_UNKNOWN;
    for (size_t o = 1; o < 4; o++)
        onnx_out(call, o, PYRO_DTYPE_INT64, 1, &open);
    return onnx_out(call, 0, input->dtype, rank, dims);
}

bool onnx_shape_compress(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t dims[PYRO_MAX_RANK] = {ONNX_UNKNOWN};
    if (!input)
        return false;
    if (!onnx_attribute(call, "dim"))
        return onnx_out(call, 0, input->dtype, 1, dims);
    int axis = onnx_axis(onnx_integer(call, "dim", 0), input->rank);
    if (axis < 0)
        return onnx_mismatch(call, "an axis is invalid");
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    dims[axis] = ONNX_UNKNOWN;
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

bool onnx_shape_suppression(onnx_call *call)
{
    int64_t dims[2] = {ONNX_UNKNOWN, 3};
    return onnx_out(call, 0, PYRO_DTYPE_INT64, 2, dims);
}

bool onnx_shape_center_crop_pad(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const int64_t *sizes, *axes = NULL;
    size_t count, axis_count = 0;
    int64_t dims[PYRO_MAX_RANK];
    if (!input || !onnx_list(call, "", 1, &sizes, &count))
        return false;
    bool some = onnx_list(call, "axes", SIZE_MAX, &axes, &axis_count);
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    for (size_t i = 0; i < count; i++) {
        int axis = some && i < axis_count ? onnx_axis(axes[i], input->rank) : (int)i;
        if (axis < 0 || axis >= input->rank)
            return onnx_mismatch(call, "an axis is invalid");
        dims[axis] = onnx_size(sizes[i]);
    }
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}
