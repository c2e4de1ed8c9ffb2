/* Rules for operators that only ONNX has: packed attention, gates in one matrix, experts. */
#include "graph/call.h"
#include "graph/rules/rules.h"
#include <string.h>

enum { SCORE_FLOPS = 6, GATE_FLOPS = 5 };

static int64_t last_dim(const pyro_tensor *tensor)
{
    return tensor->rank ? tensor->dims[tensor->rank - 1] : 1;
}

/* a times b, either transposed: as many MACs per output value as the shared dim is long. */
bool pyro_rule_gemm(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *a = pyro_call_tensor(call, "a", 0);
    if (!a || a->rank < 2 || !call->output_count)
        return false;
    bool turned = pyro_call_integer(call, "transA", SIZE_MAX, 0) != 0;
    price->macs = pyro_times(call, pyro_output_elements(call), a->dims[a->rank - (turned ? 2 : 1)]);
    if (pyro_call_tensor(call, "c", 2))
        price->other_flops = pyro_output_elements(call);
    return true;
}

/* The LU factors of every matrix: 2/3 n^3 FLOPs. */
bool pyro_rule_determinant(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    if (!input || input->rank < 2)
        return false;
    price->other_flops = pyro_times(call, input->elements, pyro_times(call, 2, last_dim(input))) /
                         3;
    return true;
}

/* Scores of `rows` queries of all heads with `keys` keys, and their sum over the values. */
static void attend(pyro_call *call, pyro_price *price, int64_t rows, int64_t keys,
                   int64_t query_dim, int64_t value_dim)
{
    int64_t scores = pyro_times(call, rows, keys);
    price->macs = pyro_plus(call, price->macs,
                            pyro_times(call, scores, pyro_plus(call, query_dim, value_dim)));
    price->other_flops = pyro_plus(call, price->other_flops, pyro_times(call, scores, SCORE_FLOPS));
    price->fvcore_flops = 0;
}

static int64_t heads_of(const pyro_call *call)
{
    int64_t heads = pyro_call_integer(call, "q_num_heads", SIZE_MAX, 0);
    return heads > 0 ? heads : pyro_call_integer(call, "num_heads", SIZE_MAX, 1);
}

static int64_t shared_heads_of(const pyro_call *call, int64_t heads)
{
    int64_t shared = pyro_call_integer(call, "kv_num_heads", SIZE_MAX, 0);
    return shared > 0 ? shared : heads;
}

/* The tokens that a key has, with those of the cache in front. */
static int64_t keys_of(pyro_call *call, const pyro_tensor *query, const pyro_tensor *key)
{
    const pyro_tensor *past = pyro_call_tensor(call, "past_key", SIZE_MAX);
    int64_t keys = key ? key->dims[key->rank == 4 ? 2 : 1] : query->dims[1];
    return past && past->rank == 4 ? pyro_plus(call, past->dims[2], keys) : keys;
}

/*
 * Query, key and value as [batch, heads, sequence, dim] or [batch, sequence, heads x dim]; key and
 * value may be packed behind the query (GroupQueryAttention without a key).
 */
bool pyro_rule_packed_attention(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *query = pyro_call_tensor(call, "query", 0);
    const pyro_tensor *key = pyro_call_tensor(call, "key", 1);
    const pyro_tensor *value = pyro_call_tensor(call, "value", 2);
    int64_t heads = heads_of(call), shared = shared_heads_of(call, heads);
    if (!query || (query->rank != 3 && query->rank != 4) || heads < 1 || shared < 1 ||
        (key && key->rank < 3))
        return false;
    int64_t keys = keys_of(call, query, key);
    if (query->rank == 4) {
        int64_t rows = pyro_dims_product(call, query, 0, 3);
        attend(call, price, rows, keys, query->dims[3], value ? last_dim(value) : query->dims[3]);
        return true;
    }
    int64_t parts = key ? heads : pyro_plus(call, heads, pyro_times(call, 2, shared));
    if (parts < 1)
        return false;
    int64_t dim = query->dims[2] / parts;
    int64_t value_dim = value && value->rank == 3   ? last_dim(value) / shared
                        : value && value->rank == 4 ? last_dim(value)
                                                    : dim;
    int64_t rows = pyro_times(call, pyro_times(call, query->dims[0], query->dims[1]), heads);
    attend(call, price, rows, keys, dim, value_dim);
    return true;
}

