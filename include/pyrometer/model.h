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

/*
 * Opens a model. `spec` is a path, "path:name" for one of several models in a file, or the name of
 * a built-in model. Weights are never read and nothing is ever unpickled.
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

/* Built-in models, by index, until NULL. */
PYRO_API const char *pyro_builtin_name(size_t index);

#ifdef __cplusplus
}
#endif
#endif
