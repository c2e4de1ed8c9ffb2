/*
 * An analysis is a set of callbacks (init, event, finish) over one pass of the events in order of
 * time. Each is one file, listed in analyze.c, and fills its part of the result. Events come in
 * batches, to one analysis after the other. Analyses of different lanes may run at the same time with
 * separate contexts (arenas, texts, notes); data that contexts share is read-only during the pass.
 */
#ifndef PYRO_ANALYZE_ANALYZE_H
#define PYRO_ANALYZE_ANALYZE_H

#include "base/containers/arena.h"
#include "trace/joins/joins.h"
#include "trace/trace.h"
#include <regex.h>

typedef struct pyro_chip pyro_chip;

/* A step, or the whole trace: [start, end). */
typedef struct pyro_window {
    const char *name;
    int64_t number; /* -1: the whole trace */
    int64_t start_ns, end_ns;
} pyro_window;

/* Where a window starts or ends. */
typedef struct pyro_boundary {
    int64_t time_ns;
    uint32_t window;
    uint32_t owner; /* window that holds the time from here to the next boundary: of several the one
                     * that started last; PYRO_NO_EVENT: none */
    bool is_end;
} pyro_boundary;

/* Where to look for a time among boundaries: a division of their span into parts of equal length. */
typedef struct pyro_boundary_index {
    uint32_t *passed; /* by part: boundaries in the parts before it */
    size_t parts;
    unsigned shift; /* of a time since the first boundary, for the part */
} pyro_boundary_index;

/* Properties that follow from a name. */
enum {
    PYRO_TRAIT_HOST_KNOWN = 1, /* checked as the name of a host event */
    PYRO_TRAIT_KERNEL_KNOWN = 2, /* checked as the name of a kernel */
    PYRO_TRAIT_COLLECTIVE = 4, /* of a kernel that communicates */
    PYRO_TRAIT_SYNC = 8, /* of a call that waits for the device */
    PYRO_TRAIT_ITEM = 16, /* of an op that brings a number to the host */
    PYRO_TRAIT_LOADER = 32, /* of a data loader's next batch */
    PYRO_TRAIT_STEP = 64, /* of a profiler's step, which old traces hold as an op */
    PYRO_TRAIT_COMMUNICATION = 128, /* of a host range in which processes communicate */
    PYRO_TRAIT_BUILTIN = 256, /* of a Python function that is written in C */
    PYRO_TRAIT_BLOCKED = 512, /* of one that waits for another thread */
    PYRO_TRAIT_GRAPH_LAUNCH = 1024, /* of a call that replays a graph */
    PYRO_TRAIT_LINE = 2048, /* of a frame that names a line of Python */
    PYRO_TRAIT_OWN_LINE = 4096, /* of such a frame outside torch and Python's library */
    PYRO_TRAIT_COMPILING = 8192, /* of a range in which torch.compile works */
    PYRO_TRAIT_PROFILING = 16384 /* of overhead that only a profiler causes */
};

/* Properties of all calls of an op with the same name, dims, types and values. */
typedef struct pyro_op_kind {
    uint32_t name, dims, types, concrete; /* as in the trace */
    int64_t flops, bytes, macs, torch_flops; /* of one call; -1 no rule */
    uint8_t dtype; /* pyro_dtype that it computes with */
} pyro_op_kind;

/* In kind_of_op: an op around this one carries the price. */
#define PYRO_KIND_INSIDE (1u << 31)

/* Device work whose launch is not in the file, in order of events, and of each the call that it was
 * launched before: that of later work on its stream (PYRO_NO_EVENT: none is known). */
typedef struct pyro_launch_bounds {
    const uint32_t *work;
    uint32_t *bound;
    size_t count;
} pyro_launch_bounds;

/* The input and shared state of every analysis. */
typedef struct pyro_analysis_context {
    const pyro_trace *trace;
    const pyro_joins *joins;
    const pyro_analysis_options *options;
    const pyro_chip *chip; /* hardware/hardware.h; NULL when unknown */
    const pyro_rates *device_rates; /* as measured; NULL: not measured */
    bool uses_tf32;
    pyro_arena *arena; /* memory of the result */
    pyro_analysis *result;
    pyro_error *error;
    /* Shared data, made before the pass; PYRO_KIND_INSIDE by pyro_analyze_prices. */
    const pyro_op_kind *op_kinds; /* the first is the kind of unknown ops */
    size_t op_kind_count;
    uint32_t *kind_of_op; /* by index of op detail; read it with pyro_context_price */
    const regex_t *filter; /* NULL: everything; it narrows rows, never totals */
    pyro_arena *scratch; /* freed after the analysis */
    size_t category_count[PYRO_EVENT_CATEGORY_COUNT]; /* events of each, in the whole trace */
    const pyro_window *windows; /* of the steps on the host, in order of start */
    const pyro_window
        *spans; /* where their time lies (step_spans.c): the rows of the steps table */
    size_t window_count;
    bool windows_are_steps; /* false: one window, the whole trace */
    const pyro_boundary *boundaries; /* starts and ends of the windows, in order of time */
    const pyro_boundary *span_boundaries; /* the same of the spans */
    size_t boundary_count;
    pyro_boundary_index boundary_index, span_boundary_index;
    uint16_t *device_of_track; /* number of a device track's device, counted from 0 */
    size_t device_count;
    pyro_launch_bounds launch_bounds;
    int *devices; /* by that number: the device as the trace calls it */
    uint16_t *name_traits; /* by id of a name; read it with pyro_context_traits */
    const uint8_t *kernel_classes; /* by id of a name; pyro_kernel_class_of reads them */
    pyro_intern *texts; /* texts that several rows hold; they live in the arena */
    const char **notes; /* added by pyro_context_note */
    size_t note_count;
} pyro_analysis_context;

