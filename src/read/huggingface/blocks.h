/* Parts that transformers of all kinds share: heads, attention with its cache, plain MLPs. */
#ifndef PYRO_READ_HUGGINGFACE_BLOCKS_H
#define PYRO_READ_HUGGINGFACE_BLOCKS_H

#include "read/huggingface/build.h"

/* [batch, sequence, heads x dim] as [batch, heads, sequence, dim]. */
hf_tensor hf_split_heads(hf_builder *b, const char *layer, hf_tensor x, int64_t heads, int64_t dim);
/*
 * Attention of queries, keys and values of [batch, heads, sequence, dim]; the output is [batch,
 * sequence, heads x dim of the values].
 */
hf_tensor hf_attend(hf_builder *b, const char *layer, hf_tensor q, hf_tensor k, hf_tensor v);
/*
 * When decoding, appends keys or values of [batch, heads, 1, dim] to the cache of a layer, which is
 * an input; `window` limits its tokens if it is positive. Else returns x.
 */
hf_tensor hf_cached(hf_builder *b, const char *layer, int64_t index, const char *what, hf_tensor x,
                    int64_t window);

/* Names of the four projections of an attention, and which of them have biases. */
typedef struct hf_projections {
    const char *q, *k, *v, *out;
    bool q_bias, k_bias, v_bias, out_bias;
} hf_projections;

/* Attention of x to `memory`, another tensor of the same width or x itself. */
hf_tensor hf_multi_head(hf_builder *b, const char *layer, const hf_projections *names, hf_tensor x,
                        hf_tensor memory, int64_t width, int64_t heads, int64_t head_dim);
/* Two matrices with an activation between them. */
hf_tensor hf_two_layers(hf_builder *b, const char *layer, const char *const names[2], hf_tensor x,
                        int64_t width, int64_t inner, const char *activation, bool bias);

#endif