/* Projections of query, key and value in one matrix, then attention. */
bool pyro_rule_projected_attention(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_tensor(call, "input", 0);
    const pyro_tensor *weights = pyro_call_tensor(call, "weights", 1);
    const pyro_tensor *past = pyro_call_tensor(call, "past", SIZE_MAX);
    if (!input || !weights || input->rank != 3 || weights->rank != 2 || !call->output_count)
        return false;
    int64_t rows = pyro_times(call, input->dims[0], input->dims[1]);
    int64_t keys = past && past->rank == 5 ? pyro_plus(call, past->dims[3], input->dims[1])
                                           : input->dims[1];
    int64_t values = last_dim(&call->outputs[0]);
    int64_t queries = (weights->dims[1] - values) / 2;
    price->macs = pyro_times(call, rows, weights->elements);
    int64_t scores = pyro_times(call, rows, keys);
    price->macs = pyro_plus(call, price->macs,
                            pyro_times(call, scores, pyro_plus(call, queries, values)));
    price->other_flops = pyro_times(call, pyro_times(call, scores, heads_of(call)), SCORE_FLOPS);
    price->fvcore_flops = 0;
    return true;
}

/* Per token and head: the state is decayed, gets an outer product, and meets the query. */
bool pyro_rule_linear_attention(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *query = pyro_call_tensor(call, "query", 0);
    const pyro_tensor *value = pyro_call_tensor(call, "value", 2);
    int64_t heads = heads_of(call), shared = shared_heads_of(call, heads);
    if (!query || !value || query->rank != 3 || value->rank != 3 || heads < 1 || shared < 1)
        return false;
    int64_t rows = pyro_times(call, query->dims[0], query->dims[1]);
    int64_t state = pyro_times(call, query->dims[2], value->dims[2] / shared);
    price->macs = pyro_times(call, 2, pyro_times(call, rows, state));
    price->other_flops = pyro_times(call, rows, state);
    price->torch_macs = price->fvcore_flops = 0;
    return true;
}

/* W [directions, gates, in] and R [directions, gates, hidden], for every step of every sequence. */
bool pyro_rule_recurrent_matrices(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_tensor(call, "input", 0);
    const pyro_tensor *w = pyro_call_tensor(call, "w", 1), *r = pyro_call_tensor(call, "r", 2);
    if (!input || !w || !r || input->rank != 3 || w->rank != 3 || r->rank != 3)
        return false;
    int64_t steps = pyro_times(call, input->dims[0], input->dims[1]);
    int64_t gates = pyro_times(call, 2, pyro_times(call, w->dims[0], w->dims[1]));
    price->macs = pyro_times(call, steps, pyro_plus(call, w->elements, r->elements));
    price->other_flops = pyro_times(call, steps, pyro_times(call, gates, GATE_FLOPS));
    price->fvcore_flops = 0;
    return true;
}

/* Every row meets the matrices of the `k` experts that the router chooses. */
bool pyro_rule_experts(pyro_call *call, pyro_price *price)
{
    static const char *const names[] = {"fc1_experts_weights", "fc2_experts_weights",
                                        "fc3_experts_weights"};
    const pyro_tensor *input = pyro_call_tensor(call, "input", 0);
    int64_t chosen = pyro_call_integer(call, "k", SIZE_MAX, 1), macs = 0;
    if (!input || !input->rank)
        return false;
    int64_t rows = last_dim(input) ? input->elements / last_dim(input) : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const pyro_tensor *weights = pyro_call_tensor(call, names[i], SIZE_MAX);
        if (!weights || weights->rank != 3)
            continue;
        /* Packed weights store several values per byte along one dim: the other one is whole. */
        int64_t bits = pyro_call_integer(call, "expert_weight_bits", SIZE_MAX, 8);
        int64_t each = pyro_times(call, weights->dims[1], weights->dims[2]);
        each = weights->dtype == PYRO_DTYPE_UINT8 && bits == 4 ? pyro_times(call, each, 2) : each;
        macs = pyro_plus(call, macs, each);
    }
    price->macs = pyro_times(call, pyro_times(call, rows, chosen), macs);
    price->torch_macs = price->fvcore_flops = 0;
    return macs > 0;
}

