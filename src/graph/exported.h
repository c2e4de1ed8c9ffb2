/*
 * Finds what transformers adds to a graph only while torch.export traces it. A run omits a causal
 * mask if the kernel's flag is enough, and then lets the kernel read grouped heads. An export
 * always makes the mask, and therefore repeats the heads (docs/reference/conventions.md).
 */
#ifndef PYRO_GRAPH_EXPORTED_H
#define PYRO_GRAPH_EXPORTED_H

#include "graph/model.h"

/* Per value of one graph. Both arrays are NULL if the graph has no such values. */
typedef struct pyro_exported {
    bool *skipped;     /* a run does not make it: a mask, or an intermediate value of one */
    uint32_t
        *repeats; /* how often it has each head, which a run reads once; 0: no repeated heads */
} pyro_exported;

/* True for classes that do this ("transformers.models.llama.modeling_llama.LlamaAttention"). */
bool pyro_exported_drops_masks(const char *class_path, size_t length);

/* Uses the current sizes: an attention window starts at some length. Returns false if memory runs
 * out. */
bool pyro_exported_find(pyro_exported *out, const pyro_model *model, const pyro_graph *graph);
void pyro_exported_free(pyro_exported *exported);

#endif
