/*
 * The recorder: what observers write to while a program runs. One session a process. Writing a
 * record takes no lock, no system call and no memory; names, shapes and stacks are looked up in
 * tables of the thread, and only one that it meets for the first time costs more.
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

typedef struct pyro_recorder_options {
    uint32_t flags;     /* PYRO_RECORD_*: for the header; observers decide what they write */
    uint64_t max_bytes; /* 0: no limit */
    bool keep_last;     /* at the limit, drop the oldest chunks instead of stopping */
    bool overwrite;     /* else an existing file is PYRO_ERROR_EXISTS-like: PYRO_ERROR_ARGUMENT */
    bool temporary;     /* the file has no name: for passes that are written as JSON anyway */
} pyro_recorder_options;

/* A span that has begun and not ended on this thread. */
typedef struct pyro_open_span {
    pyro_record *record; /* NULL: could not be written */
    const void *key;     /* whose end it waits for: the RecordFunction, the module */
    uint64_t chunk;      /* sequence of its chunk */
} pyro_open_span;

#define PYRO_MOST_OPEN_SPANS 1024 /* deeper ones are not recorded, and counted as lost */

/* What a thread writes with; all but the open spans is one line of the cache. */
typedef struct pyro_recorder_thread {
    pyro_record *next, *end; /* room in its chunk */
    uint64_t chunk;          /* its sequence */
    uint32_t depth;          /* open spans */
    uint32_t generation;     /* of the session that it belongs to */
    volatile uint32_t busy;  /* is writing: the session's memory must stay */
    uint32_t number;
    void *ops; /* for the observer of ops: memory of its own, which the next thread takes over */
    void *layer_frame;    /* for the observer of stacks: frame of the innermost layer ... */
    uint32_t layer_stack; /* ... and its stack */
    pyro_open_span open[PYRO_MOST_OPEN_SPANS];
} pyro_recorder_thread;

/*
 * The one session as observers see it, also from C++ built apart: plain data and functions.
 * `generation` changes at every start and stop and is odd while recording; an observer that finds
 * it even returns at once.
 */
typedef struct pyro_recorder_api {
    uint32_t size; /* of this struct: a mismatch is another version */
    volatile uint32_t generation;
    uint32_t flags;
    uint32_t uses_clock; /* the counter is not to be trusted: ask the system's clock */
    uint32_t needs_fence; /* there is no membarrier: pyro_recorder_enter must order by itself */
    /* Nobody wants what happens now: observers of layers, ops and memory leave it out. */
    volatile uint32_t is_resting;
    /* This thread's, made on first use and renewed for a new session (no open spans, `generation`
     * as above); NULL when that fails or nothing is recorded. */
    pyro_recorder_thread *(*thread)(void);
    /* Where this thread's is kept, as long as it lives: NULL there before the first use. An observer
     * that remembers the place may find what is there without a call; it still may be of another
     * session. NULL when there is no such place. */
    pyro_recorder_thread *const *(*place)(void);
    /* A new chunk for the thread; false when recording has come to its end. */
    bool (*refill)(pyro_recorder_thread *thread);
    /* Ids of what records name; 0 when there is no room. Each looks into the thread's table first. */
    uint32_t (*name)(pyro_recorder_thread *thread, const char *text);
    uint32_t (*signature)(pyro_recorder_thread *thread, const uint64_t *words, size_t count);
    uint32_t (*storages)(pyro_recorder_thread *thread, const uint64_t *words, size_t count);
    /* The stack of Python frames of this thread; set by the extension, 0 where there is none. */
    uint32_t (*stack)(pyro_recorder_thread *thread);
    /* The innermost of them: another one has another address as long as this one is there. NULL where
     * there is none. */
    const void *(*frame)(void);
} pyro_recorder_api;

/* The interface of this process; always the same address. */
PYRO_API pyro_recorder_api *pyro_recorder_entrance(void);

/* Starts the session. PYRO_ERROR_* when one runs, or the file cannot be made. */
PYRO_API int pyro_recorder_start(const char *path, const pyro_recorder_options *options,
                                 pyro_error *error);
/* Ends it and waits for passes that are still being written. Fine when none runs. */
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

