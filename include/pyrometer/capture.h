/*
 * The recorder that observers write to while a program runs; one session per process. Writing a
 * record takes no lock, system call or allocation: names, shapes and stacks are looked up in
 * thread-local tables, and only the first occurrence takes a slower path.
 */
#ifndef PYROMETER_CAPTURE_H
#define PYROMETER_CAPTURE_H

#include <pyrometer/error.h>
#include <pyrometer/recording.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pyro_recorder pyro_recorder;

/*
 * The flight recorder: a bounded recording of the last part of a long run, which is copied to a file
 * of its own when a trigger fires. These options begin as zeros; the functions below fill them in.
 */
#define PYRO_FLIGHT_MOST_SIGNALS 5
#define PYRO_FLIGHT_MOST_FILES 10                 /* per trigger, unless most_files is set */
#define PYRO_FLIGHT_BYTES (UINT64_C(512) << 20)   /* of the recording, unless max_bytes is set */
#define PYRO_FLIGHT_KEEP_NS INT64_C(30000000000)  /* unless an amount or keep_last is given */

typedef struct pyro_flight_options {
    int64_t keep_ns;    /* keep the records of this time; 0: as many as max_bytes allows */
    int64_t keep_steps; /* or those of this many steps; 0: not by steps */
    double slow_factor; /* a step is slow if it takes longer than this many medians; 0: never */
    int64_t slow_ns;    /* or longer than this; 0: never */
    bool on_out_of_memory, on_exception;
    bool on_cuda_profiler; /* cudaProfilerStart begins what cudaProfilerStop saves */
    int signals[PYRO_FLIGHT_MOST_SIGNALS]; /* 0: unused */
    uint32_t most_files;                   /* per trigger; 0: PYRO_FLIGHT_MOST_FILES */
} pyro_flight_options;

/* Reads how much is kept: "30s", "500ms", "200 steps". PYRO_ERROR_ARGUMENT: it is neither. */
PYRO_API int pyro_flight_parse_keep(pyro_flight_options *out, const char *text, pyro_error *error);
/* Reads triggers: "slow-step:1.5x,oom,exception,SIGUSR2". */
PYRO_API int pyro_flight_parse_triggers(pyro_flight_options *out, const char *text,
                                        pyro_error *error);
/* Whether there is a trigger. */
PYRO_API bool pyro_flight_is_on(const pyro_flight_options *options);
/* Whether nothing is recorded outside of the program's windows: no trigger looks back, and no amount
 * is kept. */
PYRO_API bool pyro_flight_rests(const pyro_flight_options *options);

typedef struct pyro_recorder_options {
    uint32_t flags;     /* PYRO_RECORD_*, for the header; observers decide what they write */
    uint64_t max_bytes; /* 0: no limit */
    bool keep_last;     /* at the limit, drop the oldest chunks instead of stopping */
    bool overwrite;     /* if false, an existing file is PYRO_ERROR_ARGUMENT */
    bool temporary;     /* use an unnamed file, for passes that are written as JSON */
    pyro_flight_options flight;
} pyro_recorder_options;

/* A span that has started but not ended on this thread. */
typedef struct pyro_open_span {
    pyro_record *record; /* NULL: could not be written */
    const void *key;     /* what ends the span: the RecordFunction, the module */
    uint64_t chunk;      /* sequence of its chunk */
    void *op;            /* private to the op observer: what it expects of this op */
} pyro_open_span;

#define PYRO_MOST_OPEN_SPANS 1024 /* deeper spans are not recorded; they count as lost */

/* A thread's state for writing. All but the open spans fits in one cache line. */
typedef struct pyro_recorder_thread {
    pyro_record *next, *end; /* free space in its chunk */
    uint64_t chunk;          /* sequence number of the chunk */
    uint32_t depth;          /* number of open spans */
    uint32_t generation;     /* of its session */
    volatile uint32_t busy;  /* nonzero while writing: the session's memory must stay */
    uint32_t number;
    void *ops; /* private memory of the op observer; a later thread reuses it */
    void *layer_frame;    /* for the stack observer: frame of the innermost layer */
    uint32_t layer_stack; /* and its stack */
    pyro_open_span open[PYRO_MOST_OPEN_SPANS];
} pyro_recorder_thread;

