/* Builds the graphs of encoder-decoder models: T5, BART and Whisper. */
#include "base/error.h"
#include "read/huggingface/blocks.h"
#include "read/huggingface/family.h"
#include <stdio.h>
#include <string.h>

typedef struct seq2seq {
    hf_builder b;
    const hf_config *config;
    bool t5, whisper;
    int64_t hidden, vocabulary, positions, source_positions, bands;
    int64_t layers[2], heads[2], inner[2]; /* of the encoder and of the decoder */
    int64_t head_dim, buckets;
    bool gated;
    const char *activation;
} seq2seq;

/* T5 names its sizes once; BART and Whisper name them per side. */
static int read_t5(seq2seq *s)
{
    static const char *const layers[] = {"num_layers", NULL}, *const heads[] = {"num_heads", NULL};
    static const char *const inner[] = {"d_ff", NULL}, *const dim[] = {"d_kv", NULL};
    static const char *const buckets[] = {"relative_attention_num_buckets", NULL};
    const hf_config *c = s->config;
    int status = hf_need(c, layers, &s->layers[0]);
    if (status == PYRO_OK)
        status = hf_need(c, heads, &s->heads[0]);
    if (status == PYRO_OK)
        status = hf_need(c, inner, &s->inner[0]);
    if (status == PYRO_OK)
        status = hf_need(c, dim, &s->head_dim);
    if (status == PYRO_OK)
        status = hf_need(c, buckets, &s->buckets);
    s->layers[1] = hf_number(c, "num_decoder_layers", s->layers[0]);
    s->heads[1] = s->heads[0];
    s->inner[1] = s->inner[0];
    const char *mlp = hf_text(c, "feed_forward_proj", "relu");
    s->gated = !strncmp(mlp, "gated", 5);
    s->activation = hf_activation(mlp);
    return status;
}

static int read_sides(seq2seq *s)
{
    static const char *const fields[][2] = {
        {"encoder_layers", NULL},          {"decoder_layers", NULL},
        {"encoder_attention_heads", NULL}, {"decoder_attention_heads", NULL},
        {"encoder_ffn_dim", NULL},         {"decoder_ffn_dim", NULL}};
    static const char *const bart[] = {"max_position_embeddings", NULL};
    static const char *const target[] = {"max_target_positions", NULL};
    static const char *const source[] = {"max_source_positions", NULL};
    static const char *const bands[] = {"num_mel_bins", NULL};
    const hf_config *c = s->config;
    int64_t *out[] = {&s->layers[0], &s->layers[1], &s->heads[0],
                      &s->heads[1],  &s->inner[0],  &s->inner[1]};
    int status = PYRO_OK;
    for (size_t i = 0; status == PYRO_OK && i < 6; i++)
        status = hf_need(c, fields[i], out[i]);
    if (status == PYRO_OK)
        status = hf_need(c, s->whisper ? target : bart, &s->positions);
    if (status == PYRO_OK && s->whisper)
        status = hf_need(c, source, &s->source_positions);
    if (status == PYRO_OK && s->whisper)
        status = hf_need(c, bands, &s->bands);
    s->activation = hf_activation(hf_text(c, "activation_function", "gelu"));
    return status;
}

static int read_sizes(seq2seq *s)
{
    static const char *const hidden[] = {"d_model", "hidden_size", NULL};
    static const char *const vocabulary[] = {"vocab_size", NULL};
    enum { MOST_LAYERS = 2000 };
    int status = hf_need(s->config, hidden, &s->hidden);
    if (status == PYRO_OK)
        status = hf_need(s->config, vocabulary, &s->vocabulary);
    if (status == PYRO_OK)
        status = s->t5 ? read_t5(s) : read_sides(s);
    for (int side = 0; status == PYRO_OK && side < 2; side++)
        if (s->layers[side] < 1 || s->layers[side] > MOST_LAYERS ||
            (!s->t5 && s->hidden % s->heads[side]))
            status = pyro_fail(
                s->config->error, PYRO_ERROR_FORMAT,
                "the configuration has %lld layers and %lld heads of a width of %lld",
                (long long)s->layers[side], (long long)s->heads[side], (long long)s->hidden);
    return status;
}

static hf_tensor norm(seq2seq *s, const char *layer, const char *name, hf_tensor x)
{
    char path[HF_PATH];
    hf_join(path, layer, name);
    return hf_norm(&s->b, path, x, s->hidden, s->t5, !s->t5);
}

/* Attention of x to a memory; x itself if they are the same. */
static hf_tensor attention(seq2seq *s, const char *layer, int side, hf_tensor x, hf_tensor memory)
{
    static const hf_projections t5 = {"q", "k", "v", "o", false, false, false, false};
    static const hf_projections bart = {"q_proj", "k_proj", "v_proj", "out_proj",
                                        true,     true,     true,     true};
    static const hf_projections whisper = {"q_proj", "k_proj", "v_proj", "out_proj",
                                           true,     false,    true,     true};
    int64_t dim = s->t5 ? s->head_dim : s->hidden / s->heads[side];
    return hf_multi_head(&s->b, layer,
                         s->t5        ? &t5
                         : s->whisper ? &whisper
                                      : &bart,
                         x, memory, s->hidden, s->heads[side], dim);
}

