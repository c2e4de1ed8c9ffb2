/* Computes a model's footprint: its weights, and the keys and values of a language model. */
#include "base/checked.h"
#include "graph/cost/cost.h"

/*
 * A prompt fills the cache with `cache_values_per_token` values per token. The catalog has this
 * number for models that also have a graph of the decoding step.
 */
static bool cache_of_prompt(const pyro_cost *cost, pyro_footprint *out)
{
    const pyro_model *model = cost->model;
    const pyro_value *ids = pyro_model_find_input(model, NULL);
    int64_t bytes = pyro_dtype_bytes(pyro_dtype_from_name(cost->dtype));

    return model->cache_values_per_token > 0 && bytes > 0 && ids && ids->rank == 2 &&
           pyro_size_value(model, ids->sizes[0], &out->sequences) &&
           pyro_size_value(model, ids->sizes[1], &out->cache_tokens) &&
           pyro_mul_i64(bytes, model->cache_values_per_token, &bytes) &&
           pyro_mul_i64(bytes, out->sequences, &bytes) &&
           pyro_mul_i64(bytes, out->cache_tokens, &out->cache_bytes);
}

void pyro_cost_footprint(const pyro_cost *cost, pyro_footprint *out)
{
    pyro_decode decode;

    *out = (pyro_footprint){.weight_bytes = cost->param_bytes, .cache_bytes = -1};
    if (pyro_cost_decode(cost, &decode)) {
        out->cache_bytes = decode.cache_read_bytes;
        out->cache_tokens = decode.past_tokens;
        out->sequences = decode.sequences;
    } else if (!cache_of_prompt(cost, out)) {
        out->cache_bytes = -1;
        out->cache_tokens = out->sequences = 0;
    }
    if (out->cache_bytes < 0 ||
        !pyro_add_i64(out->weight_bytes, out->cache_bytes, &out->total_bytes))
        out->total_bytes = out->weight_bytes;
}
