/* Parts that transformers of all kinds share: heads, attention with its cache, plain MLPs. */
#include "read/huggingface/blocks.h"

#include <stdio.h>

static const char *const self_name[] = {"self", NULL};

hf_tensor hf_split_heads(hf_builder *b, const char *layer, hf_tensor x, int64_t heads, int64_t dim)
{
    const pyro_size apart[4] = {hf_dim(b, x, 0), hf_dim(b, x, 1), heads, dim};
    const pyro_size turned[4] = {apart[0], heads, apart[1], dim};
    x = hf_view(b, layer, x, 4, apart);
    return hf_node(b, layer, "aten.permute", self_name, &x, 4, turned);
}

hf_tensor hf_attend(hf_builder *b, const char *layer, hf_tensor q, hf_tensor k, hf_tensor v)
{
    static const char *const names[] = {"query", "key", "value", NULL};
    const hf_tensor inputs[3] = {q, k, v};
    pyro_size heads = hf_dim(b, q, 1), dim = hf_dim(b, v, 3);
    const pyro_size shape[4] = {hf_dim(b, q, 0), heads, hf_dim(b, q, 2), dim};
    const pyro_size turned[4] = {shape[0], shape[2], heads, dim};
    const pyro_size joined[3] = {shape[0], shape[2], heads * dim};
    hf_tensor out = hf_node(b, layer, "aten.scaled_dot_product_attention", names, inputs, 4, shape);
    out = hf_node(b, layer, "aten.permute", self_name, &out, 4, turned);
    return hf_view(b, layer, out, 3, joined);
}

hf_tensor hf_cached(hf_builder *b, const char *layer, int64_t index, const char *what, hf_tensor x,
                    int64_t window)
{
    char name[64];
    if (!b->decode || b->status < 0)
        return x;
    pyro_size past = b->past, joined = hf_size(b, "past+1");
    if (window > 0) {
        past = hf_sizef(b, "Min(past, %lld)", (long long)window - 1);
        joined = hf_sizef(b, "1+Min(past, %lld)", (long long)window - 1);
    }
    snprintf(name, sizeof name, "past_key_values.%lld.%s", (long long)index, what);
    const pyro_size sizes[4] = {b->batch, hf_dim(b, x, 1), past, hf_dim(b, x, 3)};
    hf_tensor cache = hf_input(b, name, b->dtype, 4, sizes);
    if (b->status < 0)
        return PYRO_NO_VALUE;
    b->model->graph->values[cache].cache_axis = 3;
    return hf_concatenate(b, layer, cache, x, 2, joined);
}

hf_tensor hf_multi_head(hf_builder *b, const char *layer, const hf_projections *names, hf_tensor x,
                        hf_tensor memory, int64_t width, int64_t heads, int64_t head_dim)
{
    char path[HF_PATH];
    int64_t wide = heads * head_dim;
    hf_join(path, layer, names->q);
    hf_tensor q = hf_linear(b, path, x, width, wide, names->q_bias);
    hf_join(path, layer, names->k);
    hf_tensor k = hf_linear(b, path, memory, width, wide, names->k_bias);
    hf_join(path, layer, names->v);
    hf_tensor v = hf_linear(b, path, memory, width, wide, names->v_bias);
    q = hf_split_heads(b, layer, q, heads, head_dim);
    k = hf_split_heads(b, layer, k, heads, head_dim);
    v = hf_split_heads(b, layer, v, heads, head_dim);
    hf_tensor out = hf_attend(b, layer, q, k, v);
    hf_join(path, layer, names->out);
    return hf_linear(b, path, out, wide, width, names->out_bias);
}

hf_tensor hf_two_layers(hf_builder *b, const char *layer, const char *const names[2], hf_tensor x,
                        int64_t width, int64_t inner, const char *activation, bool bias)
{
    char path[HF_PATH];
    hf_join(path, layer, names[0]);
    x = hf_linear(b, path, x, width, inner, bias);
    x = hf_map(b, layer, activation, x, PYRO_NO_VALUE);
    hf_join(path, layer, names[1]);
    return hf_linear(b, path, x, inner, width, bias);
}
