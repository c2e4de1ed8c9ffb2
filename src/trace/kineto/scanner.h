/*
 * Internals of the Kineto reader: the scanner turns the bytes of one event into a row of the
 * trace's columns. It works on windows that are padded as base/json/scan.h requires.
 */
#ifndef PYRO_TRACE_KINETO_SCANNER_H
#define PYRO_TRACE_KINETO_SCANNER_H

#include "base/containers/buf.h"
#include "base/json/window.h"
#include "trace/kineto/defects.h"
#include "trace/kineto/key_order.h"

#define PYRO_KINETO_MAX_EVENT_BYTES ((size_t)64 << 20)
#define PYRO_KINETO_MAX_TEXT_BYTES ((size_t)1 << 20)

/* Groups of events with similar args; also the bits in fields.def. */
enum {
    PYRO_GROUP_HOST,
    PYRO_GROUP_RUNTIME,
    PYRO_GROUP_KERNEL,
    PYRO_GROUP_TRANSFER, /* copies, memsets, synchronisations, annotations on the device */
    PYRO_GROUP_MEMORY,
    PYRO_GROUP_METADATA, /* and events whose category is still unknown */
    PYRO_GROUP_NONE,     /* none of their args are read */
    PYRO_GROUP_COUNTER,  /* their args are the values (counters.c) */
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

/* Categories beyond pyro_event_category that only the reader distinguishes. */
enum {
    PYRO_KINETO_FORWARD_BACKWARD = PYRO_EVENT_CATEGORY_COUNT, /* flow, fwdbwd */
    PYRO_KINETO_OTHER_FLOW,
    PYRO_KINETO_INSTANT,
    PYRO_KINETO_LAYER, /* a call of a layer with its path, as our writer writes it */
    PYRO_KINETO_DERIVED, /* a counter that our writer derived from the events */
    PYRO_KINETO_MTIA,    /* work, copies and waits of MTIA, which only their names tell apart */
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

/* Keys within args: fields, then skipped keys in the order in which they were first met. */
#define PYRO_KINETO_ARG_COUNT 112
#define PYRO_KINETO_ARG_OTHER \
    (PYRO_KINETO_ARG_COUNT - 1) /* all further keys, when there are too many */
#define PYRO_KINETO_ARG_NAME_BYTES 32

/* How a value is handled. */
enum {
    PYRO_ACTION_SKIP,
    PYRO_ACTION_SKIP_NESTED,
    PYRO_ACTION_END, /* no value: the event ended */
    PYRO_ACTION_NAME,
    PYRO_ACTION_TIME,
    PYRO_ACTION_DURATION,
    PYRO_ACTION_ID,
    PYRO_ACTION_STEADY,
    PYRO_ACTION_INTEGER,
    PYRO_ACTION_REAL,
    PYRO_ACTION_TEXT,
    PYRO_ACTION_LIST,
    PYRO_ACTION_TRIPLE,
    PYRO_ACTION_COUNTER
};

/* States of the learned order: the value that was read last, the event's own or one of args. */
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
    uint64_t present; /* one bit per field of args that was read */
    int64_t number[PYRO_FIELD_COUNT]; /* integers and ids of texts */
    float real[PYRO_FIELD_COUNT];
    uint32_t grid[3], block[3];
} pyro_kineto_event;

/* An id that does not fit into 32 bits; it gets a small one after all events are read. */
typedef struct pyro_wide_id {
    enum { PYRO_WIDE_CORRELATION, PYRO_WIDE_EXTERNAL, PYRO_WIDE_FLOW } kind;
    uint32_t index; /* of its event or flow */
    uint64_t id;
} pyro_wide_id;

/* One value of a counter event that is being read. */
typedef struct pyro_series_value {
    uint32_t series;
    double value;
} pyro_series_value;

typedef struct pyro_thread_name {
    uint64_t process, thread;
    uint32_t name;
} pyro_thread_name;

/* Slots for guesses: the texts, and the first steps of events, that followed the same context last
 * time. Powers of two. */
#define PYRO_GUESS_SLOTS 16384
#define PYRO_LIKELY_FIRSTS 4096

typedef struct pyro_kineto_scanner {
    pyro_trace *out; /* rows go here */
    pyro_intern *names; /* where texts go */
    const char *end; /* of the window */
    const char *first_key; /* of events, with its quotes */
    bool failed; /* an event could not be read */
    bool damaged; /* because of damage; otherwise more bytes are needed */
    bool fraction_is_ns; /* "1.5" is 1 us and 5 ns: see clock.c */
    bool no_memory;
    pyro_kineto_event event;
    pyro_kineto_defects defects;
    pyro_buf scratch;

    pyro_key_steps states[PYRO_STATES];
    pyro_key_step *steps; /* PYRO_KEY_STEPS of them */
    pyro_key_step categories[PYRO_GROUP_COUNT]; /* for categories that are not part of steps */
    pyro_key_step unlearned; /* the current step when it was not learned */
    uint32_t path; /* categories of the last events, hashed together */
    /* By path: the first step of the event that came next last time; NULL: none yet. */
    pyro_key_step *likely_firsts[PYRO_LIKELY_FIRSTS];
    size_t step_count;
    uint64_t gap, gap_mask; /* blanks between the last two events, and the bracket behind them */
    uint8_t gap_bytes; /* of the blanks; 0: none were learned */
    char arg_names[PYRO_KINETO_ARG_COUNT]
                  [PYRO_KINETO_ARG_NAME_BYTES]; /* of args that are not fields */
    unsigned arg_count;
    uint32_t guesses[PYRO_GUESS_SLOTS];
    uint32_t last_names[PYRO_KINETO_UNKNOWN + 1]; /* hashed together, by category */
    uint32_t last_list[PYRO_FIELD_FRAMES - PYRO_FIELD_DIMS + 1];

    pyro_series_value *series; /* of the current counter event */
    size_t series_count, series_capacity;

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
 * Reads and stores consecutive events, starting with the one whose bracket is at `at`, until one
 * begins at or after `stop`. Returns where it ended; with `failed` set, that is the start of an
 * event of which nothing was stored.
 */
const char *pyro_kineto_scan_events(pyro_kineto_scanner *scanner, const char *at, const char *stop);

void pyro_kineto_begin_event(pyro_kineto_scanner *scanner);

/*
 * From behind a value, or a bracket if `first`: skips a key and returns where its value starts.
 * Returns the place behind the closing bracket, with no name, when the object ends; NULL on
 * failure.
 */
const char *pyro_kineto_read_key(pyro_kineto_scanner *scanner, const char *at, bool first,
                                 const char **name, size_t *length);

/* The key with this name; PYRO_KEY_OTHER for keys that are skipped. */
unsigned pyro_kineto_key(const char *name, size_t length);
/* Reads the value of a key into the event. */
const char *pyro_kineto_scan_value(pyro_kineto_scanner *scanner, const char *at, unsigned key);

/* Reads one value of args if the event needs it. */
const char *pyro_kineto_scan_arg(pyro_kineto_scanner *scanner, const char *at, unsigned field);
/* How a field of the event's args is handled; PYRO_ACTION_SKIP if it is not needed. */
unsigned pyro_kineto_arg_action(const pyro_kineto_event *event, unsigned field);
/* The number of a key of args: its field, or PYRO_FIELD_COUNT and above. */
unsigned pyro_kineto_arg(pyro_kineto_scanner *scanner, const char *name, size_t length);
/* The field with this name, or PYRO_FIELD_COUNT. */
unsigned pyro_kineto_field(const char *name, size_t length);

/* The group of the event's args, from what was read so far. */
unsigned pyro_kineto_group(const pyro_kineto_event *event);
/* The category with this name. */
uint8_t pyro_kineto_category(const char *text, size_t length);

/* Appends the event to the columns if it is of a kind that is kept; false when memory is out. */
bool pyro_kineto_store(pyro_kineto_scanner *scanner);
/* Reads the args of a counter: its series and their values. Skips any other value. */
const char *pyro_kineto_counter_values(pyro_kineto_scanner *scanner, const char *at);
/* The track for all events beyond the largest number of tracks; it belongs to no device. */
#define PYRO_LAST_TRACK UINT16_MAX
/* The track's index; PYRO_LAST_TRACK when there are too many, PYRO_NO_ID when memory is out. */
uint32_t pyro_trace_track(pyro_trace *trace, pyro_map *map, uint64_t process, uint64_t thread);
/* The same, but PYRO_NO_ID if the track does not exist. */
uint32_t pyro_trace_find_track(const pyro_trace *trace, const pyro_map *map, uint64_t process,
                               uint64_t thread);

/*
 * Reads the event in the bytes up to `end`, the start of the next one, as far as its damage allows,
 * and stores it. Returns what follows (`end` if that is unclear), or NULL when not even its phase
 * and times could be read.
 */
const char *pyro_kineto_recover_event(pyro_kineto_scanner *scanner, const char *at,
                                      const char *end);
/* The first place from `at` on that looks like the start of an event, or NULL. */
const char *pyro_kineto_find_event(const char *at, const char *end, const char *first_key);

/* Whether a top-level value is kept: deviceProperties, distributedInfo, host_name... */
bool pyro_kineto_is_metadata(const char *key, size_t length);
/* Reads such a value; an unreadable one counts as a defect. */
int pyro_kineto_metadata(pyro_trace *trace, pyro_kineto_defects *defects, const char *key,
                         size_t key_length, const char *value, size_t length, pyro_error *error);

/* Whether these first bytes may begin a JSON object or list; white space alone may. */
bool pyro_kineto_recognise(const unsigned char *head, size_t size);
/* Reads everything from the source into the trace. */
int pyro_kineto_read(pyro_trace *trace, pyro_source *source, const pyro_trace_options *options,
                     pyro_error *error);

#endif
