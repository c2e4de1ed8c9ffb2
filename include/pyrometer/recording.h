/*
 * The binary layout of a recording (.pyro); docs/reference/recording-format.md explains it.
 * Little-endian. A file is a header and chunks of equal size; a chunk belongs to one thread
 * (records) or to all (data: names, shapes, stacks, modules). Committed records are readable while
 * the file is being written and after its writer was killed.
 */
#ifndef PYROMETER_RECORDING_H
#define PYROMETER_RECORDING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYRO_RECORDING_MAGIC "PYROREC1"
#define PYRO_RECORDING_VERSION 1
#define PYRO_RECORDING_HEADER_BYTES 4096
#define PYRO_RECORDING_CHUNK_BYTES (256 * 1024)
#define PYRO_RECORDING_RECORD_BYTES 64

/* Whether the recording is complete, or why it ended. */
typedef enum pyro_recording_state {
    PYRO_RECORDING_RUNNING = 0, /* or its process was killed */
    PYRO_RECORDING_CLOSED = 1,
    PYRO_RECORDING_FULL = 2,      /* max_bytes was reached; later records count as lost */
    PYRO_RECORDING_DISK_FULL = 3, /* the file system was full; later records count as lost */
} pyro_recording_state;

/* What is recorded; bits of pyro_recording_header.flags and of the recorder's options. */
enum {
    PYRO_RECORD_LAYERS = 1 << 0,
    PYRO_RECORD_OPS = 1 << 1,
    PYRO_RECORD_SHAPES = 1 << 2, /* of inputs */
    PYRO_RECORD_MEMORY = 1 << 3,
    PYRO_RECORD_STACKS = 1 << 4,
    PYRO_RECORD_STORAGES = 1 << 5, /* identities of input and output tensors, and weights */
    PYRO_RECORD_OUTPUTS = 1 << 6, /* shapes of outputs */
    PYRO_RECORD_DEVICES = 1 << 7, /* work of devices, and the calls that start it */
};

/* Simultaneous readings of the fast counter and the monotonic clock. Two define the conversion. */
typedef struct pyro_recording_clock {
    uint64_t raw;
    int64_t monotonic_ns;
} pyro_recording_clock;

/* The first page of a file. */
typedef struct pyro_recording_header {
    char magic[8]; /* written last */
    uint32_t version, header_bytes, chunk_bytes, record_bytes;
    uint32_t flags, state;
    int64_t process, parent_process;
    int64_t start_realtime_ns; /* of the first clock reading */
    double raw_per_ns; /* updated together with `last`; readers convert times with it */
    pyro_recording_clock first, last; /* `last` is updated from time to time */
    uint64_t chunk_count; /* capacity of the file in chunks */
    uint64_t max_bytes; /* 0: no limit */
    uint64_t dropped_chunks; /* with --keep-last: chunks overwritten since the start */
    uint64_t lost_records; /* records that could not be written */
    uint64_t dropped_until_raw; /* dropped chunks hold nothing of later than this */
    uint64_t reserved[15];
} pyro_recording_header;

enum { PYRO_CHUNK_FREE = 0, PYRO_CHUNK_RECORDS = 1, PYRO_CHUNK_DATA = 2 };

/* The first 64 bytes of a chunk. */
typedef struct pyro_chunk_header {
    uint64_t sequence; /* unique, from 1 in the order of use. Written last. */
    uint32_t kind; /* 0 while the chunk changes its owner */
    uint32_t thread; /* the recording's number of the thread, from 1 */
    int64_t system_thread;
    uint64_t first_raw;
    uint64_t reserved[4];
} pyro_chunk_header;