/* For an analysis that wants only events by trait: no category has this bit. */
#define PYRO_NO_CATEGORIES (1u << 31)

typedef struct pyro_analyzer {
    const char *name;
    size_t state_size; /* zeroed memory that the callbacks share */
    int (*init)(void *state, pyro_analysis_context *context);
    /* Every kept event in order of time, limited to the requested step and phase: device work by
     * its launch (by its start when that is unknown), host events by their start. */
    int (*event)(void *state, pyro_analysis_context *context, uint32_t event);
    int (*finish)(void *state, pyro_analysis_context *context);
    uint32_t categories; /* bits (1 << pyro_event_category) of the events it wants; 0: all */
    bool whole_trace; /* also pass events outside the requested step and phase */
    /* Of these categories (disjoint from those above), it wants only events whose names have one of
     * the traits. */
    uint32_t categories_by_trait;
    uint16_t traits;
    /* Of these categories, it wants all events where no kernel ran. */
    uint32_t categories_on_host;
    /* Remaining work in independent items; may be NULL. Other lanes may do some items, with
     * separate contexts; `conclude` follows the last. */
    size_t (*count_items)(void *state);
    int (*do_item)(void *state, pyro_analysis_context *context, size_t item);
    int (*conclude)(void *state, pyro_analysis_context *context);
    void (*clear)(void *state); /* frees the state, also after a failure; may be NULL */
} pyro_analyzer;

extern const pyro_analyzer pyro_analyze_steps, pyro_analyze_gaps, pyro_analyze_lost_time,
    pyro_analyze_layers, pyro_analyze_ops, pyro_analyze_launch, pyro_analyze_syncs,
    pyro_analyze_loading, pyro_analyze_stacks, pyro_analyze_training, pyro_analyze_prices;
#define PYRO_ANALYSIS(name) extern const pyro_analyzer pyro_analyze_##name;
#include <pyrometer/tables.def>

/* Makes the findings (findings.def) from the finished result, in the context's arena and the second
 * one, because two threads fill them. */
int pyro_find_findings(pyro_analysis_context *context, pyro_arena *second_arena);

/* Peak of the device by its data sheet, for MFU (or of the host, as measured), for a type; 0 when
 * unknown. peaks.c */
double pyro_context_peak(const pyro_analysis_context *context, bool on_device, uint8_t dtype);
/* The same as measured; of a device that was not measured, by its data sheet. */
double pyro_context_reach(const pyro_analysis_context *context, bool on_device, uint8_t dtype);
double pyro_context_bytes_reach(const pyro_analysis_context *context, bool on_device);
/* What work takes at least, in ns: FLOPs at the peak of pyro_context_peak or bytes at the bandwidth of
 * the data sheet (of the host: as measured), whichever takes longer; -1 when both are unknown. */
double pyro_context_least_ns(const pyro_analysis_context *context, bool on_device, uint8_t dtype,
                             int64_t flops, int64_t bytes);
/* The bandwidth that it uses; 0 when unknown. */
double pyro_context_bandwidth(const pyro_analysis_context *context, bool on_device);
/* Whether any work ran on a device. */
static inline bool pyro_context_on_device(const pyro_analysis_context *context)
{
    const size_t *count = context->category_count;
    return count[PYRO_EVENT_KERNEL] || count[PYRO_EVENT_MEMCPY] || count[PYRO_EVENT_MEMSET];
}
/* Finds them for the device of the trace; needs its name and chip. */
void pyro_context_find_peaks(pyro_analysis_context *context);

/* Make the shared data; context.c. Measuring comes first and needs only the trace. */
int pyro_context_measure(pyro_analysis_context *context);
int pyro_context_prepare(pyro_analysis_context *context);
/* Fills context->spans (step_spans.c); needs the windows. */
int pyro_context_find_spans(pyro_analysis_context *context);
/* Fills context->launch_bounds (launch_bounds.c); needs the devices. */
int pyro_context_bound_launches(pyro_analysis_context *context);
/* What device work without a launch was launched before; PYRO_NO_EVENT: unknown. */
uint32_t pyro_context_bound_of(const pyro_analysis_context *context, uint32_t event);

