/*
 * A trace as columns: one entry per event that is kept, in file order, with interned names and
 * int64 nanoseconds. Readers append; joins and analyses read. Metadata and flows other than
 * forward-backward ones are counted but not kept.
 */
#ifndef PYRO_TRACE_TRACE_H
#define PYRO_TRACE_TRACE_H

#include "base/bytes.h"
#include "base/containers/arena.h"
#include "base/containers/intern.h"
#include "base/containers/map.h"
#include <pyrometer/trace.h>
#include <string.h>

#define PYRO_NO_ID UINT32_MAX
#define PYRO_NO_SEQUENCE INT64_MIN
/* With fewer events a thread costs more than it saves. */
#define PYRO_EVENTS_PER_THREAD 20000

typedef enum pyro_event_category {
    PYRO_EVENT_OP,            /* cpu_op, Operator */
    PYRO_EVENT_ANNOTATION,    /* user_annotation */
    PYRO_EVENT_PYTHON,        /* python_function; layers are "nn.Module: Class_0" */
    PYRO_EVENT_RUNTIME,       /* cuda_runtime, Runtime, hip */
    PYRO_EVENT_DRIVER,        /* cuda_driver */
    PYRO_EVENT_KERNEL,        /* kernel, Kernel */
    PYRO_EVENT_MEMCPY,        /* gpu_memcpy, Memcpy */
    PYRO_EVENT_MEMSET,        /* gpu_memset, Memset */
    PYRO_EVENT_SYNC,          /* cuda_sync: a device-side wait, no work */
    PYRO_EVENT_DEVICE_ANNOTATION, /* gpu_user_annotation */
    PYRO_EVENT_MEMORY,        /* [memory], [OutOfMemory] instants */
    PYRO_EVENT_OVERHEAD,
    PYRO_EVENT_OTHER,         /* complete events of any other category */
    PYRO_EVENT_CATEGORY_COUNT
} pyro_event_category;

static inline bool pyro_event_is_device_work(uint8_t category)
{
    return category == PYRO_EVENT_KERNEL || category == PYRO_EVENT_MEMCPY ||
           category == PYRO_EVENT_MEMSET;
}

static inline bool pyro_event_is_host(uint8_t category)
{
    return category <= PYRO_EVENT_DRIVER || category == PYRO_EVENT_OTHER;
}

/* Bytes of a recording that a trace keeps. */
typedef struct pyro_recorded_data {
    const char *bytes; /* aligned for uint64_t; NULL: missing */
    uint32_t length;
} pyro_recorded_data;

/* Details of an op. */
typedef struct pyro_op_detail {
    int64_t sequence;        /* PYRO_NO_SEQUENCE: none (-1 in the file too) */
    uint32_t forward_thread; /* "Fwd thread id", 0: none or the forward itself */
    uint32_t dims; /* interned text of "Input Dims" as it stands ("[[2, 3], []]"); PYRO_NO_ID */
    uint32_t types; /* interned text of "Input type"; PYRO_NO_ID */
    uint32_t concrete; /* interned text of "Concrete Inputs"; PYRO_NO_ID */
    uint32_t strides; /* interned text of "Input Strides"; PYRO_NO_ID */
    uint32_t stack; /* interned text of "Call stack"; PYRO_NO_ID */
    uint32_t collective; /* index into trace->collectives; PYRO_NO_ID */
    uint32_t extra; /* index into trace->op_extras; PYRO_NO_ID */
} pyro_op_detail;

/* What only our recordings tell of an op or of a layer's call. */
typedef struct pyro_op_extra {
    uint32_t outputs; /* interned text of "Output Dims"; PYRO_NO_ID */
    uint32_t path; /* of a layer's call: its dotted path if known; PYRO_NO_ID */
    uint32_t input_storages, output_storages; /* in trace->storages; 0 none */
} pyro_op_extra;

#define PYRO_NO_EXTRA ((pyro_op_extra){PYRO_NO_ID, PYRO_NO_ID, 0, 0})

