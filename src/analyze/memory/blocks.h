/* The blocks of memory that a trace allocates, with their lifetimes and owners, for a picture. */
#ifndef PYRO_ANALYZE_MEMORY_BLOCKS_H
#define PYRO_ANALYZE_MEMORY_BLOCKS_H

#include "trace/joins/joins.h"

typedef struct pyro_memory_block {
    int64_t start_ns; /* on the trace's clock */
    int64_t end_ns;   /* INT64_MAX: it lives when the trace ends */
    int64_t bytes;
    const char *layer; /* path; "" outside any layer */
    uint32_t op; /* interned name of the innermost op; PYRO_NO_ID */
    uint32_t device; /* in the order of the analysis' memory rows */
    uint32_t below;  /* while blocks are followed: the one of the same size before it */
} pyro_memory_block;

typedef struct pyro_memory_blocks {
    pyro_memory_block *blocks; /* by start */
    size_t count;
    int64_t left_out;       /* blocks that are too small to be kept */
    int64_t least_bytes; /* of the blocks that are kept; 0: all are */
} pyro_memory_blocks;

/* At most `max_blocks`: the largest. */
int pyro_memory_blocks_make(pyro_memory_blocks *out, const pyro_trace *trace,
                            const pyro_joins *joins, size_t max_blocks, pyro_error *error);
void pyro_memory_blocks_free(pyro_memory_blocks *blocks);

#endif
