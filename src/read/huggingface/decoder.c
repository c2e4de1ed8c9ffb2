/* Builds the graph of a decoder from its configuration: attention, MLP or experts, norms, head. */
#include "base/error.h"
#include "read/huggingface/family.h"
#include <stdio.h>
#include <string.h>

static const hf_family families[] = {
#define FAMILY(model_type, traits) {model_type, traits},
#include "read/huggingface/families.def"
#undef FAMILY
};

const hf_family *hf_family_find(const char *model_type)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(families[i].model_type, model_type))
            return &families[i];
    return NULL;
}

enum { MOST_LAYERS = 2000, PATH = 200 };

/* The path of a module inside another one. */
static void join(char path[PATH], const char *layer, const char *name)
{
    snprintf(path, PATH, "%.140s.%.50s", layer, name);
}

/* The sizes of a decoder. */
typedef struct decoder {
    hf_builder b;
    const hf_config *config;
    uint32_t traits;
    int64_t hidden, layers, heads, shared, head_dim, inner, vocabulary;
    bool qkv_bias, out_bias, mlp_bias, tied;
    const char *activation;
    /* multi-head latent attention */
    int64_t query_rank, value_rank, nope_dim, rope_dim, value_dim;
    /* experts */
    int64_t experts, chosen, expert_inner, shared_inner, first_dense, every;
    bool gated_shared;
} decoder;

static int read_attention(decoder *d)
{
    static const char *const heads[] = {"num_attention_heads", "n_head", NULL};
    static const char *const ranks[][2] = {{"kv_lora_rank", NULL},
                                           {"qk_nope_head_dim", NULL},
                                           {"qk_rope_head_dim", NULL},
                                           {"v_head_dim", NULL}};
    const hf_config *c = d->config;
    int status = hf_need(c, heads, &d->heads);
    if (status < 0)
        return status;
    d->shared = hf_number(c, "num_key_value_heads", d->heads);
    d->head_dim = hf_number(c, "head_dim", d->hidden / d->heads);
    if (d->shared < 1 || d->shared > d->heads || d->head_dim < 1 || d->head_dim > 1 << 20 ||
        d->heads % d->shared)
        return pyro_fail(c->error, PYRO_ERROR_FORMAT,
                         "the configuration has %lld heads and %lld key and value heads of %lld",
                         (long long)d->heads, (long long)d->shared, (long long)d->head_dim);
    if (!(d->traits & HF_MLA))
        return PYRO_OK;
    int64_t *fields[] = {&d->value_rank, &d->nope_dim, &d->rope_dim, &d->value_dim};
    for (size_t i = 0; status == PYRO_OK && i < 4; i++)
        status = hf_need(c, ranks[i], fields[i]);
    d->query_rank = hf_number(c, "q_lora_rank", 0);
    return status;
}

static int read_experts(decoder *d)
{
    static const char *const experts[] = {"num_local_experts", "n_routed_experts", "num_experts",
                                          "moe_num_experts", NULL};
    static const char *const chosen[] = {"num_experts_per_tok", "top_k_experts", "moe_top_k", NULL};
    static const char *const inner[] = {"moe_intermediate_size", "intermediate_size", NULL};
    const hf_config *c = d->config;
    if (!(d->traits & HF_MOE))
        return PYRO_OK;
    d->experts = hf_integer(c, experts, 0);
    if (d->experts == 0 && !(d->traits & HF_MLA))
        return hf_need(c, experts, &d->experts);
    if (d->experts == 0)
        return PYRO_OK;
    int status = hf_need(c, experts, &d->experts);
    if (status == PYRO_OK)
        status = hf_need(c, chosen, &d->chosen);
    if (status == PYRO_OK)
        status = hf_need(c, inner, &d->expert_inner);
    d->shared_inner = hf_number(c, "n_shared_experts", 0) * d->expert_inner;
    if (!d->shared_inner)
        d->shared_inner = hf_number(c, "shared_expert_intermediate_size", 0);
    d->gated_shared = !strcmp(c->model_type, "qwen2_moe");
    d->first_dense = hf_number(c, "first_k_dense_replace", 0);
    d->every = hf_number(c, "decoder_sparse_step", 1);
    if (status == PYRO_OK && (d->chosen > d->experts || d->every < 1 || d->shared_inner < 0 ||
                              d->shared_inner > INT32_MAX || d->first_dense < 0))
        return pyro_fail(c->error, PYRO_ERROR_FORMAT,
                         "the configuration has %lld experts, of which %lld are chosen",
                         (long long)d->experts, (long long)d->chosen);
    return status;
}

