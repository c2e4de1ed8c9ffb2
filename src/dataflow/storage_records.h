/* The words that a recording has of tensors, read one after the other; they may be anybody's. */
#ifndef PYRO_DATAFLOW_STORAGE_RECORDS_H
#define PYRO_DATAFLOW_STORAGE_RECORDS_H

#include "dataflow/tracker.h"
#include "trace/trace.h"

typedef struct pyro_storage_record {
    pyro_tensor_use where;
    uint64_t version; /* UINT64_MAX: not known */
    const uint64_t *sizes;
    size_t rank;
    uint64_t scalar_type; /* c10's number */
    bool is_written;      /* the operator's schema says that it writes into it */
    bool is_foreign;      /* torch did not allocate its memory */
} pyro_storage_record;

/* Reads the tensor at `*at`, a count of words, and goes on behind it; false at the end. */
bool pyro_storage_records_next(const pyro_recorded_data *data, size_t *at,
                               pyro_storage_record *out);

#endif
