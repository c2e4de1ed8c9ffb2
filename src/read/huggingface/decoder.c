/* Builds the graph of a decoder: embeddings, blocks, a last norm and a head. */
#include "read/huggingface/decoder.h"

#include <stdio.h>
#include <string.h>

static hf_tensor block_norm(hf_decoder *d, const char *layer, const char *name, hf_tensor x)
{
    char path[HF_PATH];
    if (!name)
        return x;
    hf_join(path, layer, name);
    return hf_decoder_norm(d, path, x, d->hidden);
}

static hf_tensor block_mlp(hf_decoder *d, const char *layer, int64_t index, hf_tensor x)
{
    char path[HF_PATH];
    bool experts = hf_decoder_has_experts(d, index);
    const char *name = experts ? d->names->moe : d->names->mlp;
    if (*name)
        hf_join(path, layer, name);
    else
        snprintf(path, sizeof path, "%s", layer);
    return experts ? hf_decoder_experts(d, path, x) : hf_decoder_mlp(d, path, x, d->inner);
}

static hf_tensor block(hf_decoder *d, const char *layer, int64_t index, hf_tensor x)
{
    char path[HF_PATH];
    hf_tensor normed = block_norm(d, layer, d->names->before_attention, x);
    bool linear = hf_decoder_is_linear(d, index);
    hf_join(path, layer, linear ? "linear_attn" : d->names->attention);
    hf_tensor out = linear ? hf_decoder_delta_net(d, path, index, normed)
                           : hf_decoder_attention(d, path, index, normed);
    if (d->traits & HF_PARALLEL) {
        hf_tensor mlp = block_mlp(d, layer, index, normed);
        return hf_map(&d->b, layer, "aten.add", hf_map(&d->b, layer, "aten.add", x, out), mlp);
    }
    out = block_norm(d, layer, d->names->after_attention, out);
    x = hf_map(&d->b, layer, "aten.add", x, out);
    normed = block_norm(d, layer, d->names->before_mlp, x);
    out = block_mlp(d, layer, index, normed);
    out = block_norm(d, layer, d->names->after_mlp, out);
    return hf_map(&d->b, layer, "aten.add", x, out);
}

/* Embeddings of tokens and, in some families, of positions. */
static hf_tensor embed(hf_decoder *d)
{
    static const char *const none[] = {NULL};
    const pyro_size sizes[2] = {d->b.batch, d->b.sequence};
    hf_tensor ids = hf_input(&d->b, "input_ids", PYRO_DTYPE_INT64, 2, sizes);
    hf_tensor x = hf_embedding(&d->b, d->names->embedding, ids, d->vocabulary, d->embedded);
    if (d->embedded != d->hidden)
        x = hf_linear(&d->b, "model.decoder.project_in", x, d->embedded, d->hidden, false);
    if (!d->positions)
        return x;
    const pyro_size row[2] = {1, d->b.sequence};
    hf_tensor places = hf_node(&d->b, "", "aten.arange", none, NULL, 2, row);
    places = hf_embedding(&d->b, d->names->positions, places, d->positions, d->hidden);
    return hf_map(&d->b, "", "aten.add", x, places);
}

/* The language head, whose weight may be that of the embeddings. */
static void add_language_head(hf_decoder *d, hf_tensor x)
{
    static const char *const names[] = {"input", "weight", "bias", NULL};
    char path[HF_PATH];
    if (d->embedded != d->hidden)
        x = hf_linear(&d->b, "model.decoder.project_out", x, d->hidden, d->embedded, false);
    hf_tensor inputs[3] = {x, PYRO_NO_VALUE, PYRO_NO_VALUE};
    const int64_t dims[2] = {d->vocabulary, d->embedded};
    const pyro_size sizes[3] = {d->b.batch, d->b.sequence, d->vocabulary};
    hf_join(path, d->tied ? d->names->embedding : d->names->head, "weight");
    inputs[1] = hf_weight(&d->b, path, d->b.dtype, 2, dims);
    hf_join(path, d->names->head, "bias");
    if (d->traits & HF_HEAD_BIAS)
        inputs[2] = hf_weight(&d->b, path, d->b.dtype, 1, dims);
    hf_node(&d->b, d->names->head, "aten.linear", names, inputs, 3, sizes);
}

/* Values of keys and values that a token adds to the cache; latent vectors where they are kept. */
static int64_t cache_values(const hf_decoder *d)
{
    int64_t each = d->traits & HF_MLA ? d->value_rank + d->rope_dim : 2 * d->shared * d->head_dim;
    int64_t layers = 0;
    for (int64_t layer = 0; layer < d->layers; layer++)
        layers += !hf_decoder_is_linear(d, layer);
    return each * layers;
}

void hf_decoder_body(hf_decoder *d, const char *head, hf_tensor features)
{
    static const char *const names[] = {"self", "source", NULL};
    char path[HF_PATH];
    hf_tensor x = embed(d);
    if (features != PYRO_NO_VALUE) {
        const hf_tensor inputs[2] = {x, features};
        const pyro_size sizes[3] = {d->b.batch, d->b.sequence, d->hidden};
        x = hf_node(&d->b, "model", "aten.masked_scatter", names, inputs, 3, sizes);
    }
    for (int64_t layer = 0; layer < d->layers && d->b.status == PYRO_OK; layer++) {
        snprintf(path, sizeof path, "%s.%lld", d->names->layers, (long long)layer);
        x = block(d, path, layer, x);
    }
    if (hf_truth(d->config, "do_layer_norm_before", true) &&
        !hf_truth(d->config, "_remove_final_layer_norm", false))
        x = hf_decoder_norm(d, d->names->norm, x, d->hidden);
    if (!strcmp(head, "ForSequenceClassification"))
        hf_linear(&d->b, "score", x, d->hidden, hf_labels(d->config), false);
    else if (strcmp(head, "Model"))
        add_language_head(d, x);
    d->b.model->cache_values_per_token = cache_values(d);
}

int hf_build_decoder(pyro_model *model, const hf_config *config, const hf_family *family,
                     bool decode, pyro_error *error)
{
    static const char *const heads[] = {"",
                                        "Model",
                                        "LMHeadModel",
                                        "ForCausalLM",
                                        "ForSequenceClassification",
                                        "ForConditionalGeneration"};
    hf_decoder d = {.config = config, .names = family->names, .traits = family->traits};
    const char *head = hf_head_kind(config);
    bool known = false;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        known |= !strcmp(heads[i], head);
    if (!known)
        return hf_unknown_head(config);
    int status = hf_decoder_sizes(&d);
    if (status == PYRO_OK)
        status = hf_begin(&d.b, model, config, decode, error);
    if (status < 0)
        return status;
    hf_decoder_body(&d, head, PYRO_NO_VALUE);
    return hf_end_text(&d.b, error);
}
