/*
 * Nests host events on their threads, in one pass in order of time, and gives each its op, layer
 * call and phase. A thread's stack of open events is its chain of parents, so any nesting depth
 * costs no extra memory. A slice that partly overlaps another becomes a child of the innermost one
 * that is open when it starts.
 */
#include "trace/joins/internal.h"

#include "base/error.h"

#define AHEAD 12

/* What an event inherits from the one around it. */
typedef struct context {
    uint32_t call;
    uint8_t phase;
} context;

/* An annotation begins inside the frame that opens it and ends inside the one that closes it. */
static bool may_overlap(const pyro_trace *trace, uint32_t event, uint32_t around)
{
    return trace->category[event] == PYRO_EVENT_ANNOTATION ||
           trace->category[around] == PYRO_EVENT_ANNOTATION;
}

/* Closes events that have ended, and makes the innermost open event the parent. */
static uint32_t open_event(pyro_join_state *state, uint32_t event)
{
    const pyro_trace *trace = state->trace;
    pyro_joins *joins = state->joins;
    pyro_track_state *track = &state->tracks[trace->track[event]];
    int64_t start_ns = trace->start_ns[event];
    uint32_t parent = track->top;
    int64_t end_ns = track->top_end_ns;
    while (parent != PYRO_NO_EVENT && end_ns <= start_ns) {
        parent = joins->parent[parent];
        end_ns = parent == PYRO_NO_EVENT ? INT64_MAX : pyro_join_end_ns(trace, parent);
    }
    joins->parent[event] = parent;
    track->top = parent;
    track->top_end_ns = end_ns;
    if (!pyro_event_is_host(trace->category[event]))
        return parent;
    track->top = event;
    track->top_end_ns = pyro_join_end_ns(trace, event);
    if (track->top_end_ns > end_ns && !may_overlap(trace, event, parent))
        joins->partial_overlaps++;
    return parent;
}

/*
 * A range that outlives the layer call in which it began (an annotation that ends elsewhere, say)
 * does not pass the call on. An op does, because its launches belong to it.
 */
static context context_of_parent(const pyro_join_state *state, uint32_t event, uint32_t parent)
{
    const pyro_joins *joins = state->joins;
    const pyro_trace *trace = state->trace;
    context now = {joins->call[parent], joins->phase[parent]};
    uint8_t category = trace->category[parent];
    if (now.phase != PYRO_PHASE_FORWARD || now.call == PYRO_NO_LAYER || category == PYRO_EVENT_OP ||
        category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER)
        return now;
    while (now.call != PYRO_NO_LAYER &&
           pyro_join_end_ns(trace, joins->calls[now.call].event) <= trace->start_ns[event])
        now.call = joins->calls[now.call].parent;
    if (now.call == PYRO_NO_LAYER)
        now.phase = PYRO_PHASE_OTHER;
    return now;
}

static bool is_backward_name(pyro_name_class name_class)
{
    return name_class == PYRO_NAME_EVALUATE || name_class == PYRO_NAME_BACKWARD ||
           name_class == PYRO_NAME_ACCUMULATE;
}

/* Marks a thread that runs the program, as opposed to a thread of autograd. */
static void note_driver(pyro_join_state *state, uint32_t event, pyro_name_class name_class)
{
    pyro_track_state *track = &state->tracks[state->trace->track[event]];
    uint8_t category = state->trace->category[event];
    const pyro_op_detail *detail = pyro_join_op_detail(state->trace, event);
    bool is_range = category == PYRO_EVENT_PYTHON || category == PYRO_EVENT_ANNOTATION;
    bool is_forward = detail && detail->sequence != PYRO_NO_SEQUENCE && !detail->forward_thread &&
                      !is_backward_name(name_class);
    /* Hooks of the backward have frames and annotations too. */
    if ((is_range && !track->has_backward) || is_forward || name_class == PYRO_NAME_STEP ||
        name_class == PYRO_NAME_OPTIMIZER)
        track->is_driver = true;
}

/*
 * For outermost events: everything on a thread of autograd is backward. Before 2022, without
 * evaluate_function around them, sums of gradients simply follow the op that they belong to.
 */