typedef enum pyro_record_kind {
    PYRO_RECORD_NONE = 0,
    PYRO_RECORD_OP = 1, /* any at::RecordFunction; `scope` is its kind */
    PYRO_RECORD_LAYER = 2, /* a call of nn.Module._call_impl */
    PYRO_RECORD_ALLOCATION = 3, /* pyro_memory_record */
    PYRO_RECORD_MARK = 4, /* an instant or a span that the user named */
    PYRO_RECORD_DEVICE = 5, /* pyro_device_record */
    /* The rest of this chunk belongs to thread number `name`, whose system id is `sequence`: the
     * chunk's first thread ended and left space. */
    PYRO_RECORD_THREAD = 7,
    /* A call of a device's API; `sequence` is its correlation, `scope` has bits as below. */
    PYRO_RECORD_CALL = 8,
    PYRO_RECORD_GRAPH_NODE = 9, /* pyro_graph_node_record */
    PYRO_RECORD_STEP = 10, /* a step, written at its end; `sequence` is its number */
    PYRO_RECORD_HELD = 11, /* pyro_held_record */
    PYRO_RECORD_COUNTER = 12, /* pyro_counter_record */
} pyro_record_kind;

/* Bits of the scope of a call. */
enum {
    PYRO_CALL_IS_RUNTIME = 1, /* of the runtime API, else of the driver API */
    PYRO_CALL_STARTS_KERNELS = 2
};

/* Bits of pyro_record.notes. */
enum {
    PYRO_NOTE_RAISED = 1, /* ended by an exception */
    PYRO_NOTE_ELSEWHERE = 2, /* ended on another thread */
    PYRO_NOTE_CAPTURED = 4 /* of a call: added to a graph, not executed */
};

/* A span. It is written at its start; `end_raw` and what is known at the end are added then. */
typedef struct pyro_record {
    uint64_t start_raw;
    uint64_t end_raw; /* 0 while it runs; stays 0 if the process is killed */
    int64_t sequence; /* of ops: autograd's sequence number; -1: none */
    uint32_t name; /* PYRO_DATA_NAME; of layers PYRO_DATA_MODULE */
    uint32_t inputs, outputs; /* PYRO_DATA_SIGNATURE; 0: none. `outputs` is written at the end. */
    uint32_t stack; /* PYRO_DATA_STACK; 0: none */
    uint32_t forward_thread; /* of backward ops: torch's number of the forward thread */
    uint32_t torch_thread; /* of ops: torch's number of this thread */
    uint32_t input_storages, output_storages; /* PYRO_DATA_STORAGES; 0: none */
    uint8_t kind; /* pyro_record_kind */
    uint8_t scope; /* at::RecordScope */
    uint8_t notes;
    uint8_t reserved;
    uint32_t tag; /* low half of the chunk's sequence. Written last: it commits the record. */
} pyro_record;

/* An allocation or a free, in the space of a record. */
typedef struct pyro_memory_record {
    uint64_t start_raw;
    uint64_t address;
    int64_t bytes; /* negative: a free; INT64_MIN: a free of unknown size */
    int64_t total_allocated, total_reserved; /* -1 unknown */
    int16_t device_type, device_index; /* c10's numbers */
    uint32_t stack;
    uint64_t reserved;
    uint8_t kind; /* PYRO_RECORD_ALLOCATION */
    uint8_t out_of_memory;
    uint8_t padding[2];
    uint32_t tag;
} pyro_memory_record;

/* A block that was allocated before the first record of the file and is live there. */
typedef struct pyro_held_record {
    uint64_t start_raw; /* when it was allocated */
    uint64_t address;
    int64_t bytes;
    uint32_t module; /* PYRO_DATA_MODULE: the layer that allocated it; 0: none */
    uint32_t op; /* PYRO_DATA_NAME; 0: none */
    int16_t device_type, device_index; /* c10's numbers */
    uint32_t reserved[5];
    uint8_t kind; /* PYRO_RECORD_HELD */
    uint8_t padding[3];
    uint32_t tag;
} pyro_held_record;

typedef enum pyro_device_record_kind {
    PYRO_DEVICE_KERNEL = 1,
    PYRO_DEVICE_COPY = 2,
    PYRO_DEVICE_SET = 3,
    PYRO_DEVICE_SYNC = 4, /* a wait for a device */
    PYRO_DEVICE_OVERHEAD = 5 /* time that collecting cost */
} pyro_device_record_kind;

#define PYRO_DEVICE_NO_STREAM UINT32_MAX

/* Work of a device, in the space of a record. It is written after it has ended, on a thread of the
 * recorder, with times on the raw clock. */
