/*
 * What later records need of a part of a recording that is dropped: blocks of memory that are still
 * live and nodes of CUDA graphs, each with the layer and op that made it. Chunks are added in the
 * order in which they were taken; threads may be out of order.
 */
#ifndef PYRO_CAPTURE_LIVE_BLOCKS_H
#define PYRO_CAPTURE_LIVE_BLOCKS_H

#include "base/containers/map.h"
#include <pyrometer/recording.h>

#define PYRO_LIVE_DEPTH 64 /* deeper spans do not own memory */

typedef struct pyro_live_block {
    uint64_t address, raw; /* raw: when it was allocated or freed */
    int64_t bytes;         /* 0: freed */
    uint32_t module, op;
    int16_t device_type, device_index;
} pyro_live_block;

/* A node that later replays run. */
typedef struct pyro_live_node {
    uint64_t node, original; /* original 0: created, in this layer and op */
    uint32_t module, op;
} pyro_live_node;

typedef struct pyro_live_span {
    uint64_t end_raw; /* UINT64_MAX: not ended */
    uint32_t name;
    bool is_layer;
} pyro_live_span;

typedef struct pyro_live_thread {
    uint32_t number, depth;
    pyro_live_span spans[PYRO_LIVE_DEPTH];
} pyro_live_thread;

typedef struct pyro_live_blocks {
    pyro_map by_address; /* -> index of items */
    pyro_live_block *items;
    size_t count, capacity, live;
    pyro_map by_node; /* -> index of nodes */
    pyro_live_node *nodes;
    size_t node_count, node_capacity;
    pyro_live_thread *threads;
    size_t thread_count, thread_capacity;
    bool failed; /* out of memory: the list is incomplete */
} pyro_live_blocks;

/* Adds the records of a chunk that start before a time. */
void pyro_live_blocks_add(pyro_live_blocks *blocks, const pyro_chunk_header *chunk,
                          const pyro_record *records, size_t count, uint64_t before_raw);
/* An independent copy. */
void pyro_live_blocks_copy(pyro_live_blocks *to, const pyro_live_blocks *from);
void pyro_live_blocks_free(pyro_live_blocks *blocks);

#endif
