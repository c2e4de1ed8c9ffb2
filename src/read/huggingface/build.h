/* Builds a graph from a description of an architecture: weights, nodes of ATen, and their layers. */
#ifndef PYRO_READ_HUGGINGFACE_BUILD_H
#define PYRO_READ_HUGGINGFACE_BUILD_H

#include "graph/model.h"

enum { HF_MOST_DIMS = 6, HF_PATH = 200 };

typedef struct hf_builder {
    pyro_model *model;
    pyro_error *error;
    int status; /* the first failure; later calls do nothing */
    pyro_dtype dtype;
    pyro_dtype linear_dtype; /* of the weights of linear layers, if they are quantised */
    pyro_size batch, sequence;
    bool decode; /* one token, with a cache of `past` tokens */
    pyro_size past;
    size_t counter;
} hf_builder;

/* A tensor that a node makes, by its index in the graph. */
typedef uint32_t hf_tensor;

/* The path of a module inside another one. */
void hf_join(char path[HF_PATH], const char *layer, const char *name);

/* The expression of a size, such as "batch*sequence*2". */
pyro_size hf_size(hf_builder *b, const char *text);
pyro_size hf_sizef(hf_builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A size of a tensor. */
pyro_size hf_dim(const hf_builder *b, hf_tensor x, size_t axis);
/* A weight at a dotted path; one of that path may be there already (tied weights). */
hf_tensor hf_weight(hf_builder *b, const char *path, pyro_dtype dtype, size_t rank,
                    const int64_t *dims);
hf_tensor hf_input(hf_builder *b, const char *name, pyro_dtype dtype, size_t rank,
                   const pyro_size *sizes);
/* A node in the layer of that path, with its inputs by the names of ATen and one output. */
hf_tensor hf_node(hf_builder *b, const char *layer, const char *target, const char *const *names,
                  const hf_tensor *inputs, size_t rank, const pyro_size *sizes);

/* Removes the nodes from `count` on; their weights stay parameters of the model. */
void hf_forget_nodes(hf_builder *b, size_t count);

/* x times the weight at "path.weight", [out, in]; with "path.bias" if there is one. */
hf_tensor hf_linear(hf_builder *b, const char *path, hf_tensor x, int64_t in, int64_t out,
                    bool bias);
/* A norm over the last dim; "layer_norm" has a bias, "rms_norm" has none. */
hf_tensor hf_norm(hf_builder *b, const char *path, hf_tensor x, int64_t width, bool rms, bool bias);
hf_tensor hf_embedding(hf_builder *b, const char *path, hf_tensor ids, int64_t rows, int64_t width);
/* A map of one or two tensors of the same shape. */
hf_tensor hf_map(hf_builder *b, const char *layer, const char *target, hf_tensor a,
                 hf_tensor other);
/* A convolution of "path.weight", [out, in, kernel...]; the sizes are those of its output. */
hf_tensor hf_convolution(hf_builder *b, const char *path, hf_tensor x, size_t weight_rank,
                         const int64_t *weight_dims, bool bias, const pyro_size *sizes);
/* A product of matrices, with the sizes of its output. */
hf_tensor hf_matmul(hf_builder *b, const char *layer, hf_tensor a, hf_tensor other, size_t rank,
                    const pyro_size *sizes);
/* Two tensors joined along an axis. */
hf_tensor hf_concatenate(hf_builder *b, const char *layer, hf_tensor a, hf_tensor other,
                         size_t axis, pyro_size joined);
/* A part of the last dim. */
hf_tensor hf_part(hf_builder *b, const char *layer, hf_tensor x, int64_t width);
/* Another shape of the same values. */
hf_tensor hf_view(hf_builder *b, const char *layer, hf_tensor x, size_t rank,
                  const pyro_size *sizes);

#endif
