/* Experts of a decoder: a router, the experts that it chooses, and those that all tokens share. */
#include "read/huggingface/decoder.h"

static pyro_size chosen_rows(hf_decoder *d)
{
    return d->b.decode ? hf_sizef(&d->b, "%lld*batch", (long long)d->chosen)
                       : hf_sizef(&d->b, "%lld*batch*sequence", (long long)d->chosen);
}

/* All experts' matrices in one weight; each row of the input meets those that it chooses. */
static hf_tensor expert_product(hf_decoder *d, const char *layer, const char *name,
                                const char *bias_name, hf_tensor rows, int64_t in, int64_t out)
{
    static const char *const names[] = {"self", "mat2", NULL};
    char path[HF_PATH];
    hf_join(path, layer, name);
    const int64_t dims[3] = {d->experts, in, out};
    const hf_tensor inputs[2] = {rows, hf_weight(&d->b, path, d->b.linear_dtype, 3, dims)};
    const pyro_size sizes[2] = {chosen_rows(d), out};
    hf_tensor result = hf_node(&d->b, layer, "aten._grouped_mm", names, inputs, 2, sizes);
    if (!(d->traits & HF_EXPERT_BIAS))
        return result;
    hf_join(path, layer, bias_name);
    const int64_t bias_dims[2] = {d->experts, out};
    hf_tensor bias = hf_weight(&d->b, path, d->b.dtype, 2, bias_dims);
    return hf_map(&d->b, layer, "aten.add", result, bias);
}

/* The experts that every token meets; their width is a field of its own. */
static hf_tensor shared_experts(hf_decoder *d, const char *layer, hf_tensor x)
{
    char path[HF_PATH];
    bool one = d->gated_shared || d->traits & HF_ALTERNATING;
    hf_join(path, layer, one ? "shared_expert" : "shared_experts");
    hf_tensor shared = hf_decoder_mlp(d, path, x, d->shared_inner);
    if (!d->gated_shared)
        return shared;
    hf_join(path, layer, "shared_expert_gate");
    hf_tensor weight = hf_linear(&d->b, path, x, d->hidden, 1, false);
    weight = hf_map(&d->b, layer, "aten.sigmoid", weight, PYRO_NO_VALUE);
    return hf_map(&d->b, layer, "aten.mul", shared, weight);
}

static void route(hf_decoder *d, const char *layer, hf_tensor x)
{
    char path[HF_PATH];
    hf_join(path, layer, d->names->router);
    pyro_dtype quantised = d->b.linear_dtype;
    d->b.linear_dtype = d->b.dtype; /* routers are never quantised */
    hf_tensor scores = hf_linear(&d->b, path, x, d->hidden, d->experts, d->traits & HF_EXPERT_BIAS);
    d->b.linear_dtype = quantised;
    hf_map(&d->b, layer, "aten.softmax", scores, PYRO_NO_VALUE);
}

hf_tensor hf_decoder_experts(hf_decoder *d, const char *layer, hf_tensor x)
{
    static const char *const self[] = {"self", NULL};
    char path[HF_PATH];
    route(d, layer, x);
    const pyro_size rows_sizes[2] = {chosen_rows(d), d->hidden};
    const pyro_size inner[2] = {rows_sizes[0], d->expert_inner};
    const pyro_size sizes[3] = {d->b.batch, d->b.sequence, d->hidden};
    hf_tensor rows = hf_node(&d->b, layer, "aten.index", self, &x, 2, rows_sizes);
    hf_join(path, layer, "experts");
    hf_tensor both = expert_product(d, path, "gate_up_proj", "gate_up_proj_bias", rows, d->hidden,
                                    2 * d->expert_inner);
    hf_tensor gate = hf_node(&d->b, path, "aten.slice", self, &both, 2, inner);
    hf_tensor up = hf_node(&d->b, path, "aten.slice", self, &both, 2, inner);
    gate = hf_map(&d->b, path, d->activation, gate, PYRO_NO_VALUE);
    hf_tensor product = hf_map(&d->b, path, "aten.mul", gate, up);
    hf_tensor out = expert_product(d, path, "down_proj", "down_proj_bias", product, d->expert_inner,
                                   d->hidden);
    out = hf_node(&d->b, layer, "aten.sum", self, &out, 3, sizes);
    if (d->shared_inner <= 0)
        return out;
    return hf_map(&d->b, layer, "aten.add", out, shared_experts(d, layer, x));
}
