/*
 * Follows the records of the running session while threads write them. A sink receives every record
 * once, in the order of each thread, until its chunk is reused; chunks that were reused too early are
 * counted. At most one sink per process; a fork ends it in the child.
 */
#ifndef PYRO_CAPTURE_TAIL_H
#define PYRO_CAPTURE_TAIL_H

#include "trace/recording/recording.h"

/* Where a record lies. */
typedef struct pyro_record_place {
    size_t chunk, record;
    uint64_t sequence; /* of the chunk; 0: nowhere */
} pyro_record_place;

/* Records of one chunk that follow each other, as copies. */
typedef struct pyro_tail_batch {
    const pyro_chunk_header *chunk; /* its thread wrote the first of the records */
    const pyro_record *records;
    size_t count;
    pyro_record_place first;
    const pyro_recorded_tables *tables; /* what the records name is there */
    double raw_per_ns;
} pyro_tail_batch;

/* Called with the tail locked; may not call the recorder. */
typedef struct pyro_tail_sink {
    void *user;
    void (*begin)(void *user); /* a session begins: ids of names start again */
    void (*add)(void *user, const pyro_tail_batch *batch);
} pyro_tail_sink;

#define PYRO_STEP_MARKS 4
#define PYRO_STEP_BOUNDS 20

/* Upper bounds of the histogram of steps, in nanoseconds; the last bucket has none. */
extern const int64_t pyro_step_bounds_ns[PYRO_STEP_BOUNDS];

/* Steps since the sink was set, by what marked their end (pyro_flight_mark). */
typedef struct pyro_step_counts {
    uint64_t buckets[PYRO_STEP_MARKS][PYRO_STEP_BOUNDS + 1];
    double seconds[PYRO_STEP_MARKS];
} pyro_step_counts;

/* What a tail could not see. */
typedef struct pyro_tail_losses {
    uint64_t records; /* that could not be written */
    uint64_t chunks;  /* that were reused before they were read */
} pyro_tail_losses;

/* Sets the sink, or removes it with NULL; waits until it is not in use. */
void pyro_tail_follow(const pyro_tail_sink *sink);
/* Passes what is new to the sink. */
void pyro_tail_read(void);
/* When the record's span ended: 0 if it has not, 1 if the record is gone. In the sink only. */
uint64_t pyro_tail_end_raw(const pyro_record_place *place);
void pyro_tail_steps(pyro_step_counts *counts, pyro_tail_losses *losses);

#endif