#define PYRO_NO_PRIORITY INT32_MIN

/* The hardware queue that work went through; a stream is the program's view of it. */
typedef struct pyro_queue {
    int64_t hsa_queue; /* of ROCm; -1 unknown */
    int32_t channel, channel_type; /* of CUDA; -1 unknown */
} pyro_queue;

typedef struct pyro_kernel_detail {
    uint32_t grid[3], block[3];
    uint32_t registers, shared_memory_bytes;
    float blocks_per_sm, warps_per_sm, occupancy_percent; /* -1 unknown */
    uint64_t graph_node; /* 0: not of a CUDA graph, or a trace without such ids */
    uint32_t graph_id;
    uint32_t collective; /* as above, if the kernel's own args have it; PYRO_NO_ID */
    uint32_t occupancy; /* interned object {"activeBlocksPerMultiprocessor": 2, ...}; PYRO_NO_ID */
    uint32_t stack; /* interned list of the stacks behind a compiled kernel; PYRO_NO_ID */
    int32_t priority; /* of its stream; PYRO_NO_PRIORITY */
    pyro_queue queue;
} pyro_kernel_detail;

/* A wait on the device. */
typedef struct pyro_sync_detail {
    uint32_t kind; /* interned "Stream Wait Event"; PYRO_NO_ID */
    int64_t stream, wait_stream; /* PYRO_NO_STREAM */
    int64_t wait_record; /* correlation of the cudaEventRecord; PYRO_NO_STREAM: not in the file */
} pyro_sync_detail;

#define PYRO_NO_STREAM INT64_MIN

/* A sample of a counter (ph C): one series of it. */
typedef struct pyro_counter_sample {
    uint32_t name, series; /* interned: "SM active", "value" */
    uint16_t track;
    int64_t time_ns;
    double value;
} pyro_counter_sample;

typedef struct pyro_memory_detail {
    int64_t address, bytes; /* bytes < 0: a free */
    int64_t total_allocated, total_reserved; /* -1 unknown */
    int16_t device_type, device_index; /* 0 CPU, 1 CUDA, 20 HIP..., index -1 for CPU */
    bool out_of_memory;
    bool is_held; /* allocated before the first event; it has no op or layer around it */
    uint32_t holder_layer, holder_op; /* of a held block: interned path and name; PYRO_NO_ID */
} pyro_memory_detail;

typedef struct pyro_collective_detail {
    uint32_t name, dtype, group, group_description; /* interned; PYRO_NO_ID */
    int64_t in_elements, out_elements, group_size, rank; /* -1 unknown */
    int64_t number; /* "Seq": of the collective in its group, on all ranks; -1 unknown */
    uint32_t comms_id; /* interned, the same on all ranks of this collective; PYRO_NO_ID */
} pyro_collective_detail;

/* A process and thread, or a device and stream. */
typedef struct pyro_track {
    uint64_t pid, tid; /* a number, or the hash of a text with the top bit set */
    uint32_t name; /* interned thread name; PYRO_NO_ID */
    bool is_device; /* some device event lies on it */
    bool has_work; /* device work lies on it: not a row of synchronisations alone */
    int32_t device; /* of device tracks; -1 */
    int64_t stream;
    uint64_t torch_thread; /* what "Fwd thread id" calls it; 0 unknown */
} pyro_track;

typedef struct pyro_device {
    int64_t id;
    uint32_t name; /* interned: "NVIDIA H200" */
    int64_t total_memory_bytes, multiprocessors, max_threads_per_multiprocessor;
    int compute_major, compute_minor;
} pyro_device;

/* NVIDIA's compute capability times 10: 90 for 9.0. Files can contain any numbers. */
static inline int64_t pyro_device_capability(const pyro_device *device)
{
    return (int64_t)device->compute_major * 10 + device->compute_minor;
}

