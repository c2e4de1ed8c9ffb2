/* Rules for attention in all its forms, and for recurrent layers. */
#include "graph/call.h"
#include "graph/rules/rules.h"

enum { SOFTMAX_FLOPS = 5, SCALE_FLOPS = 1 };

/* Scores and their sum over the values, for `rows` queries (over all heads) against `keys` keys. */
static void attend(pyro_call *call, pyro_price *price, int64_t rows, int64_t keys,
                   int64_t query_dim, int64_t value_dim)
{
    int64_t scores = pyro_times(call, rows, keys);
    price->macs = pyro_plus(call, price->macs,
                            pyro_times(call, scores, pyro_plus(call, query_dim, value_dim)));
    price->other_flops = pyro_plus(call, price->other_flops,
                                   pyro_times(call, scores, SOFTMAX_FLOPS + SCALE_FLOPS));
}

/*
 * Tensors [..., heads, sequence, dim]. Kernels keep the scores on chip. They write [batch,
 * sequence, heads, dim] and return a view, so that transposing it back copies nothing.
 */
bool pyro_rule_attention(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *query = pyro_call_tensor(call, "query", 0);
    const pyro_tensor *key = pyro_call_tensor(call, "key", 1);
    const pyro_tensor *value = pyro_call_tensor(call, "value", 2);
    if (!query || !key || !value || query->rank < 2 || key->rank < 2 || value->rank < 2 ||
        !call->output_count || call->outputs[0].rank < 2)
        return false;
    static const uint8_t sequence_first[] = {0, 2, 1, 3};
    const pyro_tensor *output = &call->outputs[0];
    int64_t rows = pyro_dims_product(call, output, 0, output->rank - 1u);
    attend(call, price, rows, key->dims[key->rank - 2], query->dims[query->rank - 1],
           value->dims[value->rank - 1]);
    static const char *const masks[] = {"attn_mask", "attn_bias", NULL};
    const pyro_tensor *mask = pyro_call_tensor_of(call, masks, 3);
    if (mask && !mask->is_skipped)
        price->other_flops = pyro_plus(call, price->other_flops,
                                       pyro_times(call, rows, key->dims[key->rank - 2]));
    price->fvcore_flops = 0; /* fvcore does not count fused attention */
    if (output->rank == sizeof sequence_first)
        pyro_price_order(price, output, sequence_first);
    return true;
}

/* Tensors [batch, sequence, heads, dim]. */
bool pyro_rule_attention_sequence_first(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *query = pyro_call_tensor(call, "query", 0);
    const pyro_tensor *key = pyro_call_tensor(call, "key", 1);
    const pyro_tensor *value = pyro_call_tensor(call, "value", 2);
    if (!query || !key || !value || query->rank != 4 || key->rank != 4 || value->rank != 4)
        return false;
    attend(call, price, pyro_dims_product(call, query, 0, 3), key->dims[1], query->dims[3],
           value->dims[3]);
    price->fvcore_flops = 0;
    return true;
}

/* Projections of query, key and value, attention over all heads, and the output's projection. */
static bool multi_head(pyro_call *call, pyro_price *price, const pyro_tensor *query,
                       const pyro_tensor *key, int64_t width, int64_t heads)
{
    if (!query || !key || query->rank != 3 || key->rank != 3)
        return false;
    int64_t rows = pyro_times(call, query->dims[0], query->dims[1]);
    int64_t key_rows = pyro_times(call, key->dims[0], key->dims[1]);
    int64_t square = pyro_times(call, width, width);
    /* query and output projections over the queries, key and value projections over the keys */
    price->macs = pyro_times(call, pyro_times(call, 2, square), pyro_plus(call, rows, key_rows));
    /* `rows` x keys scores of dim `width` in all heads together */
    int64_t scores = pyro_times(call, rows, key->dims[1]);
    price->macs = pyro_plus(call, price->macs,
                            pyro_times(call, scores, pyro_times(call, 2, width)));
    price->other_flops = pyro_times(call, pyro_times(call, scores, heads),
                                    SOFTMAX_FLOPS + SCALE_FLOPS);
    price->torch_macs = price->fvcore_flops = 0; /* both see one opaque operator */
    return true;
}

