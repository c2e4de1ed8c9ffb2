/* Shapes of quantisation, and of the operators of com.microsoft that its optimiser makes. */
#include "read/onnx/infer.h"

#include "base/bytes.h"

#include <string.h>

/* The type of the zero point, else the attribute, else uint8. */
bool onnx_shape_quantize(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0), *zero = onnx_in(call, 2);
    uint8_t stated = onnx_dtype(onnx_integer(call, "output_dtype", 0));
    uint8_t dtype = zero ? zero->dtype : stated != PYRO_DTYPE_UNKNOWN ? stated : PYRO_DTYPE_UINT8;
    return input && onnx_out_like(call, 0, dtype, input);
}

bool onnx_shape_dequantize(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0), *scale = onnx_in(call, 1);
    return input && scale && onnx_out_like(call, 0, scale->dtype, input);
}

bool onnx_shape_dynamic_quantize(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    return input && onnx_out_like(call, 0, PYRO_DTYPE_UINT8, input) &&
           onnx_out(call, 1, input->dtype, 0, NULL) && onnx_out(call, 2, PYRO_DTYPE_UINT8, 0, NULL);
}

/* The sum of input and skip is the fourth output. */
bool onnx_shape_skip_norm(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    return onnx_shape_same(call) && onnx_out_like(call, 3, input->dtype, input);
}

/* ids [batch, sequence], segment ids, word table [vocabulary, hidden], ... */
bool onnx_shape_embed_norm(onnx_call *call)
{
    const onnx_shape *ids = onnx_in(call, 0), *table = onnx_in(call, 2);
    if (!ids || !table || ids->rank != 2 || table->rank != 2)
        return false;
    int64_t dims[3] = {ids->dims[0], ids->dims[1], table->dims[1]};
    return onnx_out(call, 0, table->dtype, 3, dims) &&
           onnx_out(call, 1, PYRO_DTYPE_INT32, 1, dims) && onnx_out(call, 2, table->dtype, 3, dims);
}

/* A weight in blocks of few bits: [.., K] times K x N. */
bool onnx_shape_matmul_packed(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0);
    int64_t dims[PYRO_MAX_RANK], columns;
    if (!input || !input->rank || !onnx_positive(call, "N", 0, &columns))
        return false;
    pyro_copy(dims, input->dims, input->rank * sizeof *dims);
    dims[input->rank - 1] = columns;
    return onnx_out(call, 0, input->dtype, input->rank, dims);
}

/* Products of integers with a result in floating point. */
bool onnx_shape_dynamic_matmul(onnx_call *call)
{
    const onnx_shape *a = onnx_in(call, 0), *b = onnx_in(call, 1), *scale = onnx_in(call, 2);
    int64_t dims[PYRO_MAX_RANK];
    if (!a || !b || !scale || a->rank < 1 || b->rank != 2)
        return false;
    pyro_copy(dims, a->dims, a->rank * sizeof *dims);
    dims[a->rank - 1] = b->dims[1];
    return onnx_out(call, 0, scale->dtype, a->rank, dims);
}

static int64_t shared_out(int64_t size, int64_t parts)
{
    if (parts == ONNX_INVALID)
        return parts;
    return size < 0 || parts < 1 ? ONNX_UNKNOWN : size / parts;
}

/* Query [batch, sequence, hidden], key and value likewise or per head; caches 6 and 7. */
bool onnx_shape_multi_head(onnx_call *call)
{
    const onnx_shape *q = onnx_in(call, 0), *k = onnx_in(call, 1), *v = onnx_in(call, 2);
    const onnx_shape *past = onnx_in(call, 6);
    int64_t heads;
    if (!q || q->rank != 3 || !onnx_positive(call, "num_heads", 1, &heads))
        return false;
    int64_t hidden = v && v->rank == 3   ? v->dims[2]
                     : v && v->rank == 4 ? onnx_times(v->dims[1], v->dims[3])
                                         : q->dims[2];
    int64_t fresh = k && k->rank >= 3 ? k->dims[k->rank == 3 ? 1 : 2] : q->dims[1];
    int64_t dims[3] = {q->dims[0], q->dims[1], hidden};
    int64_t keys = past && past->rank == 4 ? onnx_plus(past->dims[2], fresh) : fresh;
    int64_t present[4] = {q->dims[0], heads, keys, shared_out(hidden, heads)};
    return onnx_out(call, 0, q->dtype, 3, dims) && onnx_out(call, 1, q->dtype, 4, present) &&
           onnx_out(call, 2, q->dtype, 4, present);
}

/* Query, or query, key and value packed in one; caches 3 and 4 with room for all tokens. */
bool onnx_shape_grouped_attention(onnx_call *call)
{
    const onnx_shape *q = onnx_in(call, 0), *k = onnx_in(call, 1), *past = onnx_in(call, 3);
    int64_t heads, shared;
    if (!q || q->rank != 3 || !onnx_positive(call, "num_heads", 1, &heads) ||
        !onnx_positive(call, "kv_num_heads", heads, &shared))
        return false;
    int64_t parts = k ? heads : onnx_plus(heads, onnx_times(2, shared));
    int64_t dim = shared_out(q->dims[2], parts);
    int64_t dims[3] = {q->dims[0], q->dims[1], onnx_times(heads, dim)};
    int64_t keys = past && past->rank == 4 ? onnx_plus(past->dims[2], q->dims[1]) : q->dims[1];
    int64_t present[4] = {q->dims[0], shared, keys, dim};
    return onnx_out(call, 0, q->dtype, 3, dims) && onnx_out(call, 1, q->dtype, 4, present) &&
           onnx_out(call, 2, q->dtype, 4, present);
}

/* Input [batch, sequence, hidden] with the weights of query, key and value in one. */
bool onnx_shape_fused_attention(onnx_call *call)
{
    const onnx_shape *input = onnx_in(call, 0), *weight = onnx_in(call, 1);
    const onnx_shape *past = onnx_in(call, 4);
    const int64_t *sizes;
    size_t count = 0;
    int64_t heads;
    if (!input || !weight || input->rank != 3 || weight->rank != 2 ||
        !onnx_positive(call, "num_heads", 1, &heads))
        return false;
    bool stated = onnx_list(call, "qkv_hidden_sizes", SIZE_MAX, &sizes, &count) && count == 3;
    int64_t hidden = stated ? onnx_size(sizes[2]) : shared_out(weight->dims[1], 3);
    int64_t dims[3] = {input->dims[0], input->dims[1], hidden};
    int64_t keys = past && past->rank == 5 ? onnx_plus(past->dims[3], input->dims[1])
                                           : input->dims[1];
    int64_t present[5] = {2, input->dims[0], heads, keys, shared_out(hidden, heads)};
    const onnx_shape *scale = strstr(call->node->target, "QAttention") ? onnx_in(call, 3) : NULL;
    uint8_t dtype = scale ? scale->dtype : input->dtype;
    return onnx_out(call, 0, dtype, 3, dims) && onnx_out(call, 1, dtype, 5, present);
}

/* a, its scale and zero point, b, ... */
bool onnx_shape_first_and_fourth(onnx_call *call)
{
    const onnx_shape *a = onnx_in(call, 0), *b = onnx_in(call, 3);
    int64_t dims[PYRO_MAX_RANK];
    size_t rank;
    return a && b && onnx_broadcast(a, b, dims, &rank) && onnx_out(call, 0, a->dtype, rank, dims);
}

bool onnx_shape_moe(onnx_call *call)
{
    return onnx_shape_same(call);
}
