/* Reads the sizes of a decoder from its configuration. A missing size is an error, not a guess. */
#include "base/error.h"
#include "read/huggingface/decoder.h"
#include <stdio.h>
#include <string.h>

enum { MOST_LAYERS = 2000, MOST_HEADS = 1 << 20 }; /* products of sizes stay below 2^62 */

static int invalid_heads(const hf_decoder *d)
{
    return pyro_fail(d->config->error, PYRO_ERROR_FORMAT,
                     "the configuration has %lld heads and %lld key and value heads of %lld",
                     (long long)d->heads, (long long)d->shared, (long long)d->head_dim);
}

static int read_latent(hf_decoder *d)
{
    static const char *const ranks[][2] = {{"kv_lora_rank", NULL},
                                           {"qk_nope_head_dim", NULL},
                                           {"qk_rope_head_dim", NULL},
                                           {"v_head_dim", NULL}};
    int64_t *fields[] = {&d->value_rank, &d->nope_dim, &d->rope_dim, &d->value_dim};
    int status = PYRO_OK;
    for (size_t i = 0; status == PYRO_OK && i < 4; i++)
        status = hf_need(d->config, ranks[i], fields[i]);
    d->query_rank = hf_number(d->config, "q_lora_rank", 0);
    if (status == PYRO_OK &&
        (d->query_rank < 0 || d->query_rank > INT32_MAX || d->nope_dim > MOST_HEADS ||
         d->rope_dim > MOST_HEADS || d->value_dim > MOST_HEADS))
        status = invalid_heads(d);
    return status;
}

static int read_attention(hf_decoder *d)
{
    static const char *const heads[] = {"num_attention_heads", "n_head", NULL};
    static const char *const shared[] = {"num_key_value_heads", NULL};
    static const char *const head_dim[] = {"head_dim", "attention_head_dim", NULL};
    const hf_config *c = d->config;
    int status = hf_need(c, heads, &d->heads);
    if (status == PYRO_OK && d->traits & HF_KV_HEADS)
        status = hf_need(c, shared, &d->shared);
    if (status == PYRO_OK && d->traits & HF_HEAD_DIM)
        status = hf_need(c, head_dim, &d->head_dim);
    if (status == PYRO_OK && d->traits & HF_OWN_KEYS)
        d->shared = d->heads;
    else if (status == PYRO_OK)
        status = hf_optional(c, shared, d->heads, &d->shared);
    if (status == PYRO_OK)
        status = hf_optional(c, head_dim, d->hidden / d->heads, &d->head_dim);
    if (status < 0)
        return status;
    if (d->shared < 1 || d->shared > d->heads || d->head_dim < 1 || d->head_dim > MOST_HEADS ||
        d->heads > MOST_HEADS || d->heads % d->shared)
        return invalid_heads(d);
    d->head_norms = d->traits & HF_QK_NORM || hf_truth(c, "use_qk_norm", false) ||
                    hf_truth(c, "qk_layernorm", false);
    if (!strcmp(c->model_type, "llama4_text"))
        d->head_norms = false; /* its norms have no weights */
    return d->traits & HF_MLA ? read_latent(d) : PYRO_OK;
}

static int check_experts(const hf_decoder *d)
{
    if (d->chosen <= d->experts && d->every >= 1 && d->shared_inner >= 0 &&
        d->shared_inner <= INT32_MAX && d->first_dense >= 0)
        return PYRO_OK;
    return pyro_fail(d->config->error, PYRO_ERROR_FORMAT,
                     "the configuration has %lld experts, of which %lld are chosen",
                     (long long)d->experts, (long long)d->chosen);
}

/* Types whose experts have a width of their own; a default of transformers is never assumed. */
static bool has_own_width(const hf_decoder *d)
{
    return d->traits & HF_MLA || !strncmp(d->config->model_type, "qwen", 4);
}

static bool has_shared_expert(const hf_decoder *d)
{
    return !strcmp(d->config->model_type, "qwen2_moe") ||
           !strcmp(d->config->model_type, "qwen3_next");
}

