/* Shapes of maps, reductions, norms, and of tensors that are made from sizes. */
#include "read/onnx/infer.h"

#include "base/bytes.h"

#include <string.h>

bool onnx_shape_same(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    return input && onnx_out_like(call, 0, input->dtype, input);
}

bool onnx_shape_truth(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    return input && onnx_out_like(call, 0, PYRO_DTYPE_BOOL, input);
}

/* Broadcasts the inputs from `first` on. */
static bool broadcast_all(onnx_call *call, size_t first, uint8_t dtype)
{
    int64_t dims[2][PYRO_MAX_RANK];
    const onnx_shape *start = onnx_in(call, first);
    if (!start)
        return false;
    onnx_shape sum = *start;
    for (size_t i = first + 1, turn = 0; i < call->input_count; i++, turn ^= 1) {
        const onnx_shape *next = onnx_in(call, i);
        size_t rank;
        if (!next)
            return false;
        if (!onnx_broadcast(&sum, next, dims[turn], &rank))
            return onnx_mismatch(call, "the inputs do not match");
        sum.dims = dims[turn];
        sum.rank = (uint8_t)rank;
    }
    return onnx_out_like(call, 0, dtype, &sum);
}

bool onnx_shape_broadcast(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    return input && broadcast_all(call, 0, input->dtype);
}

bool onnx_shape_compare(onnx_call *call)
{
    return broadcast_all(call, 0, PYRO_DTYPE_BOOL);
}

bool onnx_shape_where(onnx_call *call)
{
    const onnx_shape *chosen = onnx_in(call, 1);
    return chosen && broadcast_all(call, 0, chosen->dtype);
}

/* Axes that a reduction removes, as bits; false if they are unknown. */
static bool reduced_axes(onnx_call *call, const onnx_shape *input, uint64_t *axes)
{
    const int64_t *items;
    size_t count = 0;
    bool given = onnx_attribute(call, "axes") || onnx_has_input(call, 1);
    *axes = 0;
    if (given && !onnx_list(call, "axes", 1, &items, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        int axis = onnx_axis(items[i], input->rank);
        if (axis < 0)
            return onnx_mismatch(call, "an axis is invalid");
        *axes |= UINT64_C(1) << axis;
    }
    if (!count && !onnx_integer(call, "noop_with_empty_axes", 0))
        *axes = UINT64_MAX;
    return true;
}

static bool reduce(onnx_call *call, const onnx_shape *input, uint64_t axes, bool keep,
                   uint8_t dtype)
{
    int64_t dims[PYRO_MAX_RANK];
    size_t rank = 0;
    for (size_t d = 0; d < input->rank; d++) {
        bool reduced = d < 64 && axes >> d & 1;
        if (!reduced || keep)
            dims[rank++] = reduced ? 1 : input->dims[d];
    }
    return onnx_out(call, 0, dtype, rank, dims);
}

bool onnx_shape_reduce(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    uint64_t axes;
    return input && reduced_axes(call, input, &axes) &&
           reduce(call, input, axes, onnx_integer(call, "keepdims", 1) != 0, input->dtype);
}

bool onnx_shape_arg_reduce(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int axis = input ? onnx_axis(onnx_integer(call, "dim", 0), input->rank) : -1;
    return axis >= 0 && reduce(call, input, UINT64_C(1) << axis,
                               onnx_integer(call, "keepdims", 1) != 0, PYRO_DTYPE_INT64);
}

bool onnx_shape_batch_norm(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const onnx_shape *mean = onnx_in(call, 3);
    for (size_t o = 1; mean && o < call->node->output_count; o++)
        onnx_out_like(call, o, mean->dtype, mean);
    return onnx_shape_same(call) && input;
}

/* The statistics have size 1 in the axes that are normalised. */
bool onnx_shape_layer_norm(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t dims[PYRO_MAX_RANK];
    if (!input || !onnx_shape_same(call))
        return false;
    int axis = onnx_axis(onnx_integer(call, "dim", -1), input->rank);
    for (int d = 0; axis >= 0 && d < input->rank; d++)
        dims[d] = d < axis ? input->dims[d] : 1;
    for (size_t o = 1; axis >= 0 && o < call->node->output_count; o++)
        onnx_out(call, o, PYRO_DTYPE_FLOAT32, input->rank, dims);
    return true;
}

bool onnx_shape_dropout(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    return onnx_shape_same(call) && onnx_out_like(call, 1, PYRO_DTYPE_BOOL, input);
}

bool onnx_shape_cast(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    uint8_t dtype = onnx_dtype(onnx_integer(call, "to", 0));
    return input && dtype != PYRO_DTYPE_UNKNOWN && onnx_out_like(call, 0, dtype, input);
}

bool onnx_shape_cast_like(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0), *like = onnx_in(call, 1);
    return input && like && onnx_out_like(call, 0, like->dtype, input);
}

