/* The table of families (families.def), and the paths of their modules. */
#include "read/huggingface/family.h"
#include <string.h>

#define LLAMA_ATTENTION \
    .attention = "self_attn", .q = "q_proj", .k = "k_proj", .v = "v_proj", .qkv = "qkv_proj", \
    .out = "o_proj"
#define LLAMA_MLP \
    .mlp = "mlp", .gate = "gate_proj", .up = "up_proj", .gate_up = "gate_up_proj", \
    .down = "down_proj", .moe = "mlp", .router = "gate"
#define LLAMA_ENDS \
    .embedding = "model.embed_tokens", .layers = "model.layers", .norm = "model.norm", \
    .head = "lm_head"
#define LLAMA_NORMS .before_attention = "input_layernorm", .before_mlp = "post_attention_layernorm"

static const hf_names llama = {LLAMA_ENDS, LLAMA_NORMS, LLAMA_ATTENTION, LLAMA_MLP};
static const hf_names gemma2 = {LLAMA_ENDS,
                                .before_attention = "input_layernorm",
                                .after_attention = "post_attention_layernorm",
                                .before_mlp = "pre_feedforward_layernorm",
                                .after_mlp = "post_feedforward_layernorm",
                                LLAMA_ATTENTION,
                                LLAMA_MLP};
static const hf_names olmo2 = {LLAMA_ENDS, .after_attention = "post_attention_layernorm",
                               .after_mlp = "post_feedforward_layernorm", LLAMA_ATTENTION,
                               LLAMA_MLP};
static const hf_names glm4 = {LLAMA_ENDS,
                              .before_attention = "input_layernorm",
                              .after_attention = "post_self_attn_layernorm",
                              .before_mlp = "post_attention_layernorm",
                              .after_mlp = "post_mlp_layernorm",
                              LLAMA_ATTENTION,
                              LLAMA_MLP};
static const hf_names cohere = {LLAMA_ENDS, .before_attention = "input_layernorm", LLAMA_ATTENTION,
                                LLAMA_MLP};
static const hf_names starcoder2 = {LLAMA_ENDS,   LLAMA_NORMS,  LLAMA_ATTENTION,
                                    .mlp = "mlp", .up = "c_fc", .down = "c_proj"};
static const hf_names phi = {.embedding = "model.embed_tokens",
                             .layers = "model.layers",
                             .norm = "model.final_layernorm",
                             .head = "lm_head",
                             .before_attention = "input_layernorm",
                             .attention = "self_attn",
                             .q = "q_proj",
                             .k = "k_proj",
                             .v = "v_proj",
                             .out = "dense",
                             .mlp = "mlp",
                             .up = "fc1",
                             .down = "fc2"};
static const hf_names gpt2 = {.embedding = "transformer.wte",
                              .positions = "transformer.wpe",
                              .layers = "transformer.h",
                              .norm = "transformer.ln_f",
                              .head = "lm_head",
                              .before_attention = "ln_1",
                              .before_mlp = "ln_2",
                              .attention = "attn",
                              .qkv = "c_attn",
                              .out = "c_proj",
                              .mlp = "mlp",
                              .up = "c_fc",
                              .down = "c_proj"};
static const hf_names gpt_neox = {.embedding = "gpt_neox.embed_in",
                                  .layers = "gpt_neox.layers",
                                  .norm = "gpt_neox.final_layer_norm",
                                  .head = "lm_head",
                                  LLAMA_NORMS,
                                  .attention = "attention",
                                  .qkv = "query_key_value",
                                  .out = "dense",
                                  .mlp = "mlp",
                                  .up = "dense_h_to_4h",
                                  .down = "dense_4h_to_h"};
static const hf_names opt = {.embedding = "model.decoder.embed_tokens",
                             .positions = "model.decoder.embed_positions",
                             .layers = "model.decoder.layers",
                             .norm = "model.decoder.final_layer_norm",
                             .head = "lm_head",
                             .before_attention = "self_attn_layer_norm",
                             .before_mlp = "final_layer_norm",
                             .attention = "self_attn",
                             .q = "q_proj",
                             .k = "k_proj",
                             .v = "v_proj",
                             .out = "out_proj",
                             .mlp = "",
                             .up = "fc1",
                             .down = "fc2"};
static const hf_names granitemoe = {LLAMA_ENDS, LLAMA_NORMS, LLAMA_ATTENTION,
                                    .moe = "block_sparse_moe", .router = "router"};
static const hf_names gpt_oss = {LLAMA_ENDS, LLAMA_NORMS, LLAMA_ATTENTION, .moe = "mlp",
                                 .router = "router"};
static const hf_names llama4 = {
    LLAMA_ENDS,          LLAMA_NORMS,     LLAMA_ATTENTION,     .mlp = "feed_forward",
    .gate = "gate_proj", .up = "up_proj", .down = "down_proj", .moe = "feed_forward",
    .router = "router"};

static const hf_family families[] = {
#define FAMILY(model_type, builder, names, traits) {model_type, hf_build_##builder, &names, traits},
#include "read/huggingface/families.def"
#undef FAMILY
};

const hf_family *hf_family_find(const char *model_type)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(families[i].model_type, model_type))
            return &families[i];
    return NULL;
}