static int read_experts(hf_decoder *d)
{
    static const char *const experts[] = {"num_local_experts", "n_routed_experts", "num_experts",
                                          "moe_num_experts", NULL};
    static const char *const chosen[] = {"num_experts_per_tok", "top_k_experts", "moe_top_k",
                                         "num_experts_per_token", NULL};
    static const char *const inner[] = {"moe_intermediate_size", "intermediate_size", NULL};
    static const char *const own_inner[] = {"moe_intermediate_size", NULL};
    static const char *const shared_inner[] = {"shared_expert_intermediate_size", NULL};
    static const char *const dense_inner[] = {"intermediate_size_mlp", NULL};
    const hf_config *c = d->config;
    d->every = 1;
    if (!(d->traits & HF_MOE))
        return PYRO_OK;
    d->experts = hf_integer(c, experts, 0);
    if (d->experts == 0 && d->traits & HF_MLA)
        return PYRO_OK;
    int status = hf_need(c, experts, &d->experts);
    if (status == PYRO_OK)
        status = hf_need(c, chosen, &d->chosen);
    if (status == PYRO_OK)
        status = hf_need(c, has_own_width(d) ? own_inner : inner, &d->expert_inner);
    if (status == PYRO_OK && has_shared_expert(d))
        status = hf_need(c, shared_inner, &d->shared_inner);
    int64_t shared = hf_number(c, "n_shared_experts", 0);
    d->shared_inner = shared >= 0 && shared <= MOST_HEADS ? shared * d->expert_inner : -1;
    if (!d->shared_inner)
        d->shared_inner = hf_number(c, "shared_expert_intermediate_size", 0);
    d->gated_shared = d->shared_inner && hf_find(c, "shared_expert_intermediate_size");
    d->first_dense = hf_number(c, "first_k_dense_replace", 0);
    d->every = hf_number(c, "decoder_sparse_step", hf_number(c, "moe_layer_freq", 1));
    if (d->traits & HF_ALTERNATING) {
        d->shared_inner = d->expert_inner;
        d->every = hf_number(c, "interleave_moe_layer_step", 1);
        if (status == PYRO_OK)
            status = hf_need(c, dense_inner, &d->inner);
    }
    return status == PYRO_OK ? check_experts(d) : status;
}

static void read_biases(hf_decoder *d)
{
    const hf_config *c = d->config;
    bool attention = d->traits & HF_ATTENTION_BIAS_FIELD &&
                     hf_truth(c, "attention_bias", !strcmp(c->model_type, "gpt_neox"));
    bool all = d->traits & HF_USE_BIAS_FIELD &&
               hf_truth(c, "use_bias", hf_truth(c, "enable_bias", true));
    d->qkv_bias = d->traits & HF_QKV_BIAS || attention || all;
    d->out_bias = d->traits & HF_OUT_BIAS || attention || all;
    if (!strncmp(c->model_type, "glm", 3))
        d->out_bias = false; /* attention_bias does not reach its output projection */
    d->mlp_bias = d->traits & HF_MLP_BIAS || all ||
                  (d->traits & HF_MLP_BIAS_FIELD && hf_truth(c, "mlp_bias", false));
    d->tied = hf_truth(c, "tie_word_embeddings", (d->traits & HF_TIED) != 0);
    const char *named = hf_text(c, "hidden_act", hf_text(c, "activation_function", "silu"));
    d->activation = hf_activation(hf_text(c, "hidden_activation", named));
}

/* Tables of positions, and the projections of OPT between embedding and hidden size. */
static int read_tables(hf_decoder *d)
{
    static const char *const positions[] = {"max_position_embeddings", "n_positions", NULL};
    d->embedded = hf_number(d->config, "word_embed_proj_dim", d->hidden);
    if (d->embedded < 1 || d->embedded > INT32_MAX)
        d->embedded = d->hidden;
    if (!(d->traits & HF_POSITIONS))
        return PYRO_OK;
    int status = hf_need(d->config, positions, &d->positions);
    if (!strcmp(d->config->model_type, "opt"))
        d->positions += 2; /* its first two rows stand for padding */
    return status;
}