static void read_biases(decoder *d)
{
    const hf_config *c = d->config;
    bool attention = d->traits & HF_ATTENTION_BIAS_FIELD && hf_truth(c, "attention_bias", false);
    bool all = d->traits & HF_USE_BIAS_FIELD && hf_truth(c, "use_bias", true);
    d->qkv_bias = d->traits & HF_QKV_BIAS || attention || all;
    d->out_bias = d->traits & HF_OUT_BIAS || attention || all;
    d->mlp_bias = d->traits & HF_MLP_BIAS || all ||
                  (d->traits & HF_MLP_BIAS_FIELD && hf_truth(c, "mlp_bias", false));
    d->tied = hf_truth(c, "tie_word_embeddings", (d->traits & HF_TIED) != 0);
    const char *named = hf_text(c, "hidden_activation", hf_text(c, "hidden_act", "silu"));
    d->activation = strstr(named, "gelu")   ? "aten.gelu"
                    : strstr(named, "relu") ? "aten.relu"
                                            : "aten.silu";
}

static int read_sizes(decoder *d)
{
    static const char *const hidden[] = {"hidden_size", "n_embd", "d_model", NULL};
    static const char *const layers[] = {"num_hidden_layers", "n_layer", NULL};
    static const char *const inner[] = {"intermediate_size", "n_inner", NULL};
    static const char *const vocabulary[] = {"vocab_size", NULL};
    const hf_config *c = d->config;
    int status = hf_need(c, hidden, &d->hidden);
    if (status == PYRO_OK)
        status = hf_need(c, layers, &d->layers);
    if (status == PYRO_OK)
        status = hf_need(c, inner, &d->inner);
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
        read_biases(d);
    return status;
}

static hf_tensor norm(decoder *d, const char *path, hf_tensor x, int64_t width)
{
    bool rms = !(d->traits & HF_LAYER_NORM);
    /* OLMo's norms have no weights at all: a map of about as many FLOPs. */
    if (!strcmp(d->config->model_type, "olmo"))
        return hf_map(&d->b, path, "aten.rms_norm", x, PYRO_NO_VALUE);
    return hf_norm(&d->b, path, x, width, rms, !rms && !(d->traits & HF_NO_NORM_BIAS));
}

/* [batch, sequence, heads x dim] as [batch, heads, sequence, dim]. */
static hf_tensor split_heads(decoder *d, const char *layer, hf_tensor x, int64_t heads, int64_t dim)
{
    const pyro_size apart[4] = {d->b.batch, d->b.sequence, heads, dim};
    const pyro_size turned[4] = {d->b.batch, heads, d->b.sequence, dim};
    static const char *const names[] = {"self", NULL};
    x = hf_view(&d->b, layer, x, 4, apart);
    return hf_node(&d->b, layer, "aten.permute", names, &x, 4, turned);
}

static hf_tensor rotate(decoder *d, const char *layer, hf_tensor x)
{
    return hf_map(&d->b, layer, "derived.rotary_embedding", x, PYRO_NO_VALUE);
}

/* Attention over heads; the output is [batch, sequence, heads x dim] again. */
static hf_tensor attend(decoder *d, const char *layer, hf_tensor q, hf_tensor k, hf_tensor v,
                        int64_t dim)
{
    static const char *const names[] = {"query", "key", "value", NULL};
    static const char *const self[] = {"self", NULL};
    const hf_tensor inputs[3] = {q, k, v};
    const pyro_size heads[4] = {d->b.batch, d->heads, d->b.sequence, dim};
    const pyro_size turned[4] = {d->b.batch, d->b.sequence, d->heads, dim};
    const pyro_size joined[3] = {d->b.batch, d->b.sequence, d->heads * dim};
    hf_tensor out = hf_node(&d->b, layer, "aten.scaled_dot_product_attention", names, inputs, 4,
                            heads);
    out = hf_node(&d->b, layer, "aten.permute", self, &out, 4, turned);
    return hf_view(&d->b, layer, out, 3, joined);
}

