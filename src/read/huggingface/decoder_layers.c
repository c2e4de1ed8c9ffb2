/* Layers of decoders: norms, attention with all heads or through latent vectors, dense MLPs. */
#include "read/huggingface/blocks.h"
#include "read/huggingface/decoder.h"
#include <string.h>

static bool is_normed_by_layer(const hf_decoder *d)
{
    return (d->traits & HF_LAYER_NORM) != 0;
}

hf_tensor hf_decoder_norm(hf_decoder *d, const char *path, hf_tensor x, int64_t width)
{
    bool rms = !is_normed_by_layer(d);
    if (d->traits & HF_NO_NORM_WEIGHT)
        return hf_map(&d->b, path, "aten.layer_norm", x, PYRO_NO_VALUE);
    return hf_norm(&d->b, path, x, width, rms, !rms && !(d->traits & HF_NO_NORM_BIAS));
}

static hf_tensor rotate(hf_decoder *d, const char *layer, hf_tensor x)
{
    if (d->traits & HF_POSITIONS)
        return x;
    return hf_map(&d->b, layer, "derived.rotary_embedding", x, PYRO_NO_VALUE);
}

/* A norm of every head: Cohere has a weight per head and value, the others one per value. */
static hf_tensor head_norm(hf_decoder *d, const char *layer, const char *name, hf_tensor x,
                           int64_t heads)
{
    static const char *const names[] = {"input", "weight", NULL};
    char path[HF_PATH], weight[HF_PATH];
    if (!d->head_norms)
        return x;
    hf_join(path, layer, name);
    if (strncmp(d->config->model_type, "cohere", 6))
        return hf_decoder_norm(d, path, x, d->head_dim);
    hf_join(weight, path, "weight");
    const int64_t dims[2] = {heads, d->head_dim};
    const hf_tensor inputs[2] = {x, hf_weight(&d->b, weight, d->b.dtype, 2, dims)};
    const pyro_size sizes[4] = {hf_dim(&d->b, x, 0), hf_dim(&d->b, x, 1), hf_dim(&d->b, x, 2),
                                d->head_dim};
    return hf_node(&d->b, path, "aten.layer_norm", names, inputs, 4, sizes);
}

static hf_tensor wide_norm(hf_decoder *d, const char *layer, const char *name, hf_tensor x,
                           int64_t width)
{
    char path[HF_PATH];
    if (!(d->traits & HF_QK_NORM_WIDE))
        return x;
    hf_join(path, layer, name);
    return hf_decoder_norm(d, path, x, width);
}

static hf_tensor project(hf_decoder *d, const char *layer, const char *name, hf_tensor x,
                         int64_t width)
{
    char path[HF_PATH];
    hf_join(path, layer, name);
    return hf_linear(&d->b, path, x, d->hidden, width, d->qkv_bias);
}

/* Query, key and value, from one matrix or three. */
static void project_all(hf_decoder *d, const char *layer, hf_tensor x, hf_tensor out[3])
{
    int64_t wide = d->heads * d->head_dim, narrow = d->shared * d->head_dim;
    if (d->traits & HF_FUSED_QKV) {
        hf_tensor all = project(d, layer, d->names->qkv, x, wide + 2 * narrow);
        out[0] = hf_part(&d->b, layer, all, wide);
        out[1] = hf_part(&d->b, layer, all, narrow);
        out[2] = hf_part(&d->b, layer, all, narrow);
        return;
    }
    out[0] = project(d, layer, d->names->q, x, d->traits & HF_GATED_QUERY ? 2 * wide : wide);
    out[1] = project(d, layer, d->names->k, x, narrow);
    out[2] = project(d, layer, d->names->v, x, narrow);
}

static hf_tensor plain_attention(hf_decoder *d, const char *layer, int64_t index, hf_tensor x)
{
    char path[HF_PATH];
    int64_t wide = d->heads * d->head_dim, narrow = d->shared * d->head_dim;
    int64_t window = hf_decoder_window(d, index);
    hf_tensor all[3], gate = PYRO_NO_VALUE;
    bool renamed = !strcmp(d->config->model_type, "phi");
    project_all(d, layer, x, all);
    if (d->traits & HF_GATED_QUERY) {
        gate = hf_part(&d->b, layer, all[0], wide);
        all[0] = hf_part(&d->b, layer, all[0], wide);
    }
    hf_tensor q = wide_norm(d, layer, "q_norm", all[0], wide);
    hf_tensor k = wide_norm(d, layer, "k_norm", all[1], narrow);
    q = hf_split_heads(&d->b, layer, q, d->heads, d->head_dim);
    k = hf_split_heads(&d->b, layer, k, d->shared, d->head_dim);
    hf_tensor v = hf_split_heads(&d->b, layer, all[2], d->shared, d->head_dim);
    q = rotate(d, layer, head_norm(d, layer, renamed ? "q_layernorm" : "q_norm", q, d->heads));
    k = rotate(d, layer, head_norm(d, layer, renamed ? "k_layernorm" : "k_norm", k, d->shared));
    k = hf_cached(&d->b, layer, index, "key", k, window);
    v = hf_cached(&d->b, layer, index, "value", v, window);
    hf_tensor out = hf_attend(&d->b, layer, q, k, v);
    if (d->traits & HF_SINKS) {
        hf_join(path, layer, "sinks");
        hf_weight(&d->b, path, d->b.dtype, 1, &d->heads);
    }
    if (gate != PYRO_NO_VALUE) {
        gate = hf_map(&d->b, layer, "aten.sigmoid", gate, PYRO_NO_VALUE);
        out = hf_map(&d->b, layer, "aten.mul", out, gate);
    }
    hf_join(path, layer, d->names->out);
    return hf_linear(&d->b, path, out, wide, d->hidden, d->out_bias);
}

