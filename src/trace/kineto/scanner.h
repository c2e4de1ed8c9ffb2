/*
 * The Kineto reader's inside: the scanner that turns one event's bytes into a row of the trace's
 * columns, and what feeds it. It works on windows padded as base/json/scan.h wants them.
 */
#ifndef PYRO_TRACE_KINETO_SCANNER_H
#define PYRO_TRACE_KINETO_SCANNER_H

#include "base/containers/buf.h"
#include "base/json/window.h"
#include "trace/kineto/defects.h"
#include "trace/kineto/key_order.h"

#define PYRO_KINETO_MAX_EVENT_BYTES ((size_t)64 << 20)
#define PYRO_KINETO_MAX_TEXT_BYTES ((size_t)1 << 20)

/* Events whose args are alike; also the bits of kineto_fields.def. */
enum {
    PYRO_GROUP_HOST,
    PYRO_GROUP_RUNTIME,
    PYRO_GROUP_KERNEL,
    PYRO_GROUP_TRANSFER, /* copies, memsets, synchronisations, annotations on the device */
    PYRO_GROUP_MEMORY,
    PYRO_GROUP_METADATA, /* and events whose category is not known yet */
    PYRO_GROUP_NONE,     /* nothing in their args is read */
    PYRO_GROUP_COUNT
};

enum {
#define F(name, key, kind, groups) PYRO_FIELD_##name,
#define A(name, key)
#include "trace/kineto/fields.def"
#undef F
#undef A
    PYRO_FIELD_COUNT
};

/* Categories beyond pyro_event_category that only the reader tells apart. */
enum {
    PYRO_KINETO_FORWARD_BACKWARD = PYRO_EVENT_CATEGORY_COUNT, /* flow, fwdbwd */
    PYRO_KINETO_OTHER_FLOW,
    PYRO_KINETO_INSTANT,
    PYRO_KINETO_LAYER, /* a call of a layer with its path, as our own writer puts it */
    PYRO_KINETO_UNKNOWN /* no category yet */
};

/* Keys of an event. */
enum {
    /* Values that seldom change are learned together with their keys. */
    PYRO_KEY_PHASE,
    PYRO_KEY_CATEGORY,
    PYRO_KEY_PROCESS,
    PYRO_KEY_THREAD,
    PYRO_KEY_LAST_STEADY = PYRO_KEY_THREAD,
    PYRO_KEY_START,
    PYRO_KEY_NAME,
    PYRO_KEY_TIME,
    PYRO_KEY_DURATION,
    PYRO_KEY_ARGS,
    PYRO_KEY_ID,
    PYRO_KEY_OTHER,
    PYRO_KEY_END,
    PYRO_KEY_COUNT
};

/* Keys within args: fields, then those that are passed over, in the order they were met. */
#define PYRO_KINETO_ARG_COUNT 112
#define PYRO_KINETO_ARG_OTHER \
    (PYRO_KINETO_ARG_COUNT - 1) /* when there are too many to tell apart */
#define PYRO_KINETO_ARG_NAME_BYTES 32

/* What is done with a value. */
enum {
    PYRO_ACTION_SKIP,
    PYRO_ACTION_SKIP_NESTED,
    PYRO_ACTION_END, /* there is none, the event ended */
    PYRO_ACTION_NAME,
    PYRO_ACTION_TIME,
    PYRO_ACTION_DURATION,
    PYRO_ACTION_ID,
    PYRO_ACTION_STEADY,
    PYRO_ACTION_INTEGER,
    PYRO_ACTION_REAL,
    PYRO_ACTION_TEXT,
    PYRO_ACTION_LIST,
    PYRO_ACTION_TRIPLE
};

/* States of the learned order: the value that was read last, which may be one of args. */
#define PYRO_GROUP_STATES (PYRO_KEY_COUNT + PYRO_KINETO_ARG_COUNT)
#define PYRO_STATES (PYRO_GROUP_COUNT * PYRO_GROUP_STATES)