static context context_outside(pyro_join_state *state, uint32_t event, pyro_name_class name_class)
{
    const pyro_track_state *track = &state->tracks[state->trace->track[event]];
    context now = {PYRO_NO_LAYER, PYRO_PHASE_OTHER};
    note_driver(state, event, name_class);
    if (!track->has_backward || track->is_driver)
        return now;
    now.phase = PYRO_PHASE_BACKWARD;
    if (state->trace->category[event] == PYRO_EVENT_OP && !track->last_was_evaluate)
        now.call = track->last_backward_call;
    return now;
}

/* An op whose backward is in the trace is forward, and so are the numbered ops around it. */
static void mark_forward(pyro_join_state *state, uint32_t op)
{
    pyro_joins *joins = state->joins;
    while (op != PYRO_NO_EVENT && joins->phase[op] == PYRO_PHASE_OTHER) {
        const pyro_op_detail *detail = pyro_join_op_detail(state->trace, op);
        if (!detail || detail->sequence == PYRO_NO_SEQUENCE)
            return;
        joins->phase[op] = PYRO_PHASE_FORWARD;
        state->forward_was_marked = true;
        op = joins->parent[op];
    }
}

/* A compiler traces backward ops inside its own, on a thread that runs the program: only ops that no
 * other op encloses tell a thread of autograd. */
static void note_backward(pyro_join_state *state, uint32_t event)
{
    uint32_t parent = state->joins->parent[event];
    if (parent == PYRO_NO_EVENT || state->joins->op[parent] == PYRO_NO_EVENT)
        state->tracks[state->trace->track[event]].has_backward = true;
}

static int enter_backward(pyro_join_state *state, uint32_t event, pyro_name_class name_class,
                          context *now)
{
    pyro_track_state *track = &state->tracks[state->trace->track[event]];
    uint32_t forward;
    int status = pyro_backward_find(state, event, &forward);
    if (status)
        return status;
    if (forward != PYRO_NO_EVENT) {
        mark_forward(state, forward);
        now->call = state->joins->call[forward];
    } else if (now->phase != PYRO_PHASE_BACKWARD || state->joins->parent[event] == PYRO_NO_EVENT) {
        now->call = PYRO_NO_LAYER;
    }
    now->phase = PYRO_PHASE_BACKWARD;
    note_backward(state, event);
    state->has_backward = true;
    track->last_backward_call = now->call;
    track->last_was_evaluate = name_class == PYRO_NAME_EVALUATE || track->last_was_evaluate;
    return PYRO_OK;
}

static void enter_accumulate(pyro_join_state *state, uint32_t event, context *now)
{
    /* It runs right after the node that made the gradient. */
    pyro_track_state *track = &state->tracks[state->trace->track[event]];
    *now = (context){track->last_backward_call, PYRO_PHASE_BACKWARD};
    note_backward(state, event);
}

/* What DDP does after the last gradient belongs to its own layer, if it has one. */
static void enter_reducer(pyro_join_state *state, uint32_t event, context *now)
{
    const pyro_trace *trace = state->trace;
    const pyro_joins *joins = state->joins;
    if (now->phase != PYRO_PHASE_BACKWARD || now->call != PYRO_NO_LAYER ||
        state->last_ddp_call == PYRO_NO_LAYER)
        return;
    uint16_t ddp_track = trace->track[joins->calls[state->last_ddp_call].event];
    if (trace->tracks[ddp_track].pid == trace->tracks[trace->track[event]].pid)
        now->call = state->last_ddp_call;
}

/* Handles ops that decide a phase; registers the others for their backward. */
static int enter_op(pyro_join_state *state, uint32_t event, pyro_name_class name_class,
                    context *now)
{
    const pyro_op_detail *detail = pyro_join_op_detail(state->trace, event);
    bool has_number = detail && detail->sequence != PYRO_NO_SEQUENCE;
    if (name_class == PYRO_NAME_ACCUMULATE) {
        enter_accumulate(state, event, now);
        return PYRO_OK;
    }
    if (name_class == PYRO_NAME_EVALUATE || (has_number && detail->forward_thread) ||
        (name_class == PYRO_NAME_BACKWARD && (has_number || now->phase != PYRO_PHASE_FORWARD)))
        return enter_backward(state, event, name_class, now);
    if (name_class == PYRO_NAME_REDUCER)
        enter_reducer(state, event, now);
    else if (name_class == PYRO_NAME_OPTIMIZER_OP && now->phase == PYRO_PHASE_OTHER &&
             state->has_backward)
        now->phase = PYRO_PHASE_OPTIMIZER;
    return has_number ? pyro_backward_add(state, event) : PYRO_OK;
}

