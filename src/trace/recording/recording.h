/*
 * Reads our own recordings: file.c reads the file, rows.c turns records into rows of a trace,
 * text.c turns what they name into texts, memory.c and layers.c finish what needs all records. The
 * recorder feeds the same code from memory when it writes passes.
 */
#ifndef PYRO_TRACE_RECORDING_RECORDING_H
#define PYRO_TRACE_RECORDING_RECORDING_H

#include "base/containers/buf.h"
#include "base/containers/map.h"
#include "base/source/source.h"
#include "trace/trace.h"
#include <pyrometer/recording.h>

#define PYRO_RECORDING_TYPES (PYRO_DATA_DEVICE + 1)

/* What records refer to, by type and id; entry 0 is empty. */
typedef struct pyro_recorded_tables {
    pyro_recorded_data *entries[PYRO_RECORDING_TYPES];
    size_t counts[PYRO_RECORDING_TYPES], capacities[PYRO_RECORDING_TYPES];
} pyro_recorded_tables;

bool pyro_recorded_put(pyro_recorded_tables *tables, uint32_t type, uint32_t id, const char *bytes,
                       uint32_t length);
void pyro_recorded_free(pyro_recorded_tables *tables);

static inline const pyro_recorded_data *pyro_recorded_get(const pyro_recorded_tables *tables,
                                                          uint32_t type, uint32_t id)
{
    static const pyro_recorded_data none;
    return id < tables->counts[type] ? &tables->entries[type][id] : &none;
}

/* The texts of one signature, made on first use. */
typedef struct pyro_signature_texts {
    uint32_t dims, types, concrete;
    bool known;
} pyro_signature_texts;

/* An open span of a thread, around the records that follow. */
typedef struct pyro_recorded_span {
    uint32_t row;
    uint64_t end_raw; /* 0: not ended */
} pyro_recorded_span;

typedef struct pyro_recorded_thread {
    uint32_t number;
    uint16_t track;
    uint64_t last_raw;
    pyro_recorded_span *spans;
    size_t depth, capacity;
} pyro_recorded_thread;

/* A call of a layer; its path is known only after all roots are. */
typedef struct pyro_recorded_call {
    uint32_t row, module;
    uint32_t dims; /* text of what it was given; PYRO_NO_ID */
} pyro_recorded_call;

/* A block that was allocated before the first record; its layer gets its path with the others. */
typedef struct pyro_recorded_block {
    uint32_t detail, module;
} pyro_recorded_block;

/* A span without an end; it gets the end of the span around it. */
typedef struct pyro_unfinished {
    uint32_t row, around; /* PYRO_NO_EVENT */
    uint32_t thread;
} pyro_unfinished;

/* A time of a thread that belongs to another pass. */
typedef struct pyro_foreign_span {
    uint32_t thread;
    uint64_t begin_raw, end_raw;
} pyro_foreign_span;

/* A node of a graph, and the span that was open when it was created. */
typedef struct pyro_recorded_node {
    uint64_t node, original; /* original 0: created */
    uint32_t row;            /* PYRO_NO_EVENT: none, or outside of what is read */
} pyro_recorded_node;

/* Device work and its calls, until all records are read: work may come before its call. */
typedef struct pyro_recorded_work {
    pyro_device_record *items;
    size_t count, capacity;
    pyro_map calls; /* correlation -> row, or PYRO_CALL_OUTSIDE */
    pyro_recorded_node *nodes;
    size_t node_count, node_capacity;
    pyro_map origins;      /* layer and op of nodes from before the recording -> row */
    uint32_t *launches;    /* correlations of calls that must have started kernels */
    size_t launch_count, launch_capacity;
    size_t missing;        /* launches without kernels, as far as those should be there */
} pyro_recorded_work;

