/* Models: the graph without the weights, and the sizes of the inputs. */
#ifndef PYROMETER_MODEL_H
#define PYROMETER_MODEL_H

#include <pyrometer/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pyro_model pyro_model;

/* An input tensor. Its pointers are valid until the model is closed or its sizes change. */
typedef struct pyro_input {
    const char *name;
    const char *dtype; /* "float32", ... */
    size_t rank;
    const int64_t *dims; /* the current sizes; -1 where a size depends on data */
    const char *const *symbols; /* per dim: its symbolic expression; NULL if the size is fixed */
} pyro_input;

/* A variable size of a model, and its valid range. */
typedef struct pyro_dim {
    const char *name;
    const char *what; /* "batch", "height", "width", "sequence", "past", ... */
    const char *input;
    size_t axis;
    int64_t min, max, multiple; /* max INT64_MAX: no limit */
} pyro_dim;

/* The default sizes of an input. */
typedef struct pyro_default_shape {
    const char *input;
    size_t rank;
    const int64_t *dims;
} pyro_default_shape;

/* What a file states about its model. Unknown texts are "", unknown numbers -1. */
typedef struct pyro_facts {
    const char *name, *display_name, *family, *task;
    int64_t params, published_params;
    const char *params_source; /* source of the published count */
    const char *package, *version, *builder; /* source of the architecture */
    const pyro_dim *dims; /* NULL: the file does not list the variable sizes */
    size_t dim_count;
    const pyro_default_shape *shapes;
    size_t shape_count;
    const char *variants; /* variants of the model for other sizes: "vit_b_16_384 (384)" */
} pyro_facts;

/* Who can open the model that a text names. */
typedef enum pyro_spec_kind {
    PYRO_SPEC_MODEL, /* pyro_model_open() opens it or reports why it cannot */
    PYRO_SPEC_PYTHON, /* "file.py:function" or "package.module:function": needs Python */
    PYRO_SPEC_FOLDER /* a folder with a config.json: pyro_model_open() derives the graph of many
                        families from it, Python builds any */
} pyro_spec_kind;
PYRO_API pyro_spec_kind pyro_spec_of(const char *spec);

/*
 * Opens a model; the caller closes it with pyro_model_close(). `spec` is a path, "path:name" for
 * one of several models in a file, a folder with one .pt2 file, the name of a model in the user's
 * registry or the catalog, or a Hugging Face or timm id of a model in the catalog. Never reads
 * weights or unpickles anything. PYRO_ERROR_UNSUPPORTED if the spec needs Python (pyro_spec_of).
 */
PYRO_API int pyro_model_open(pyro_model **out, const char *spec, pyro_error *error);

/* Opens a model from memory, which may be freed after the call. `label` names it in errors. */
PYRO_API int pyro_model_open_memory(pyro_model **out, const void *data, size_t size,
                                    const char *label, pyro_error *error);

PYRO_API void pyro_model_close(pyro_model *model);

PYRO_API const char *pyro_model_name(const pyro_model *model); /* "resnet18" */
PYRO_API const char *pyro_model_display_name(const pyro_model *model); /* "ResNet-18" */
PYRO_API const char *pyro_model_source(const pyro_model *model); /* "pt2 8.14, torch 2.13.0" */
PYRO_API int64_t pyro_model_file_bytes(const pyro_model *model); /* -1 for a built-in model */

PYRO_API size_t pyro_model_input_count(const pyro_model *model);
PYRO_API int pyro_model_input(pyro_model *model, size_t index, pyro_input *out, pyro_error *error);

/*
 * Set the sizes of an input (NULL: the first), of the batch (dim 0), or of one symbol, and update
 * every symbolic size. PYRO_ERROR_ARGUMENT if the file does not allow a size; the message names the
 * input, the constraint and its place in the file.
 */
PYRO_API int pyro_model_set_shape(pyro_model *model, const char *input, const int64_t *dims,
                                  size_t rank, pyro_error *error);
PYRO_API int pyro_model_set_batch(pyro_model *model, int64_t batch, pyro_error *error);
PYRO_API int pyro_model_set_size(pyro_model *model, const char *symbol, int64_t size,
                                 pyro_error *error);
/*
 * Sets every dim of a kind: "sequence", "past", "height" ... If the file does not name its dims,
 * only "sequence" is known, and only where the first input is a matrix of integers.
 */
PYRO_API int pyro_model_set_kind(pyro_model *model, const char *what, int64_t size,
                                 pyro_error *error);

PYRO_API const pyro_facts *pyro_model_facts(const pyro_model *model);

/* Where a model was found. Only the builder of a built-in model is a claim of this library. */
typedef enum pyro_origin { PYRO_ORIGIN_FILE, PYRO_ORIGIN_BUILTIN, PYRO_ORIGIN_OWN } pyro_origin;
PYRO_API pyro_origin pyro_model_origin(const pyro_model *model);

#ifdef __cplusplus
}
#endif
#endif