/* Fills result->startup (host/startup.c); needs the windows. */
void pyro_find_startup(pyro_analysis_context *context);

/* True when `start` lies in the requested step, or no step was requested. */
bool pyro_context_in_step(const pyro_analysis_context *context, int64_t start_ns);

/* True when neither a step nor a phase was requested. */
static inline bool pyro_context_wants_all(const pyro_analysis_context *context)
{
    return context->options->step < 0 && context->options->phase == PYRO_PHASE_OTHER;
}

/* True for device work and host events of the requested step and phase. */
bool pyro_context_chooses(const pyro_analysis_context *context, uint32_t event);
static inline bool pyro_context_wants(const pyro_analysis_context *context, uint32_t event)
{
    return pyro_context_wants_all(context) || pyro_context_chooses(context, event);
}

/* The window that holds a time (the last that started); PYRO_NO_EVENT: none. */
uint32_t pyro_context_window_at(const pyro_analysis_context *context, int64_t time_ns);
/* The same of the spans. */
uint32_t pyro_context_span_at(const pyro_analysis_context *context, int64_t time_ns);

/* When device work was launched; when it started where no launch is known. */
static inline int64_t pyro_context_launch_ns(const pyro_analysis_context *context, uint32_t event)
{
    uint32_t launch = context->joins->launch[event];
    return context->trace->start_ns[launch == PYRO_NO_EVENT ? event : launch];
}

/* The call that launched device work, or else the call that it was launched before at the latest;
 * PYRO_NO_EVENT: neither is known. */
static inline uint32_t pyro_context_latest_launch(const pyro_analysis_context *context,
                                                  uint32_t event)
{
    uint32_t launch = context->joins->launch[event];
    return launch == PYRO_NO_EVENT ? pyro_context_bound_of(context, event) : launch;
}

/* The kind of an op, by its detail. */
static inline const pyro_op_kind *pyro_context_op_kind(const pyro_analysis_context *context,
                                                       uint32_t detail)
{
    return &context->op_kinds[context->kind_of_op[detail] & ~PYRO_KIND_INSIDE];
}

/* The price of an op, by its detail; unknown for ops inside a priced op. */
static inline const pyro_op_kind *pyro_context_price(const pyro_analysis_context *context,
                                                     uint32_t detail)
{
    uint32_t kind = context->kind_of_op[detail];
    return &context->op_kinds[kind & PYRO_KIND_INSIDE ? 0 : kind];
}

/* True for names of ops and ranges in which processes communicate. */
bool pyro_is_communication(const char *name);

/* PYRO_TRAIT_* of an event's name. */
uint16_t pyro_context_find_traits(pyro_analysis_context *context, uint32_t name, uint16_t known);
static inline uint16_t pyro_context_known_traits(pyro_analysis_context *context, uint32_t event,
                                                 uint16_t known)
{
    uint32_t name = context->trace->name[event];
    if (name == PYRO_NO_ID) /* an event without a name has no traits */
        return known;
    uint16_t traits = context->name_traits[name];
    return traits & known ? traits : pyro_context_find_traits(context, name, known);
}
static inline uint16_t pyro_context_traits(pyro_analysis_context *context, uint32_t event)
{
    bool is_kernel = context->trace->category[event] == PYRO_EVENT_KERNEL;
    return pyro_context_known_traits(context, event,
                                     is_kernel ? PYRO_TRAIT_KERNEL_KNOWN : PYRO_TRAIT_HOST_KNOWN);
}
/* The same of an event that is known to be no kernel. */
static inline uint16_t pyro_context_host_traits(pyro_analysis_context *context, uint32_t event)
{
    return pyro_context_known_traits(context, event, PYRO_TRAIT_HOST_KNOWN);
}

/* Path of the layer that an event belongs to, "" when none. */
const char *pyro_context_layer(const pyro_analysis_context *context, uint32_t event);
/* Name of the innermost op around a host event, "" when none; a step is none. */
const char *pyro_context_op(const pyro_analysis_context *context, uint32_t event);
/*
 * Python line that a host event runs under ("train.py(12): step"): the innermost outside torch,
 * else the innermost; from the enclosing frames or the stack of the op. "" when none is known, NULL
 * when memory is out.
 */
const char *pyro_context_line(pyro_analysis_context *context, uint32_t event);

/* Whether a line is of the program itself, not of torch or Python's library. */
bool pyro_is_own_line(const char *line);

/* True when the filter matches the text, or no filter is set. */
bool pyro_context_shows(const pyro_analysis_context *context, const char *text);

/* Adds a line to the analysis' notes. */
int pyro_context_note(pyro_analysis_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The joins that an analysis was made from; they live as long as it does. */
const pyro_joins *pyro_analysis_joins(const pyro_analysis *analysis);

#endif
