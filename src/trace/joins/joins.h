/*
 * Relations between events: device work to its launch (correlation), host events to what encloses
 * them, backward ops to forward ops (thread, sequence number), and all of these to layers.
 */
#ifndef PYRO_TRACE_JOINS_JOINS_H
#define PYRO_TRACE_JOINS_JOINS_H

#include "base/parallel.h"
#include "trace/trace.h"

#define PYRO_NO_LAYER UINT32_MAX

/* Whether device work counts for its layer, or else why not. */
typedef enum pyro_bucket {
    PYRO_BUCKET_LAYER,
    PYRO_BUCKET_NO_LAUNCH,
    PYRO_BUCKET_OUTSIDE_LAYER,
    PYRO_BUCKET_OPTIMIZER,
    PYRO_BUCKET_COLLECTIVE
} pyro_bucket;

/* A layer as a dotted path; parents before children. */
typedef struct pyro_layer {
    const char *path, *class_name;
    uint32_t parent; /* PYRO_NO_LAYER: none */
    uint32_t depth;
    bool has_path; /* the trace contains the path */
    bool is_inlined; /* compiled code holds its ops: it is never called itself */
    bool is_graph; /* a replayed graph, or a category of its kernels: no place in the program */
} pyro_layer;

/* One call of a layer's forward. */
typedef struct pyro_layer_call {
    uint32_t layer;
    uint32_t event;  /* the nn.Module frame or annotation */
    uint32_t parent; /* call that encloses it; PYRO_NO_LAYER */
} pyro_layer_call;

typedef struct pyro_step {
    uint32_t event;   /* that marks it; PYRO_NO_EVENT: inferred */
    const char *name; /* lives in the trace or in the joins' arena */
    int64_t number;
    int64_t start_ns, end_ns;
} pyro_step;

/* How the work of replayed graphs got its layers. */
typedef enum pyro_graph_source {
    PYRO_GRAPH_UNKNOWN, /* it has none */
    PYRO_GRAPH_BY_ANNOTATION,
    PYRO_GRAPH_BY_CAPTURE,
    PYRO_GRAPH_BY_EAGER,
    PYRO_GRAPH_BY_PROVENANCE, /* of compiled code */
    PYRO_GRAPH_BY_FILE, /* a trace of the capture */
    PYRO_GRAPH_BY_NODE, /* our recorder saw the capture */
    PYRO_GRAPH_SOURCE_COUNT
} pyro_graph_source;

/* Work of a replay without layers of its own. */
typedef struct pyro_graph_rest {
    uint32_t event;
    uint32_t graph; /* from 0, in order of time */
} pyro_graph_rest;

typedef struct pyro_graph_attribution {
    size_t graphs, replays;
    pyro_graph_rest *rest; /* lives in the joins' arena */
    size_t rest_count;
    int64_t kernels[PYRO_GRAPH_SOURCE_COUNT], time_ns[PYRO_GRAPH_SOURCE_COUNT]; /* copies too */
    const char *annotations; /* file; NULL: none */
} pyro_graph_attribution;

/* How work of compiled code got its layers. */
typedef enum pyro_compiled_source {
    PYRO_COMPILED_UNKNOWN, /* it has at most the layer that called the compiled code */
    PYRO_COMPILED_BY_PROVENANCE,
    PYRO_COMPILED_BY_STACK, /* its row is the source line in the kernel's own stack */
    PYRO_COMPILED_SOURCE_COUNT
} pyro_compiled_source;

typedef struct pyro_compiled_attribution {
    size_t graphs; /* whose calls are known */
    int64_t kernels[PYRO_COMPILED_SOURCE_COUNT], time_ns[PYRO_COMPILED_SOURCE_COUNT];
    int64_t shared_kernels, shared_ns; /* of kernels that are fused over several layers */
    bool is_recorded; /* the recording itself tells */
    bool are_rows; /* compiled graphs are layers, because nothing else names any */
    const char *folder; /* of the files that tell; NULL: none */
    size_t damaged; /* parts of these files */
} pyro_compiled_attribution;

/* A part of the time of a kernel that is fused over several layers. */
typedef struct pyro_share {
    uint32_t call;
    int64_t ns;
    bool is_last; /* of its kernel */
} pyro_share;

typedef enum pyro_serving_kind {
    PYRO_SERVING_PREFILL,
    PYRO_SERVING_DECODE,
    PYRO_SERVING_MIXED,
    PYRO_SERVING_VERIFY, /* checks tokens that a draft model proposed */
    PYRO_SERVING_DRAFT   /* a draft model reads what was accepted */
} pyro_serving_kind;

/* Requests of one kind in a step, and sums over them; -1 unknown. A request has sq new tokens and sk
 * tokens in all. */
typedef struct pyro_serving_load {
    int64_t requests, sq, sk, sqsq, sqsk;
} pyro_serving_load;

