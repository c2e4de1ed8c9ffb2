/* Models that are only weights: the readers of safetensors, GGUF and torch's archives add them one by one. */
#ifndef PYRO_READ_WEIGHTS_H
#define PYRO_READ_WEIGHTS_H

#include "graph/model.h"
#include "read/formats.h"

/* Rows of formats.c. */
bool pyro_safetensors_is(const pyro_opening *opening);
int pyro_safetensors_open(const pyro_opening *opening, pyro_error *error);
bool pyro_gguf_is(const pyro_opening *opening);
int pyro_gguf_open(const pyro_opening *opening, pyro_error *error);

/* A stored tensor. */
typedef struct pyro_stored {
    const char *name;
    size_t name_length;
    const char *type; /* as the format calls it: "BF16", "Q4_K" */
    pyro_dtype dtype; /* PYRO_DTYPE_UINT8 for blocks of quantised values */
    size_t rank;
    const int64_t *dims;
    int64_t bytes;
    bool is_buffer; /* the format says so; otherwise the name may */
} pyro_stored;

/* Counts bytes by type, for the note about what a file stores. */
typedef struct pyro_stored_types {
    struct {
        char name[24];
        int64_t tensors, values, bytes;
    } rows[64];
    size_t count;
} pyro_stored_types;

/* Gives a new model an empty graph. */
int pyro_weights_begin(pyro_model *model, pyro_error *error);
/* Adds a tensor as a parameter; one of that name must not be there. */
int pyro_weights_add(pyro_model *model, pyro_stored_types *types, const pyro_stored *stored,
                     pyro_error *error);
/* Counts a tensor for the notes only; false if its values do not fit. */
bool pyro_weights_count(pyro_stored_types *types, const pyro_stored *stored);
/* Adds the notes about types, and that the file has no graph. */
int pyro_weights_end(pyro_model *model, const pyro_stored_types *types, pyro_error *error);

/* Reads the header of a safetensors file into a model. */
int pyro_safetensors_read(pyro_model *model, pyro_source *source, pyro_stored_types *types,
                          pyro_error *error);

#endif
