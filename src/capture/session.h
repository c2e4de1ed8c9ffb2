/*
 * The recorder's internals: the one session of this process and the functions of each file on it.
 * `control` guards start, stop and forks; `lock` guards chunks, tables and passes. Code that needs
 * both takes `control` first, and never waits for a writing thread while it holds `lock`.
 */
#ifndef PYRO_CAPTURE_SESSION_H
#define PYRO_CAPTURE_SESSION_H

#include "base/containers/arena.h"
#include "base/containers/intern.h"
#include "base/error.h"
#include "capture/flight.h"
#include "capture/tail.h"
#include "trace/recording/recording.h"
#include <limits.h>
#include <pthread.h>
#include <pyrometer/capture.h>

#define PYRO_SLAB_CHUNKS 64 /* chunks mapped at once: programs are limited to 65530 mappings */
#define PYRO_READY_CHUNKS 4
#define PYRO_CLOCK_INTERVAL_NS 1000000000
#define PYRO_DATA_TYPES (PYRO_DATA_DEVICE + 1)
#define PYRO_NO_CHUNK SIZE_MAX

/* The recorder's state of a chunk of the file. */
typedef struct pyro_chunk_slot {
    uint64_t sequence;              /* 0: no owner */
    uint64_t first_raw, closed_raw; /* closed 0: still being filled */
    uint8_t kind;
    bool held; /* being made, or ready */
    bool is_wanted; /* a trigger's file needs it */
    bool is_read; /* the tail has passed on all its records */
} pyro_chunk_slot;

typedef struct pyro_slab {
    char *map; /* what munmap takes */
    size_t map_bytes;
    char *chunks;
} pyro_slab;

#define PYRO_NAME_SLOTS 1024
#define PYRO_WORD_SLOTS 2048

/* What a thread saw last: contents are compared, because an address may be reused. */
typedef struct pyro_name_slot {
    const char *address, *text;
    uint32_t id;
} pyro_name_slot;

typedef struct pyro_word_slot {
    const uint64_t *words;
    uint32_t count, id;
} pyro_word_slot;

/* A thread, with data that only the recorder uses. Never freed: a thread that ends leaves it. */
typedef struct pyro_thread_slot {
    _Alignas(64) pyro_recorder_thread open; /* first: observers hold a pointer to it */
    struct pyro_thread_slot *next;
    size_t chunk;        /* its index; PYRO_NO_CHUNK */
    uint32_t is_used;    /* by a live thread */
    uint32_t is_waiting; /* for a chunk: holds no record */
    pyro_name_slot names[PYRO_NAME_SLOTS];
    pyro_word_slot words[PYRO_WORD_SLOTS];
} pyro_thread_slot;

/* An open pass: its thread, and what other passes did meanwhile on theirs. */
typedef struct pyro_open_pass {
    uint64_t begin_raw;
    uint32_t thread;
    struct pyro_foreign_span *foreign;
    size_t foreign_count, foreign_capacity;
} pyro_open_pass;

typedef struct pyro_pass_job {
    struct pyro_pass_job *next;
    uint64_t begin_raw, end_raw;
    int64_t number;
    uint32_t flags;
    uint64_t launches; /* of kernels until its end */
    char *path, *model;
    char *profile, *missing; /* NULL: none */
    bool lacks_ops;
    pyro_pass_done_fn done;
    void *user;
    uint32_t thread;
    struct pyro_foreign_span *foreign;
    size_t foreign_count;
} pyro_pass_job;

#define PYRO_MOST_OPEN_PASSES 64