static hf_tensor latent_norm(hf_decoder *d, const char *layer, const char *name, hf_tensor x,
                             int64_t width)
{
    char path[HF_PATH];
    hf_join(path, layer, name);
    return hf_decoder_norm(d, path, x, width);
}

/* The cache keeps latent vectors, which are expanded again for every new token. */
static hf_tensor cached_latent(hf_decoder *d, const char *layer, int64_t index, const char *what,
                               hf_tensor x)
{
    if (!d->b.decode)
        return x;
    pyro_size width = hf_dim(&d->b, x, 2);
    const pyro_size one_head[4] = {d->b.batch, 1, d->b.sequence, width};
    x = hf_view(&d->b, layer, x, 4, one_head);
    x = hf_cached(&d->b, layer, index, what, x, 0);
    const pyro_size flat[3] = {d->b.batch, hf_dim(&d->b, x, 2), width};
    return hf_view(&d->b, layer, x, 3, flat);
}

/* Queries, keys and values through low ranks; keys and values share one latent vector. */
static hf_tensor latent_attention(hf_decoder *d, const char *layer, int64_t index, hf_tensor x)
{
    char path[HF_PATH];
    int64_t key_dim = d->nope_dim + d->rope_dim, from = d->hidden;
    hf_tensor q = x;
    if (d->query_rank > 0) {
        q = project(d, layer, "q_a_proj", x, d->query_rank);
        q = latent_norm(d, layer, "q_a_layernorm", q, d->query_rank);
        from = d->query_rank;
    }
    hf_join(path, layer, d->query_rank > 0 ? "q_b_proj" : "q_proj");
    q = hf_linear(&d->b, path, q, from, d->heads * key_dim, false);
    hf_tensor both = project(d, layer, "kv_a_proj_with_mqa", x, d->value_rank + d->rope_dim);
    hf_tensor latent = hf_part(&d->b, layer, both, d->value_rank);
    latent = latent_norm(d, layer, "kv_a_layernorm", latent, d->value_rank);
    latent = cached_latent(d, layer, index, "key", latent);
    cached_latent(d, layer, index, "value", hf_part(&d->b, layer, both, d->rope_dim));
    hf_join(path, layer, "kv_b_proj");
    both = hf_linear(&d->b, path, latent, d->value_rank, d->heads * (d->nope_dim + d->value_dim),
                     false);
    hf_tensor v = hf_part(&d->b, layer, both, d->heads * d->value_dim);
    hf_tensor k = hf_part(&d->b, layer, both, d->heads * key_dim);
    q = rotate(d, layer, hf_split_heads(&d->b, layer, q, d->heads, key_dim));
    k = hf_split_heads(&d->b, layer, k, d->heads, key_dim);
    v = hf_split_heads(&d->b, layer, v, d->heads, d->value_dim);
    hf_tensor out = hf_attend(&d->b, layer, q, k, v);
    hf_join(path, layer, d->names->out);
    return hf_linear(&d->b, path, out, d->heads * d->value_dim, d->hidden, d->out_bias);
}

hf_tensor hf_decoder_attention(hf_decoder *d, const char *layer, int64_t index, hf_tensor x)
{
    return d->traits & HF_MLA ? latent_attention(d, layer, index, x)
                              : plain_attention(d, layer, index, x);
}

hf_tensor hf_decoder_mlp(hf_decoder *d, const char *layer, hf_tensor x, int64_t inner)
{
    char path[HF_PATH];
    hf_tensor up, gate;
    if (d->traits & HF_PLAIN_MLP) {
        const char *const names[2] = {d->names->up, d->names->down};
        return hf_two_layers(&d->b, layer, names, x, d->hidden, inner, d->activation, d->mlp_bias);
    }
    if (d->traits & HF_FUSED_MLP) {
        hf_join(path, layer, d->names->gate_up);
        hf_tensor both = hf_linear(&d->b, path, x, d->hidden, 2 * inner, d->mlp_bias);
        gate = hf_part(&d->b, layer, both, inner);
        up = hf_part(&d->b, layer, both, inner);
    } else {
        hf_join(path, layer, d->names->gate);
        gate = hf_linear(&d->b, path, x, d->hidden, inner, d->mlp_bias);
        hf_join(path, layer, d->names->up);
        up = hf_linear(&d->b, path, x, d->hidden, inner, d->mlp_bias);
    }
    gate = hf_map(&d->b, layer, d->activation, gate, PYRO_NO_VALUE);
    hf_tensor product = hf_map(&d->b, layer, "aten.mul", gate, up);
    hf_join(path, layer, d->names->down);
    return hf_linear(&d->b, path, product, inner, d->hidden, d->mlp_bias);
}
