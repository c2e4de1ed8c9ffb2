/* A model as it was read from a file: its graph without its weights, and the sizes of its inputs. */
#ifndef PYROMETER_MODEL_H
#define PYROMETER_MODEL_H

#include <pyrometer/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pyro_model pyro_model;

/* One tensor that the model takes. Pointers live as long as the model and until its sizes change. */
typedef struct pyro_input {
    const char *name;
    const char *dtype; /* "float32", ... */
    size_t rank;
    const int64_t *dims; /* the sizes in force; -1 where one depends on data */
    const char *const *symbols; /* per dim: the expression that may change, NULL where fixed */
} pyro_input;

/* A size of a model that may change, and the sizes it may have. */
typedef struct pyro_dim {
    const char *name;
    const char *what; /* "batch", "height", "width", "sequence", "past", ... */
    const char *input;
    size_t axis;
    int64_t min, max, multiple; /* max INT64_MAX: any */
} pyro_dim;

/* The sizes at which an input is priced unless others are asked for. */
typedef struct pyro_default_shape {
    const char *input;
    size_t rank;
    const int64_t *dims;
} pyro_default_shape;

/* What a file says of its model beside the graph. Texts are "", numbers -1 where it does not. */
typedef struct pyro_facts {
    const char *name, *display_name, *family, *task;
    int64_t params, published_params;
    const char *params_source; /* where the published count is from */
    const char *package, *version, *builder; /* where the architecture is from */
    const pyro_dim *dims; /* NULL: the file does not say which sizes may change */
    size_t dim_count;
    const pyro_default_shape *shapes;
    size_t shape_count;
    const char *variants; /* models of the same kind for other sizes: "vit_b_16_384 (384)" */
} pyro_facts;

/* What a text that names a model stands for. */
typedef enum pyro_spec_kind {
    PYRO_SPEC_MODEL, /* pyro_model_open() opens it, or says why not */
    PYRO_SPEC_PYTHON, /* "file.py:function" or "package.module:function": Python has to run it */
    PYRO_SPEC_FOLDER /* a folder with a config.json, which Python has to build the model from */
} pyro_spec_kind;
PYRO_API pyro_spec_kind pyro_spec_of(const char *spec);

/*
 * Opens a model. `spec` is a path, "path:name" for one of several models in a file, a folder with
 * one .pt2 file, the name of a model of the user's registry or of the catalog, or an id of Hugging
 * Face or timm of a model of the catalog. Weights are never read and nothing is ever unpickled.
 * PYRO_ERROR_UNSUPPORTED for what Python has to make (pyro_spec_of).
 */
PYRO_API int pyro_model_open(pyro_model **out, const char *spec, pyro_error *error);

/* The same over bytes in memory, which must outlive this call only; `label` names them in errors. */
PYRO_API int pyro_model_open_memory(pyro_model **out, const void *data, size_t size,
                                    const char *label, pyro_error *error);

PYRO_API void pyro_model_close(pyro_model *model);

PYRO_API const char *pyro_model_name(const pyro_model *model); /* "resnet18" */
PYRO_API const char *pyro_model_display_name(const pyro_model *model); /* "ResNet-18" */
PYRO_API const char *pyro_model_source(const pyro_model *model); /* "pt2 8.14, torch 2.13.0" */
PYRO_API int64_t pyro_model_file_bytes(const pyro_model *model); /* -1 for a built-in one */

PYRO_API size_t pyro_model_input_count(const pyro_model *model);
PYRO_API int pyro_model_input(pyro_model *model, size_t index, pyro_input *out, pyro_error *error);

/*
 * Give the sizes of an input (NULL: the first), of the batch (dim 0), or of one symbol. Every
 * symbolic size follows. A size that the file fixes or constrains otherwise fails with
 * PYRO_ERROR_ARGUMENT and a message that names the input, the constraint and where it stands.
 */
PYRO_API int pyro_model_set_shape(pyro_model *model, const char *input, const int64_t *dims,
                                  size_t rank, pyro_error *error);
PYRO_API int pyro_model_set_batch(pyro_model *model, int64_t batch, pyro_error *error);
PYRO_API int pyro_model_set_size(pyro_model *model, const char *symbol, int64_t size,
                                 pyro_error *error);
/*
 * Gives every dim of a kind its size: "sequence", "past", "height" ... A file that does not say
 * which dims these are has a sequence where its first input is integers in rows.
 */
PYRO_API int pyro_model_set_kind(pyro_model *model, const char *what, int64_t size,
                                 pyro_error *error);

PYRO_API const pyro_facts *pyro_model_facts(const pyro_model *model);

/* Where a model was found. Only what a built-in one says of its builder is the library's word. */
typedef enum pyro_origin { PYRO_ORIGIN_FILE, PYRO_ORIGIN_BUILTIN, PYRO_ORIGIN_OWN } pyro_origin;
PYRO_API pyro_origin pyro_model_origin(const pyro_model *model);

#ifdef __cplusplus
}
#endif
#endif
