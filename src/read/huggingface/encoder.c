/* Builds the graphs of text encoders: BERT, RoBERTa and DistilBERT, with their usual heads. */
#include "base/error.h"
#include "read/huggingface/blocks.h"
#include "read/huggingface/family.h"
#include <stdio.h>
#include <string.h>

typedef struct encoder {
    hf_builder b;
    const hf_config *config;
    bool small;   /* DistilBERT's names and fields */
    bool roberta; /* RoBERTa's heads */
    char root[40]; /* "bert.", or "" for the bare model */
    int64_t hidden, layers, heads, inner, vocabulary, positions, types;
    const char *activation;
} encoder;

static int read_sizes(encoder *e)
{
    static const char *const fields[][3] = {
        {"hidden_size", "dim", NULL},
        {"num_hidden_layers", "n_layers", NULL},
        {"num_attention_heads", "n_heads", NULL},
        {"intermediate_size", "hidden_dim", NULL},
        {"vocab_size", NULL, NULL},
        {"max_position_embeddings", NULL, NULL},
        {"type_vocab_size", NULL, NULL},
    };
    enum { MOST_LAYERS = 2000 };
    int64_t *out[] = {&e->hidden,     &e->layers,    &e->heads, &e->inner,
                      &e->vocabulary, &e->positions, &e->types};
    int status = PYRO_OK;
    for (size_t i = 0; status == PYRO_OK && i < (e->small ? 6u : 7u); i++)
        status = hf_need(e->config, fields[i], out[i]);
    if (status == PYRO_OK && (e->hidden % e->heads || e->layers > MOST_LAYERS))
        status = pyro_fail(e->config->error, PYRO_ERROR_FORMAT,
                           "the configuration has %lld layers and %lld heads of a width of %lld",
                           (long long)e->layers, (long long)e->heads, (long long)e->hidden);
    e->activation = hf_activation(
        hf_text(e->config, "hidden_act", hf_text(e->config, "activation", "gelu")));
    return status;
}

/* A path below the root. */
static void at(const encoder *e, char path[HF_PATH], const char *name)
{
    snprintf(path, HF_PATH, "%s%s", e->root, name);
}

static hf_tensor norm(encoder *e, const char *path, hf_tensor x)
{
    return hf_norm(&e->b, path, x, e->hidden, false, true);
}

static hf_tensor embed(encoder *e)
{
    static const char *const none[] = {NULL};
    char path[HF_PATH];
    const pyro_size sizes[2] = {e->b.batch, e->b.sequence}, row[2] = {1, e->b.sequence};
    hf_tensor ids = hf_input(&e->b, "input_ids", PYRO_DTYPE_INT64, 2, sizes);
    at(e, path, "embeddings.word_embeddings");
    hf_tensor x = hf_embedding(&e->b, path, ids, e->vocabulary, e->hidden);
    hf_tensor places = hf_node(&e->b, "", "aten.arange", none, NULL, 2, row);
    at(e, path, "embeddings.position_embeddings");
    hf_tensor added = hf_embedding(&e->b, path, places, e->positions, e->hidden);
    x = hf_map(&e->b, path, "aten.add", x, added);
    at(e, path, "embeddings.token_type_embeddings");
    if (e->types) {
        added = hf_embedding(&e->b, path, places, e->types, e->hidden);
        x = hf_map(&e->b, path, "aten.add", x, added);
    }
    at(e, path, "embeddings.LayerNorm");
    return norm(e, path, x);
}

static hf_tensor block(encoder *e, int64_t index, hf_tensor x)
{
    static const hf_projections large = {"attention.self.query",
                                         "attention.self.key",
                                         "attention.self.value",
                                         "attention.output.dense",
                                         true,
                                         true,
                                         true,
                                         true};
    static const hf_projections small = {"attention.q_lin",
                                         "attention.k_lin",
                                         "attention.v_lin",
                                         "attention.out_lin",
                                         true,
                                         true,
                                         true,
                                         true};
    static const char *const large_mlp[2] = {"intermediate.dense", "output.dense"};
    static const char *const small_mlp[2] = {"ffn.lin1", "ffn.lin2"};
    char layer[HF_PATH], path[HF_PATH];
    snprintf(layer, sizeof layer, "%s%s.%lld", e->root,
             e->small ? "transformer.layer" : "encoder.layer", (long long)index);
    hf_tensor out = hf_multi_head(&e->b, layer, e->small ? &small : &large, x, x, e->hidden,
                                  e->heads, e->hidden / e->heads);
    hf_join(path, layer, e->small ? "sa_layer_norm" : "attention.output.LayerNorm");
    x = norm(e, path, hf_map(&e->b, layer, "aten.add", x, out));
    out = hf_two_layers(&e->b, layer, e->small ? small_mlp : large_mlp, x, e->hidden, e->inner,
                        e->activation, true);
    hf_join(path, layer, e->small ? "output_layer_norm" : "output.LayerNorm");
    return norm(e, path, hf_map(&e->b, layer, "aten.add", x, out));
}

