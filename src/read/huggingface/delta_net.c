/*
 * Linear attention by the gated delta rule (Qwen3-Next): chunks of 64 tokens as products of
 * matrices, and one token as an update of its state.
 */
#include "base/error.h"
#include "read/huggingface/decoder.h"
#include <stdio.h>

enum { CHUNK = 64 };

int hf_delta_net_sizes(hf_decoder *d)
{
    static const char *const fields[][2] = {{"linear_num_key_heads", NULL},
                                            {"linear_num_value_heads", NULL},
                                            {"linear_key_head_dim", NULL},
                                            {"linear_value_head_dim", NULL},
                                            {"linear_conv_kernel_dim", NULL}};
    enum { MOST = 1 << 20 };
    hf_delta_net *net = &d->delta_net;
    int64_t *out[] = {&net->key_heads, &net->value_heads, &net->key_dim, &net->value_dim,
                      &net->kernel};
    int status = PYRO_OK;
    for (size_t i = 0; status == PYRO_OK && i < 5; i++) {
        status = hf_need(d->config, fields[i], out[i]);
        if (status == PYRO_OK && *out[i] > MOST)
            status = pyro_fail(d->config->error, PYRO_ERROR_LIMIT, "'%s' is %lld", fields[i][0],
                               (long long)*out[i]);
    }
    return status;
}

/* A causal convolution per channel over [batch, sequence, channels]. */
static hf_tensor convolve(hf_decoder *d, const char *layer, hf_tensor x, int64_t channels)
{
    static const char *const self[] = {"self", NULL};
    char path[HF_PATH];
    hf_builder *b = &d->b;
    const int64_t weight[3] = {channels, 1, d->delta_net.kernel};
    const pyro_size turned[3] = {b->batch, channels, b->sequence};
    const pyro_size flat[3] = {b->batch, b->sequence, channels};
    /* The state has as many tokens as the kernel is long, so a new one makes two outputs. */
    pyro_size padded = b->decode ? 2
                                 : hf_sizef(b, "sequence+%lld", (long long)d->delta_net.kernel - 1);
    const pyro_size out[3] = {b->batch, channels, padded};
    x = hf_node(b, layer, "aten.transpose", self, &x, 3, turned);
    hf_join(path, layer, "conv1d");
    x = hf_convolution(b, path, x, 3, weight, false, out);
    x = hf_map(b, layer, "aten.silu", x, PYRO_NO_VALUE);
    return hf_node(b, layer, "aten.slice", self, &x, 3, flat);
}

/* All heads as [batch, heads, chunks, rows, columns]. */
static hf_tensor chunked(hf_decoder *d, const char *layer, hf_tensor x, int64_t rows,
                         int64_t columns)
{
    static const char *const self[] = {"self", NULL};
    const pyro_size sizes[5] = {d->b.batch, d->delta_net.value_heads,
                                hf_sizef(&d->b, "(sequence+%d)//%d", CHUNK - 1, CHUNK), rows,
                                columns};
    return hf_node(&d->b, layer, "aten.view", self, &x, 5, sizes);
}

static hf_tensor product(hf_decoder *d, const char *layer, hf_tensor a, hf_tensor other)
{
    pyro_size sizes[5];
    for (size_t i = 0; i < 4; i++)
        sizes[i] = hf_dim(&d->b, a, i);
    sizes[4] = hf_dim(&d->b, other, 4);
    return hf_matmul(&d->b, layer, a, other, 5, sizes);
}