/* The same bytes as another type: the last size changes with the size of an element. */
bool onnx_shape_bit_cast(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    uint8_t dtype = onnx_dtype(onnx_integer(call, "to", 0));
    return input && dtype != PYRO_DTYPE_UNKNOWN &&
           pyro_dtype_bytes(dtype) == pyro_dtype_bytes(input->dtype) &&
           onnx_out_like(call, 0, dtype, input);
}

/* The shape of the first input; the type of the attribute, else that of the input. */
bool onnx_shape_like(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    uint8_t dtype = onnx_dtype(onnx_integer(call, "dtype", 0));
    return input &&
           onnx_out_like(call, 0, dtype == PYRO_DTYPE_UNKNOWN ? input->dtype : dtype, input);
}

bool onnx_shape_shaped(onnx_call *call)
{
    const int64_t *items;
    size_t count;
    uint8_t dtype = onnx_dtype(onnx_integer(call, "dtype", 1));
    int64_t dims[PYRO_MAX_RANK];
    if (!onnx_list(call, "shape", SIZE_MAX, &items, &count) || count > PYRO_MAX_RANK)
        return false;
    for (size_t d = 0; d < count; d++)
        dims[d] = onnx_size(items[d]);
    return onnx_out(call, 0, dtype, count, dims);
}

bool onnx_shape_window(onnx_call *call)
{
    const onnx_values *size = onnx_in_values(call, 0);
    int64_t dim = size && size->integers && size->count == 1 ? onnx_size(size->integers[0])
                                                             : ONNX_UNKNOWN;
    return onnx_out(call, 0, onnx_dtype(onnx_integer(call, "output_datatype", 1)), 1, &dim);
}

/* The losses of all samples, or their sum. */
bool onnx_shape_loss(onnx_call *call)
{
    const onnx_shape *scores = onnx_in(call, 0), *labels = onnx_in(call, 1);
    if (!scores || !labels)
        return false;
    bool none = !strcmp(onnx_word(call, "reduction", "mean"), "none");
    return onnx_out(call, 0, scores->dtype, none ? labels->rank : 0, labels->dims) &&
           onnx_out_like(call, 1, scores->dtype, scores);
}

bool onnx_shape_top_k(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    const onnx_values *k = onnx_in_values(call, 1);
    int64_t dims[PYRO_MAX_RANK];
    int axis = input ? onnx_axis(onnx_integer(call, "dim", -1), input->rank) : -1;
    if (axis < 0)
        return false;
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    int64_t given = onnx_integer(call, "k", -1);
    int64_t size = dims[axis];
    dims[axis] = given >= 0                     ? given
                 : k && k->integers && k->count ? onnx_size(k->integers[0])
                                                : ONNX_UNKNOWN;
    if (size >= 0 && dims[axis] > size)
        return onnx_mismatch(call, "'k' is larger than the dim");
    return onnx_out(call, 0, input->dtype, input->rank, dims) &&
           onnx_out(call, 1, PYRO_DTYPE_INT64, input->rank, dims);
}

bool onnx_shape_one_hot(onnx_call *call)
{
    const onnx_shape *indices = onnx_in(call, 0), *values = onnx_in(call, 2);
    const onnx_values *depth = onnx_in_values(call, 1);
    int64_t dims[PYRO_MAX_RANK];
    if (!indices || !values || indices->rank + 1u > PYRO_MAX_RANK)
        return false;
    int axis = onnx_axis(onnx_integer(call, "dim", -1), indices->rank + 1u);
    if (axis < 0)
        return onnx_mismatch(call, "an axis is invalid");
    bool known = depth && depth->count == 1;
    int64_t size = known && depth->integers ? onnx_size(depth->integers[0])
                   : known && depth->reals  ? onnx_real_size(depth->reals[0])
                                            : ONNX_UNKNOWN;
    for (int d = 0, from = 0; d <= indices->rank; d++)
        dims[d] = d == axis ? size : indices->dims[from++];
    return onnx_out(call, 0, values->dtype, indices->rank + 1u, dims);
}

bool onnx_shape_multinomial(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t dims[2] = {input && input->rank == 2 ? input->dims[0] : ONNX_UNKNOWN,
                       onnx_size(onnx_integer(call, "sample_size", 1))};
    return input && onnx_out(call, 0, onnx_dtype(onnx_integer(call, "dtype", 6)), 2, dims);
}