typedef struct pyro_device_record {
    uint64_t start_raw, end_raw;
    uint64_t graph_node; /* 0: not started by a graph */
    int64_t bytes; /* of copies and memsets */
    uint32_t name; /* PYRO_DATA_NAME */
    uint32_t correlation; /* that of the call that started it; 0: none */
    uint32_t stream; /* PYRO_DEVICE_NO_STREAM: of all streams */
    uint32_t graph; /* 0: not started by a graph */
    uint32_t launch; /* PYRO_DATA_LAUNCH; 0: not a kernel */
    uint32_t duration_ns; /* exact; 0: unknown or longer, see end_raw */
    uint8_t kind; /* PYRO_RECORD_DEVICE */
    uint8_t work; /* pyro_device_record_kind */
    uint16_t device;
    uint32_t tag;
} pyro_device_record;

/* A node of a graph was created inside the call around it, or cloned from another one. */
typedef struct pyro_graph_node_record {
    uint64_t start_raw;
    uint64_t node, original; /* original 0: created */
    /* Of a node that was created before the first record of the file: the layer and op around it
     * (PYRO_DATA_MODULE, PYRO_DATA_NAME); 0: see the records around this one. */
    uint32_t module, op;
    uint64_t reserved[3];
    uint8_t kind; /* PYRO_RECORD_GRAPH_NODE */
    uint8_t padding[3];
    uint32_t tag;
} pyro_graph_node_record;

#define PYRO_COUNTER_VALUES 5

/* A sample of a counter of a device, in the space of a record. Its name consists of lines: the
 * counter, then a series per value. */
typedef struct pyro_counter_record {
    uint64_t start_raw;
    double values[PYRO_COUNTER_VALUES]; /* NaN: unknown */
    uint32_t name; /* PYRO_DATA_NAME */
    uint16_t device;
    uint8_t count; /* of values */
    uint8_t reserved;
    uint8_t kind; /* PYRO_RECORD_COUNTER */
    uint8_t padding[3];
    uint32_t tag;
} pyro_counter_record;

typedef enum pyro_data_type {
    PYRO_DATA_NAME = 1, /* UTF-8 text */
    PYRO_DATA_SIGNATURE = 2, /* words as below: the inputs or outputs of an op */
    PYRO_DATA_FRAME = 3, /* UTF-8 "file.py(12): function" */
    /* uint32_t: id of the enclosing stack (0: none), then ids of frames, outermost first */
    PYRO_DATA_STACK = 4,
    PYRO_DATA_MODULE = 5, /* pyro_module_data, then dotted path and class, each ended by 0 */
    PYRO_DATA_STORAGES = 6, /* words as below: the input or output tensors of an op */
    PYRO_DATA_PROPERTY = 7, /* "key" 0 "value" 0: the program, versions, rank, host, device */
    PYRO_DATA_THREAD = 8, /* id is the thread's number; UTF-8 name */
    PYRO_DATA_WEIGHT = 9, /* pyro_weight_data, then the dotted name, ended by 0 */
    PYRO_DATA_LAUNCH = 10, /* pyro_launch_data: the configuration of a kernel */
    PYRO_DATA_DEVICE = 11, /* pyro_device_data, then the name, ended by 0 */
} pyro_data_type;

/* A property with a raw time in decimal digits: readers skip records that start before it. */
#define PYRO_PROPERTY_DISCARDED "discarded_until"

/* Properties of a file that a trigger saved: the trigger, a line about it, and the raw times of what
 * it is about ("begin end"). */
#define PYRO_PROPERTY_TRIGGER "trigger"
#define PYRO_PROPERTY_TRIGGER_TEXT "trigger_text"
#define PYRO_PROPERTY_TRIGGER_SPAN "trigger_span"

/* Entries follow each other in data chunks, each padded to 16 bytes. Ids count from 1 per type, and
 * an entry is written before the first record that refers to it. */
typedef struct pyro_data_entry {
    uint32_t bytes; /* of the data that follows, without padding */
    uint32_t id;
    uint32_t type;
    uint32_t tag; /* low half of the chunk's sequence, written last */
} pyro_data_entry;