/* A part of a fused projection. */
static hf_tensor part(decoder *d, const char *layer, hf_tensor x, int64_t width)
{
    static const char *const names[] = {"self", NULL};
    const pyro_size sizes[3] = {d->b.batch, d->b.sequence, width};
    return hf_node(&d->b, layer, "aten.slice", names, &x, 3, sizes);
}

static hf_tensor head_norm(decoder *d, const char *layer, const char *name, hf_tensor x,
                           int64_t width)
{
    char path[PATH];
    join(path, layer, name);
    return norm(d, path, x, width);
}

static hf_tensor plain_attention(decoder *d, const char *layer, hf_tensor x)
{
    char path[PATH];
    int64_t wide = d->heads * d->head_dim, narrow = d->shared * d->head_dim;
    hf_tensor q, k, v;
    if (d->traits & HF_FUSED) {
        join(path, layer, "qkv_proj");
        hf_tensor all = hf_linear(&d->b, path, x, d->hidden, wide + 2 * narrow, d->qkv_bias);
        q = part(d, layer, all, wide);
        k = part(d, layer, all, narrow);
        v = part(d, layer, all, narrow);
    } else {
        join(path, layer, "q_proj");
        q = hf_linear(&d->b, path, x, d->hidden, wide, d->qkv_bias);
        join(path, layer, "k_proj");
        k = hf_linear(&d->b, path, x, d->hidden, narrow, d->qkv_bias);
        join(path, layer, "v_proj");
        v = hf_linear(&d->b, path, x, d->hidden, narrow, d->qkv_bias);
    }
    if (d->traits & HF_QK_NORM_WIDE) {
        q = head_norm(d, layer, "q_norm", q, wide);
        k = head_norm(d, layer, "k_norm", k, narrow);
    }
    q = split_heads(d, layer, q, d->heads, d->head_dim);
    k = split_heads(d, layer, k, d->shared, d->head_dim);
    v = split_heads(d, layer, v, d->shared, d->head_dim);
    if (d->traits & HF_QK_NORM) {
        q = head_norm(d, layer, "q_norm", q, d->head_dim);
        k = head_norm(d, layer, "k_norm", k, d->head_dim);
    }
    q = rotate(d, layer, q);
    k = rotate(d, layer, k);
    hf_tensor out = attend(d, layer, q, k, v, d->head_dim);
    join(path, layer, "o_proj");
    return hf_linear(&d->b, path, out, wide, d->hidden, d->out_bias);
}

/* Queries, keys and values through low ranks; keys and values share one latent vector. */
static hf_tensor latent_attention(decoder *d, const char *layer, hf_tensor x)
{
    char path[PATH];
    int64_t key_dim = d->nope_dim + d->rope_dim;
    hf_tensor q = x;
    int64_t from = d->hidden;
    if (d->query_rank > 0) {
        join(path, layer, "q_a_proj");
        q = hf_linear(&d->b, path, x, d->hidden, d->query_rank, d->qkv_bias);
        q = head_norm(d, layer, "q_a_layernorm", q, d->query_rank);
        from = d->query_rank;
    }
    join(path, layer, d->query_rank > 0 ? "q_b_proj" : "q_proj");
    q = hf_linear(&d->b, path, q, from, d->heads * key_dim, false);
    join(path, layer, "kv_a_proj_with_mqa");
    hf_tensor latent = hf_linear(&d->b, path, x, d->hidden, d->value_rank + d->rope_dim,
                                 d->qkv_bias);
    latent = part(d, layer, latent, d->value_rank);
    latent = head_norm(d, layer, "kv_a_layernorm", latent, d->value_rank);
    join(path, layer, "kv_b_proj");
    hf_tensor both = hf_linear(&d->b, path, latent, d->value_rank,
                               d->heads * (d->nope_dim + d->value_dim), false);
    hf_tensor v = part(d, layer, both, d->heads * d->value_dim);
    hf_tensor k = part(d, layer, both, d->heads * key_dim);
    q = rotate(d, layer, split_heads(d, layer, q, d->heads, key_dim));
    k = split_heads(d, layer, k, d->heads, key_dim);
    v = split_heads(d, layer, v, d->heads, d->value_dim);
    hf_tensor out = attend(d, layer, q, k, v, d->value_dim);
    join(path, layer, "o_proj");
    return hf_linear(&d->b, path, out, d->heads * d->value_dim, d->hidden, d->out_bias);
}