static hf_tensor t5_mlp(seq2seq *s, const char *layer, hf_tensor x)
{
    static const char *const names[2] = {"wi", "wo"};
    char path[HF_PATH];
    if (!s->gated)
        return hf_two_layers(&s->b, layer, names, x, s->hidden, s->inner[0], s->activation, false);
    hf_join(path, layer, "wi_0");
    hf_tensor gate = hf_linear(&s->b, path, x, s->hidden, s->inner[0], false);
    gate = hf_map(&s->b, layer, s->activation, gate, PYRO_NO_VALUE);
    hf_join(path, layer, "wi_1");
    hf_tensor up = hf_linear(&s->b, path, x, s->hidden, s->inner[0], false);
    hf_join(path, layer, "wo");
    return hf_linear(&s->b, path, hf_map(&s->b, layer, "aten.mul", gate, up), s->inner[0],
                     s->hidden, false);
}

/* One part of a T5 block: a norm, then attention or MLP, then the sum. */
static hf_tensor t5_part(seq2seq *s, const char *block, int part, const char *what, int side,
                         hf_tensor x, hf_tensor memory)
{
    char layer[HF_PATH], path[HF_PATH];
    snprintf(layer, sizeof layer, "%.150s.layer.%d", block, part);
    hf_tensor normed = norm(s, layer, "layer_norm", x);
    hf_join(path, layer, what);
    hf_tensor out = !strcmp(what, "DenseReluDense")
                        ? t5_mlp(s, path, normed)
                        : attention(s, path, side, normed,
                                    memory == PYRO_NO_VALUE ? normed : memory);
    return hf_map(&s->b, layer, "aten.add", x, out);
}

static hf_tensor t5_stack(seq2seq *s, int side, hf_tensor x, hf_tensor memory)
{
    const char *name = side ? "decoder" : "encoder";
    const int64_t table[2] = {s->buckets, s->heads[side]};
    char block[HF_PATH], path[HF_PATH];
    for (int64_t i = 0; i < s->layers[side] && s->b.status == PYRO_OK; i++) {
        snprintf(block, sizeof block, "%s.block.%lld", name, (long long)i);
        if (i == 0) {
            hf_join(path, block, "layer.0.SelfAttention.relative_attention_bias.weight");
            hf_weight(&s->b, path, s->b.dtype, 2, table);
        }
        x = t5_part(s, block, 0, "SelfAttention", side, x, PYRO_NO_VALUE);
        if (side)
            x = t5_part(s, block, 1, "EncDecAttention", side, x, memory);
        x = t5_part(s, block, side ? 2 : 1, "DenseReluDense", side, x, PYRO_NO_VALUE);
    }
    return norm(s, name, "final_layer_norm", x);
}

static hf_tensor side_block(seq2seq *s, const char *layer, int side, hf_tensor x, hf_tensor memory)
{
    static const char *const mlp[2] = {"fc1", "fc2"};
    char path[HF_PATH];
    hf_tensor out = norm(s, layer, "self_attn_layer_norm", x);
    hf_join(path, layer, "self_attn");
    out = attention(s, path, side, out, out);
    x = hf_map(&s->b, layer, "aten.add", x, out);
    if (side) {
        out = norm(s, layer, "encoder_attn_layer_norm", x);
        hf_join(path, layer, "encoder_attn");
        out = attention(s, path, side, out, memory);
        x = hf_map(&s->b, layer, "aten.add", x, out);
    }
    out = norm(s, layer, "final_layer_norm", x);
    out = hf_two_layers(&s->b, layer, mlp, out, s->hidden, s->inner[side], s->activation, true);
    return hf_map(&s->b, layer, "aten.add", x, out);
}

/* Adds a table of positions to embeddings of [batch, sequence, hidden]. */
static hf_tensor placed(seq2seq *s, const char *path, hf_tensor x, int64_t rows)
{
    static const char *const none[] = {NULL};
    const pyro_size row[2] = {1, hf_dim(&s->b, x, 1)};
    hf_tensor places = hf_node(&s->b, "", "aten.arange", none, NULL, 2, row);
    places = hf_embedding(&s->b, path, places, rows, s->hidden);
    return hf_map(&s->b, "", "aten.add", x, places);
}

static hf_tensor side_stack(seq2seq *s, int side, hf_tensor x, hf_tensor memory)
{
    const char *name = side ? "model.decoder" : "model.encoder";
    char path[HF_PATH];
    hf_join(path, name, "embed_positions");
    int64_t rows = s->whisper ? (side ? s->positions : s->source_positions) : s->positions + 2;
    x = placed(s, path, x, rows);
    if (!s->whisper)
        x = norm(s, name, "layernorm_embedding", x);
    for (int64_t i = 0; i < s->layers[side] && s->b.status == PYRO_OK; i++) {
        snprintf(path, sizeof path, "%s.layers.%lld", name, (long long)i);
        x = side_block(s, path, side, x, memory);
    }
    return s->whisper ? norm(s, name, "layer_norm", x) : x;
}