/* Handles frames, annotations and ops; in the oldest traces annotations are ops. */
static int enter_event(pyro_join_state *state, uint32_t event, pyro_name_class name_class,
                       context *now)
{
    /* A layer that is recomputed in the backward belongs to no call around it. */
    uint32_t around = now->phase == PYRO_PHASE_FORWARD ? now->call : PYRO_NO_LAYER;
    uint32_t call;
    int status = pyro_layers_call(state, event, name_class, around, &call);
    if (status)
        return status;
    /* Graphs are compiled for one direction: those that run in the backward are no forward. */
    bool is_backward = state->compiled_rows && now->phase == PYRO_PHASE_BACKWARD;
    if (call != PYRO_NO_LAYER)
        *now = (context){call, is_backward ? PYRO_PHASE_BACKWARD : PYRO_PHASE_FORWARD};
    else if (name_class == PYRO_NAME_OPTIMIZER)
        *now = (context){PYRO_NO_LAYER, PYRO_PHASE_OPTIMIZER};
    else if (name_class == PYRO_NAME_FORWARD_RANGE && now->phase == PYRO_PHASE_OTHER)
        now->phase = PYRO_PHASE_FORWARD;
    else if (state->trace->category[event] == PYRO_EVENT_OP)
        return enter_op(state, event, name_class, now);
    return PYRO_OK;
}

static int place_event(pyro_join_state *state, uint32_t event)
{
    pyro_joins *joins = state->joins;
    uint8_t category = state->trace->category[event];
    uint32_t parent = open_event(state, event);
    bool says_something = category <= PYRO_EVENT_PYTHON;
    pyro_name_class name_class = says_something ? pyro_join_name_class(state, event)
                                                : PYRO_NAME_PLAIN;
    context now = parent != PYRO_NO_EVENT ? context_of_parent(state, event, parent)
                                          : context_outside(state, event, name_class);
    /* Most events are frames of the program, which decide nothing. */
    bool decides = says_something &&
                   (category != PYRO_EVENT_PYTHON || name_class != PYRO_NAME_PLAIN);
    int status = decides ? enter_event(state, event, name_class, &now) : PYRO_OK;
    if (category == PYRO_EVENT_OP)
        joins->op[event] = event;
    else if (parent != PYRO_NO_EVENT)
        joins->op[event] = joins->op[parent];
    joins->call[event] = now.call;
    joins->phase[event] = now.phase;
    return status;
}

/* Passes the phase on from ops that were marked as forward to the events inside them. */
static void spread_forward(pyro_join_state *state)
{
    pyro_joins *joins = state->joins;
    for (size_t i = 0; i < state->trace->count; i++) {
        uint32_t event = joins->by_time[i], parent = joins->parent[event];
        if (parent != PYRO_NO_EVENT && joins->phase[event] == PYRO_PHASE_OTHER &&
            joins->phase[parent] == PYRO_PHASE_FORWARD && joins->call[parent] == PYRO_NO_LAYER)
            joins->phase[event] = PYRO_PHASE_FORWARD;
    }
}

/* Events close in time are far apart in memory, in more streams than processors prefetch. */
static inline void fetch_ahead(const pyro_trace *trace, uint32_t event)
{
    __builtin_prefetch(&trace->start_ns[event]);
    __builtin_prefetch(&trace->duration_ns[event]);
    __builtin_prefetch(&trace->name[event]);
    __builtin_prefetch(&trace->detail[event]);
    __builtin_prefetch(&trace->track[event]);
    __builtin_prefetch(&trace->category[event]);
}

int pyro_join_nest(pyro_join_state *state)
{
    const pyro_trace *trace = state->trace;
    pyro_joins *joins = state->joins;
    for (size_t i = 0; i < trace->track_count; i++)
        state->tracks[i] = (pyro_track_state){
            .top = PYRO_NO_EVENT, .top_end_ns = INT64_MAX, .last_backward_call = PYRO_NO_LAYER};
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = joins->by_time[i];
        uint8_t category = trace->category[event];
        if (i + AHEAD < trace->count)
            fetch_ahead(trace, joins->by_time[i + AHEAD]);
        if (!pyro_event_is_host(category) && category != PYRO_EVENT_MEMORY)
            continue;
        int status = place_event(state, event);
        if (status)
            return status;
    }
    if (state->forward_was_marked)
        spread_forward(state);
    return PYRO_OK;
}