/*
 * The interface between the session and observers, which may be C++ that is built separately: plain
 * data and functions. `generation` changes at every start and stop and is odd while recording; an
 * observer returns at once if it is even.
 */
typedef struct pyro_recorder_api {
    uint32_t size; /* of this struct; another size means another version */
    volatile uint32_t generation;
    uint32_t flags;
    uint32_t uses_clock; /* the counter is unreliable: read the system clock */
    uint32_t needs_fence; /* membarrier is unavailable: pyro_recorder_enter needs a fence */
    /* Recording is paused: observers of layers, ops and memory skip events. */
    volatile uint32_t is_resting;
    volatile uint32_t wants_steps; /* observers report steps with pyro_flight_* */
    uint32_t padding;
    /* Returns this thread's state, created on first use and reset for a new session (no open spans,
     * `generation` as above). NULL if that fails or nothing is recorded. */
    pyro_recorder_thread *(*thread)(void);
    /* Returns the address of this thread's pointer to its state, valid while the thread lives. The
     * pointer is NULL before the first use and may belong to an earlier session. An observer may
     * keep the address to save calls. NULL if there is no such address. */
    pyro_recorder_thread *const *(*place)(void);
    /* Takes a new chunk for the thread; returns false if recording has ended. */
    bool (*refill)(pyro_recorder_thread *thread);
    /* Return the id of a value, from the thread's table if it is there; 0 if space runs out. */
    uint32_t (*name)(pyro_recorder_thread *thread, const char *text);
    uint32_t (*signature)(pyro_recorder_thread *thread, const uint64_t *words, size_t count);
    uint32_t (*storages)(pyro_recorder_thread *thread, const uint64_t *words, size_t count);
    /* Returns the id of this thread's Python stack, or 0. The extension sets this function. */
    uint32_t (*stack)(pyro_recorder_thread *thread);
    /* Returns the innermost Python frame, or NULL. Its address is unique while it lives. */
    const void *(*frame)(void);
    /* Reports a failed allocation, after its record. May be NULL. */
    void (*out_of_memory)(int64_t bytes, int device_type, int device_index);
} pyro_recorder_api;

/* Returns the interface of this process, always at the same address. */
PYRO_API pyro_recorder_api *pyro_recorder_entrance(void);

/*
 * Where torch stores what a recording says of a tensor, as offsets into the C++ object. The observer
 * finds them. Tensors with equal kinds have the same data type and device type.
 */
#define PYRO_TENSOR_OWN_SIZES 5 /* that torch stores inside the object; others lie elsewhere */

typedef struct pyro_tensor_fields {
    uint32_t kind_at;  /* of a word with the kind */
    uint32_t sizes_at; /* of the number of sizes, followed by the sizes */
    uint64_t kind_mask; /* bits of the kind in its word */
    uint64_t odd_mask;  /* those that are set if sizes or device must be asked for elsewhere */
} pyro_tensor_fields;

/* Reads the size limit of a recording: "500M", "2G", "64000000". PYRO_ERROR_ARGUMENT: it is no size, or
 * too small for a recording. */
PYRO_API int pyro_recorder_parse_size(uint64_t *max_bytes, const char *text, pyro_error *error);

/* Starts the session. PYRO_ERROR_ARGUMENT if one is running or an option is invalid, PYRO_ERROR_IO
 * if the file cannot be created. */
PYRO_API int pyro_recorder_start(const char *path, const pyro_recorder_options *options,
                                 pyro_error *error);
/* Ends the session and waits for passes that are still being written. Does nothing without one. */
PYRO_API int pyro_recorder_stop(pyro_error *error);
PYRO_API const char *pyro_recorder_path(void); /* of this process's file; "" */

