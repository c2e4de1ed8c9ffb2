/* Reads a recording's storage records of tensors one after the other. The words are untrusted. */
#ifndef PYRO_DATAFLOW_STORAGE_RECORDS_H
#define PYRO_DATAFLOW_STORAGE_RECORDS_H

#include "dataflow/tracker.h"
#include "trace/trace.h"

typedef struct pyro_storage_record {
    pyro_tensor_use where;
    uint64_t version; /* UINT64_MAX: unknown */
    const uint64_t *sizes;
    size_t rank;
    uint64_t scalar_type; /* c10's number */
    bool is_written;      /* the operator's schema declares a write to it */
    bool is_foreign;      /* torch did not allocate its memory */
} pyro_storage_record;

/* Reads the tensor at `*at`, an index of words, and moves behind it; false at the end. */
bool pyro_storage_records_next(const pyro_recorded_data *data, size_t *at,
                               pyro_storage_record *out);

#endif