/* The MLP of a block, or shared experts: gate, up and down, or two matrices. */
static hf_tensor dense_mlp(decoder *d, const char *layer, hf_tensor x, int64_t inner)
{
    char path[PATH];
    hf_tensor up, gate;
    if (d->traits & HF_PLAIN_MLP) {
        join(path, layer, "c_fc");
        up = hf_linear(&d->b, path, x, d->hidden, inner, d->mlp_bias);
        up = hf_map(&d->b, layer, d->activation, up, PYRO_NO_VALUE);
        join(path, layer, "c_proj");
        return hf_linear(&d->b, path, up, inner, d->hidden, d->mlp_bias);
    }
    if (d->traits & HF_FUSED) {
        join(path, layer, "gate_up_proj");
        hf_tensor both = hf_linear(&d->b, path, x, d->hidden, 2 * inner, d->mlp_bias);
        gate = part(d, layer, both, inner);
        up = part(d, layer, both, inner);
    } else {
        join(path, layer, "gate_proj");
        gate = hf_linear(&d->b, path, x, d->hidden, inner, d->mlp_bias);
        join(path, layer, "up_proj");
        up = hf_linear(&d->b, path, x, d->hidden, inner, d->mlp_bias);
    }
    gate = hf_map(&d->b, layer, d->activation, gate, PYRO_NO_VALUE);
    hf_tensor product = hf_map(&d->b, layer, "aten.mul", gate, up);
    join(path, layer, "down_proj");
    return hf_linear(&d->b, path, product, inner, d->hidden, d->mlp_bias);
}

/* All experts' matrices in one weight; each row of the input meets those that it chooses. */
static hf_tensor expert_product(decoder *d, const char *layer, const char *name, hf_tensor rows,
                                int64_t in, int64_t out)
{
    static const char *const names[] = {"self", "mat2", NULL};
    char path[PATH], text[64];
    join(path, layer, name);
    snprintf(text, sizeof text, "%lld*batch*sequence", (long long)d->chosen);
    hf_tensor weight = hf_weight(&d->b, path, d->b.linear_dtype, 3,
                                 (const int64_t[]){d->experts, in, out});
    const pyro_size sizes[2] = {hf_size(&d->b, text), out};
    const hf_tensor inputs[2] = {rows, weight};
    return hf_node(&d->b, layer, "aten._grouped_mm", names, inputs, 2, sizes);
}