typedef struct pyro_recorder_status {
    bool running;
    uint32_t state; /* pyro_recording_state */
    uint64_t chunks, dropped_chunks, lost_records;
    uint64_t file_bytes;
    uint64_t threads;
} pyro_recorder_status;
PYRO_API void pyro_recorder_look(pyro_recorder_status *status);

/* Slower calls for data that is written once. They return ids, as above. */
PYRO_API uint32_t pyro_recorder_module(const pyro_module_data *data, const char *path,
                                       const char *class_name);
PYRO_API uint32_t pyro_recorder_weight(const pyro_weight_data *data, const char *name);
PYRO_API uint32_t pyro_recorder_frame(const char *text);
PYRO_API uint32_t pyro_recorder_stack(uint32_t around, const uint32_t *frames, size_t count);
PYRO_API void pyro_recorder_property(const char *key, const char *value);
/* Marks everything recorded so far as discarded; readers skip it. */
PYRO_API void pyro_recorder_discard(void);
PYRO_API void pyro_recorder_thread_name(const char *name);

/*
 * Work of devices, collected in this process and recorded like everything else. It needs a session;
 * the collector may stay on between sessions. Only one profiler of a process can collect.
 */
typedef enum pyro_devices_state {
    PYRO_DEVICES_OFF = 0,
    PYRO_DEVICES_ON = 1,
    PYRO_DEVICES_NO_LIBRARY = 2,  /* no CUPTI */
    PYRO_DEVICES_TOO_OLD = 3,     /* CUPTI before CUDA 11.8 */
    PYRO_DEVICES_TAKEN = 4,       /* another profiler collects */
    PYRO_DEVICES_NOT_ALLOWED = 5, /* the driver restricts profiling to administrators */
    PYRO_DEVICES_FAILED = 6,
    PYRO_DEVICES_OLD_DRIVER = 7 /* too old for CUPTI */
} pyro_devices_state;

typedef struct pyro_devices_status {
    pyro_devices_state state;
    char reason[256];        /* one line, unless the state is on or off */
    char library[256];       /* "" unknown */
    uint32_t version;        /* of the library; 0 unknown */
    uint64_t records;        /* of work since the collector started */
    uint64_t dropped;        /* lost by the library or for want of memory */
    uint64_t malformed;      /* that could not be read */
    uint64_t launches;       /* of kernels and graphs */
    uint64_t unfinished;     /* of these: no work has arrived */
    uint64_t clock_error_ns; /* largest error of the times of work */
} pyro_devices_status;

/* Records of device work beside kernels and copies, as bits. */
#define PYRO_DEVICES_MEMSETS 1u
#define PYRO_DEVICES_SYNCHRONIZATIONS 2u
#define PYRO_DEVICES_OVERHEAD 4u
#define PYRO_DEVICES_USUAL UINT32_MAX /* memsets, where ops or memory are recorded */

/* Starts the collector. `status` may be NULL; it then holds why it cannot be started. */
PYRO_API pyro_devices_state pyro_devices_start(pyro_devices_status *status);
/* The same, with the records that `more` (PYRO_DEVICES_*) says. */
PYRO_API pyro_devices_state pyro_devices_start_with(uint32_t more, pyro_devices_status *status);
/* Records work that has finished, then stops the collector. */
PYRO_API void pyro_devices_stop(void);
/* Records work that has finished. */
PYRO_API void pyro_devices_flush(void);
PYRO_API void pyro_devices_look(pyro_devices_status *status);
/* Whether the library of the collector can be loaded; starts nothing. */
PYRO_API void pyro_devices_probe(pyro_devices_status *status);
/*
 * Watches torch's CUDA allocator, with or without the collector. Failed allocations fire the trigger
 * from now on; if `is_recorded`, sessions of PYRO_RECORD_MEMORY record allocations and frees. False if
 * the allocator is not loaded, or does not report in the known way.
 */
PYRO_API bool pyro_device_memory_start(bool is_recorded);
/* Records no more of it. */
PYRO_API void pyro_device_memory_stop(void);
/* Adds a device's description to the recording; returns its id. */
PYRO_API uint32_t pyro_recorder_device(const pyro_device_data *data, const char *name);