/* The vector of the first token. */
static hf_tensor first_token(encoder *e, hf_tensor x)
{
    static const char *const self[] = {"self", NULL};
    const pyro_size sizes[2] = {e->b.batch, e->hidden};
    return hf_node(&e->b, "", "aten.select", self, &x, 2, sizes);
}

/* A dense layer behind which a norm or an activation comes. */
static hf_tensor dense(encoder *e, const char *path, hf_tensor x)
{
    x = hf_linear(&e->b, path, x, e->hidden, e->hidden, true);
    return hf_map(&e->b, path, e->activation, x, PYRO_NO_VALUE);
}

static void add_masked_head(encoder *e, hf_tensor x)
{
    static const char *const names[] = {"input", "weight", "bias", NULL};
    static const char *const paths[][4] = {
        {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
         "cls.predictions.bias", "cls.predictions.decoder"},
        {"lm_head.dense", "lm_head.layer_norm", "lm_head.bias", "lm_head.decoder"},
        {"vocab_transform", "vocab_layer_norm", "vocab_projector.bias", "vocab_projector"}};
    const char *const *own = paths[e->small ? 2 : e->roberta ? 1 : 0];
    char path[HF_PATH];
    x = norm(e, own[1], dense(e, own[0], x));
    hf_tensor inputs[3] = {x, PYRO_NO_VALUE, PYRO_NO_VALUE};
    const int64_t dims[2] = {e->vocabulary, e->hidden};
    const pyro_size sizes[3] = {e->b.batch, e->b.sequence, e->vocabulary};
    if (hf_truth(e->config, "tie_word_embeddings", true))
        at(e, path, "embeddings.word_embeddings.weight");
    else
        hf_join(path, own[3], "weight");
    inputs[1] = hf_weight(&e->b, path, e->b.dtype, 2, dims);
    inputs[2] = hf_weight(&e->b, own[2], e->b.dtype, 1, dims);
    hf_node(&e->b, own[3], "aten.linear", names, inputs, 3, sizes);
}

static hf_tensor pool(encoder *e, hf_tensor x)
{
    char path[HF_PATH];
    if (e->small)
        return first_token(e, x);
    at(e, path, "pooler.dense");
    return dense(e, path, first_token(e, x));
}

static void add_classifier(encoder *e, hf_tensor x)
{
    if (e->roberta)
        x = dense(e, "classifier.dense", first_token(e, x));
    else if (e->small)
        x = dense(e, "pre_classifier", first_token(e, x));
    else
        x = pool(e, x);
    hf_linear(&e->b, e->roberta ? "classifier.out_proj" : "classifier", x, e->hidden,
              hf_labels(e->config), true);
}

/* False: unknown. */
static bool add_head(encoder *e, const char *head, hf_tensor x)
{
    if (!strcmp(head, "ForMaskedLM"))
        add_masked_head(e, x);
    else if (!strcmp(head, "ForSequenceClassification"))
        add_classifier(e, x);
    else if (!strcmp(head, "ForTokenClassification"))
        hf_linear(&e->b, "classifier", x, e->hidden, hf_labels(e->config), true);
    else if (!strcmp(head, "ForQuestionAnswering"))
        hf_linear(&e->b, "qa_outputs", x, e->hidden, hf_labels(e->config), true);
    else if (!*head || !strcmp(head, "Model"))
        pool(e, x);
    else
        return false;
    return true;
}

int hf_build_encoder(pyro_model *model, const hf_config *config, const hf_family *family,
                     bool decode, pyro_error *error)
{
    encoder e = {.config = config};
    const char *head = hf_head_kind(config);
    e.small = !strcmp(family->model_type, "distilbert");
    e.roberta = !strcmp(family->model_type, "roberta") ||
                !strcmp(family->model_type, "xlm-roberta");
    if (*head && strcmp(head, "Model"))
        snprintf(e.root, sizeof e.root, "%s.", e.roberta ? "roberta" : family->model_type);
    if (decode)
        return hf_no_decode(config);
    int status = read_sizes(&e);
    if (status == PYRO_OK)
        status = hf_begin(&e.b, model, config, false, error);
    if (status < 0)
        return status;
    hf_tensor x = embed(&e);
    for (int64_t i = 0; i < e.layers && e.b.status == PYRO_OK; i++)
        x = block(&e, i, x);
    if (!add_head(&e, head, x))
        return hf_unknown_head(config);
    return hf_end_text(&e.b, error);
}
