/* Shared by the files that make the joins. */
#ifndef PYRO_TRACE_JOINS_INTERNAL_H
#define PYRO_TRACE_JOINS_INTERNAL_H

#include "trace/joins/joins.h"

/* What follows from a name alone; determined once per name (names.c). */
typedef enum pyro_name_class {
    PYRO_NAME_UNSEEN,
    PYRO_NAME_PLAIN,
    PYRO_NAME_LAYER_FRAME,   /* "nn.Module: Conv2d_0" */
    PYRO_NAME_STEP,          /* "ProfilerStep#3" */
    PYRO_NAME_OPTIMIZER,     /* "Optimizer.step#SGD.step", or a frame of torch/optim */
    PYRO_NAME_OPTIMIZER_OP,  /* "aten::_fused_adamw_" */
    PYRO_NAME_FORWARD_RANGE, /* "DistributedDataParallel.forward" */
    PYRO_NAME_EVALUATE,      /* "autograd::engine::evaluate_function: AddmmBackward0" */
    PYRO_NAME_BACKWARD,      /* "AddmmBackward0" */
    PYRO_NAME_ACCUMULATE,    /* AccumulateGrad, evaluated or not */
    PYRO_NAME_LOADER,        /* "enumerate(DataLoader)#...", or its frame */
    PYRO_NAME_REDUCER        /* "torch.distributed.ddp.reducer::copy_bucket_to_grad" */
} pyro_name_class;

pyro_name_class pyro_classify_name(const char *name);
/* Whether a forward op of this name makes a backward node of that name. */
bool pyro_names_are_forward_and_backward(const char *forward, const char *backward);

/* State of a track while events are visited in order of time. */
typedef struct pyro_track_state {
    uint32_t top;                /* innermost open host event; `parent` leads to the others */
    int64_t top_end_ns;          /* INT64_MAX: none is open */
    uint32_t last_backward_call; /* of the latest backward op: the call it was joined to */
    bool last_was_evaluate;      /* that op was an evaluate_function, so it holds all its work */
    bool has_backward;
    bool is_driver; /* something other than backward was outermost: not a thread of autograd */
} pyro_track_state;

/* Joins backward to forward ops: the latest forward op of each (track, sequence number). */
typedef struct pyro_forward_thread {
    uint64_t pid;
    uint32_t id;    /* "Fwd thread id" */
    uint16_t track; /* PYRO_NO_TRACK: unknown */
    bool is_known; /* the trace contains it: nothing to learn */
} pyro_forward_thread;

#define PYRO_NO_TRACK UINT16_MAX

typedef struct pyro_backward {
    pyro_map forward_of; /* of (track, sequence) */
    pyro_forward_thread *threads;
    size_t thread_count, thread_capacity;
    size_t last_thread; /* found last; most often the next one is the same */
    pyro_map flow_start, flow_end; /* of an id; of (track, time) */
    bool flows_ready;
} pyro_backward;

typedef struct pyro_compiled pyro_compiled;

typedef struct pyro_join_state {
    pyro_joins *joins;
    pyro_trace *trace;
    const pyro_analysis_options *options; /* may be NULL */
    pyro_error *error;
    pyro_part_fn *beside;        /* work to do in a second thread meanwhile; NULL */
    void *beside_data;
    unsigned parts;           /* into which threads may divide work on all events */
    uint8_t *name_class;      /* pyro_name_class by id of name */
    uint8_t *collective_name; /* by id of name: 0 not looked at, 1 no, 2 a collective kernel */
    pyro_track_state *tracks;
    pyro_backward backward;
    pyro_intern layer_names; /* of instances or of annotated paths: the id is the layer's index */
    pyro_map layer_of_name;  /* id of an event's name -> layer */
    uint8_t layer_category;  /* of the events that are calls: PYTHON, ANNOTATION or OP */
    uint32_t last_ddp_call;  /* latest call of a DistributedDataParallel; PYRO_NO_LAYER */
    bool compiled_rows;      /* the layers are compiled graphs, because nothing else is known */
    pyro_compiled *compiled; /* what is known of compiled graphs */
    bool has_backward;       /* some backward op has passed */
    bool forward_was_marked; /* some op got the phase forward after its children were visited */
} pyro_join_state;

/* Ends without overflow; an event with a negative duration ends where it starts. */
static inline int64_t pyro_join_end_ns(const pyro_trace *trace, uint32_t event)
{
    int64_t end, duration = trace->duration_ns[event];
    if (duration <= 0)
        return trace->start_ns[event];
    return __builtin_add_overflow(trace->start_ns[event], duration, &end) ? INT64_MAX : end;
}

