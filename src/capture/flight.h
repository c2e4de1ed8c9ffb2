/*
 * The flight recorder's part of a session: steps and their usual time, files that triggers asked
 * for, and the blocks of memory whose allocations are no longer in the recording.
 */
#ifndef PYRO_CAPTURE_FLIGHT_H
#define PYRO_CAPTURE_FLIGHT_H

#include "capture/live_blocks.h"
#include <pthread.h>
#include <pyrometer/capture.h>

#define PYRO_FLIGHT_TEXT 480
#define PYRO_FLIGHT_QUEUE 8
#define PYRO_FLIGHT_TRIGGERS 16
#define PYRO_STEP_TRACKS 32
#define PYRO_STEP_SAMPLES 63
#define PYRO_STEP_WARMUP 10 /* steps before the first that can be slow */
#define PYRO_MOST_KEPT_STEPS 100000

/* A file to be written. */
typedef struct pyro_flight_job {
    char trigger[24];
    char text[PYRO_FLIGHT_TEXT];
    uint64_t fired_raw;
    uint64_t begin_raw, end_raw; /* what it is about; both 0: a moment */
    bool is_window;              /* nothing before begin_raw belongs to the file */
    int signal;                  /* that fired it; 0: none */
    uint32_t number;             /* of the file, per trigger; pyro_flight_add sets it */
    uint64_t launches;           /* of kernels so far; pyro_flight_add sets it */
} pyro_flight_job;

typedef struct pyro_trigger_count {
    char name[24];
    uint32_t files;
} pyro_trigger_count;

/* Steps that are compared with each other. */
typedef struct pyro_step_track {
    uint64_t key;      /* 0: free */
    uint64_t last_raw; /* end of its last step; 0: none */
    uint64_t steps;
    uint32_t sample_count, next_sample;
    uint64_t samples[PYRO_STEP_SAMPLES]; /* durations of the latest, in raw units */
} pyro_step_track;

typedef struct pyro_flight_steps {
    pyro_flight_mark mark;
    uint32_t lesser_marks;     /* since the last that counted */
    uint64_t optimizer;        /* key of the one whose steps count */
    uint32_t other_optimizers; /* steps of others since its last one */
    uint64_t count;
    /* After a slow step others are not reported for a while, unless they lose much more time. */
    uint64_t quiet_until_raw, lost_raw;
    pyro_step_track tracks[PYRO_STEP_TRACKS];
    uint64_t *begins; /* of the latest steps, if these are kept; keep_steps entries */
} pyro_flight_steps;

/* Guarded by the session's lock, except for `blocks`. */
typedef struct pyro_flight {
    bool is_on, has_thread, is_stopping;
    bool is_saving;   /* a file is being written: chunks become free one by one */
    bool is_dropping; /* a chunk is being emptied, and its blocks noted */
    pthread_t thread;
    int wake_fd;
    pthread_cond_t done; /* a file is written, or a chunk is dropped */
    pyro_flight_job jobs[PYRO_FLIGHT_QUEUE];
    size_t job_count; /* the thread may be working on the first */
    pyro_trigger_count counts[PYRO_FLIGHT_TRIGGERS];
    uint64_t files, skipped;
    uint64_t window_raw; /* begin of the program's own window; 0: none */
    pyro_flight_steps steps;
    pyro_live_blocks blocks; /* used by the thread that drops chunks */
} pyro_flight;

#endif
