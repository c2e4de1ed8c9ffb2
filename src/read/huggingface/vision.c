/* Builds the graphs of vision transformers: ViT, DINOv2, and the towers of CLIP and SigLIP. */
#include "read/huggingface/vision.h"

#include "base/error.h"
#include "read/huggingface/blocks.h"
#include <stdio.h>
#include <string.h>

/* A field that is one number or a pair of them. */
static int need_pair(const hf_config *config, const char *name, int64_t out[2])
{
    char first[40], second[40];
    const char *const names[] = {name, NULL};
    snprintf(first, sizeof first, "%s.0", name);
    snprintf(second, sizeof second, "%s.1", name);
    out[0] = hf_number(config, first, 0);
    out[1] = hf_number(config, second, 0);
    if (out[0] > 0 && out[0] < INT32_MAX && out[1] > 0 && out[1] < INT32_MAX)
        return PYRO_OK;
    int status = hf_need(config, names, &out[0]);
    out[1] = out[0];
    return status;
}

static bool is_like(const hf_vision *v, const char *type)
{
    return !strncmp(v->model_type, type, strlen(type));
}

int hf_vision_sizes(hf_vision *v)
{
    static const char *const fields[][2] = {{"hidden_size", NULL},
                                            {"num_hidden_layers", NULL},
                                            {"num_attention_heads", NULL},
                                            {"intermediate_size", NULL}};
    enum { MOST_LAYERS = 2000, MOST_SIDE = 1 << 20 };
    const hf_config *c = v->config;
    int64_t *out[] = {&v->hidden, &v->layers, &v->heads, &v->inner};
    bool ratio = is_like(v, "dinov2");
    int status = PYRO_OK;
    for (size_t i = 0; status == PYRO_OK && i < (ratio ? 3u : 4u); i++)
        status = hf_need(c, fields[i], out[i]);
    int64_t times = hf_number(c, "mlp_ratio", 4);
    if (ratio)
        v->inner = times > 0 && times <= MOST_SIDE ? times * v->hidden : 0;
    v->channels = hf_number(c, "num_channels", 3);
    if (status == PYRO_OK)
        status = need_pair(c, "image_size", v->image);
    if (status == PYRO_OK)
        status = need_pair(c, "patch_size", v->patch);
    v->extra_tokens = is_like(v, "siglip") ? 0 : 1;
    v->activation = hf_activation(hf_text(c, "hidden_act", "gelu"));
    if (status < 0)
        return status;
    if (v->patch[0] > v->image[0] || v->patch[1] > v->image[1] || v->image[0] > MOST_SIDE ||
        v->image[1] > MOST_SIDE || v->hidden % v->heads || v->layers > MOST_LAYERS ||
        v->channels < 1 || v->channels > MOST_SIDE || v->inner < 1 || v->inner > INT32_MAX)
        return pyro_fail(c->error, PYRO_ERROR_FORMAT,
                         "the configuration has images of %lld x %lld, patches of %lld x %lld and "
                         "%lld heads of a width of %lld",
                         (long long)v->image[0], (long long)v->image[1], (long long)v->patch[0],
                         (long long)v->patch[1], (long long)v->heads, (long long)v->hidden);
    v->tokens = (v->image[0] / v->patch[0]) * (v->image[1] / v->patch[1]) + v->extra_tokens;
    return PYRO_OK;
}

static void at(const hf_vision *v, char path[HF_PATH], const char *name)
{
    snprintf(path, HF_PATH, "%s%s", v->root, name);
}

static hf_tensor norm(hf_vision *v, const char *layer, const char *name, hf_tensor x)
{
    char path[HF_PATH];
    hf_join(path, layer, name);
    return hf_norm(v->b, path, x, v->hidden, false, true);
}

static hf_tensor root_norm(hf_vision *v, const char *name, hf_tensor x)
{
    char path[HF_PATH];
    at(v, path, name);
    return hf_norm(v->b, path, x, v->hidden, false, true);
}

