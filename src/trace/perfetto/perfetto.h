/*
 * Writes a trace, or a part of it, as packets of Perfetto: perfetto.c writes threads and streams,
 * packet.c the parts of a packet, lanes.c places slices that overlap, arguments.c what a slice
 * says about its event, layers.c the nested tracks of layers, counters.c the curves.
 */
#ifndef PYRO_TRACE_PERFETTO_PERFETTO_H
#define PYRO_TRACE_PERFETTO_PERFETTO_H

#include "trace/export/selection.h"
#include "trace/perfetto/message.h"

/* Numbers of fields, from Perfetto's trace_packet.proto, track_descriptor.proto, track_event.proto
 * and interned_data.proto. */
enum {
    TRACE_PACKET = 1,

    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,
    FLAGS_CLEARED = 1,
    FLAGS_NEEDED = 2,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_CHILD_ORDER = 11,
    TRACK_RANK = 12,
    ORDER_BY_TIME = 2,
    ORDER_BY_RANK = 3,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT_NAME = 6,

    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
    EVENT_COUNTER_REAL = 44,
    EVENT_FLOWS = 47,
    EVENT_FLOW_ENDS = 48,
    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_COUNTER = 4,

    ANNOTATION_NAME = 10,
    ANNOTATION_INTEGER = 4,
    ANNOTATION_TEXT = 6,
    ANNOTATION_TEXT_ID = 17,

    INTERNED_EVENT_NAMES = 2,
    INTERNED_TEXT_VALUES = 29,
    INTERNED_ID = 1,
    INTERNED_TEXT = 2,
};

/* The kinds of tracks, the highest byte of their ids. */
typedef enum pyro_perfetto_kind {
    PYRO_PERFETTO_PROCESS = 1,
    PYRO_PERFETTO_TRACK, /* a thread or a stream */
    PYRO_PERFETTO_DEVICE,
    PYRO_PERFETTO_STEPS,
    PYRO_PERFETTO_LAYERS, /* the roots: 0 on the host, 1 on devices */
    PYRO_PERFETTO_HOST_LAYER,
    PYRO_PERFETTO_DEVICE_LAYER,
    PYRO_PERFETTO_COUNTER
} pyro_perfetto_kind;

/* `lane` numbers the tracks that show one thread, stream or layer. */
static inline uint64_t pyro_perfetto_uuid(pyro_perfetto_kind kind, uint64_t index, uint64_t lane)
{
    return (uint64_t)kind << 56 | index << 8 | lane;
}

typedef struct pyro_perfetto {
    const pyro_trace *trace;
    const pyro_joins *joins;
    const pyro_selection *selection;
    pyro_write_fn write;
    void *user;
    pyro_error *error;
    pyro_buf buf;      /* not yet written */
    pyro_buf interned; /* texts that the next packet defines */
    uint8_t *has_name, *has_value; /* by interned text: defined as a name, as a value */
    uint8_t *has_layer;            /* by layer: its path is defined as a value */
    uint32_t *first_work, *next_work; /* by event: the device work of a launch, as a list */
    pyro_map counters; /* key of a curve -> its number */
    int64_t shift_ns;  /* added to all times, which must not be negative */
    bool has_begun;
} pyro_perfetto;

/* packet.c: a packet with its sequence; `time_ns` is written unless it is negative. */
#define PYRO_PERFETTO_NO_TIME INT64_MIN
size_t pyro_perfetto_begin_packet(pyro_perfetto *perfetto, int64_t time_ns);
/* Ends it, with the texts that it defines, and writes the buffer out when it is large enough. */
int pyro_perfetto_end_packet(pyro_perfetto *perfetto, size_t begun);
int pyro_perfetto_flush(pyro_perfetto *perfetto);
/* A whole packet that describes a track. */
typedef struct pyro_perfetto_track {
    uint64_t uuid, parent; /* parent 0: none */
    const char *name;
    int rank; /* among its siblings, from 1; 0: none */
    int child_order; /* ORDER_BY_TIME, ORDER_BY_RANK; 0: any */
    const char *unit; /* of a counter; NULL: slices */
} pyro_perfetto_track;
int pyro_perfetto_describe(pyro_perfetto *perfetto, const pyro_perfetto_track *track);
/* A whole packet that begins a slice with a name and nothing else, or ends one. */
int pyro_perfetto_begin_slice(pyro_perfetto *perfetto, uint64_t uuid, int64_t time_ns,
                              const char *name);
int pyro_perfetto_end_slice(pyro_perfetto *perfetto, uint64_t uuid, int64_t time_ns);
/* The ids of texts, which are defined when they are first used. */
uint64_t pyro_perfetto_name(pyro_perfetto *perfetto, uint32_t text);
uint64_t pyro_perfetto_value(pyro_perfetto *perfetto, uint32_t text);
uint64_t pyro_perfetto_layer(pyro_perfetto *perfetto, uint32_t layer);

/* lanes.c: slices of one thread, stream or layer. Those that overlap go to tracks of their own,
 * with the same name, which Perfetto shows as one. */
#define PYRO_MOST_LANES 64
typedef struct pyro_lane {
    int64_t *ends; /* of the open slices, the outermost first */
    size_t depth, capacity;
} pyro_lane;

typedef struct pyro_lanes {
    pyro_lane items[PYRO_MOST_LANES];
    size_t count;
    bool nests; /* a slice inside another one stays on its lane */
    uint64_t uuid; /* of the first lane; the others follow */
    int (*describe)(pyro_perfetto *perfetto, const struct pyro_lanes *lanes, uint64_t uuid);
    const void *subject; /* for `describe` */
} pyro_lanes;

/* Finds a lane for a slice, ends what is over before it, and describes a new lane. Slices come by
 * start, enclosing ones first. Where all lanes are taken, *end_ns becomes smaller. */
int pyro_lanes_place(pyro_perfetto *perfetto, pyro_lanes *lanes, int64_t start_ns, int64_t *end_ns,
                     uint64_t *uuid);
/* Ends all open slices. */
int pyro_lanes_finish(pyro_perfetto *perfetto, pyro_lanes *lanes);
void pyro_lanes_free(pyro_lanes *lanes);

/* arguments.c: the details of an event, as annotations of its slice. */
void pyro_perfetto_arguments(pyro_perfetto *perfetto, uint32_t event);
void pyro_perfetto_argument(pyro_perfetto *perfetto, const char *name, int64_t value);

int pyro_perfetto_layers(pyro_perfetto *perfetto);
int pyro_perfetto_counters(pyro_perfetto *perfetto);

#endif
