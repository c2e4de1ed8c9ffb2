/*
 * Collects the work of GPUs in this process: kernels, copies, memsets, synchronisations and the
 * collector's own overhead, with the calls that started them. The interface has no type of any
 * vendor; cupti.h is the one implementation. At most one collector per process.
 */
#ifndef PYRO_DEVICE_COLLECTOR_H
#define PYRO_DEVICE_COLLECTOR_H

#include <pyrometer/capture.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pyro_device_work_kind {
    PYRO_WORK_KERNEL = 1,
    PYRO_WORK_COPY = 2,
    PYRO_WORK_SET = 3,
    PYRO_WORK_SYNC = 4,
    PYRO_WORK_OVERHEAD = 5
} pyro_device_work_kind;

#define PYRO_ALL_STREAMS UINT32_MAX

/* What is collected beside kernels and copies, as bits. They cost much for what they tell: on an H200
 * a record of a memset takes 10 us of the host's time. */
#define PYRO_COLLECT_SETS 1u
#define PYRO_COLLECT_SYNCS 2u
#define PYRO_COLLECT_OVERHEAD 4u
#define PYRO_COLLECT_ALL 7u

/* One piece of work. Which members are set depends on the kind; the others are 0. */
typedef struct pyro_device_work {
    uint8_t kind;               /* pyro_device_work_kind */
    uint64_t start, end;        /* the device's clock; the sink gets the recorder's clock */
    uint64_t duration_ns;       /* as the device measured it; 0 unknown */
    uint32_t device, stream;    /* stream: PYRO_ALL_STREAMS if it concerns all */
    uint32_t correlation;       /* equal to that of the call that started it; 0: none */
    const char *name;           /* never NULL when the sink gets it */
    uint64_t bytes;             /* of copies and memsets */
    uint32_t grid[3], block[3]; /* of kernels */
    uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
    uint32_t graph; /* of work that a graph launch started; 0: none */
    uint64_t graph_node;
    uint8_t copy, from, to; /* codes of the kind of copy and of memory */
    uint32_t detail;        /* code of the kind of synchronisation or overhead */
} pyro_device_work;

/* Numbers of calls, for tables by number: launches have the first ones. Calls with the same name share
 * one. */
#define PYRO_MOST_CALL_NUMBERS 256

/* A function of the host that the collector sees called. Small, so that it never lies in two cache
 * lines. */
typedef struct pyro_device_call {
    const char *name; /* without version suffixes; stays valid */
    uint16_t number;  /* of the name, from 1, below PYRO_MOST_CALL_NUMBERS */
    bool starts_kernels;    /* a launch of a kernel or of a graph */
    bool ends_soon; /* it does not wait for the device: a launch, or memory is set */
    bool is_runtime;        /* of the runtime API, which calls the driver API */
    bool controls_profiler; /* it starts or stops the window of a profiler */
} pyro_device_call;

typedef struct pyro_call_outcome {
    bool failed, is_captured; /* captured: added to a graph, not executed */
} pyro_call_outcome;

/* How the calling thread's next calls of the same function are recorded. */
typedef struct pyro_call_kind {
    /* The name of their records and, above, kind and scope; 0: each is reported by two calls. */
    uint64_t head;
    uint32_t session; /* in which the head is valid */
    pyro_recorder_thread *const *writer; /* where the recorder keeps this thread's writer */
} pyro_call_kind;

/* What ends the span of a call. No address has this bit, so no other span has this key. */
static inline const void *pyro_call_span_key(uint32_t correlation)
{
    return (const void *)((uintptr_t)correlation | (uintptr_t)1 << 63);
}

/*
 * Receives what the collector sees. Calls and nodes arrive on the program's threads, inside the
 * call; work arrives on the collector's own thread. No function may wait for the GIL.
 */
typedef struct pyro_device_sink {
    uint64_t (*now)(void); /* the recorder's clock */
    double (*ns_per_unit)(void); /* of that clock */
    /* Calls of known kinds are written here, which costs less than calls of the sink: as a whole if
     * they end soon, else as a span of the thread, by pyro_call_span_key(). */
    const pyro_recorder_api *recorder;
    /* `begun` is a time of that clock. */
    pyro_call_kind (*call_begins)(const pyro_device_call *call, uint32_t correlation,
                                  uint64_t begun);
    void (*call_ends)(const pyro_device_call *call, uint32_t correlation,
                      pyro_call_outcome outcome);
    /* A node was added to a graph, or cloned from `original` (0: not cloned). */
    void (*node_added)(uint64_t node, uint64_t original);
    void (*work_begins)(void); /* before a batch of work, and after it */
    void (*work)(const pyro_device_work *work);
    void (*work_ends)(void);
} pyro_device_sink;

typedef enum pyro_collector_state {
    PYRO_COLLECTOR_OFF = 0,
    PYRO_COLLECTOR_ON = 1,
    PYRO_COLLECTOR_NO_LIBRARY = 2, /* no library that collects */
    PYRO_COLLECTOR_TOO_OLD = 3,
    PYRO_COLLECTOR_TAKEN = 4, /* another profiler uses the library */
    PYRO_COLLECTOR_NOT_ALLOWED = 5, /* the driver restricts profiling to administrators */
    PYRO_COLLECTOR_FAILED = 6,
    PYRO_COLLECTOR_OLD_DRIVER = 7 /* too old for the library */
} pyro_collector_state;

typedef struct pyro_collector_status {
    pyro_collector_state state;
    char reason[256]; /* one line, if the state is neither on nor off */
    char library[256]; /* "" if unknown */
    uint32_t version; /* of the library; 0 unknown */
    uint64_t records; /* pieces of work so far */
    uint64_t dropped; /* records that the library or the collector dropped */
    uint64_t malformed; /* records that the collector could not read */
    uint64_t clock_error_ns; /* largest error of the mapping between the clocks so far */
    uint64_t buffers; /* in memory */
    uint64_t launches, unfinished; /* launches seen; those whose work has not arrived */
} pyro_collector_status;

/* Starts collecting kernels, copies and what `more` (PYRO_COLLECT_*) says; returns the new state.
 * `sink` must stay valid. ON if it runs already. */
pyro_collector_state pyro_collector_start(const pyro_device_sink *sink, uint32_t more);
/* Delivers finished work, then stops; another profiler may use the library afterwards. */
void pyro_collector_stop(void);
/* Delivers work that has finished so far. Does not wait for running work. While a graph is captured
 * it only delivers what has arrived, because asking for more could break the capture. */
void pyro_collector_flush(void);
void pyro_collector_look(pyro_collector_status *status);
/* Whether a library that collects can be loaded, and its version; starts nothing. */
void pyro_collector_probe(pyro_collector_status *status);

#endif
