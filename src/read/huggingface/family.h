/* The families of transformers whose graph follows from their configuration (families.def). */
#ifndef PYRO_READ_HUGGINGFACE_FAMILY_H
#define PYRO_READ_HUGGINGFACE_FAMILY_H

#include "read/huggingface/build.h"
#include "read/huggingface/config.h"

/* What distinguishes a family of decoders; bits of `traits`. */
enum hf_trait {
    HF_QKV_BIAS = 1 << 0, /* biases of the query, key and value projections */
    HF_OUT_BIAS = 1 << 1, /* of the output projection */
    HF_MLP_BIAS = 1 << 2,
    HF_ATTENTION_BIAS_FIELD = 1 << 3, /* attention_bias decides about query, key, value, output */
    HF_MLP_BIAS_FIELD = 1 << 4,
    HF_USE_BIAS_FIELD = 1 << 5, /* use_bias or enable_bias decides about all biases */
    HF_HEAD_BIAS = 1 << 6,      /* of the language head */
    HF_LAYER_NORM = 1 << 7,     /* else RMS norms */
    HF_NO_NORM_BIAS = 1 << 8,
    HF_NO_NORM_WEIGHT = 1 << 9,
    HF_PLAIN_MLP = 1 << 10,     /* two matrices; else gate, up and down */
    HF_FUSED_QKV = 1 << 11,     /* query, key and value in one matrix */
    HF_FUSED_MLP = 1 << 12,     /* gate and up in one matrix */
    HF_QK_NORM = 1 << 13,       /* norms of every head of query and key */
    HF_QK_NORM_WIDE = 1 << 14,  /* norms of query and key over all heads at once */
    HF_TIED = 1 << 15,          /* tied embeddings unless the configuration says otherwise */
    HF_MOE = 1 << 16,           /* experts where the configuration has them */
    HF_EXPERT_BIAS = 1 << 17,   /* biases of router and experts */
    HF_MLA = 1 << 18,           /* multi-head latent attention */
    HF_PARALLEL = 1 << 19,      /* attention and MLP of the same input */
    HF_POSITIONS = 1 << 20,     /* a table of positions; else rotary embeddings */
    HF_SINKS = 1 << 21,         /* a score per head that no key has */
    HF_GATED_QUERY = 1 << 22,   /* a gate of the attention's output beside every query */
    HF_ALTERNATING = 1 << 23,   /* experts and chunks in some layers, as Llama 4 has them */
    HF_WINDOW_ALL = 1 << 24,    /* sliding_window holds for all layers */
    HF_WINDOW_SOME = 1 << 25,   /* for all but every sliding_window_pattern-th layer */
    HF_WINDOW_LAST = 1 << 26,   /* from layer max_window_layers on, if use_sliding_window */
    HF_HEAD_DIM = 1 << 27, /* head_dim must be stated: it does not follow from other fields */
    HF_KV_HEADS = 1 << 28, /* so must num_key_value_heads; else it may be left out */
    HF_OWN_KEYS = 1 << 29,      /* as many key and value heads as heads, whatever is stated */
    HF_LINEAR = 1 << 30,        /* linear attention in all but every fourth layer */
    HF_ALL_BIAS = HF_QKV_BIAS | HF_OUT_BIAS | HF_MLP_BIAS,
};

/* Paths of the modules of a decoder; NULL: it has none. */
typedef struct hf_names {
    const char *embedding, *positions, *layers, *norm, *head;
    const char *before_attention, *after_attention, *before_mlp, *after_mlp; /* norms */
    const char *attention, *q, *k, *v, *qkv, *out;
    const char *mlp, *gate, *up, *gate_up, *down;
    const char *moe, *router;
} hf_names;

typedef struct hf_family hf_family;

struct hf_family {
    const char *model_type;
    /* Builds the graph; `decode`: of one token with a cache. */
    int (*build)(pyro_model *model, const hf_config *config, const hf_family *family, bool decode,
                 pyro_error *error);
    const hf_names *names;
    uint32_t traits;
};

/* The family of a model type; NULL: none (families.c). */
const hf_family *hf_family_find(const char *model_type);

/* Element type, quantisation and sizes for all families (begin.c). */
int hf_begin(hf_builder *b, pyro_model *model, const hf_config *config, bool decode,
             pyro_error *error);
/* Names the open sizes of the inputs, and sets their defaults. */
int hf_end(hf_builder *b, const pyro_dim *dims, size_t dim_count, const pyro_default_shape *shapes,
           size_t shape_count, pyro_error *error);
/* The same for input_ids, with past tokens when decoding. */
int hf_end_text(hf_builder *b, pyro_error *error);
/* The last part of the first architecture, such as "ForCausalLM"; "" if it is not stated. */
const char *hf_head_kind(const hf_config *config);
/* Fails because the family has no such head. */
int hf_unknown_head(const hf_config *config);
/* Fails because the family has no decoding step. */
int hf_no_decode(const hf_config *config);
/* The operator of an activation by its name in transformers. */
const char *hf_activation(const char *name);
/* The number of classes: num_labels, the length of id2label, or 2, which transformers assumes. */
int64_t hf_labels(const hf_config *config);

#define HF_BUILD(name) \
    int hf_build_##name(pyro_model *model, const hf_config *config, const hf_family *family, \
                        bool decode, pyro_error *error)
HF_BUILD(decoder);
HF_BUILD(encoder);
HF_BUILD(vision);
HF_BUILD(seq2seq);
HF_BUILD(multimodal);

#endif