typedef struct pyro_module_data {
    uint32_t root; /* id of the module that the path starts at; its own id for a root */
    uint32_t instance; /* unique per module object: equal for all paths of a shared module */
    uint64_t parameters, parameter_bytes; /* with descendants, each once; UINT64_MAX unknown */
} pyro_module_data;

typedef struct pyro_launch_data {
    uint32_t grid[3], block[3];
    uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
    uint32_t reserved;
} pyro_launch_data;

typedef struct pyro_device_data {
    int64_t total_memory_bytes;
    uint32_t device; /* its number in the program */
    uint32_t multiprocessors, max_threads_per_multiprocessor;
    uint32_t compute_major, compute_minor;
    uint32_t reserved;
} pyro_device_data;

/* Properties: the largest error of the times of device work; records that were dropped. */
#define PYRO_PROPERTY_DEVICE_CLOCK_ERROR "device_clock_error_ns"
#define PYRO_PROPERTY_DEVICE_DROPPED "device_records_dropped"
/* What the samples of power are: "instant", or "mean of 1 s"; with a MIG instance, "of the whole
 * GPU" follows. */
#define PYRO_PROPERTY_GPU_POWER "gpu_power_sensor"

typedef enum pyro_weight_kind {
    PYRO_WEIGHT_IS_PARAMETER = 0,
    PYRO_WEIGHT_IS_BUFFER = 1,
    PYRO_WEIGHT_IS_INPUT = 2, /* an input of the model */
    PYRO_WEIGHT_IS_LEAVING = 3 /* a tensor passed out of torch; its name is that of the call */
} pyro_weight_kind;

/* With PYRO_RECORD_STORAGES: a tensor that existed before the ops, or one that leaves torch. */
typedef struct pyro_weight_data {
    uint64_t tensor, storage; /* as the words of storages have them */
    uint64_t begin; /* its first byte in the storage */
    uint64_t values, bytes;
    uint32_t kind;
    uint32_t reserved;
} pyro_weight_data;

/*
 * Words of storages: per tensor PYRO_STORAGE_WORDS words, then its sizes:
 *   tensor, storage      identify the tensor object and its memory; numbers are not reused, except
 *                        for two cases (docs/reference/recording-format.md)
 *   version              number of in-place writes to the memory; UINT64_MAX unknown
 *   begin, end           its bytes in the storage; both UINT64_MAX if unknown
 *   head                 dtype (c10::ScalarType) | flags, as below | count of sizes << 32
 */
#define PYRO_STORAGE_WORDS 6

/* Flags in the head of a tensor's words. */
enum {
    PYRO_STORAGE_DENSE = 1 << 8, /* every byte from begin to end is the tensor's */
    PYRO_STORAGE_STRIDED = 1 << 9, /* as many strides as sizes follow the sizes, in elements */
    PYRO_STORAGE_WRITTEN = 1 << 10, /* the op's schema says that it writes to it */
    PYRO_STORAGE_FOREIGN = 1 << 11, /* torch did not allocate the memory: from_numpy, DLPack */
};

/*
 * Words of a signature: per value one head, then the words that its kind needs.
 * head = what | dtype << 8 (c10::ScalarType) | device << 16 (c10::DeviceType) | count << 32
 */
typedef enum pyro_value_kind {
    PYRO_VALUE_NONE = 0, /* None or an undefined tensor */
    PYRO_VALUE_TENSOR = 1, /* `count` sizes follow */
    PYRO_VALUE_INTEGER = 2, /* one word */
    PYRO_VALUE_REAL = 3, /* one word, the bits of a double */
    PYRO_VALUE_BOOLEAN = 4, /* one word */
    PYRO_VALUE_LIST = 5, /* `count` values follow, each with its head */
    PYRO_VALUE_OTHER = 6, /* nothing follows: text, generators, symbolic or nested tensors... */
    PYRO_VALUE_CUT = 7, /* too long: the rest is missing */
} pyro_value_kind;

#define PYRO_SIGNATURE_MOST_WORDS 2048

#ifdef __cplusplus
}
#endif
#endif
