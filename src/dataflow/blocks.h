/* The blocks between which a graph may be cut, and what a run of them needs. */
#ifndef PYRO_DATAFLOW_BLOCKS_H
#define PYRO_DATAFLOW_BLOCKS_H

#include "dataflow/dataflow.h"

/* Memory that values share: live from the first of them to the last use of any. */
typedef struct pyro_memory_use {
    int64_t bytes;
    uint32_t born, last_use; /* steps; `born` PYRO_NONE: from outside */
    /* scratch for the current part */
    uint32_t last_in_part, part;
    bool is_here;
} pyro_memory_use;

typedef struct pyro_blocks {
    const pyro_dataflow *graph;
    size_t count;
    uint32_t *node;        /* by block */
    size_t *first_step;    /* by block; the next block's is the end */
    uint32_t *block_of_step;
    int64_t *amount_before; /* by block: sum of time or FLOPs of earlier ones; one extra entry */
    bool timed;
    int64_t *cut_bytes, *cut_tensors; /* by block: of the cut after it */
    pyro_memory_use *memories; /* by number */
    size_t memory_count;
    uint32_t *weight_part; /* scratch, by weight */
    uint32_t part; /* number of the current part */
} pyro_blocks;

int pyro_blocks_find(pyro_blocks *blocks, const pyro_dataflow *graph, pyro_error *error);
void pyro_blocks_free(pyro_blocks *blocks);

/* Computes what a part of blocks [first, last] needs, including nodes and amount. */
void pyro_blocks_measure(pyro_blocks *blocks, size_t first, size_t last, pyro_part *part);

#endif
