/* Builds the graphs of multimodal models: a vision tower, a projector, and a decoder. */
#include "base/error.h"
#include "read/huggingface/decoder.h"
#include "read/huggingface/vision.h"
#include <string.h>

typedef struct multimodal {
    hf_decoder text;
    hf_config outer, vision_config;
    hf_names names;
    hf_vision vision;
    bool gemma;
    int64_t image_tokens;
} multimodal;

/* Which tokens the projector gets; transformers computes all layers whichever it reads. */
static int read_selection(multimodal *m)
{
    const hf_entry *layer = hf_find(&m->outer, "vision_feature_layer");
    bool whole = !strcmp(hf_text(&m->outer, "vision_feature_select_strategy", "default"), "full");
    if (layer && layer->kind == HF_LIST)
        return pyro_fail(m->outer.error, PYRO_ERROR_UNSUPPORTED,
                         "features of several layers of the vision tower; Python has to build it");
    m->image_tokens = m->vision.tokens - (whole ? 0 : 1);
    return m->image_tokens > 0 ? PYRO_OK : hf_unknown_head(&m->outer);
}

static int read_vision(multimodal *m)
{
    static const char *const tokens[] = {"mm_tokens_per_image", NULL};
    hf_config *c = &m->vision_config;
    c->prefix = "vision_config.";
    c->model_type = hf_text(c, "model_type", "");
    m->vision = (hf_vision){
        .b = &m->text.b, .config = c, .model_type = c->model_type, .root = "model.vision_tower."};
    if (strncmp(c->model_type, "siglip_", 7) && strncmp(c->model_type, "clip_", 5))
        return pyro_fail(c->error, PYRO_ERROR_UNSUPPORTED,
                         "the vision tower '%.60s' does not follow from the configuration; Python "
                         "has to build it",
                         c->model_type);
    int status = hf_vision_sizes(&m->vision);
    if (status < 0)
        return status;
    if (!m->gemma)
        return read_selection(m);
    return hf_need(&m->outer, tokens, &m->image_tokens);
}

static hf_tensor project_gemma(multimodal *m, hf_tensor x)
{
    static const char *const self[] = {"self", NULL};
    hf_builder *b = &m->text.b;
    const char *layer = "model.multi_modal_projector";
    const int64_t dims[2] = {m->vision.hidden, m->text.hidden};
    const pyro_size pooled[3] = {b->batch, m->image_tokens, m->vision.hidden};
    const pyro_size out[3] = {b->batch, m->image_tokens, m->text.hidden};
    x = hf_node(b, layer, "aten.mean", self, &x, 3, pooled);
    x = hf_norm(b, "model.multi_modal_projector.mm_soft_emb_norm", x, m->vision.hidden, true,
                false);
    hf_tensor weight = hf_weight(b, "model.multi_modal_projector.mm_input_projection_weight",
                                 b->dtype, 2, dims);
    return hf_matmul(b, layer, x, weight, 3, out);
}

static hf_tensor project_llava(multimodal *m, hf_tensor x)
{
    static const char *const self[] = {"self", NULL};
    hf_builder *b = &m->text.b;
    bool bias = hf_truth(&m->outer, "multimodal_projector_bias", true);
    const char *activation = hf_activation(hf_text(&m->outer, "projector_hidden_act", "gelu"));
    const pyro_size kept[3] = {b->batch, m->image_tokens, m->vision.hidden};
    x = hf_node(b, "model", "aten.slice", self, &x, 3, kept);
    x = hf_linear(b, "model.multi_modal_projector.linear_1", x, m->vision.hidden, m->text.hidden,
                  bias);
    x = hf_map(b, "model.multi_modal_projector", activation, x, PYRO_NO_VALUE);
    return hf_linear(b, "model.multi_modal_projector.linear_2", x, m->text.hidden, m->text.hidden,
                     bias);
}

/* The features of one image per sequence; without one while decoding, where only weights stay. */
static hf_tensor look(multimodal *m)
{
    static const char *const none[] = {NULL};
    hf_builder *b = &m->text.b;
    const pyro_size sizes[4] = {b->batch, m->vision.channels, m->vision.image[0],
                                m->vision.image[1]};
    size_t before = b->model->graph->node_count;
    hf_tensor image = b->decode ? hf_node(b, "", "aten.zeros", none, NULL, 4, sizes)
                                : hf_input(b, "pixel_values", b->dtype, 4, sizes);
    hf_tensor x = hf_vision_tower(&m->vision, image);
    x = m->gemma ? project_gemma(m, x) : project_llava(m, x);
    if (!b->decode)
        return x;
    hf_forget_nodes(b, before);
    return PYRO_NO_VALUE;
}

static int finish(multimodal *m, pyro_error *error)
{
    static const pyro_dim dims[] = {
        {"batch", "batch", "input_ids", 0, 1, INT64_MAX, 1},
        {"sequence", "sequence", "input_ids", 1, 1, INT64_MAX, 1},
    };
    enum { WORDS = 128 };
    const int64_t tokens[2] = {1, m->image_tokens + WORDS};
    const pyro_default_shape shapes[] = {{"input_ids", 2, tokens}};
    return m->text.b.decode ? hf_end_text(&m->text.b, error)
                            : hf_end(&m->text.b, dims, 2, shapes, 1, error);
}

int hf_build_multimodal(pyro_model *model, const hf_config *config, const hf_family *family,
                        bool decode, pyro_error *error)
{
    const hf_family *text = config->text_family;
    multimodal m = {.outer = *config, .vision_config = *config};
    const char *head = hf_head_kind(config);
    m.outer.prefix = "";
    m.gemma = !strcmp(family->model_type, "gemma3");
    if (!text || text->build != hf_build_decoder ||
        (*head && strcmp(head, "ForConditionalGeneration")))
        return hf_unknown_head(config);
    m.names = *text->names;
    m.names.embedding = "model.language_model.embed_tokens";
    m.names.layers = "model.language_model.layers";
    m.names.norm = "model.language_model.norm";
    m.text = (hf_decoder){.config = config, .names = &m.names, .traits = text->traits};
    int status = hf_decoder_sizes(&m.text);
    if (status == PYRO_OK)
        status = read_vision(&m);
    if (status == PYRO_OK)
        status = hf_begin(&m.text.b, model, config, decode, error);
    if (status < 0)
        return status;
    m.text.tied = hf_truth(&m.outer, "tie_word_embeddings", m.gemma);
    hf_decoder_body(&m.text, "ForCausalLM", look(&m));
    return finish(&m, error);
}