/* Two convolutions over the spectrogram; the second one halves its length. */
static hf_tensor listen(seq2seq *s)
{
    static const char *const self[] = {"self", NULL};
    int64_t frames = 2 * s->source_positions;
    const pyro_size sizes[3] = {s->b.batch, s->bands, frames};
    const int64_t first[3] = {s->hidden, s->bands, 3}, second[3] = {s->hidden, s->hidden, 3};
    const pyro_size wide[3] = {s->b.batch, s->hidden, frames};
    const pyro_size half[3] = {s->b.batch, s->hidden, s->source_positions};
    const pyro_size turned[3] = {s->b.batch, s->source_positions, s->hidden};
    hf_tensor x = hf_input(&s->b, "input_features", s->b.dtype, 3, sizes);
    x = hf_convolution(&s->b, "model.encoder.conv1", x, 3, first, true, wide);
    x = hf_map(&s->b, "model.encoder", "aten.gelu", x, PYRO_NO_VALUE);
    x = hf_convolution(&s->b, "model.encoder.conv2", x, 3, second, true, half);
    x = hf_map(&s->b, "model.encoder", "aten.gelu", x, PYRO_NO_VALUE);
    return hf_node(&s->b, "model.encoder", "aten.permute", self, &x, 3, turned);
}

static void build(seq2seq *s)
{
    static const char *const names[] = {"input", "weight", NULL};
    const char *table = s->t5        ? "shared"
                        : s->whisper ? "model.decoder.embed_tokens"
                                     : "model.shared";
    const pyro_size source[2] = {s->b.batch, s->b.sequence};
    const pyro_size target[2] = {s->b.batch, hf_size(&s->b, "target")};
    hf_tensor x, memory, ids;
    if (s->whisper) {
        x = listen(s);
    } else {
        ids = hf_input(&s->b, "input_ids", PYRO_DTYPE_INT64, 2, source);
        x = hf_embedding(&s->b, table, ids, s->vocabulary, s->hidden);
    }
    memory = s->t5 ? t5_stack(s, 0, x, PYRO_NO_VALUE) : side_stack(s, 0, x, PYRO_NO_VALUE);
    ids = hf_input(&s->b, "decoder_input_ids", PYRO_DTYPE_INT64, 2, target);
    x = hf_embedding(&s->b, table, ids, s->vocabulary, s->hidden);
    x = s->t5 ? t5_stack(s, 1, x, memory) : side_stack(s, 1, x, memory);
    char path[HF_PATH];
    const char *head = s->whisper ? "proj_out" : "lm_head";
    hf_join(path, hf_truth(s->config, "tie_word_embeddings", true) ? table : head, "weight");
    const int64_t dims[2] = {s->vocabulary, s->hidden};
    const hf_tensor inputs[2] = {x, hf_weight(&s->b, path, s->b.dtype, 2, dims)};
    const pyro_size logits[3] = {s->b.batch, target[1], s->vocabulary};
    hf_node(&s->b, head, "aten.linear", names, inputs, 3, logits);
}

int hf_build_seq2seq(pyro_model *model, const hf_config *config, const hf_family *family,
                     bool decode, pyro_error *error)
{
    static const pyro_dim text[] = {
        {"batch", "batch", "input_ids", 0, 1, INT64_MAX, 1},
        {"sequence", "sequence", "input_ids", 1, 1, INT64_MAX, 1},
        {"target", "target", "decoder_input_ids", 1, 1, INT64_MAX, 1},
    };
    static const pyro_dim speech[] = {
        {"batch", "batch", "input_features", 0, 1, INT64_MAX, 1},
        {"sequence", "sequence", "decoder_input_ids", 1, 1, INT64_MAX, 1},
    };
    static const int64_t tokens[2] = {1, 128};
    static const pyro_default_shape shapes[] = {{"decoder_input_ids", 2, tokens},
                                                {"input_ids", 2, tokens}};
    seq2seq s = {.config = config};
    s.t5 = !strcmp(family->model_type, "t5");
    s.whisper = !strcmp(family->model_type, "whisper");
    const char *head = hf_head_kind(config);
    if (decode)
        return hf_no_decode(config);
    if (*head && strcmp(head, "ForConditionalGeneration"))
        return hf_unknown_head(config);
    int status = read_sizes(&s);
    if (status == PYRO_OK)
        status = hf_begin(&s.b, model, config, false, error);
    if (status < 0)
        return status;
    build(&s);
    return hf_end(&s.b, s.whisper ? speech : text, s.whisper ? 2 : 3, shapes, s.whisper ? 1 : 2,
                  error);
}