typedef struct pyro_recording {
    pyro_trace *trace;
    const pyro_recorded_tables *tables;
    pyro_recording_header header;
    uint64_t from_raw, to_raw; /* only records that start in between */
    uint32_t pass_thread; /* of a pass: paths begin at the first layer it calls; 0: not a pass */
    const pyro_foreign_span *foreign; /* and outside all of these */
    size_t foreign_count;
    uint32_t flags;            /* PYRO_RECORD_*: which records become rows */
    bool is_saved;             /* by a trigger: spans that are open belong to it, however old */
    double ns_per_raw;
    pyro_error *error;

    uint32_t *names;  /* trace's id of each name; PYRO_NO_ID: not looked up */
    uint32_t *stacks; /* the same */
    pyro_signature_texts *signatures;
    uint32_t memory_name, out_of_memory_name;
    pyro_map tracks, thread_index; /* thread's number -> threads[] */
    pyro_recorded_thread *threads;
    size_t thread_count, thread_capacity;
    pyro_recorded_call *calls;
    size_t call_count, call_capacity;
    pyro_recorded_block *blocks;
    size_t block_count, block_capacity;
    pyro_unfinished *unfinished;
    size_t unfinished_count, unfinished_capacity;
    uint64_t last_raw;
    int64_t damaged_records;
    pyro_recorded_work work;
} pyro_recording;

/* `trace` and `tables` must outlive it. The window is everything unless it is set. */
int pyro_recording_begin(pyro_recording *recording, pyro_trace *trace,
                         const pyro_recording_header *header, const pyro_recorded_tables *tables,
                         pyro_error *error);
/* Adds the records of a chunk; chunks come in the order in which they were taken. */
int pyro_recording_add(pyro_recording *recording, const pyro_chunk_header *chunk,
                       const pyro_record *records, size_t count);
int pyro_recording_finish(pyro_recording *recording);
/* Turns the recording's properties into notes of the trace. */
int pyro_recording_properties(pyro_recording *recording);
void pyro_recording_free(pyro_recording *recording);

/* Nanoseconds since the start of the recording; bounded, so that differences cannot overflow. */
#define PYRO_LONGEST_RECORDED_NS (INT64_C(1) << 60)
static inline int64_t pyro_recording_time_ns(const pyro_recording *recording, uint64_t raw)
{
    uint64_t first = recording->header.first.raw;
    bool before = raw < first;
    double ns = (double)(before ? first - raw : raw - first) * recording->ns_per_raw;
    int64_t whole = ns < (double)PYRO_LONGEST_RECORDED_NS ? (int64_t)(ns + 0.5)
                                                          : PYRO_LONGEST_RECORDED_NS;
    return before ? -whole : whole;
}

/* text.c: adds the texts of a signature. */
void pyro_recorded_signature(const pyro_recorded_data *data, pyro_buf *dims, pyro_buf *types,
                             pyro_buf *concrete);
/* Ids of texts in the trace; PYRO_NO_ID for no text, *failed when memory is out. */
uint32_t pyro_recording_name(pyro_recording *recording, uint32_t id, bool *failed);
uint32_t pyro_recording_stack(pyro_recording *recording, uint32_t id, bool *failed);
const pyro_signature_texts *pyro_recording_signature(pyro_recording *recording, uint32_t id,
                                                     bool *failed);

/* memory.c: gives frees the size of what they free, and sums totals. */
int pyro_recording_join_memory(pyro_recording *recording);
/* device_rows.c: keeps device work, and makes rows of it when its calls are known. */
#define PYRO_CALL_OUTSIDE (UINT32_MAX - 1) /* the call is not in the part that is read */
bool pyro_recorded_work_add(pyro_recorded_work *work, const pyro_record *record);
bool pyro_recorded_work_call(pyro_recorded_work *work, const pyro_record *record, uint32_t row);
bool pyro_recorded_work_node(pyro_recorded_work *work, const pyro_record *record, uint32_t row);
int pyro_recording_place_work(pyro_recording *recording);
void pyro_recorded_work_free(pyro_recorded_work *work);
/* counters.c: adds a sample of a counter; false when memory is out. */
bool pyro_recording_counter(pyro_recording *recording, const pyro_record *record);
/* layers.c: names and paths of the layers that were called. */
int pyro_recording_name_layers(pyro_recording *recording);

/* file.c: reads a source that begins with the magic bytes: all, or its last `last_ns` if not 0. */
bool pyro_recording_recognise(const unsigned char *head, size_t size);
int pyro_recording_read(pyro_trace *trace, pyro_source *source, int64_t last_ns, pyro_error *error);

#endif