/*
 * Samples of the GPUs that this process uses (gpu_counters.h), by NVML on a thread of the recorder,
 * recorded as counters. Samples are recorded while a session is running.
 */
typedef enum pyro_gpu_sampling_state {
    PYRO_GPU_SAMPLING_OFF = 0,
    PYRO_GPU_SAMPLING_ON = 1, /* or starting: loading NVML takes a moment */
    PYRO_GPU_SAMPLING_NO_LIBRARY = 2,
    PYRO_GPU_SAMPLING_NO_DEVICE = 3,
    PYRO_GPU_SAMPLING_FAILED = 4
} pyro_gpu_sampling_state;

typedef struct pyro_gpu_sampling_status {
    pyro_gpu_sampling_state state; /* a failure stays until the next start */
    char reason[256];   /* one line, unless the state is on or off */
    char missing[256];  /* counters that the driver does not have; "": none */
    uint64_t devices, samples, interval_ns;
    uint64_t cost_ns;   /* of all samples, on the sampler's thread */
    bool has_units;     /* performance metrics: Hopper and later */
    bool has_energy;    /* the energy counter: Volta and later */
    bool power_is_mean; /* over about a second, not instant */
    bool is_instance;   /* a MIG instance: power, energy and clocks are of its whole GPU */
    bool from_driver;   /* CUDA says which device is which, not environment variables */
} pyro_gpu_sampling_status;

#define PYRO_GPU_SAMPLING_LEAST_NS 1000000

/* Samples every `interval_ns` (1 ms to 60 s; 0: every 100 ms), less often where a sample takes more
 * than a twentieth of that. Does nothing if it is on. */
PYRO_API pyro_gpu_sampling_state pyro_gpu_sampling_start(int64_t interval_ns);
/* Takes a last sample; returns within 100 ms. */
PYRO_API void pyro_gpu_sampling_stop(void);
PYRO_API void pyro_gpu_sampling_look(pyro_gpu_sampling_status *status);

/*
 * A pass is everything between pyro_pass_begin and pyro_pass_end on all threads, except for passes
 * that other threads began. A thread of the recorder writes it to a file of Chrome JSON, under a
 * temporary name that it then renames. pyro_recorder_wait waits until all ended passes are on disk
 * and returns the first failure.
 */
struct pyro_trace;
/* Called by the writing thread when a pass is on disk or failed; `trace` is what was written, or
 * NULL. Must not call the recorder. */
typedef void (*pyro_pass_done_fn)(void *user, struct pyro_trace *trace, const pyro_error *error);

typedef struct pyro_pass_options {
    const char *path; /* of the JSON file */
    const char *model; /* name of the model, for the metadata */
    int64_t number;
    uint32_t flags; /* PYRO_RECORD_*: what goes into the file */
    pyro_pass_done_fn done; /* may be NULL; called once if pyro_pass_end succeeded */
    void *user;
    const char *profile; /* a torch.profiler trace to merge and then delete; may be NULL */
    const char *missing; /* text about what could not be recorded; NULL: the session's */
    bool lacks_ops; /* ops could not be recorded */
} pyro_pass_options;
PYRO_API uint64_t pyro_pass_begin(void); /* start on the fast clock; 0 if nothing is recorded */
PYRO_API int pyro_pass_end(uint64_t begun, const pyro_pass_options *options, pyro_error *error);
PYRO_API void pyro_pass_abandon(uint64_t begun); /* drops the pass */
PYRO_API int pyro_recorder_wait(pyro_error *error);

/*
 * Triggers of the flight recorder. A thread of the recorder writes the files, named after the
 * recording, the trigger and a number: run.pyro gives run.slow-step-1.pyro. All of these functions
 * do nothing without a session that has triggers.
 */
/* Saves the last part. `trigger` is a word for the name of the file, `text` a line that says what
 * happened. False if the limit of files is reached or nothing is recorded. */