/* What an engine's annotation says about a step. */
typedef struct pyro_serving_mark {
    pyro_serving_kind kind;
    bool is_sglang; /* else vLLM */
    pyro_serving_load context, generation;
} pyro_serving_mark;

/* Reads "execute_context_1(888)_generation_32(32)" or "step[DECODE bs=32 ...]", also their detailed
 * forms; false for other names and for idle steps. */
bool pyro_parse_serving(const char *name, pyro_serving_mark *mark);

typedef struct pyro_joins {
    pyro_arena arena;
    void *columns;      /* the block that holds these columns */
    uint32_t *by_time;  /* all kept events by start, enclosing ones first */
    uint32_t *parent;   /* innermost host event that encloses a host event; PYRO_NO_EVENT */
    uint32_t *launch;   /* of device work: its runtime or driver call; PYRO_NO_EVENT */
    uint32_t *op; /* innermost op: itself, around a host event, of the launch; PYRO_NO_EVENT */
    uint32_t *call; /* layer call that an event (host or device) belongs to; PYRO_NO_LAYER */
    uint8_t *phase; /* pyro_phase of each event */
    uint8_t *bucket; /* pyro_bucket of device work */
    pyro_layer *layers;
    size_t layer_count, layer_capacity;
    pyro_layer_call *calls;
    size_t call_count, call_capacity;
    pyro_step *steps; /* in order of time */
    size_t step_count, step_capacity;
    pyro_step_source step_source;
    pyro_serving_mark *serving; /* by number of the step; NULL: no serving steps */
    size_t serving_capacity;
    int64_t warmup_ns; /* of a slow first step that is not among the inferred ones; 0: none */
    const char *step_mark; /* name of the event or layer that the steps come from; "" */
    bool has_layers;
    bool layers_from_annotations; /* else from the nn.Module frames */
    int64_t partial_overlaps; /* slices that end after the slice they start in; no annotations */
    pyro_graph_attribution graphs;
    pyro_compiled_attribution compiled;
    pyro_map source_of; /* of device work of compiled code: its source line, in source_lines */
    pyro_intern source_lines;
    pyro_map share_of; /* of device work: its first share */
    pyro_share *shares;
    size_t share_count, share_capacity;
    size_t layers_named_by_model; /* layers whose path or class comes from the supplied model */
} pyro_joins;

/*
 * Makes all joins; `options` as given to pyro_trace_analyze. Properties of the result:
 * - Device work has the call, op and phase of its launch; MEMORY events have a parent, op, call and
 *   phase like host events, and SYNC events a launch like device work.
 * - Work of a replayed graph has the call and phase of its capture, of an eager run or of its
 *   annotation (graphs.c); its launch stays that of the replay, its op too unless our recorder saw
 *   the capture.
 * - Work of compiled code has the call of the module that its graph names (compiled.c). Work of
 *   several modules has the call with the largest share; pyro_joins_shares has all.
 * - An event with a call has the phase forward or backward. A collective keeps its call, but its
 *   time counts in its bucket: a layer's device time is the work with PYRO_BUCKET_LAYER and its
 *   call.
 * - The innermost layer decides the phase: a layer that is recomputed during the backward is
 *   forward.
 * - Totals of a layer add up along layers[].parent; calls[].parent is where one call happened, none
 *   for a call during the backward. A module that several others share has the parent that called
 *   it first.
 */
int pyro_joins_make(pyro_joins *joins, pyro_trace *trace, const pyro_analysis_options *options,
                    pyro_error *error);
/*
 * The same, and runs beside(data, 0) meanwhile in a thread that would otherwise wait; it must not
 * depend on the joins. It is called unless the joins fail early.
 */
int pyro_joins_make_beside(pyro_joins *joins, pyro_trace *trace,
                           const pyro_analysis_options *options, pyro_part_fn *beside, void *data,
                           pyro_error *error);
/* Like pyro_joins_make, with another number of events per thread (tests use a small one). */
int pyro_joins_make_sized(pyro_joins *joins, pyro_trace *trace,
                          const pyro_analysis_options *options, size_t events_per_thread,
                          pyro_error *error);
void pyro_joins_free(pyro_joins *joins);

/* The shares of device work in the time of layers, which add up to its duration; NULL: it belongs to
 * one layer. */
const pyro_share *pyro_joins_shares(const pyro_joins *joins, uint32_t event, size_t *count);

/* The source line behind device work of compiled code, "/x/model.py:23"; "" unknown. */
const char *pyro_joins_source(const pyro_joins *joins, uint32_t event);

/* Whether a host event of this name fetches the next batch of a data loader. */
bool pyro_is_loader_name(const char *name);
/* True for ops and ranges in which torch.compile works, by its own timers:
 * "_compile.compile_inner (dynamo_timed)". */
bool pyro_is_compiling_name(const char *name);
/* Whether a kernel is of NCCL or RCCL, or otherwise known to communicate. */
bool pyro_is_collective_kernel(const char *name);

#endif
