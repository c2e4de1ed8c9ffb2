/* The families of transformers whose graph follows from their configuration (families.def). */
#ifndef PYRO_READ_HUGGINGFACE_FAMILY_H
#define PYRO_READ_HUGGINGFACE_FAMILY_H

#include "read/huggingface/build.h"
#include "read/huggingface/config.h"

/* What distinguishes a family of decoders; bits of `traits`. */
enum hf_trait {
    HF_QKV_BIAS = 1,      /* biases of the query, key and value projections */
    HF_OUT_BIAS = 2,      /* of the output projection */
    HF_MLP_BIAS = 4,
    HF_ATTENTION_BIAS_FIELD = 8, /* attention_bias decides about query, key, value and output */
    HF_MLP_BIAS_FIELD = 16,
    HF_LAYER_NORM = 32,   /* with a bias; else RMS norms */
    HF_PLAIN_MLP = 64,    /* two matrices; else gate, up and down */
    HF_QK_NORM = 128,     /* norms of every head of query and key */
    HF_FOUR_NORMS = 256,  /* norms behind attention and MLP too */
    HF_POST_NORMS = 512,  /* norms only behind them */
    HF_TIED = 1024,       /* tied embeddings unless the configuration says otherwise */
    HF_FUSED = 2048,      /* query, key and value in one matrix; gate and up in one */
    HF_MOE = 4096,        /* experts where the configuration has them */
    HF_MLA = 8192,        /* multi-head latent attention */
    HF_QK_NORM_WIDE = 16384, /* norms of query and key over all heads at once */
    HF_PARALLEL = 32768,  /* attention and MLP of the same norm */
    HF_USE_BIAS_FIELD = 65536, /* use_bias decides about all biases */
    HF_NO_NORM_BIAS = 131072,
};

typedef struct hf_family {
    const char *model_type;
    uint32_t traits;
} hf_family;

/* The family of a model type; NULL: none. */
const hf_family *hf_family_find(const char *model_type);
/* Builds the graph of a decoder with a language head. */
int hf_build_decoder(pyro_model *model, const hf_config *config, const hf_family *family,
                     pyro_error *error);

#endif