bool pyro_rule_native_multi_head(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *query = pyro_call_tensor(call, "query", 0);
    const pyro_tensor *key = pyro_call_tensor(call, "key", 1);
    if (!multi_head(call, price, query, key, pyro_call_integer(call, "embed_dim", 3, 0),
                    pyro_call_integer(call, "num_head", 4, 1)))
        return false;
    /* The biases of the four projections: two over the queries, two over the keys. */
    if (pyro_call_tensor(call, "qkv_bias", 6))
        price->other_flops = pyro_plus(
            call, price->other_flops,
            pyro_plus(call, query->elements, pyro_times(call, 2, key->elements)));
    if (pyro_call_tensor(call, "proj_bias", 8))
        price->other_flops = pyro_plus(call, price->other_flops, query->elements);
    return true;
}

/* A whole encoder layer: attention, two linears, two norms, one activation. */
bool pyro_rule_encoder_layer(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *source = pyro_call_tensor(call, "src", 0);
    const pyro_tensor *first = pyro_call_tensor(call, "ffn_weight_1", 14);
    const pyro_tensor *second = pyro_call_tensor(call, "ffn_weight_2", 16);
    if (!first || !second ||
        !multi_head(call, price, source, source, pyro_call_integer(call, "embed_dim", 1, 0),
                    pyro_call_integer(call, "num_heads", 2, 1)))
        return false;
    int64_t rows = pyro_times(call, source->dims[0], source->dims[1]);
    price->macs = pyro_plus(
        call, price->macs,
        pyro_times(call, rows, pyro_plus(call, first->elements, second->elements)));
    price->other_flops = pyro_plus(call, price->other_flops,
                                   pyro_times(call, source->elements, 16));
    return true;
}

/* All matrices of a recurrent layer, for one step of one sequence, without the gates. */
static int64_t matrix_elements(pyro_call *call, const pyro_call_arg *params, int64_t *gates)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < params->count; i++) {
        if (!params->tensors[i].dims || params->tensors[i].rank != 2)
            continue;
        sum = pyro_plus(call, sum, params->tensors[i].elements);
        *gates = pyro_plus(call, *gates, params->tensors[i].dims[0]);
    }
    return sum;
}

static bool recur(pyro_call *call, pyro_price *price, int64_t steps, const pyro_call_arg *params)
{
    int64_t gates = 0;
    if (!params || !params->tensors)
        return false;
    price->macs = pyro_times(call, steps, matrix_elements(call, params, &gates));
    /* bias, non-linearity and combination: about 5 FLOPs per gate value */
    price->other_flops = pyro_times(call, steps, pyro_times(call, gates, 5));
    price->fvcore_flops = 0;
    return true;
}

/* lstm, gru, rnn over [time, batch, features] or [batch, time, features]: order does not matter. */
bool pyro_rule_recurrent(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_tensor(call, "input", 0);
    if (!input || input->rank != 3)
        return false;
    return recur(call, price, pyro_times(call, input->dims[0], input->dims[1]),
                 pyro_call_find(call, "params", 2));
}

/* Packed sequences: one row per step of a sequence. */
bool pyro_rule_recurrent_packed(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *data = pyro_call_tensor(call, "data", 0);
    if (!data || data->rank != 2)
        return pyro_rule_recurrent(call, price);
    return recur(call, price, data->dims[0], pyro_call_find(call, "params", 3));
}

bool pyro_rule_recurrent_cell(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = pyro_call_tensor(call, "input", 0);
    const pyro_tensor *from_input = pyro_call_tensor(call, "w_ih", 2);
    const pyro_tensor *from_hidden = pyro_call_tensor(call, "w_hh", 3);
    if (!input || !from_input || !from_hidden || input->rank == 0)
        return false;
    int64_t rows = pyro_dims_product(call, input, 0, input->rank - 1u);
    price->macs = pyro_times(call, rows,
                             pyro_plus(call, from_input->elements, from_hidden->elements));
    price->other_flops = pyro_times(call, pyro_times(call, rows, from_input->dims[0]), 10);
    return true;
}