typedef struct pyro_kineto_event {
    int64_t start_ns, duration_ns;
    uint64_t process, thread, id; /* as pyro_track has them */
    int64_t thread_number;        /* digits at the end of a thread that is a text; -1 */
    uint32_t name;                /* PYRO_NO_ID: none */
    uint32_t defects;             /* bits of pyro_kineto_defect */
    char phase;                   /* 0: none */
    uint8_t category;
    bool has_start, has_duration, has_id;
    char
        named; /* of a process: 'c', 'g' for "CPU functions", "CUDA functions" of the legacy exporter */
    uint64_t present; /* a bit a field of args that was read */
    int64_t number[PYRO_FIELD_COUNT]; /* integers and ids of texts */
    float real[PYRO_FIELD_COUNT];
    uint32_t grid[3], block[3];
} pyro_kineto_event;

/* An id that does not fit into 32 bits; it gets a small one when all are known. */
typedef struct pyro_wide_id {
    enum { PYRO_WIDE_CORRELATION, PYRO_WIDE_EXTERNAL, PYRO_WIDE_FLOW } kind;
    uint32_t index; /* of the event or flow */
    uint64_t id;
} pyro_wide_id;

typedef struct pyro_thread_name {
    uint64_t process, thread;
    uint32_t name;
} pyro_thread_name;

/* Slots of guesses at texts: what followed the same context last time; a power of two. */
#define PYRO_GUESS_SLOTS 16384

typedef struct pyro_kineto_scanner {
    pyro_trace *out; /* rows go here */
    pyro_intern *names; /* where texts go */
    const char *end; /* of the window that is scanned */
    const char *first_key; /* of events, with its quotes */
    bool failed; /* an event could not be read */
    bool damaged; /* because it is damaged: else more bytes are needed */
    bool fraction_is_ns; /* "1.5" is 1 us and 5 ns: an exporter of 2024 did not pad it */
    bool no_memory;
    pyro_kineto_event event;
    pyro_kineto_defects defects;
    pyro_buf scratch;

    pyro_key_steps states[PYRO_STATES];
    pyro_key_step *steps; /* PYRO_KEY_STEPS of them */
    pyro_key_step categories[PYRO_GROUP_COUNT]; /* stand for categories that are no part of steps */
    pyro_key_step start; /* stands for the end of an event before the first */
    pyro_key_step unlearned; /* the one at hand when it was not learned */
    pyro_key_step *last_end; /* with which the last event ended */
    size_t step_count;
    char arg_names[PYRO_KINETO_ARG_COUNT]
                  [PYRO_KINETO_ARG_NAME_BYTES]; /* of those that are no fields */
    unsigned arg_count;
    uint32_t guesses[PYRO_GUESS_SLOTS];
    uint32_t last_names[PYRO_KINETO_UNKNOWN + 1]; /* mixed together, by category */
    uint32_t last_list[PYRO_FIELD_FRAMES - PYRO_FIELD_DIMS + 1];

    uint64_t last_process, last_thread;
    uint32_t last_track; /* PYRO_NO_ID: none */
    pyro_map tracks;
    pyro_wide_id *wide_ids;
    size_t wide_count, wide_capacity;
    pyro_thread_name *thread_names;
    size_t thread_name_count, thread_name_capacity;
} pyro_kineto_scanner;

int pyro_kineto_scanner_open(pyro_kineto_scanner **out, pyro_trace *trace, pyro_intern *names,
                             pyro_error *error);
void pyro_kineto_scanner_close(pyro_kineto_scanner *scanner);

/*
 * Reads and stores events from the one whose bracket is at `at` on, as long as one follows the
 * other and none begins at `stop` or behind it. Returns where that ended; with `failed` set it is
 * the start of an event of which nothing was stored.
 */
const char *pyro_kineto_scan_events(pyro_kineto_scanner *scanner, const char *at, const char *stop);

