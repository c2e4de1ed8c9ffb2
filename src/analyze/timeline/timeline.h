/*
 * The events of a trace as a picture needs them: per track in rows of slices that do not overlap,
 * at most a given number. What is too short for that is merged, and counted.
 */
#ifndef PYRO_ANALYZE_TIMELINE_H
#define PYRO_ANALYZE_TIMELINE_H

#include "trace/joins/joins.h"

#define PYRO_NO_SLICE UINT32_MAX

typedef struct pyro_slice {
    int64_t start_ns, duration_ns; /* start: since the timeline's */
    uint32_t name;   /* interned; PYRO_NO_ID: merged */
    uint32_t layer;  /* index into the joins' layers; PYRO_NO_LAYER */
    uint32_t launch; /* slice of the call that launched it; PYRO_NO_SLICE */
    uint32_t forward; /* of a backward op: slice of the forward op that made it; PYRO_NO_SLICE */
    uint32_t events; /* 1, or the number of merged ones */
    uint16_t track;
    uint8_t row; /* on its track, 0 is the outermost */
    uint8_t category, phase;
} pyro_slice;

/* Slices of one row of one track, in order of time. */
typedef struct pyro_slice_row {
    uint16_t track;
    uint8_t row;
    uint32_t first, count;
} pyro_slice_row;

typedef struct pyro_timeline {
    int64_t start_ns, span_ns; /* of the whole trace */
    int64_t from_ns, to_ns; /* what is shown of it, since its start */
    pyro_slice *slices; /* by track, row and start */
    size_t count;
    pyro_slice_row *rows;
    size_t row_count;
    int64_t merged_events;   /* that have no slice of their own */
    int64_t merged_below_ns; /* they are shorter than this; 0: none was merged */
} pyro_timeline;

/* The part of a run to show. */
typedef struct pyro_timeline_options {
    size_t max_slices;      /* 0: no limit */
    int64_t from_ns, to_ns; /* since the start of the trace; to_ns 0: its end */
    bool only_steps;
    int64_t first_step, last_step; /* numbers of steps, in place of the times */
} pyro_timeline_options;

int pyro_timeline_make(pyro_timeline *timeline, const pyro_trace *trace, const pyro_joins *joins,
                       const pyro_timeline_options *options, pyro_error *error);
/* links.c: replaces the events in `launch` by slices, and finds the forward ops. `slice_of`
 * is by event, PYRO_NO_SLICE at first. False when memory is out. */
bool pyro_timeline_link(pyro_timeline *timeline, const pyro_trace *trace, const pyro_joins *joins,
                        uint32_t *slice_of);
void pyro_timeline_free(pyro_timeline *timeline);

#endif