/* Patches as tokens, with a class token and positions. */
static hf_tensor embed(hf_vision *v, hf_tensor image)
{
    static const char *const self[] = {"self", NULL};
    bool tower = is_like(v, "siglip") || is_like(v, "clip");
    char path[HF_PATH];
    int64_t rows = v->image[0] / v->patch[0], columns = v->image[1] / v->patch[1];
    pyro_size batch = hf_dim(v->b, image, 0);
    at(v, path, tower ? "embeddings.patch_embedding" : "embeddings.patch_embeddings.projection");
    const int64_t weight[4] = {v->hidden, v->channels, v->patch[0], v->patch[1]};
    const pyro_size patches[4] = {batch, v->hidden, rows, columns};
    hf_tensor x = hf_convolution(v->b, path, image, 4, weight, !is_like(v, "clip"), patches);
    const pyro_size flat[3] = {batch, rows * columns, v->hidden};
    x = hf_node(v->b, path, "aten.transpose", self, &x, 3, flat);
    if (v->extra_tokens) {
        const int64_t bare[1] = {v->hidden}, token[3] = {1, 1, v->hidden};
        at(v, path, tower ? "embeddings.class_embedding" : "embeddings.cls_token");
        hf_tensor own = hf_weight(v->b, path, v->b->dtype, tower ? 1 : 3, tower ? bare : token);
        const pyro_size one[3] = {batch, 1, v->hidden};
        own = hf_node(v->b, "", "aten.expand", self, &own, 3, one);
        x = hf_concatenate(v->b, "", x, own, 1, v->tokens);
    }
    const int64_t table[2] = {v->tokens, v->hidden}, positions[3] = {1, v->tokens, v->hidden};
    at(v, path, tower ? "embeddings.position_embedding.weight" : "embeddings.position_embeddings");
    hf_tensor places = hf_weight(v->b, path, v->b->dtype, tower ? 2 : 3, tower ? table : positions);
    return hf_map(v->b, "", "aten.add", x, places);
}

/* DINOv2 scales the output of attention and MLP by a weight per value. */
static hf_tensor scaled(hf_vision *v, const char *layer, const char *name, hf_tensor x)
{
    char path[HF_PATH];
    if (!is_like(v, "dinov2"))
        return x;
    hf_join(path, layer, name);
    hf_tensor weight = hf_weight(v->b, path, v->b->dtype, 1, &v->hidden);
    return hf_map(v->b, layer, "aten.mul", x, weight);
}

/* Gate and value in one matrix, whose width is two thirds, rounded up to a multiple of 8. */
static hf_tensor gated_mlp(hf_vision *v, const char *layer, hf_tensor x)
{
    char path[HF_PATH];
    int64_t inner = (v->inner * 2 / 3 + 7) / 8 * 8;
    hf_join(path, layer, "mlp.weights_in");
    x = hf_linear(v->b, path, x, v->hidden, 2 * inner, true);
    hf_tensor gate = hf_map(v->b, layer, "aten.silu", hf_part(v->b, layer, x, inner),
                            PYRO_NO_VALUE);
    x = hf_map(v->b, layer, "aten.mul", gate, hf_part(v->b, layer, x, inner));
    hf_join(path, layer, "mlp.weights_out");
    return hf_linear(v->b, path, x, inner, v->hidden, true);
}

