/* Builds the graph of a GGUF file from its metadata, with the stored bytes of every weight. */
#include "read/gguf_graph.h"

#include "base/checked.h"
#include "base/error.h"
#include "read/huggingface/family.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Architectures of llama.cpp, and the model types of transformers that they are. */
static const char *const architectures[][2] = {
    {"llama", "llama"}, {"qwen2", "qwen2"},      {"qwen3", "qwen3"},
    {"gemma", "gemma"}, {"gemma2", "gemma2"},    {"gemma3", "gemma3_text"},
    {"phi3", "phi3"},   {"granite", "granite"},  {"starcoder2", "starcoder2"},
    {"olmo2", "olmo2"}, {"command-r", "cohere"}, {"qwen3moe", "qwen3_moe"},
};

/* Keys behind the architecture's name, and the fields of a configuration that they are. */
static const char *const fields[][2] = {
    {"embedding_length", "hidden_size"},
    {"block_count", "num_hidden_layers"},
    {"feed_forward_length", "intermediate_size"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"vocab_size", "vocab_size"},
    {"expert_count", "num_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
};

/* Names of tensors, and the paths of the parameters that they store; two may share one. */
static const char *const outer_names[][2] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};
static const char *const block_names[][2] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_up", "mlp.gate_up_proj"},
    {"ffn_up", "mlp.c_fc"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_down", "mlp.c_proj"},
    {"ffn_gate_inp", "mlp.gate"},
};
static const char *const expert_names[][2] = {
    {"ffn_gate_exps", "mlp.experts.gate_up_proj"},
    {"ffn_up_exps", "mlp.experts.gate_up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
};

void pyro_gguf_begin(pyro_gguf *file, pyro_arena *arena, pyro_error *error)
{
    *file = (pyro_gguf){.architecture = ""};
    hf_config_begin(&file->numbers, arena, error);
}

void pyro_gguf_end(pyro_gguf *file)
{
    hf_config_free(&file->numbers);
    free(file->tensors);
}

bool pyro_gguf_number(pyro_gguf *file, const char *key, int64_t value)
{
    return hf_config_set(&file->numbers, key, (hf_entry){.kind = HF_INTEGER, .integer = value});
}

static const pyro_stored *find_tensor(const pyro_gguf *file, const char *name)
{
    for (size_t i = 0; i < file->tensor_count; i++)
        if (!strcmp(file->tensors[i].name, name))
            return &file->tensors[i];
    return NULL;
}

static bool set_integer(hf_config *config, const char *name, int64_t value)
{
    return hf_config_set(config, name, (hf_entry){.kind = HF_INTEGER, .integer = value});
}

/* Translates the metadata into a configuration; false if memory runs out. */
static bool translate(const pyro_gguf *file, hf_config *config)
{
    const pyro_stored *table = find_tensor(file, "token_embd.weight");
    hf_entry tied = {.kind = HF_TRUTH, .integer = !find_tensor(file, "output.weight")};
    hf_entry dtype = {.kind = HF_TEXT, .text = "float16"};
    bool biased = find_tensor(file, "blk.0.attn_q.bias") != NULL;
    bool good = hf_config_set(config, "tie_word_embeddings", tied) &&
                hf_config_set(config, "dtype", dtype) &&
                hf_config_set(config, "attention_bias",
                              (hf_entry){.kind = HF_TRUTH, .integer = biased});
    for (size_t i = 0; good && i < sizeof fields / sizeof *fields; i++) {
        char key[160];
        snprintf(key, sizeof key, "%.80s.%.60s", file->architecture, fields[i][0]);
        int64_t value = hf_number(&file->numbers, key, 0);
        good = value <= 0 || set_integer(config, fields[i][1], value);
    }
    if (good && table && table->rank == 2) /* the vocabulary as it is stored */
        good = set_integer(config, "vocab_size", table->dims[0]);
    return good;
}

/* The parameter of a path; NULL: none. */
static pyro_parameter *find_parameter(pyro_model *model, const char *path)
{
    uint32_t id = pyro_intern_find(&model->parameter_paths, path, strlen(path));
    return id == PYRO_INTERN_NONE || id >= model->parameter_count ? NULL : &model->parameters[id];
}

/* "blk.3.attn_q.weight" stores "model.layers.3.self_attn.q_proj.weight". */
static pyro_parameter *parameter_of(pyro_model *model, const char *name)
{
    char stem[80], path[200], end[16] = "weight";
    long long layer = -1;
    if (sscanf(name, "blk.%lld.%79[^.].%15s", &layer, stem, end) != 3) {
        layer = -1;
        if (sscanf(name, "%79[^.].%15s", stem, end) != 2)
            return NULL;
    }
    size_t outer = sizeof outer_names / sizeof *outer_names;
    size_t inner = sizeof block_names / sizeof *block_names;
    size_t experts = sizeof expert_names / sizeof *expert_names;
    for (size_t i = 0; i < outer + inner + experts; i++) {
        const char *const *row = i < outer           ? outer_names[i]
                                 : i < outer + inner ? block_names[i - outer]
                                                     : expert_names[i - outer - inner];
        if ((layer < 0) != (i < outer) || strcmp(row[0], stem))
            continue;
        if (i < outer)
            snprintf(path, sizeof path, "%s.%s", row[1], end);
        else if (i < outer + inner)
            snprintf(path, sizeof path, "model.layers.%lld.%s.%s", layer, row[1], end);
        else
            snprintf(path, sizeof path, "model.layers.%lld.%s", layer, row[1]);
        pyro_parameter *found = find_parameter(model, path);
        if (found)
            return found;
    }
    return NULL;
}

/* The type that reads of a quantised weight count as: 4 bits or 8. */
static pyro_dtype read_type(const pyro_stored *stored, int64_t values)
{
    if (stored->dtype != PYRO_DTYPE_UINT8 && stored->dtype != PYRO_DTYPE_INT8)
        return stored->dtype;
    double bits = values > 0 ? (double)stored->bytes * 8 / (double)values : 8;
    return bits < 5 ? PYRO_DTYPE_INT4 : PYRO_DTYPE_INT8;
}

/* Gives every parameter the bytes that the file stores for it. */
static int add_bytes(pyro_model *model, const pyro_gguf *file, pyro_error *error)
{
    size_t others = 0;
    for (size_t i = 0; i < file->tensor_count; i++) {
        const pyro_stored *stored = &file->tensors[i];
        pyro_parameter *parameter = parameter_of(model, stored->name);
        int64_t values = 1;
        for (size_t d = 0; d < stored->rank; d++)
            if (!pyro_mul_i64(values, stored->dims[d], &values))
                return pyro_fail(error, PYRO_ERROR_FORMAT, "tensor '%.100s' is too large",
                                 stored->name);
        if (!parameter) {
            others++;
            continue;
        }
        if (!pyro_add_i64(parameter->stored_bytes, stored->bytes, &parameter->stored_bytes))
            return pyro_fail(error, PYRO_ERROR_FORMAT, "the tensors do not fit in 64 bits");
        model->graph->values[parameter->value].dtype = (uint8_t)read_type(stored, values);
    }
    bool good = !others || pyro_model_note(model,
                                           "%zu tensors of the file are no parameters of "
                                           "the graph (tables of positions, norms)",
                                           others);
    good = good && pyro_model_note(model, "the graph is derived from the metadata; reads of "
                                          "quantised weights count as 4 or 8 bits per value");
    return good ? PYRO_OK : pyro_fail_memory(error);
}

static const hf_family *family_of(const char *architecture)
{
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (!strcmp(architectures[i][0], architecture))
            return hf_family_find(architectures[i][1]);
    return NULL;
}

/* True if the metadata describes a graph; else the model is unchanged. */
static bool build(pyro_model *model, const pyro_gguf *file)
{
    const hf_family *family = family_of(file->architecture);
    hf_config config;
    pyro_error ignored;
    if (!family)
        return false;
    pyro_error_clear(&ignored);
    hf_config_begin(&config, &model->arena, &ignored);
    config.model_type = family->model_type;
    bool good = translate(file, &config) &&
                hf_build_decoder(model, &config, family, false, &ignored) == PYRO_OK;
    hf_config_free(&config);
    return good && model->graph->node_count;
}

int pyro_gguf_fill(pyro_model *model, const pyro_gguf *file, pyro_error *error)
{
    pyro_stored_types types = {.count = 0};
    if (build(model, file)) {
        int status = PYRO_OK;
        for (size_t i = 0; i < file->tensor_count; i++)
            pyro_weights_count(&types, &file->tensors[i]);
        status = add_bytes(model, file, error);
        return status == PYRO_OK ? pyro_weights_end(model, &types, error) : status;
    }
    if (model->graph->node_count || model->parameter_count)
        return pyro_fail_memory(error); /* only memory runs out while a graph is built */
    int status = PYRO_OK;
    for (size_t i = 0; status == PYRO_OK && i < file->tensor_count; i++)
        status = pyro_weights_add(model, &types, &file->tensors[i], error);
    return status == PYRO_OK ? pyro_weights_end(model, &types, error) : status;
}