static hf_tensor expert_mlp(decoder *d, const char *layer, hf_tensor x)
{
    static const char *const self[] = {"self", NULL};
    char path[PATH], text[64];
    join(path, layer, "gate");
    pyro_dtype quantised = d->b.linear_dtype;
    d->b.linear_dtype = d->b.dtype; /* routers are never quantised */
    hf_tensor scores = hf_linear(&d->b, path, x, d->hidden, d->experts, false);
    d->b.linear_dtype = quantised;
    hf_map(&d->b, layer, "aten.softmax", scores, PYRO_NO_VALUE);
    snprintf(text, sizeof text, "%lld*batch*sequence", (long long)d->chosen);
    const pyro_size rows_sizes[2] = {hf_size(&d->b, text), d->hidden};
    hf_tensor rows = hf_node(&d->b, layer, "aten.index", self, &x, 2, rows_sizes);
    join(path, layer, "experts");
    hf_tensor both = expert_product(d, path, "gate_up_proj", rows, d->hidden, 2 * d->expert_inner);
    const pyro_size inner[2] = {rows_sizes[0], d->expert_inner};
    hf_tensor gate = hf_node(&d->b, path, "aten.slice", self, &both, 2, inner);
    hf_tensor up = hf_node(&d->b, path, "aten.slice", self, &both, 2, inner);
    gate = hf_map(&d->b, path, d->activation, gate, PYRO_NO_VALUE);
    hf_tensor product = hf_map(&d->b, path, "aten.mul", gate, up);
    hf_tensor out = expert_product(d, path, "down_proj", product, d->expert_inner, d->hidden);
    const pyro_size sizes[3] = {d->b.batch, d->b.sequence, d->hidden};
    out = hf_node(&d->b, layer, "aten.sum", self, &out, 3, sizes);
    if (d->shared_inner <= 0)
        return out;
    join(path, layer, d->gated_shared ? "shared_expert" : "shared_experts");
    hf_tensor shared = dense_mlp(d, path, x, d->shared_inner);
    if (d->gated_shared) {
        join(path, layer, "shared_expert_gate");
        hf_tensor weight = hf_linear(&d->b, path, x, d->hidden, 1, false);
        weight = hf_map(&d->b, layer, "aten.sigmoid", weight, PYRO_NO_VALUE);
        shared = hf_map(&d->b, layer, "aten.mul", shared, weight);
    }
    return hf_map(&d->b, layer, "aten.add", out, shared);
}

static bool has_experts(const decoder *d, int64_t layer)
{
    char item[48];
    if (!d->experts || layer < d->first_dense)
        return false;
    const hf_entry *only = hf_find(d->config, "mlp_only_layers");
    for (int64_t i = 0; only && only->kind == HF_LIST && i < only->integer; i++) {
        snprintf(item, sizeof item, "mlp_only_layers.%lld", (long long)i);
        if (hf_number(d->config, item, -1) == layer)
            return false;
    }
    return (layer + 1) % d->every == 0;
}

static hf_tensor block(decoder *d, const char *layer, int64_t index, hf_tensor x)
{
    char path[PATH];
    bool post = d->traits & HF_POST_NORMS, four = d->traits & HF_FOUR_NORMS;
    hf_tensor normed = x, out;
    if (!post) {
        join(path, layer, "input_layernorm");
        normed = norm(d, path, x, d->hidden);
    }
    join(path, layer, "self_attn");
    out = d->traits & HF_MLA ? latent_attention(d, path, normed) : plain_attention(d, path, normed);
    if (d->traits & HF_PARALLEL) {
        join(path, layer, "mlp");
        hf_tensor mlp = dense_mlp(d, path, normed, d->inner);
        return hf_map(&d->b, layer, "aten.add", hf_map(&d->b, layer, "aten.add", x, out), mlp);
    }
    join(path, layer, "post_attention_layernorm");
    if (post || four)
        out = norm(d, path, out, d->hidden);
    x = hf_map(&d->b, layer, "aten.add", x, out);
    if (four)
        join(path, layer, "pre_feedforward_layernorm");
    normed = post ? x : norm(d, path, x, d->hidden);
    join(path, layer, "mlp");
    out = has_experts(d, index) ? expert_mlp(d, path, normed)
                                : dense_mlp(d, path, normed, d->inner);
    join(path, layer, "post_feedforward_layernorm");
    if (post || four)
        out = norm(d, path, out, d->hidden);
    return hf_map(&d->b, layer, "aten.add", x, out);
}

static void build(decoder *d)
{
    char path[PATH];
    const pyro_size sizes[2] = {d->b.batch, d->b.sequence};
    hf_tensor ids = hf_input(&d->b, "input_ids", PYRO_DTYPE_INT64, 2, sizes);
    hf_tensor x = hf_embedding(&d->b, "model.embed_tokens", ids, d->vocabulary, d->hidden);
    for (int64_t layer = 0; layer < d->layers && d->b.status == PYRO_OK; layer++) {
        snprintf(path, sizeof path, "model.layers.%lld", (long long)layer);
        x = block(d, path, layer, x);
    }
    x = norm(d, "model.norm", x, d->hidden);
    static const char *const names[] = {"input", "weight", NULL};
    const pyro_size logits[3] = {d->b.batch, d->b.sequence, d->vocabulary};
    hf_tensor inputs[2] = {x, PYRO_NO_VALUE};
    inputs[1] = hf_weight(&d->b, d->tied ? "model.embed_tokens.weight" : "lm_head.weight",
                          d->b.dtype, 2, (const int64_t[]){d->vocabulary, d->hidden});
    hf_node(&d->b, "lm_head", "aten.linear", names, inputs, 3, logits);
}

