/*
 * Follows the threads that launch device work through time and reports which of their events
 * explains what the host did. Time only moves forward, so that all requests together take one pass
 * over the events.
 */
#ifndef PYRO_ANALYZE_DEVICE_HOST_ACTIVITY_H
#define PYRO_ANALYZE_DEVICE_HOST_ACTIVITY_H

#include "analyze/analyze.h"

/* Threads that are followed: those with the most launches (without any, with the most ops). */
#define PYRO_HOST_THREADS 8

/* What a thread does, the least telling first. */
typedef enum pyro_host_state {
    PYRO_HOST_NOTHING, /* nothing that was recorded */
    PYRO_HOST_PYTHON,  /* a frame or an annotation, outside of ops */
    PYRO_HOST_CALL,    /* an op, or a call of the runtime */
    PYRO_HOST_WAITING, /* a call that waits for the device */
    PYRO_HOST_LOADING  /* the data loader */
} pyro_host_state;

/* Up to `until_ns` the host did this; `event` is PYRO_NO_EVENT for PYRO_HOST_NOTHING. */
typedef struct pyro_host_activity {
    pyro_host_state state;
    uint32_t event;
    int64_t until_ns;
} pyro_host_activity;

typedef struct pyro_host_thread {
    uint16_t track;
    uint32_t running; /* innermost event, as of the last request; PYRO_NO_EVENT */
    int64_t loading_until_ns;
} pyro_host_thread;

typedef struct pyro_host_threads {
    pyro_analysis_context *context;
    pyro_host_thread threads[PYRO_HOST_THREADS];
    size_t count;
    uint8_t *slot_of_track; /* index plus 1; 0: not followed */
    bool has_loader;        /* some event is a data loader's */
    size_t next;            /* first event in order of time that was not passed */
    int64_t next_ns;        /* when it starts; INT64_MAX: none is left */
} pyro_host_threads;

int pyro_host_threads_init(pyro_host_threads *threads, pyro_analysis_context *context);

/*
 * What the host does at `now_ns`, which must not decrease from call to call. A thread in a call
 * tells more than one in Python code; among equals, `track` comes first (any, if not followed).
 */
pyro_host_activity pyro_host_activity_at(pyro_host_threads *threads, int64_t now_ns,
                                         uint16_t track);

#endif