/* One end of a forward-backward arrow (ph s or f, cat fwdbwd). */
typedef struct pyro_flow {
    uint32_t id;
    uint16_t track;
    bool is_end;
    int64_t time_ns;
} pyro_flow;

typedef struct pyro_trace_note {
    uint32_t key, value; /* interned */
} pyro_trace_note;

struct pyro_trace {
    pyro_arena arena;
    pyro_intern names; /* every interned text */
    const char *file;
    int64_t file_bytes, file_events;

    size_t count, capacity; /* of the columns */
    int64_t *start_ns, *duration_ns;
    uint32_t *name;
    uint32_t *correlation; /* 0: none; ids over 32 bits are renumbered */
    uint32_t *external_id; /* 0: none */
    uint32_t *detail; /* index into the side table of its category; PYRO_NO_ID */
    uint16_t *track;
    uint8_t *category; /* pyro_event_category */

    pyro_op_detail *ops; /* of OP events, and of others with such details */
    size_t op_count, op_capacity;
    pyro_op_extra *op_extras;
    size_t op_extra_count, op_extra_capacity;
    pyro_kernel_detail *kernels; /* of KERNEL events */
    size_t kernel_count, kernel_capacity;
    int64_t *transfer_bytes; /* of MEMCPY and MEMSET events; -1 unknown */
    size_t transfer_count, transfer_capacity;
    pyro_sync_detail *syncs; /* of SYNC events */
    size_t sync_count, sync_capacity;
    pyro_counter_sample *counters; /* in file order */
    size_t counter_count, counter_capacity;
    pyro_memory_detail *memory; /* of MEMORY events */
    size_t memory_count, memory_capacity;
    pyro_collective_detail *collectives;
    size_t collective_count, collective_capacity;
    pyro_flow *flows;
    size_t flow_count, flow_capacity;

    pyro_track *tracks;
    size_t track_count, track_capacity;
    pyro_device *devices;
    size_t device_count, device_capacity;

    int64_t base_time_ns; /* start_ns + this is wall clock; 0 when start_ns is absolute */
    int64_t rank, world_size; /* -1 unknown */
    uint32_t backend; /* interned "nccl"; PYRO_NO_ID */
    uint32_t host; /* interned name of the machine; PYRO_NO_ID */
    /* Of the runtime library, as it numbers them: 13000 is CUDA 13.0, 60443483 is HIP 6.4; 0. */
    int64_t cuda_version, hip_version;
    bool has_shapes, has_stacks, has_memory;
    const pyro_recorded_data *storages, *weights; /* by id from 1, of recordings that have them */
    size_t storage_count, weight_count; /* including the empty entry 0 */
    /* Of device work that a graph replays: the host event that was open when it was captured. */
    pyro_map origins;
    bool is_recording; /* read from a pyrometer recording */
    bool is_alone; /* files beside it are not looked for */
    bool has_frame_lists; /* stacks were lists in the file, as our writer writes them */
    bool has_paths; /* the trace contains the layers' paths */

    pyro_trace_note *notes; /* a recording's facts about its program */
    size_t note_count, note_capacity;

    const char **warnings;
    size_t warning_count, warning_capacity;
};

/* An empty trace for a file of this name; NULL when memory is out. */
pyro_trace *pyro_trace_new(const char *file);
/* Frees the columns and side tables, not the texts. */
void pyro_trace_free_rows(pyro_trace *trace);
/* Frees the memory of rows that are only reserved; false when memory is out. */
bool pyro_trace_trim(pyro_trace *trace);
/* Reserves this many rows in all columns; false when memory is out. */
bool pyro_trace_reserve(pyro_trace *trace, size_t rows);
/* Reserves this many details of ops in large pages, unless the trace has some; false when memory is
 * out. */
bool pyro_trace_reserve_ops(pyro_trace *trace, size_t ops);