/* Rows of up to three tables are added and normalised; only these rows are read. */
bool pyro_rule_embedding_norm(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *ids = pyro_call_tensor(call, "input_ids", 0);
    int64_t values = pyro_output_elements(call);
    if (!ids || !call->output_count)
        return false;
    price->weight_read_bytes = pyro_times(call, 3, pyro_tensor_bytes(call, &call->outputs[0]));
    price->other_flops = pyro_times(call, values, 2 + 7);
    return true;
}

/* `factor` FLOPs per value; free where the conversion is fused into its neighbours. */
bool pyro_rule_quantization(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    if (!input || !call->output_count)
        return false;
    price->is_free = input->dtype == call->outputs[0].dtype;
    price->other_flops = price->is_free
                             ? 0
                             : pyro_times(call, pyro_output_elements(call), call->op->factor);
    return true;
}

/* nearest copies; linear takes 2^n neighbours in n dims, cubic 4^n. */
bool pyro_rule_resample_by_mode(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    const pyro_call_arg *mode = pyro_call_find(call, "mode", SIZE_MAX);
    if (!input || !call->output_count || !call->outputs[0].dims)
        return false;
    int64_t neighbours = 1;
    bool cubic = mode && mode->text && !strcmp(mode->text, "cubic");
    bool linear = mode && mode->text && strstr(mode->text, "linear");
    for (size_t d = 0; d < input->rank && d < call->outputs[0].rank; d++)
        if ((cubic || linear) && input->dims[d] != call->outputs[0].dims[d])
            neighbours = pyro_times(call, neighbours, cubic ? 4 : 2);
    int64_t each = neighbours == 1 ? 0 : 2 * neighbours - 1;
    price->other_flops = pyro_times(call, pyro_output_elements(call), each);
    return true;
}

/* Every pair of boxes of a class: the worst case. Boxes are [batch, boxes, 4]. */
bool pyro_rule_suppression(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *boxes = pyro_call_first_tensor(call);
    const pyro_tensor *scores = pyro_call_tensor(call, "scores", 1);
    if (!boxes || !scores || boxes->rank != 3 || scores->rank != 3)
        return false;
    int64_t pairs = pyro_times(call, scores->elements, boxes->dims[1]) / 2;
    price->other_flops = pyro_times(call, pairs, call->op->factor);
    return true;
}

/* One real transform per frame of the output [batch, frames, bins, 2]. */
bool pyro_rule_frames_fourier(pyro_call *call, pyro_price *price)
{
    if (!call->output_count || !call->outputs[0].dims || call->outputs[0].rank != 4)
        return false;
    const int64_t *dims = call->outputs[0].dims;
    int64_t points = pyro_times(call, 2, dims[2]), rounds = 0;
    while (rounds < 62 && (INT64_C(1) << rounds) < points)
        rounds++;
    int64_t each = pyro_times(call, pyro_times(call, points, rounds), 5) / 2;
    price->other_flops = pyro_times(call, pyro_times(call, dims[0], dims[1]), each);
    return true;
}

/* Transpose: as permute, but without a permutation all axes are reversed. */
bool pyro_rule_permuted_view(pyro_call *call, pyro_price *price)
{
    if (pyro_call_find(call, "dims", SIZE_MAX))
        return pyro_rule_reordered_view(call, price);
    price->is_free = price->is_strided = true;
    return true;
}
