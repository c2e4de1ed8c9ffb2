/* The sizes of a decoder, and the parts that decoder.c puts together. */
#ifndef PYRO_READ_HUGGINGFACE_DECODER_H
#define PYRO_READ_HUGGINGFACE_DECODER_H

#include "read/huggingface/family.h"

/* Sizes of linear attention (delta_net.c). */
typedef struct hf_delta_net {
    int64_t key_heads, value_heads, key_dim, value_dim, kernel;
} hf_delta_net;

typedef struct hf_decoder {
    hf_builder b;
    const hf_config *config;
    const hf_names *names;
    uint32_t traits;
    int64_t hidden, layers, heads, shared, head_dim, inner, vocabulary, positions, embedded;
    bool qkv_bias, out_bias, mlp_bias, tied, head_norms;
    const char *activation;
    /* multi-head latent attention */
    int64_t query_rank, value_rank, nope_dim, rope_dim, value_dim;
    /* experts */
    int64_t experts, chosen, expert_inner, shared_inner, first_dense, every;
    bool gated_shared;
    hf_delta_net delta_net;
} hf_decoder;

/* Reads and checks all sizes of the configuration (decoder_sizes.c). */
int hf_decoder_sizes(hf_decoder *d);
/* The limit of a layer's cache in tokens; 0: none. */
int64_t hf_decoder_window(const hf_decoder *d, int64_t layer);
/* True if the MLP of a layer has experts. */
bool hf_decoder_has_experts(const hf_decoder *d, int64_t layer);

/* True if a layer has linear attention. */
bool hf_decoder_is_linear(const hf_decoder *d, int64_t layer);

/* Linear attention: its sizes, and a layer of it (delta_net.c). */
int hf_delta_net_sizes(hf_decoder *d);
hf_tensor hf_decoder_delta_net(hf_decoder *d, const char *layer, int64_t index, hf_tensor x);

/* A norm of the family's kind (decoder_layers.c). */
hf_tensor hf_decoder_norm(hf_decoder *d, const char *path, hf_tensor x, int64_t width);
/* The attention of a layer, with its projections. */
hf_tensor hf_decoder_attention(hf_decoder *d, const char *layer, int64_t index, hf_tensor x);
/* Gate, up and down, or two matrices. */
hf_tensor hf_decoder_mlp(hf_decoder *d, const char *layer, hf_tensor x, int64_t inner);
/* A router, the chosen experts, and experts that all tokens share (experts.c). */
hf_tensor hf_decoder_experts(hf_decoder *d, const char *layer, hf_tensor x);

/*
 * All layers and the head of a decoder (decoder.c). The features of an image take the places of some
 * tokens, unless they are PYRO_NO_VALUE.
 */
void hf_decoder_body(hf_decoder *d, const char *head, hf_tensor features);

#endif