/* Slow ways in, for what is written once: ids as above. */
PYRO_API uint32_t pyro_recorder_module(const pyro_module_data *data, const char *path,
                                       const char *class_name);
PYRO_API uint32_t pyro_recorder_weight(const pyro_weight_data *data, const char *name);
PYRO_API uint32_t pyro_recorder_frame(const char *text);
PYRO_API uint32_t pyro_recorder_stack(uint32_t around, const uint32_t *frames, size_t count);
PYRO_API void pyro_recorder_property(const char *key, const char *value);
/* What was recorded until now is no part of the recording: readers pass over it. */
PYRO_API void pyro_recorder_discard(void);
PYRO_API void pyro_recorder_thread_name(const char *name);

/*
 * A pass: what happens between the two calls, on all threads but for what belongs to another pass
 * that was begun there, as a file of Chrome JSON. It is
 * written by a thread of the recorder; pyro_recorder_wait returns when all that were ended are on
 * disk (written under another name, then renamed), with the first failure.
 */
struct pyro_trace;
/* Called by the thread that writes, when a pass is on disk or could not be put there; `trace` is what
 * was written, or NULL. Must not call the recorder. */
typedef void (*pyro_pass_done_fn)(void *user, struct pyro_trace *trace, const pyro_error *error);

typedef struct pyro_pass_options {
    const char *path; /* of the JSON file */
    const char *model; /* its name, for the metadata */
    int64_t number;
    uint32_t flags; /* PYRO_RECORD_*: what goes into the file */
    pyro_pass_done_fn done; /* may be NULL; else called once for every pass that was ended well */
    void *user;
    const char *profile; /* a trace of torch.profiler that is added and then removed; NULL */
    const char *missing; /* what could not be recorded, for people; NULL: as the session says */
    bool lacks_ops; /* its ops are among that */
} pyro_pass_options;
PYRO_API uint64_t pyro_pass_begin(void); /* its start on the fast clock; 0 when nothing records */
PYRO_API int pyro_pass_end(uint64_t begun, const pyro_pass_options *options, pyro_error *error);
PYRO_API void pyro_pass_abandon(uint64_t begun); /* nothing of it will be written */
PYRO_API int pyro_recorder_wait(pyro_error *error);

/* The processor's counter; 0 where it has none that is known here. */
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

/* The fast clock: that counter, or nanoseconds where it cannot be trusted. */
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
 * Around every use of a thread's memory: the session cannot end in between. Who ends it makes
 * `generation` even, lets every processor see that (membarrier), and waits for `busy` to be 0;
 * so a fence for the compiler is enough here. In between, never wait for anything that another
 * thread may hold (the GIL).
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

/* Room for the next record, which is all 0; or NULL. */
static inline pyro_record *pyro_record_room(pyro_recorder_api *api, pyro_recorder_thread *thread)
{
    if (__builtin_expect(thread->next == thread->end, 0) && !api->refill(thread))
        return NULL;
    return thread->next;
}

/* Kind and scope, and no notes: in one store, for which a compiler would fetch bytes from memory. */
static inline void pyro_record_is(pyro_record *record, uint32_t kind, uint32_t scope)
{
    uint32_t word = kind | scope << 8;
    memcpy(&record->kind, &word, sizeof word);
}

/* What was written into the room becomes a record. */
static inline void pyro_record_commit(pyro_recorder_thread *thread, pyro_record *record)
{
    __atomic_store_n(&record->tag, (uint32_t)thread->chunk, __ATOMIC_RELEASE);
    thread->next = record + 1;
}

/* Remembers an open span; commit it after this. `record` may be NULL (lost). */
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
 * Takes the span of a key off the stack, with all that was left open above it; its record, or NULL
 * when it is not there (it began before the session or on another thread) or was lost.
 */
static inline pyro_record *pyro_span_close(pyro_recorder_thread *thread, const void *key)
{
    uint32_t depth = thread->depth;
    while (depth > 0) {
        depth--;
        if (depth >= PYRO_MOST_OPEN_SPANS)
            continue;
        if (thread->open[depth].key == key) {
            /* Who finds the span gone must find `busy` set, until its end is written. */
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