/* Adds it, unless it says nothing or the same as the last one; false when memory is out. */
bool pyro_trace_add_op_extra(pyro_trace *trace, const pyro_op_extra *extra, uint32_t *index);
static inline pyro_op_extra pyro_trace_op_extra(const pyro_trace *trace, const pyro_op_detail *op)
{
    return op->extra == PYRO_NO_ID ? PYRO_NO_EXTRA : trace->op_extras[op->extra];
}

/* Notes that code reads: what could not be recorded; where ops are, or "missing". */
#define PYRO_NOTE_MISSING "missing"
#define PYRO_MISSING_STORAGES \
    "identities of tensors" /* part of it; _capture/torch_profiler.py writes it */
#define PYRO_NOTE_OPS "ops"
#define PYRO_NOTE_OPS_BESIDE "torch.profiler" /* in the file next to the recording */

/* Sets a note; false when memory is out. */
bool pyro_trace_property(pyro_trace *trace, const char *key, const char *value);
/* The note's value; "" without one. */
const char *pyro_trace_note_text(const pyro_trace *trace, const char *key);

/* Whether pyrometer recorded it, even if it was converted to Chrome JSON since. */
static inline bool pyro_trace_is_captured(const pyro_trace *trace)
{
    return trace->is_recording || trace->note_count > 0;
}

/* Whether ops were requested but could not be recorded. */
bool pyro_trace_lacks_ops(const pyro_trace *trace);

static inline const char *pyro_trace_text(const pyro_trace *trace, uint32_t id)
{
    return id == PYRO_NO_ID ? "" : pyro_intern_text(&trace->names, id);
}

static inline const char *pyro_event_name(const pyro_trace *trace, size_t event)
{
    return pyro_trace_text(trace, trace->name[event]);
}

/* The first event of a category at or after an index; the number of events: not found. Finds rare
 * categories much faster than a look at every event. */
static inline size_t pyro_trace_next(const pyro_trace *trace, size_t from, uint8_t category)
{
    const uint8_t *found = from < trace->count
                               ? memchr(trace->category + from, category, trace->count - from)
                               : NULL;
    return found ? (size_t)(found - trace->category) : trace->count;
}

/* The same for all categories from `first` to `last`. Most events of a trace with stacks are frames, so
 * it looks at eight events at once. */
static inline size_t pyro_trace_next_of(const pyro_trace *trace, size_t from, uint8_t first,
                                        uint8_t last)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), top_bits = ones << 7;
    const uint8_t *category = trace->category;
    for (uint64_t eight; from + sizeof eight <= trace->count; from += sizeof eight) {
        eight = pyro_le64(category + from);
        /* These sums set a byte's top bit from `first` on, and behind `last`. Categories are small
         * numbers: no byte carries into the next one. */
        uint64_t reached = eight + ones * (0x80u - first), passed = eight + ones * (0x7fu - last);
        uint64_t found = reached & ~passed & top_bits;
        if (found)
            return from + (size_t)__builtin_ctzll(found) / 8;
    }
    while (from < trace->count && (uint8_t)(category[from] - first) > last - first)
        from++;
    return from;
}

/* The next device work. */
static inline size_t pyro_trace_next_work(const pyro_trace *trace, size_t from)
{
    return pyro_trace_next_of(trace, from, PYRO_EVENT_KERNEL, PYRO_EVENT_MEMSET);
}

/* The next call of a runtime or driver. */
static inline size_t pyro_trace_next_call(const pyro_trace *trace, size_t from)
{
    return pyro_trace_next_of(trace, from, PYRO_EVENT_RUNTIME, PYRO_EVENT_DRIVER);
}

/* The next op; pyro_trace_next() is for what is rare. */
static inline size_t pyro_trace_next_op(const pyro_trace *trace, size_t from)
{
    return pyro_trace_next_of(trace, from, PYRO_EVENT_OP, PYRO_EVENT_OP);
}

static inline int64_t pyro_event_end_ns(const pyro_trace *trace, size_t event)
{
    return trace->start_ns[event] + trace->duration_ns[event];
}

#endif
