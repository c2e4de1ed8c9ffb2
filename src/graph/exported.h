/*
 * What transformers puts into a graph only while torch.export traces it. A run leaves a causal mask
 * out where the kernel's own flag will do, and then lets the kernel read grouped heads as they are; an
 * export always makes the mask, and repeats the heads because of it
 * (docs/reference/conventions.md).
 */
#ifndef PYRO_GRAPH_EXPORTED_H
#define PYRO_GRAPH_EXPORTED_H

#include "graph/model.h"

/* Per value of one graph. Both arrays are NULL where the graph holds nothing of the kind. */
typedef struct pyro_exported {
    bool *skipped;     /* a run does not make it: a mask, or a step on the way to one */
    uint32_t
        *repeats; /* how often each head is in it though a run reads it once; 0: no such value */
} pyro_exported;

/* Whether a module of a class ("transformers.models.llama.modeling_llama.LlamaAttention") does so. */
bool pyro_exported_drops_masks(const char *class_path, size_t length);

/* False when memory is out. The sizes in force decide: a window of attention begins at some length. */
bool pyro_exported_find(pyro_exported *out, const pyro_model *model, const pyro_graph *graph);
void pyro_exported_free(pyro_exported *exported);

#endif