/* The rule over chunks: within each of them, then from state to state. */
static hf_tensor run_chunks(hf_decoder *d, const char *layer, hf_tensor qk, hf_tensor value)
{
    static const char *const self[] = {"self", NULL};
    const hf_delta_net *net = &d->delta_net;
    int64_t keys = net->key_dim, values = net->value_dim;
    hf_tensor q = chunked(d, layer, qk, CHUNK, keys), k = chunked(d, layer, qk, CHUNK, keys);
    hf_tensor k_turned = chunked(d, layer, qk, keys, CHUNK);
    hf_tensor v = chunked(d, layer, value, CHUNK, values);
    hf_tensor system = product(d, layer, k, k_turned);
    hf_tensor scores = product(d, layer, q, k_turned);
    hf_tensor new_values = product(d, layer, system, v);
    hf_tensor decayed = product(d, layer, system, k);
    hf_tensor state = product(d, layer, k_turned, new_values);
    new_values = hf_map(&d->b, layer, "aten.sub", new_values, product(d, layer, decayed, state));
    hf_tensor out = product(d, layer, q, state);
    out = hf_map(&d->b, layer, "aten.add", out, product(d, layer, scores, new_values));
    const pyro_size flat[3] = {d->b.batch, d->b.sequence, net->value_heads * values};
    return hf_node(&d->b, layer, "aten.view", self, &out, 3, flat);
}

/* One token: the state decays, is corrected and read, without a product of matrices. */
static hf_tensor run_token(hf_decoder *d, const char *layer, int64_t index, hf_tensor value)
{
    static const char *const self[] = {"self", NULL};
    char name[64];
    const hf_delta_net *net = &d->delta_net;
    const pyro_size sizes[4] = {d->b.batch, net->value_heads, net->key_dim, net->value_dim};
    snprintf(name, sizeof name, "past_key_values.%lld.state", (long long)index);
    hf_tensor state = hf_input(&d->b, name, d->b.dtype, 4, sizes);
    state = hf_map(&d->b, layer, "aten.mul", state, PYRO_NO_VALUE);
    state = hf_map(&d->b, layer, "aten.addcmul", state, value);
    const pyro_size flat[3] = {d->b.batch, 1, net->value_heads * net->value_dim};
    hf_tensor read = hf_map(&d->b, layer, "aten.mul", state, PYRO_NO_VALUE);
    return hf_node(&d->b, layer, "aten.sum", self, &read, 3, flat);
}

hf_tensor hf_decoder_delta_net(hf_decoder *d, const char *layer, int64_t index, hf_tensor x)
{
    char path[HF_PATH];
    const hf_delta_net *net = &d->delta_net;
    int64_t keys = net->key_heads * net->key_dim, values = net->value_heads * net->value_dim;
    hf_join(path, layer, "in_proj_qkvz");
    hf_tensor all = hf_linear(&d->b, path, x, d->hidden, 2 * keys + 2 * values, false);
    hf_join(path, layer, "in_proj_ba");
    hf_linear(&d->b, path, x, d->hidden, 2 * net->value_heads, false);
    hf_tensor gate = hf_part(&d->b, layer, all, values);
    hf_tensor mixed = hf_part(&d->b, layer, all, 2 * keys + values);
    mixed = convolve(d, layer, mixed, 2 * keys + values);
    hf_tensor qk = hf_part(&d->b, layer, mixed, keys), value = hf_part(&d->b, layer, mixed, values);
    hf_join(path, layer, "dt_bias");
    hf_weight(&d->b, path, d->b.dtype, 1, &net->value_heads);
    hf_join(path, layer, "A_log");
    hf_weight(&d->b, path, d->b.dtype, 1, &net->value_heads);
    hf_tensor out = d->b.decode ? run_token(d, layer, index, value)
                                : run_chunks(d, layer, qk, value);
    const pyro_size heads[4] = {d->b.batch, d->b.sequence, net->value_heads, net->value_dim};
    out = hf_view(&d->b, layer, out, 4, heads);
    hf_join(path, layer, "norm");
    out = hf_norm(&d->b, path, out, net->value_dim, true, false);
    const pyro_size flat[3] = {d->b.batch, d->b.sequence, values};
    out = hf_view(&d->b, layer, out, 3, flat);
    gate = hf_map(&d->b, layer, "aten.silu", gate, PYRO_NO_VALUE);
    out = hf_map(&d->b, layer, "aten.mul", out, gate);
    hf_join(path, layer, "out_proj");
    return hf_linear(&d->b, path, out, values, d->hidden, false);
}