typedef struct pyro_session {
    pthread_mutex_t control, lock;
    pthread_cond_t allocator_wakes; /* the allocator has work */
    pthread_cond_t chunk_ready;  /* or no chunk will be */
    bool is_running, is_forked;
    pyro_recorder_options options;
    char base_path[PATH_MAX]; /* as given: children derive theirs */
    char path[PATH_MAX];

    int fd;
    pyro_recording_header *header;
    size_t header_bytes; /* as mapped */
    pyro_slab *slabs;
    size_t slab_count, slab_capacity;
    pyro_chunk_slot *slots;
    size_t slot_count, slot_capacity;
    uint64_t last_sequence;
    size_t ready[PYRO_READY_CHUNKS];
    size_t ready_count;
    uint32_t cannot_grow;     /* pyro_recording_state: why the file cannot grow */
    uint64_t failed_searches; /* the allocator found no chunk to reuse */

    pthread_t allocator; /* the thread that makes chunks ahead */
    bool has_allocator, is_stopping;

    pyro_arena arena;
    pyro_intern data[PYRO_DATA_TYPES]; /* id is the index + 1 */
    uint32_t written[PYRO_DATA_TYPES]; /* ids that are written to the file */
    size_t data_chunk;                 /* PYRO_NO_CHUNK: none */
    size_t data_used;                  /* bytes of it */
    size_t data_spare;                 /* the next one, made ahead; PYRO_NO_CHUNK */
    bool data_sealed;                  /* out of space: no new ids any more */

    pyro_thread_slot *threads; /* grows at the head only */
    uint32_t thread_count;     /* numbers assigned in this session */

    pyro_open_pass open_passes[PYRO_MOST_OPEN_PASSES];
    size_t open_pass_count;
    uint64_t last_pass_raw;
    pyro_pass_job *first_job, *last_job; /* the writer may be working on the first */
    size_t job_count;
    pthread_t writer;
    bool has_writer, writer_stops, writer_sleeps;
    pyro_recorded_tables pass_tables; /* the writer's view of `data`, up to its last pass */
    uint32_t pass_seen[PYRO_DATA_TYPES];
    pthread_cond_t writer_wakes, pass_done;
    pyro_error pass_error;
    uint64_t passes_written;

    pyro_flight flight;
    bool is_followed;             /* a tail reads the records */
    pyro_step_counts step_counts; /* of all sessions that were followed */
} pyro_session;

/* session.c */
extern pyro_session pyro_the_session;
extern pyro_recorder_api pyro_the_recorder_api;

/* clock.c */
void pyro_clock_choose(pyro_recorder_api *api);
pyro_recording_clock pyro_clock_read(const pyro_recorder_api *api);
double pyro_clock_rate(const pyro_recorder_api *api); /* raw units per nanosecond, estimated */
void pyro_clock_renew(pyro_session *session);

/* file.c: the file and its mapping. */
int pyro_file_open(pyro_session *session, const char *path, bool overwrite, pyro_error *error);
void pyro_file_close(pyro_session *session, bool keep_contents);
/* Allocates disk space for chunk `index`, which is mapped at `chunk`, and its pages; 0 or an errno.
 * Needs no lock. */
int pyro_file_extend(const pyro_session *session, size_t index, char *chunk);
/* Maps chunk `index`; false if address space is out. Needs `lock`. */
bool pyro_file_map(pyro_session *session, size_t index);
char *pyro_chunk_address(const pyro_session *session, size_t index);

/* chunks.c: with `lock` held; taking and making chunks for records release it for a while. */
size_t pyro_chunk_take(pyro_session *session, pyro_thread_slot *thread);
size_t pyro_chunk_take_for_data(pyro_session *session);
void pyro_chunk_close(pyro_session *session, size_t index);
bool pyro_chunk_refill(pyro_recorder_thread *thread);
size_t pyro_chunk_make(pyro_session *session, bool may_reuse);
int pyro_chunk_allocator_start(pyro_session *session, pyro_error *error);
void pyro_chunk_allocator_stop(pyro_session *session); /* without `lock` */

/* chunk_reuse.c: empties and returns the oldest unneeded chunk that was full before a time; releases
 * `lock` meanwhile. `keeps_unread`: not one that the tail has yet to read. */
size_t pyro_chunk_reuse(pyro_session *session, uint64_t closed_before, bool keeps_unread);

/* flight.c: the thread that writes the files of triggers. */
int pyro_flight_begin(pyro_session *session, pyro_error *error);
void pyro_flight_drain(pyro_session *session); /* without `lock` and `control` */
void pyro_flight_end(pyro_session *session); /* after the last record; without `lock` */
void pyro_flight_forget(pyro_session *session); /* after it, or in a child: frees its memory */
/* Adds a file to write; needs `lock`. */
bool pyro_flight_add(pyro_session *session, const pyro_flight_job *job);

/* flight_options.c: fills in what is not given. */
void pyro_flight_complete(pyro_recorder_options *options);

/* flight_keep.c */
/* Records that were complete before this time need not be kept; 0: all are needed. Needs `lock`. */
uint64_t pyro_flight_keeps_from(const pyro_session *session, uint64_t now);
/* When the last record began: a program may have been idle since. Needs `lock`. */
uint64_t pyro_flight_last_raw(const pyro_session *session);
/* Notes what later records need of a chunk that is about to be emptied; without `lock`. */
void pyro_flight_drop_chunk(pyro_session *session, const pyro_chunk_header *chunk);