PYRO_API bool pyro_flight_trigger(const char *trigger, const char *text);
/* Waits until the files of all triggers so far are written. */
PYRO_API void pyro_flight_wait(void);

/* What marks the end of a step, from the least to the most certain; once a better mark was seen,
 * the others do not count. */
typedef enum pyro_flight_mark {
    PYRO_MARK_FORWARD = 1,
    PYRO_MARK_OPTIMIZER = 2,
    PYRO_MARK_PROFILER = 3
} pyro_flight_mark;

/* A step has ended. `key` tells optimizers apart. */
PYRO_API void pyro_flight_step(pyro_flight_mark mark, uint64_t key);
/* An outermost layer has returned; `inputs` is the number of values that it was given, or 0. */
PYRO_API void pyro_flight_forward(uint32_t module, uint64_t inputs, uint64_t begin_raw,
                                  uint64_t end_raw);
/* The program calls cudaProfilerStart (true) or cudaProfilerStop. */
PYRO_API void pyro_flight_window(bool begins);
/* The program has installed a handler of a signal: one that is a trigger remains one. Without this
 * call the recorder notices the new handler within a fifth of a second. */
PYRO_API void pyro_flight_handlers_changed(void);

/* Called by the writing thread, without locks, when a file is written or `error` says why not. */
typedef void (*pyro_flight_saved_fn)(const char *path, const char *text, const pyro_error *error);
PYRO_API void pyro_flight_on_saved(pyro_flight_saved_fn saved);

typedef struct pyro_flight_status {
    uint64_t files, skipped; /* skipped: triggers beyond the limit of files */
    bool is_writing;         /* or about to */
    uint64_t steps;          /* that have ended */
} pyro_flight_status;
PYRO_API void pyro_flight_look(pyro_flight_status *status);

/*
 * Ranges for other tools (NVTX), beside a recording. Loading returns whether a tool listens; without
 * one the functions do nothing. Ranges nest per thread.
 */
PYRO_API bool pyro_ranges_load(void);
PYRO_API void pyro_range_begin_layer(uint32_t module); /* named by the path of a recorded module */
PYRO_API void pyro_range_begin(const char *name);
PYRO_API void pyro_range_end(void);

/* Pauses or resumes all observers. `rest_ops`, if set, is told too. */
PYRO_API void pyro_recorder_rest(bool rests);
PYRO_API void pyro_recorder_on_rest(void (*rest_ops)(int rests));