void pyro_kineto_begin_event(pyro_kineto_scanner *scanner);

/*
 * From behind a value, or a bracket where `first`: passes over a key and returns where its value
 * starts; behind the closing bracket, with no name, when the object ends; or NULL.
 */
const char *pyro_kineto_read_key(pyro_kineto_scanner *scanner, const char *at, bool first,
                                 const char **name, size_t *length);

/* The key with this name; PYRO_KEY_OTHER for those that are passed over. */
unsigned pyro_kineto_key(const char *name, size_t length);
/* Reads the value of a key into the event. */
const char *pyro_kineto_scan_value(pyro_kineto_scanner *scanner, const char *at, unsigned key);

/* One value of args, read where the event wants it. */
const char *pyro_kineto_scan_arg(pyro_kineto_scanner *scanner, const char *at, unsigned field);
/* What is done with a field of the event's args; PYRO_ACTION_SKIP where it is not wanted. */
unsigned pyro_kineto_arg_action(const pyro_kineto_event *event, unsigned field);
/* The number of a key of args: its field, or one from PYRO_FIELD_COUNT on. */
unsigned pyro_kineto_arg(pyro_kineto_scanner *scanner, const char *name, size_t length);
/* The field with this name, or PYRO_FIELD_COUNT. */
unsigned pyro_kineto_field(const char *name, size_t length);

/* The group of args of the event as far as it was read. */
unsigned pyro_kineto_group(const pyro_kineto_event *event);
/* Category of an event by its text. */
uint8_t pyro_kineto_category(const char *text, size_t length);

/* Appends the event to the columns where it is one that is kept; false when memory is out. */
bool pyro_kineto_store(pyro_kineto_scanner *scanner);
/* An empty trace of a file of this name; NULL when memory is out. */
pyro_trace *pyro_trace_new(const char *file);
/* Frees the columns and side tables, not the texts. */
void pyro_trace_free_rows(pyro_trace *trace);
/* Room for this many rows in all columns; false when memory is out. */
bool pyro_trace_reserve(pyro_trace *trace, size_t rows);
/* The track of all events whose threads and streams are too many; it is of no device. */
#define PYRO_LAST_TRACK UINT16_MAX
/* The track's index; PYRO_LAST_TRACK when there are too many, PYRO_NO_ID when memory is out. */
uint32_t pyro_trace_track(pyro_trace *trace, pyro_map *map, uint64_t process, uint64_t thread);
/* The same, but PYRO_NO_ID when there is none. */
uint32_t pyro_trace_find_track(const pyro_trace *trace, const pyro_map *map, uint64_t process,
                               uint64_t thread);

/*
 * Reads the event in the bytes up to `end`, the start of the next one, as far as damage lets it,
 * and stores it. Returns what follows (`end` where that is not clear), or NULL when not even its
 * phase and times could be read.
 */
const char *pyro_kineto_recover_event(pyro_kineto_scanner *scanner, const char *at,
                                      const char *end);
/* The first place from `at` on that looks like the start of an event, or NULL. */
const char *pyro_kineto_find_event(const char *at, const char *end, const char *first_key);

/* A top-level value that is kept: deviceProperties, distributedInfo, baseTimeNanoseconds. */
bool pyro_kineto_is_metadata(const char *key, size_t length);
/* Reads it; what cannot be read is counted as a defect. */
int pyro_kineto_metadata(pyro_trace *trace, pyro_kineto_defects *defects, const char *key,
                         size_t key_length, const char *value, size_t length, pyro_error *error);

/* Whether these first bytes may begin a JSON object or list; white space alone may. */
bool pyro_kineto_recognise(const unsigned char *head, size_t size);
/* Reads everything from the source into the trace. */
int pyro_kineto_read(pyro_trace *trace, pyro_source *source, const pyro_trace_options *options,
                     pyro_error *error);

#endif