/* flight_save.c: writes one file; without `lock`. */
int pyro_flight_save(pyro_session *session, const pyro_flight_job *job, const char *path,
                     pyro_error *error);
/* flight_signals.c */
void pyro_flight_signals_begin(const int *signals, size_t count, int wake_fd);
/* With `lock`: the program may have replaced a handler. */
void pyro_flight_signals_renew(void);
int pyro_flight_signals_take(void); /* a signal that arrived; 0: none */
void pyro_flight_signal_done(int signal); /* its file is written: ends the process if it must */
void pyro_flight_signals_end(void);
const char *pyro_flight_signal_name(int signal);
int pyro_flight_signal_number(const char *name); /* 0: not a signal that can be a trigger */

/* table_view.c */
/* Adds what was named since `seen` to a reader's view; the texts stay until the session ends. Needs
 * `lock`. */
bool pyro_tables_extend(pyro_recorded_tables *tables, uint32_t *seen, const pyro_session *session);

/* string_tables.c */
uint32_t pyro_data_add(pyro_session *session, uint32_t type, const void *bytes, size_t size);
void pyro_data_thread_name(pyro_session *session, uint32_t thread, const char *name);
bool pyro_data_rewrite(pyro_session *session); /* writes all of it again, into a new file */
uint32_t pyro_table_name(pyro_recorder_thread *thread, const char *text);
uint32_t pyro_table_signature(pyro_recorder_thread *thread, const uint64_t *words, size_t count);
uint32_t pyro_table_storages(pyro_recorder_thread *thread, const uint64_t *words, size_t count);
uint32_t pyro_table_launch(pyro_recorder_thread *thread, const pyro_launch_data *launch);

/* tail.c: without `lock`. */
void pyro_tail_begin(pyro_session *session); /* after the file is open */
void pyro_tail_end(pyro_session *session); /* before it is closed: passes on the rest */
void pyro_tail_forget(void); /* in a child */
bool pyro_tail_is_followed(void); /* steps are to be counted */
void pyro_tail_count_step(pyro_session *session, pyro_flight_mark mark,
                          int64_t duration_ns); /* with `lock` */

/* threads.c */
/* This thread's state, maybe of an earlier session; NULL before its first use. */
extern __thread pyro_recorder_thread *pyro_this_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
pyro_recorder_thread *pyro_thread_current(void);
pyro_recorder_thread *const *pyro_thread_place(void);
/* Called with `control` in a child that has something to record; false: it cannot continue. */
typedef bool (*pyro_fork_continue_fn)(pyro_session *session);
int pyro_threads_prepare(pyro_fork_continue_fn after_fork,
                         pyro_error *error); /* once per process */
void pyro_threads_forget_others(pyro_session *session); /* after a fork */
/*
 * Waits until every thread was seen outside of writing. Call without `lock`. A thread that waits
 * for the recorder holds no record, but still uses the session.
 */
void pyro_threads_quiesce(pyro_session *session, bool waiting_is_quiet);
void pyro_membarrier(void);
bool pyro_membarrier_register(void);

/* device_wait.c: without `lock`. */
uint64_t pyro_device_work_launches(void);
/* Waits until the work of the first `launches` launches is recorded, or will not be. */
void pyro_device_work_wait(uint64_t launches);
/* The same, for at most about a second. */
void pyro_device_work_wait_briefly(uint64_t launches);

/* fork.c */
int pyro_fork_prepare(pyro_error *error); /* once per process */
bool pyro_fork_continue(pyro_session *session); /* a pyro_fork_continue_fn: opens a file */

/* session_open.c */
int pyro_session_open(pyro_session *session, const char *path, bool overwrite, pyro_error *error);
void pyro_session_close(pyro_session *session); /* no thread writes any more */
void pyro_session_begin_tables(pyro_session *session);
void pyro_session_end_tables(pyro_session *session);

/* passes.c */
/* The earliest time that a pass may still need; UINT64_MAX: none. Needs `lock`. */
uint64_t pyro_passes_need_from(const pyro_session *session);
void pyro_passes_stop(pyro_session *session); /* waits for ended passes; without `lock` */
void pyro_passes_forget(pyro_session *session);

/* pass_writer.c */
void *pyro_pass_writer(void *session);
void pyro_pass_job_free(pyro_pass_job *job);

#endif