int hf_decoder_sizes(hf_decoder *d)
{
    static const char *const hidden[] = {"hidden_size", "n_embd", "d_model", NULL};
    static const char *const layers[] = {"num_hidden_layers", "n_layer", NULL};
    static const char *const inner[] = {"intermediate_size", "n_inner", NULL};
    static const char *const opt_inner[] = {"ffn_dim", NULL};
    static const char *const vocabulary[] = {"vocab_size", NULL};
    const hf_config *c = d->config;
    int status = hf_need(c, hidden, &d->hidden);
    if (status == PYRO_OK)
        status = hf_need(c, layers, &d->layers);
    /* GPT-2 defines a missing n_inner as four times the width. */
    if (status == PYRO_OK && !strcmp(c->model_type, "gpt2"))
        d->inner = hf_integer(c, inner, 4 * d->hidden);
    else if (status == PYRO_OK)
        status = hf_need(c, strcmp(c->model_type, "opt") ? inner : opt_inner, &d->inner);
    if (status == PYRO_OK)
        status = hf_need(c, vocabulary, &d->vocabulary);
    if (status == PYRO_OK && d->layers > MOST_LAYERS)
        status = pyro_fail(c->error, PYRO_ERROR_LIMIT, "the configuration has %lld layers",
                           (long long)d->layers);
    if (status == PYRO_OK)
        status = read_attention(d);
    if (status == PYRO_OK)
        status = read_experts(d);
    if (status == PYRO_OK)
        status = read_tables(d);
    if (status == PYRO_OK && d->traits & HF_LINEAR)
        status = hf_delta_net_sizes(d);
    if (status == PYRO_OK)
        read_biases(d);
    return status;
}

/* Layers of a family whose configuration does not list their types. */
static bool is_windowed(const hf_decoder *d, int64_t layer)
{
    const hf_config *c = d->config;
    int64_t pattern = !strcmp(c->model_type, "gemma3_text")                                  ? 6
                      : !strcmp(c->model_type, "cohere2") || !strcmp(c->model_type, "olmo3") ? 4
                                                                                             : 2;
    pattern = hf_number(c, "sliding_window_pattern", pattern);
    if (d->traits & HF_WINDOW_LAST)
        return hf_truth(c, "use_sliding_window", false) &&
               layer >= hf_number(c, "max_window_layers", 0);
    if (d->traits & HF_WINDOW_SOME)
        return pattern < 1 || (layer + 1) % pattern != 0;
    return (d->traits & HF_WINDOW_ALL) != 0;
}

int64_t hf_decoder_window(const hf_decoder *d, int64_t layer)
{
    const hf_entry *types = hf_find(d->config, "layer_types");
    int64_t window = hf_number(d->config, "sliding_window", 0);
    if (types && types->kind == HF_LIST) {
        const char *type = hf_item(d->config, "layer_types", layer);
        if (!strcmp(type, "chunked_attention"))
            return hf_number(d->config, "attention_chunk_size", 0);
        return !strcmp(type, "sliding_attention") ? window : 0;
    }
    return is_windowed(d, layer) ? window : 0;
}

bool hf_decoder_is_linear(const hf_decoder *d, int64_t layer)
{
    const hf_entry *types = hf_find(d->config, "layer_types");
    int64_t interval = hf_number(d->config, "full_attention_interval", 4);
    if (!(d->traits & HF_LINEAR))
        return false;
    if (types && types->kind == HF_LIST)
        return !strcmp(hf_item(d->config, "layer_types", layer), "linear_attention");
    return interval < 1 || (layer + 1) % interval != 0;
}

/* True if a list of the configuration has that number. */
static bool is_listed(const hf_decoder *d, const char *list, int64_t number)
{
    char item[64];
    const hf_entry *entry = hf_find(d->config, list);
    for (int64_t i = 0; entry && entry->kind == HF_LIST && i < entry->integer; i++) {
        snprintf(item, sizeof item, "%s.%lld", list, (long long)i);
        if (hf_number(d->config, item, -1) == number)
            return true;
    }
    return false;
}

bool hf_decoder_has_experts(const hf_decoder *d, int64_t layer)
{
    const hf_entry *types = hf_find(d->config, "mlp_layer_types");
    const hf_entry *chosen = hf_find(d->config, "moe_layers");
    if (!d->experts)
        return false;
    if (types && types->kind == HF_LIST)
        return !strcmp(hf_item(d->config, "mlp_layer_types", layer), "sparse");
    if (chosen && chosen->kind == HF_LIST && chosen->integer)
        return is_listed(d, "moe_layers", layer);
    if (layer < d->first_dense || is_listed(d, "mlp_only_layers", layer))
        return false;
    bool from_zero = d->traits & HF_MLA; /* moe_layer_freq counts from the first layer */
    return (layer + !from_zero) % d->every == 0;
}