/* Values of keys and values that a token adds to the cache. */
static int64_t cache_values(const decoder *d)
{
    int64_t each = d->traits & HF_MLA ? d->value_rank + d->rope_dim : 2 * d->shared * d->head_dim;
    return each * d->layers;
}

static pyro_dtype stated_dtype(const hf_config *config)
{
    const char *name = hf_text(config, "dtype", hf_text(config, "torch_dtype", ""));
    hf_config outer = *config;
    outer.prefix = "";
    if (!*name)
        name = hf_text(&outer, "dtype", hf_text(&outer, "torch_dtype", "float32"));
    pyro_dtype dtype = pyro_dtype_from_name(name);
    return dtype == PYRO_DTYPE_UNKNOWN ? PYRO_DTYPE_FLOAT32 : dtype;
}

/* The type of linear weights by quantization_config; unknown methods are refused. */
static int read_quantization(decoder *d)
{
    hf_config outer = *d->config;
    if (!hf_find(&outer, "quantization_config"))
        outer.prefix = "";
    d->b.linear_dtype = d->b.dtype;
    if (!hf_find(&outer, "quantization_config"))
        return PYRO_OK;
    const char *method = hf_text(&outer, "quantization_config.quant_method", "");
    bool four = hf_truth(&outer, "quantization_config.load_in_4bit", false);
    int64_t bits = hf_number(&outer, "quantization_config.bits", four ? 4 : 8);
    if (!strcmp(method, "fp8") || !strcmp(method, "fbgemm_fp8"))
        d->b.linear_dtype = PYRO_DTYPE_FLOAT8_E4M3FN;
    else if (!strcmp(method, "gptq") || !strcmp(method, "awq") || !strcmp(method, "bitsandbytes"))
        d->b.linear_dtype = bits == 4 ? PYRO_DTYPE_INT4 : PYRO_DTYPE_INT8;
    else
        return pyro_fail(d->config->error, PYRO_ERROR_UNSUPPORTED,
                         "the quantisation method '%.60s' is unknown; export the model instead",
                         method);
    return pyro_model_note(d->b.model,
                           "quantization_config (%.40s): the weights of linear layers are %s; "
                           "scales are not counted",
                           method, pyro_dtype_name(d->b.linear_dtype))
               ? PYRO_OK
               : pyro_fail_memory(d->config->error);
}

static int add_facts(pyro_model *model, pyro_error *error)
{
    static const pyro_dim dims[] = {
        {"batch", "batch", "input_ids", 0, 1, INT64_MAX, 1},
        {"sequence", "sequence", "input_ids", 1, 1, INT64_MAX, 1},
    };
    static const int64_t shape[] = {1, 128};
    model->facts.dims = dims;
    model->facts.dim_count = 2;
    for (size_t i = 0; i < model->exprs.symbol_count; i++)
        model->exprs.symbols[i].min = 1;
    pyro_exprs_settle(&model->exprs);
    return pyro_model_default_shape(model, "input_ids", shape, 2, error);
}

int hf_build_decoder(pyro_model *model, const hf_config *config, const hf_family *family,
                     pyro_error *error)
{
    decoder d = {.b = {.model = model, .error = error}, .config = config, .traits = family->traits};
    d.b.dtype = stated_dtype(config);
    int status = read_sizes(&d);
    if (status == PYRO_OK)
        status = read_quantization(&d);
    if (status < 0)
        return status;
    d.b.batch = hf_size(&d.b, "batch");
    d.b.sequence = hf_size(&d.b, "sequence");
    build(&d);
    if (d.b.status < 0)
        return d.b.status;
    model->cache_values_per_token = cache_values(&d);
    return add_facts(model, error);
}
