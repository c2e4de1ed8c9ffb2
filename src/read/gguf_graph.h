/* The graph of a GGUF file whose metadata describes a known family of decoders. */
#ifndef PYRO_READ_GGUF_GRAPH_H
#define PYRO_READ_GGUF_GRAPH_H

#include "read/huggingface/config.h"
#include "read/weights.h"

/* What a file contains, as far as it is kept. */
typedef struct pyro_gguf {
    const char *architecture;
    hf_config numbers; /* of the metadata, by their keys */
    pyro_stored *tensors;
    size_t tensor_count, tensor_capacity;
} pyro_gguf;

void pyro_gguf_begin(pyro_gguf *file, pyro_arena *arena, pyro_error *error);
void pyro_gguf_end(pyro_gguf *file);
/* Keeps a number of the metadata; false if memory runs out. */
bool pyro_gguf_number(pyro_gguf *file, const char *key, int64_t value);
/* Fills a model: with its graph if the metadata describes it, else with the weights alone. */
int pyro_gguf_fill(pyro_model *model, const pyro_gguf *file, pyro_error *error);

#endif