static hf_tensor block(hf_vision *v, int64_t index, hf_tensor x)
{
    bool tower = is_like(v, "siglip") || is_like(v, "clip"), dino = is_like(v, "dinov2");
    static const char *const mlp[2] = {"mlp.fc1", "mlp.fc2"};
    bool bias = tower || hf_truth(v->config, "qkv_bias", true);
    const hf_projections towers = {"self_attn.q_proj",
                                   "self_attn.k_proj",
                                   "self_attn.v_proj",
                                   "self_attn.out_proj",
                                   true,
                                   true,
                                   true,
                                   true};
    const hf_projections others = {"attention.q_proj",
                                   "attention.k_proj",
                                   "attention.v_proj",
                                   "attention.o_proj",
                                   bias,
                                   bias,
                                   bias,
                                   true};
    char layer[HF_PATH];
    snprintf(layer, sizeof layer, "%s%s.%lld", v->root,
             tower  ? "encoder.layers"
             : dino ? "encoder.layer"
                    : "layers",
             (long long)index);
    hf_tensor out = norm(v, layer, tower ? "layer_norm1" : dino ? "norm1" : "layernorm_before", x);
    out = hf_multi_head(v->b, layer, tower ? &towers : &others, out, out, v->hidden, v->heads,
                        v->hidden / v->heads);
    x = hf_map(v->b, layer, "aten.add", x, scaled(v, layer, "layer_scale1.lambda1", out));
    out = norm(v, layer, tower ? "layer_norm2" : dino ? "norm2" : "layernorm_after", x);
    out = dino && hf_truth(v->config, "use_swiglu_ffn", false)
              ? gated_mlp(v, layer, out)
              : hf_two_layers(v->b, layer, mlp, out, v->hidden, v->inner, v->activation, true);
    return hf_map(v->b, layer, "aten.add", x, scaled(v, layer, "layer_scale2.lambda1", out));
}

/* SigLIP's head: one learned query attends to all tokens. */
static void add_probe(hf_vision *v, hf_tensor x)
{
    static const char *const self[] = {"self", NULL};
    static const char *const names[] = {"input", "weight", "bias", NULL};
    static const char *const mlp[2] = {"mlp.fc1", "mlp.fc2"};
    char path[HF_PATH], layer[HF_PATH];
    hf_builder *b = v->b;
    int64_t h = v->hidden, probe_dims[3] = {1, 1, h}, in_dims[2] = {3 * h, h};
    pyro_size batch = hf_dim(b, x, 0);
    at(v, layer, "head");
    hf_join(path, layer, "probe");
    hf_tensor probe = hf_weight(b, path, b->dtype, 3, probe_dims);
    const pyro_size one[3] = {batch, 1, h}, both[3] = {batch, v->tokens, 2 * h};
    const pyro_size w_q[2] = {h, h}, w_kv[2] = {2 * h, h};
    probe = hf_node(b, layer, "aten.expand", self, &probe, 3, one);
    hf_join(path, layer, "attention.in_proj_weight");
    hf_tensor weight = hf_weight(b, path, b->dtype, 2, in_dims);
    hf_join(path, layer, "attention.in_proj_bias");
    hf_weight(b, path, b->dtype, 1, in_dims);
    hf_join(path, layer, "attention");
    hf_tensor parts[2] = {hf_node(b, path, "aten.slice", self, &weight, 2, w_q),
                          hf_node(b, path, "aten.slice", self, &weight, 2, w_kv)};
    const hf_tensor q_in[3] = {probe, parts[0], PYRO_NO_VALUE};
    const hf_tensor kv_in[3] = {x, parts[1], PYRO_NO_VALUE};
    hf_tensor q = hf_node(b, path, "aten.linear", names, q_in, 3, one);
    hf_tensor kv = hf_node(b, path, "aten.linear", names, kv_in, 3, both);
    int64_t dim = h / v->heads;
    q = hf_split_heads(b, path, q, v->heads, dim);
    hf_tensor k = hf_split_heads(b, path, hf_part(b, path, kv, h), v->heads, dim);
    hf_tensor value = hf_split_heads(b, path, hf_part(b, path, kv, h), v->heads, dim);
    hf_tensor out = hf_attend(b, path, q, k, value);
    hf_join(path, layer, "attention.out_proj");
    out = hf_linear(b, path, out, h, h, true);
    hf_tensor normed = norm(v, layer, "layernorm", out);
    hf_two_layers(b, layer, mlp, normed, h, v->inner, v->activation, true);
}

