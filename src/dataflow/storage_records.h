/* The words that a recording has of tensors, read one after the other; they may be anybody's. */
#ifndef PYRO_DATAFLOW_SIGHTINGS_H
#define PYRO_DATAFLOW_SIGHTINGS_H

#include "dataflow/tracker.h"
#include "trace/trace.h"

typedef struct pyro_seen_tensor {
    pyro_sighting where;
    uint64_t version; /* UINT64_MAX: not known */
    const uint64_t *sizes;
    size_t rank;
    uint64_t scalar_type; /* c10's number */
    bool is_written;      /* the operator's schema says that it writes into it */
    bool is_foreign;      /* torch did not allocate its memory */
} pyro_seen_tensor;

/* Reads the tensor at `*at`, a count of words, and goes on behind it; false at the end. */
bool pyro_sightings_next(const pyro_recorded_data *data, size_t *at, pyro_seen_tensor *out);

#endif
