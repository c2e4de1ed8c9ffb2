/*
 * Finds which value a tensor holds when an operator reads it: from the tensor itself, and from
 * later writes into memory that it shares with others. Addresses may be reused.
 */
#ifndef PYRO_DATAFLOW_TRACKER_H
#define PYRO_DATAFLOW_TRACKER_H

#include "base/containers/map.h"
#include "dataflow/region.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tensor as an input or output of an operator. */
typedef struct pyro_tensor_use {
    uint64_t tensor;    /* the same for the same tensor object */
    uint64_t storage;   /* the same for tensors that share memory */
    pyro_region bytes;  /* of the storage */
} pyro_tensor_use;

typedef enum pyro_making {
    PYRO_MAKES_FRESH, /* separate memory */
    PYRO_MAKES_VIEW,  /* a view of existing memory */
    PYRO_MAKES_WRITE  /* new contents in existing memory */
} pyro_making;

typedef struct pyro_tracked_tensor {
    uint32_t storage, generation; /* number of the storage */
    uint32_t value;
    uint64_t clock;
} pyro_tracked_tensor;

typedef struct pyro_tracked_write {
    uint32_t value;
    uint32_t earlier; /* write into the same storage; PYRO_MAP_NONE: none */
    uint64_t clock;
    pyro_region bytes;
} pyro_tracked_write;

typedef struct pyro_tracked_storage {
    uint32_t generation; /* how often its address was reused */
    uint32_t memory;     /* unique number of the memory */
    uint32_t first_value, last_write;
} pyro_tracked_storage;

/* A value that a read finds. */
typedef struct pyro_found_value {
    uint32_t value;
    bool assumed; /* later writes may hide it, or it may not overlap what is read */
} pyro_found_value;

typedef struct pyro_tracker {
    pyro_map number_of_tensor, number_of_storage;
    pyro_tracked_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    pyro_tracked_storage *storages;
    size_t storage_count, storage_capacity;
    pyro_tracked_write *writes;
    size_t write_count, write_capacity;
    uint64_t clock;
    uint32_t memories;
    pyro_found_value *found; /* by the last read */
    size_t found_count, found_capacity;
    uint32_t *met; /* scratch: writes that overlap the read, the latest first */
    size_t met_count, met_capacity;
    int64_t budget; /* atoms that may still be compared one by one */
} pyro_tracker;

#define PYRO_TRACKER_INIT {.clock = 1, .budget = INT64_C(1) << 28}

void pyro_tracker_free(pyro_tracker *tracker);
/* The value of a tensor, and since when it holds it: later writes lie over it. */
typedef struct pyro_held_value {
    uint32_t value;
    uint64_t clock;
} pyro_held_value;

/* False if the tensor comes from outside. */
bool pyro_tracker_held(const pyro_tracker *tracker, const pyro_tensor_use *seen,
                       pyro_held_value *out);
/*
 * Sets `found` to the values that some bytes of a storage hold, where `held` is below all later
 * writes. False when memory is out.
 */
bool pyro_tracker_look(pyro_tracker *tracker, uint64_t storage, const pyro_region *bytes,
                       pyro_held_value held);
/*
 * Sets `found` to the values that a tensor holds: none if it comes from outside, several if only a
 * part of it was written since it was made. False when memory is out.
 */
bool pyro_tracker_read(pyro_tracker *tracker, const pyro_tensor_use *seen);
/* A tensor holds `value` from now on; use PYRO_MAKES_FRESH for one from outside. */
bool pyro_tracker_make(pyro_tracker *tracker, const pyro_tensor_use *seen, pyro_making how,
                       uint32_t value);
/* Whether the storage is known: it was made, or seen from outside. */
bool pyro_tracker_knows(const pyro_tracker *tracker, const pyro_tensor_use *seen);
/* The number of a storage's current memory; 0: unknown. */
uint32_t pyro_tracker_memory(const pyro_tracker *tracker, uint64_t storage);

#endif