/* From one time to another without overflow. */
static inline int64_t pyro_join_span_ns(int64_t start_ns, int64_t end_ns)
{
    int64_t span;
    return __builtin_sub_overflow(end_ns, start_ns, &span) ? INT64_MAX : span;
}

/* Adds without overflow. */
static inline void pyro_join_add_ns(int64_t *sum, int64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = INT64_MAX;
}

static inline pyro_name_class pyro_join_name_class(pyro_join_state *state, uint32_t event)
{
    uint32_t name = state->trace->name[event];
    if (name >= state->trace->names.count)
        return PYRO_NAME_PLAIN;
    if (state->name_class[name] == PYRO_NAME_UNSEEN)
        state->name_class[name] = (uint8_t)pyro_classify_name(
            pyro_intern_text(&state->trace->names, name));
    return (pyro_name_class)state->name_class[name];
}

/* An op's details, or NULL. */
static inline const pyro_op_detail *pyro_join_op_detail(const pyro_trace *trace, uint32_t event)
{
    if (trace->category[event] != PYRO_EVENT_OP || trace->detail[event] >= trace->op_count)
        return NULL;
    return &trace->ops[trace->detail[event]];
}

/* Fills joins->by_time (order.c); the column of parents is overwritten. */
int pyro_join_order(pyro_join_state *state);
/* Fills joins->launch, which is cleared (launch.c). */
int pyro_join_launches(pyro_join_state *state);
/* Fills parent, op, call and phase of host events (nesting.c); needs order and layers. */
int pyro_join_nest(pyro_join_state *state);
/* Fills joins->steps from marks or steps_from (steps.c). */
int pyro_join_steps(pyro_join_state *state);
/* Fills joins->steps and joins->serving from the annotations of serving engines, if there are any
 * (steps_of_serving.c); needs the launches. */
int pyro_join_serving_steps(pyro_join_state *state);
/* Adds a step; a `name` of NULL makes it "step N" (step_list.c). */
int pyro_add_step(pyro_join_state *state, pyro_step step);
/* Infers steps from the optimizer, the data loader or the outermost module; adds none if the trace
 * shows no loop (steps_inferred.c). Needs all other joins. */
int pyro_infer_steps(pyro_join_state *state);
/* The same from device work that repeats (steps_of_kernels.c). */
int pyro_infer_steps_of_kernels(pyro_join_state *state);
/* The same from ranges that the program names (steps_of_ranges.c). */
int pyro_infer_steps_of_ranges(pyro_join_state *state);

/* backward.c: learns the track of each "Fwd thread id"; needs by_time. */
int pyro_backward_learn(pyro_join_state *state);
/* Remembers a forward op, so that later backward ops find it. */
int pyro_backward_add(pyro_join_state *state, uint32_t op);
/* The forward op of a backward op, or PYRO_NO_EVENT. */
int pyro_backward_find(pyro_join_state *state, uint32_t op, uint32_t *forward);
void pyro_backward_free(pyro_backward *backward);

/* layers.c: decides where layers come from, and matches --layers-from against the annotations. */
int pyro_layers_begin(pyro_join_state *state);
/* Adds a call of the event's layer; *call is PYRO_NO_LAYER if the event is not a layer's call. */
int pyro_layers_call(pyro_join_state *state, uint32_t event, pyro_name_class name_class,
                     uint32_t parent_call, uint32_t *call);
/* Gives the layers their dotted paths. */
int pyro_layers_finish(pyro_join_state *state);

/* The layer of a dotted path, without names of wrappers; PYRO_NO_LAYER when memory is out. */
uint32_t pyro_layers_of_path(pyro_join_state *state, const char *path, size_t length);

/* The layer of a path below another one (PYRO_NO_LAYER: of the whole path); "" is that one itself.
 * PYRO_NO_LAYER when memory is out. */
uint32_t pyro_layers_below(pyro_join_state *state, uint32_t base, const char *path,
                           const char *class_name);

/* compiled.c: gives work of compiled code its layers; needs launches, calls and phases. What it knows
 * serves replays of graphs until the end. */
int pyro_join_compiled_begin(pyro_join_state *state);
void pyro_join_compiled_end(pyro_join_state *state);

/* graphs.c: gives work of replayed graphs its layers; needs launches, calls and phases. */
int pyro_join_graphs(pyro_join_state *state);

/* labels.c: copies a dotted path without the names of wrappers; returns its length. */
size_t pyro_unwrap_path(char *out, const char *path, size_t length);
/* The path in an annotation that names a layer, or NULL; `is_indexed` if it has a number in it. */
const char *pyro_path_of_label(const char *name, bool *is_indexed);

/* layers_of_model.c: sets modules[i] to the model's module of layer i, if one is found. */
int pyro_layers_match_model(const pyro_joins *joins, const pyro_model *model, uint32_t *modules,
                            pyro_error *error);

#endif
