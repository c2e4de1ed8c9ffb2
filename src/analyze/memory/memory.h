/* Shared by the two parts of the memory analysis: the pass over the events, and the work after it.
 * */
#ifndef PYRO_ANALYZE_MEMORY_MEMORY_H
#define PYRO_ANALYZE_MEMORY_MEMORY_H

#include "analyze/analyze.h"

/* No allocator hands out an exbibyte: such sizes mean a damaged file. */
#define PYRO_MEMORY_LARGEST_BYTES ((int64_t)1 << 60)

typedef struct pyro_memory_event {
    uint32_t event;
    uint32_t device; /* index */
    uint32_t below; /* block of the same size that was allocated before, where addresses lack */
} pyro_memory_event;

/* One device's memory while its events go by. */
typedef struct pyro_memory_track {
    pyro_memory_device row;
    int64_t live_bytes; /* as the allocator says, else the sum of what was seen */
    int64_t lowest_bytes; /* of a sum: below 0 when blocks of before the trace were freed */
    size_t events, points; /* seen, and of those the points of the curve: in the requested step */
    size_t peak; /* index of the event that reached it */
    size_t failed_at; /* number of events before the last failed allocation */
    size_t next_end; /* first window end that was not sampled */
    int64_t first_sample_bytes, last_sample_bytes;
    int64_t samples, growths;
    int64_t first_end_ns, last_end_ns; /* when the first and the last sample were taken */
} pyro_memory_track;

typedef struct pyro_memory_state {
    pyro_memory_event *events; /* in order of time */
    size_t count;
    int64_t *window_ends; /* in order of time */
    size_t window_end_count;
    pyro_map by_device;
    pyro_memory_track *devices;
    size_t device_count, device_capacity;
    int64_t out_of_memory;
} pyro_memory_state;

/* Bytes that are live after an event, given those before it. */
int64_t pyro_memory_after(int64_t live_bytes, const pyro_memory_detail *detail);

/* Curves and holders, into the rows of the devices. */
int pyro_memory_make_curves(pyro_memory_state *state, pyro_analysis_context *context);
int pyro_memory_find_holders(pyro_memory_state *state, pyro_analysis_context *context);

#endif