/* Reads the processor's counter; 0 on unsupported processors. */
static inline uint64_t pyro_counter(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

/* Reads the fast clock: the counter, or nanoseconds if the counter is unreliable. */
static inline uint64_t pyro_raw_time(const pyro_recorder_api *api)
{
    if (__builtin_expect(!api->uses_clock, 1))
        return pyro_counter();
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline bool pyro_is_recording(const pyro_recorder_api *api)
{
    return __atomic_load_n(&api->generation, __ATOMIC_RELAXED) & 1;
}

/*
 * Enter before every use of a thread's memory, and leave after it: the session cannot end in
 * between. The thread that ends the session makes `generation` even, publishes that to all
 * processors (membarrier), and waits until `busy` is 0; so a compiler fence is enough here. In
 * between, never wait for anything that another thread may hold (the GIL).
 */
static inline pyro_recorder_thread *pyro_recorder_enter_with(pyro_recorder_api *api,
                                                             pyro_recorder_thread *thread)
{
    __atomic_store_n(&thread->busy, thread->busy + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(api->needs_fence, 0))
        __atomic_fetch_add(&thread->busy, 0, __ATOMIC_SEQ_CST);
    uint32_t generation = __atomic_load_n(&api->generation, __ATOMIC_SEQ_CST);
    if (__builtin_expect(thread->generation != generation, 0)) {
        __atomic_store_n(&thread->busy, thread->busy - 1, __ATOMIC_RELEASE);
        return NULL;
    }
    return thread;
}

static inline pyro_recorder_thread *pyro_recorder_enter(pyro_recorder_api *api)
{
    pyro_recorder_thread *thread = pyro_is_recording(api) ? api->thread() : NULL;
    return thread ? pyro_recorder_enter_with(api, thread) : NULL;
}

static inline void pyro_recorder_leave(pyro_recorder_thread *thread)
{
    __atomic_store_n(&thread->busy, thread->busy - 1, __ATOMIC_RELEASE);
}

/*
 * The same for code that every event runs: the caller knows that the thread's state is this thread's
 * own, the session that it was last in, and that membarrier is available. Pass `busy` to
 * pyro_recorder_leave_quickly().
 */
static inline bool pyro_recorder_enter_quickly(const pyro_recorder_api *api,
                                               pyro_recorder_thread *thread, uint32_t generation,
                                               uint32_t *busy)
{
    *busy = thread->busy;
    __atomic_store_n(&thread->busy, *busy + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(api->generation == generation, 1))
        return true;
    __atomic_store_n(&thread->busy, *busy, __ATOMIC_RELEASE);
    return false;
}

static inline void pyro_recorder_leave_quickly(pyro_recorder_thread *thread, uint32_t busy)
{
    __atomic_store_n(&thread->busy, busy, __ATOMIC_RELEASE);
}

/* Returns zeroed space for the next record, or NULL. */
static inline pyro_record *pyro_record_room(pyro_recorder_api *api, pyro_recorder_thread *thread)
{
    if (__builtin_expect(thread->next == thread->end, 0) && !api->refill(thread))
        return NULL;
    return thread->next;
}

/* Sets kind and scope and clears the notes in one store; a compiler would load bytes first. */
static inline void pyro_record_is(pyro_record *record, uint32_t kind, uint32_t scope)
{
    uint32_t word = kind | scope << 8;
    memcpy(&record->kind, &word, sizeof word);
}

/* Commits the record that was written into that space. */
static inline void pyro_record_commit(pyro_recorder_thread *thread, pyro_record *record)
{
    __atomic_store_n(&record->tag, (uint32_t)thread->chunk, __ATOMIC_RELEASE);
    thread->next = record + 1;
}

/* Fetches the cache line of a later record for writing: another processor has filled it with zeros,
 * and the program's next locked instruction would wait for it. */
static inline void pyro_record_prefetch(const pyro_record *record)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)record));
#else
    __builtin_prefetch(record, 1);
#endif
}

/* Pushes an open span; commit its record afterwards. `record` is NULL if it was lost. */
static inline void pyro_span_open_at(pyro_recorder_thread *thread, uint32_t depth,
                                     pyro_record *record, const void *key)
{
    pyro_open_span *span = &thread->open[depth];
    span->record = record;
    span->key = key;
    __atomic_store_n(&span->chunk, thread->chunk, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->depth, depth + 1, __ATOMIC_RELAXED);
}

static inline void pyro_span_open(pyro_recorder_thread *thread, pyro_record *record,
                                  const void *key)
{
    uint32_t depth = thread->depth;
    if (__builtin_expect(depth < PYRO_MOST_OPEN_SPANS, 1))
        pyro_span_open_at(thread, depth, record, key);
    else
        __atomic_store_n(&thread->depth, depth + 1, __ATOMIC_RELAXED);
}

/*
 * Pops the span of a key, with all spans above it. Returns its record, or NULL if the span is not
 * on the stack (it started before the session or on another thread) or was lost.
 */
static inline pyro_record *pyro_span_close(pyro_recorder_thread *thread, const void *key)
{
    uint32_t depth = thread->depth;
    while (depth > 0) {
        depth--;
        if (depth >= PYRO_MOST_OPEN_SPANS)
            continue;
        if (thread->open[depth].key == key) {
            /* A thread that sees the span popped must also see `busy`, until its end is written. */
            __atomic_store_n(&thread->depth, depth, __ATOMIC_RELEASE);
            return thread->open[depth].record;
        }
    }
    return NULL;
}

#ifdef __cplusplus
}
#endif
#endif