hf_tensor hf_vision_tower(hf_vision *v, hf_tensor image)
{
    char path[HF_PATH];
    hf_tensor x = embed(v, image);
    if (is_like(v, "clip"))
        x = root_norm(v, "pre_layrnorm", x);
    for (int64_t i = 0; i < v->layers && v->b->status == PYRO_OK; i++)
        x = block(v, i, x);
    if (is_like(v, "siglip") || is_like(v, "clip"))
        x = root_norm(v, "post_layernorm", x);
    else
        x = root_norm(v, "layernorm", x);
    if (is_like(v, "siglip") && hf_truth(v->config, "vision_use_head", true))
        add_probe(v, x);
    at(v, path, "embeddings.mask_token");
    const int64_t mask[2] = {1, v->hidden};
    if (is_like(v, "dinov2") && hf_truth(v->config, "use_mask_token", true))
        hf_weight(v->b, path, v->b->dtype, 2, mask);
    return x;
}

/* A classifier of the class token; DINOv2 adds the mean of the patches to it. */
static void add_classifier(hf_vision *v, hf_tensor x)
{
    static const char *const self[] = {"self", NULL};
    int64_t width = is_like(v, "dinov2") ? 2 * v->hidden : v->hidden;
    const pyro_size sizes[2] = {hf_dim(v->b, x, 0), width};
    x = hf_node(v->b, "", "aten.select", self, &x, 2, sizes);
    hf_linear(v->b, "classifier", x, width, hf_labels(v->config), true);
}

static void add_pooler(hf_vision *v, hf_tensor x)
{
    static const char *const self[] = {"self", NULL};
    const pyro_size sizes[2] = {hf_dim(v->b, x, 0), v->hidden};
    int64_t width = hf_number(v->config, "pooler_output_size", v->hidden);
    if (strcmp(v->model_type, "vit"))
        return;
    if (width < 1 || width > INT32_MAX)
        width = v->hidden;
    x = hf_node(v->b, "", "aten.select", self, &x, 2, sizes);
    x = hf_linear(v->b, "pooler.dense", x, v->hidden, width, true);
    hf_map(v->b, "pooler", "aten.tanh", x, PYRO_NO_VALUE);
}

int hf_build_vision(pyro_model *model, const hf_config *config, const hf_family *family,
                    bool decode, pyro_error *error)
{
    hf_builder b;
    hf_vision v = {.b = &b, .config = config, .model_type = family->model_type};
    const char *head = hf_head_kind(config);
    bool classifies = !strcmp(head, "ForImageClassification");
    bool tower = is_like(&v, "siglip") || is_like(&v, "clip");
    if (decode)
        return hf_no_decode(config);
    if (!classifies && *head && strcmp(head, "Model"))
        return hf_unknown_head(config);
    if (classifies && !tower)
        snprintf(v.root, sizeof v.root, "%s.", family->model_type);
    int status = hf_vision_sizes(&v);
    if (status == PYRO_OK)
        status = hf_begin(&b, model, config, false, error);
    if (status < 0)
        return status;
    const pyro_size sizes[4] = {b.batch, v.channels, v.image[0], v.image[1]};
    hf_tensor x = hf_vision_tower(&v, hf_input(&b, "pixel_values", b.dtype, 4, sizes));
    if (classifies)
        add_classifier(&v, x);
    else
        add_pooler(&v, x);
    static const pyro_dim dims[] = {{"batch", "batch", "pixel_values", 0, 1, INT64_MAX, 1}};
    const int64_t shape[4] = {1, v.channels, v.image[0], v.image[1]};
    const pyro_default_shape shapes[] = {{"pixel_values", 4, shape}};
    return hf_end(&b, dims, 1, shapes, 1, error);
}
