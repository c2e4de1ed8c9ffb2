/* Reads storage records, in the layout of recording.h. */
#include "dataflow/storage_records.h"

#include "graph/dtype.h"
#include <pyrometer/recording.h>

enum { MOST_RANK = 64 };

/* The tensor's elements if they are strided, else a run of bytes, or unknown bytes. */
static pyro_region region_of(const uint64_t *words, size_t rank)
{
    int64_t sizes[MOST_RANK], strides[MOST_RANK], bytes;
    bool has_strides = words[5] & PYRO_STORAGE_STRIDED;
    const uint64_t *size = words + PYRO_STORAGE_WORDS;
    if (words[4] > INT64_MAX || words[3] > words[4])
        return pyro_region_somewhere(0, -1);
    int64_t begin = (int64_t)words[3], end = (int64_t)words[4];
    if (words[5] & PYRO_STORAGE_DENSE)
        return pyro_region_run(begin, end);
    bytes = pyro_dtype_bytes(pyro_dtype_from_scalar_type(words[5] & 0xff));
    if (!has_strides || bytes < 1)
        return pyro_region_somewhere(begin, end);
    for (size_t d = 0; d < rank; d++) {
        sizes[d] = size[d] <= INT64_MAX ? (int64_t)size[d] : -1;
        strides[d] = size[rank + d] <= INT64_MAX ? (int64_t)size[rank + d] : -1;
    }
    pyro_region region = pyro_region_strided(begin, bytes, rank, sizes, strides);
    /* Ignores words that contradict each other. */
    return region.end == end ? region : pyro_region_somewhere(begin, end);
}

bool pyro_storage_records_next(const pyro_recorded_data *data, size_t *at, pyro_storage_record *out)
{
    const uint64_t *words = (const uint64_t *)(const void *)data->bytes;
    size_t count = words ? data->length / sizeof *words : 0;
    if (*at + PYRO_STORAGE_WORDS > count)
        return false;
    words += *at;
    size_t rank = (size_t)(words[5] >> 32);
    size_t used = PYRO_STORAGE_WORDS + rank * (words[5] & PYRO_STORAGE_STRIDED ? 2 : 1);
    if (rank > MOST_RANK || *at + used > count)
        return false;
    *out = (pyro_storage_record){
        .where = {.tensor = words[0], .storage = words[1], .bytes = region_of(words, rank)},
        .version = words[2],
        .sizes = words + PYRO_STORAGE_WORDS,
        .rank = rank,
        .scalar_type = words[5] & 0xff,
        .is_written = words[5] & PYRO_STORAGE_WRITTEN,
        .is_foreign = words[5] & PYRO_STORAGE_FOREIGN,
    };
    *at += used;
    return true;
}
