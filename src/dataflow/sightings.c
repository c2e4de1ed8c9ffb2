/* Words of storages, as recording.h lays them out. */
#include "dataflow/sightings.h"

#include <pyrometer/recording.h>

enum { MOST_RANK = 64 };

bool pyro_sightings_next(const pyro_recorded_data *data, size_t *at, pyro_seen_tensor *out)
{
    const uint64_t *words = (const uint64_t *)(const void *)data->bytes;
    size_t count = words ? data->length / sizeof *words : 0;
    if (*at + PYRO_STORAGE_WORDS > count)
        return false;
    words += *at;
    size_t rank = (size_t)(words[5] >> 32);
    if (rank > MOST_RANK || *at + PYRO_STORAGE_WORDS + rank > count)
        return false;
    bool is_placed = words[4] <= INT64_MAX && words[3] <= words[4];
    *out = (pyro_seen_tensor){
        .where = {.tensor = words[0],
                  .storage = words[1],
                  .begin = is_placed ? (int64_t)words[3] : 0,
                  .end = is_placed ? (int64_t)words[4] : -1,
                  .dense = is_placed && (words[5] >> 8 & 1)},
        .version = words[2],
        .sizes = words + PYRO_STORAGE_WORDS,
        .rank = rank,
        .scalar_type = words[5] & 0xff,
    };
    *at += PYRO_STORAGE_WORDS + rank;
    return true;
}
