/*
 * Analyses layers: one row per dotted path with forward and backward time on host and device, own
 * and including sublayers, and buckets for device work outside layers. Own device times and buckets
 * add up to the device total.
 */
#include "analyze/analyze.h"
#include "analyze/intervals.h"
#include "analyze/host/layer_times.h"
#include "base/error.h"
#include "graph/dtype.h"

#include <string.h>

typedef struct layers_state {
    pyro_layer_row *rows;  /* by layer; *_self_ns are filled in the pass, totals at the end */
    uint8_t *has_backward; /* by call */
    uint8_t *is_inside_itself; /* by call */
    int64_t *flops_of_dtype; /* by layer and pyro_dtype */
    bool on_device;
    bool has_inputs;         /* calls have their input shapes */
} layers_state;

/*
 * Marks calls inside another call of their own layer, in one walk over the tree of calls that
 * counts the open calls of each layer. `room` holds two numbers per call and one per layer.
 */
static void find_inside_itself(layers_state *state, const pyro_joins *joins, uint32_t *room)
{
    size_t count = joins->call_count;
    uint32_t *next = room, *first = room + count, *open = first + count;
    uint32_t roots = PYRO_NO_LAYER, at;
    memset(first, 0xff, count * sizeof *first);
    memset(open, 0, joins->layer_count * sizeof *open);
    for (size_t call = count; call-- > 0;) {
        uint32_t parent = joins->calls[call].parent;
        uint32_t *list = parent == PYRO_NO_LAYER ? &roots : &first[parent];
        next[call] = *list;
        *list = (uint32_t)call;
    }
    for (at = roots; at != PYRO_NO_LAYER;) {
        state->is_inside_itself[at] = open[joins->calls[at].layer]++ > 0;
        if (first[at] != PYRO_NO_LAYER) {
            at = first[at];
            continue;
        }
        for (; at != PYRO_NO_LAYER; at = joins->calls[at].parent) {
            open[joins->calls[at].layer]--;
            if (next[at] != PYRO_NO_LAYER)
                break;
        }
        at = at == PYRO_NO_LAYER ? PYRO_NO_LAYER : next[at];
    }
}

static int init_layers(void *data, pyro_analysis_context *context)
{
    layers_state *state = data;
    const pyro_joins *joins = context->joins;
    state->rows = pyro_arena_array(context->scratch, joins->layer_count + 1, sizeof *state->rows);
    state->has_backward = pyro_arena_alloc(context->scratch, joins->call_count + 1);
    state->is_inside_itself = pyro_arena_alloc(context->scratch, joins->call_count + 1);
    state->flops_of_dtype = pyro_arena_array(
        context->scratch, (joins->layer_count + 1) * PYRO_DTYPE_COUNT, sizeof(int64_t));
    uint32_t *room = pyro_arena_array(context->scratch,
                                      2 * joins->call_count + joins->layer_count + 1, sizeof *room);
    if (!state->rows || !state->has_backward || !state->flops_of_dtype ||
        !state->is_inside_itself || !room)
        return pyro_fail_memory(context->error);
    state->has_inputs = pyro_has_layer_inputs(context->trace, joins);
    find_inside_itself(state, joins, room);
    for (size_t i = 0; i < joins->layer_count; i++) {
        const pyro_layer *layer = &joins->layers[i];
        state->rows[i] = (pyro_layer_row){.path = layer->path,
                                          .class_name = layer->class_name,
                                          .parent = layer->parent,
                                          .depth = layer->depth,
                                          .flops = -1,
                                          .bytes = -1,
                                          .shapes = "",
                                          .macs = -1,
                                          .allocated_bytes = context->trace->has_memory ? 0 : -1,
                                          .dtype = "",
                                          .flops_per_s = -1,
                                          .peak_share = -1,
                                          .bytes_per_s = -1,
                                          .bandwidth_share = -1,
                                          .least_ns = -1,
                                          .lost_ns = -1};
    }
    state->on_device = pyro_context_on_device(context);
    return PYRO_OK;
}

static pyro_layer_row *row_of_call(const layers_state *state, const pyro_joins *joins,
                                   uint32_t call)
{
    return call == PYRO_NO_LAYER ? NULL : &state->rows[joins->calls[call].layer];
}

/* Device time of a layer's own, of which `shared` is its part of kernels of several layers. */
static void add_to_row(pyro_layer_row *row, const pyro_joins *joins, uint32_t event, int64_t ns,
                       bool is_shared)
{
    int64_t *sum = joins->phase[event] == PYRO_PHASE_BACKWARD ? &row->backward_device_self_ns
                                                              : &row->forward_device_self_ns;
    *sum = pyro_add_ns(*sum, ns);
    if (is_shared)
        row->shared_ns = pyro_add_ns(row->shared_ns, ns);
}

static int add_device_work(layers_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_joins *joins = context->joins;
    pyro_unattributed *rest = &context->result->unattributed;
    int64_t duration = context->trace->duration_ns[event];
    pyro_layer_row *row = row_of_call(state, joins, joins->call[event]);
    uint8_t bucket = joins->bucket[event];
    int64_t *sum = &rest->outside_layer_ns;
    size_t shares = 0;
    if (bucket == PYRO_BUCKET_NO_LAUNCH)
        sum = &rest->no_launch_ns;
    else if (bucket == PYRO_BUCKET_OPTIMIZER)
        sum = &rest->optimizer_ns;
    else if (bucket == PYRO_BUCKET_COLLECTIVE)
        sum = &rest->collective_ns;
    if (bucket != PYRO_BUCKET_LAYER || !row) {
        *sum = pyro_add_ns(*sum, duration);
        return PYRO_OK;
    }
    row->kernels += context->trace->category[event] == PYRO_EVENT_KERNEL;
    const pyro_share *share = pyro_joins_shares(joins, event, &shares);
    for (size_t i = 0; i < shares; i++)
        add_to_row(row_of_call(state, joins, share[i].call), joins, event, share[i].ns, true);
    if (!shares)
        add_to_row(row, joins, event, duration, false);
    return PYRO_OK;
}

static void add_input(pyro_layer_row *row, const pyro_trace *trace, uint32_t event)
{
    uint32_t detail = trace->detail[event];
    if (!row->shapes[0] && detail != PYRO_NO_ID)
        row->shapes = pyro_trace_text(trace, trace->ops[detail].dims);
}

/* The frame of a call: the layer's forward on the host, and not its parent's own. */
static void add_call(layers_state *state, const pyro_analysis_context *context, uint32_t call)
{
    const pyro_joins *joins = context->joins;
    int64_t duration = context->trace->duration_ns[joins->calls[call].event];
    pyro_layer_row *row = row_of_call(state, joins, call);
    pyro_layer_row *outer = row_of_call(state, joins, joins->calls[call].parent);
    if (state->has_inputs)
        add_input(row, context->trace, joins->calls[call].event);
    row->calls++;
    if (joins->phase[joins->calls[call].event] == PYRO_PHASE_BACKWARD) { /* a compiled backward */
        row->backward_host_self_ns += duration;
        return;
    }
    row->forward_host_self_ns += duration;
    if (!state->is_inside_itself[call])
        row->forward_host_ns += duration;
    if (outer)
        outer->forward_host_self_ns -= duration;
}

/* Backward ops count for their layer where they begin to be its. */
static void add_backward(layers_state *state, const pyro_analysis_context *context, uint32_t event,
                         uint32_t call)
{
    const pyro_joins *joins = context->joins;
    uint32_t parent = joins->parent[event];
    uint32_t outer = parent == PYRO_NO_EVENT ? PYRO_NO_LAYER : joins->call[parent];
    bool is_outer_backward = outer != PYRO_NO_LAYER && joins->phase[parent] == PYRO_PHASE_BACKWARD;
    int64_t duration = context->trace->duration_ns[event];
    state->has_backward[call] = 1;
    if (is_outer_backward && outer == call)
        return;
    row_of_call(state, joins, call)->backward_host_self_ns += duration;
    if (is_outer_backward)
        row_of_call(state, joins, outer)->backward_host_self_ns -= duration;
}

static void add_price(int64_t *sum, int64_t price)
{
    int64_t grown;
    if (price >= 0 && !__builtin_add_overflow(*sum < 0 ? 0 : *sum, price, &grown))
        *sum = grown;
}

/* Where calls lack input shapes, uses the first op with shapes, for its layer and all enclosing
 * layers without shapes. */
static void add_op(layers_state *state, const pyro_analysis_context *context, uint32_t event,
                   uint32_t call)
{
    const pyro_trace *trace = context->trace;
    uint32_t detail = trace->detail[event];
    if (detail == PYRO_NO_ID)
        return;
    pyro_layer_row *row = row_of_call(state, context->joins, call);
    const pyro_op_kind *price = pyro_context_price(context, detail);
    add_price(&row->flops, price->flops);
    add_price(&row->bytes, price->bytes);
    add_price(&row->macs, price->macs);
    if (price->flops > 0 || price->bytes > 0)
        add_price(&row->least_ns,
                  (int64_t)pyro_context_least_ns(context, state->on_device, price->dtype,
                                                 price->flops, price->bytes));
    if (price->dtype < PYRO_DTYPE_COUNT)
        add_price(
            &state->flops_of_dtype[(size_t)(row - state->rows) * PYRO_DTYPE_COUNT + price->dtype],
            price->flops);
    const char *dims = pyro_trace_text(trace, trace->ops[detail].dims);
    /* Counters (num_batches_tracked) are scalars: ops on them are ignored. */
    if (state->has_inputs || context->joins->phase[event] == PYRO_PHASE_BACKWARD ||
        !strpbrk(dims, "0123456789"))
        return;
    for (; row && !row->shapes[0];
         row = row->parent == PYRO_NO_LAYER ? NULL : &state->rows[row->parent])
        row->shapes = dims;
}

static void add_allocation(layers_state *state, const pyro_analysis_context *context,
                           uint32_t event, uint32_t call)
{
    uint32_t detail = context->trace->detail[event];
    pyro_layer_row *row = row_of_call(state, context->joins, call);
    if (detail != PYRO_NO_ID && !context->trace->memory[detail].out_of_memory)
        add_price(&row->allocated_bytes, context->trace->memory[detail].bytes);
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    layers_state *state = data;
    uint8_t category = context->trace->category[event];
    if (pyro_event_is_device_work(category))
        return add_device_work(state, context, event);
    uint32_t call = context->joins->call[event];
    if (call == PYRO_NO_LAYER)
        return PYRO_OK;
    if (category == PYRO_EVENT_MEMORY)
        add_allocation(state, context, event, call);
    if (context->joins->calls[call].event == event)
        add_call(state, context, call);
    else if (category == PYRO_EVENT_OP && context->joins->phase[event] == PYRO_PHASE_BACKWARD)
        add_backward(state, context, event, call);
    if (category == PYRO_EVENT_OP)
        add_op(state, context, event, call);
    return PYRO_OK;
}

/* Children come after their parents, so that a walk from the end adds whole trees. */
static void roll_up(layers_state *state, const pyro_joins *joins)
{
    for (size_t i = joins->layer_count; i-- > 0;) {
        pyro_layer_row *row = &state->rows[i];
        if (row->forward_host_self_ns < 0)
            row->forward_host_self_ns = 0;
        if (row->backward_host_self_ns < 0)
            row->backward_host_self_ns = 0;
        row->forward_device_ns += row->forward_device_self_ns;
        row->backward_device_ns += row->backward_device_self_ns;
        row->backward_host_ns += row->backward_host_self_ns;
        if (row->parent == PYRO_NO_LAYER || row->parent >= i)
            continue;
        pyro_layer_row *parent = &state->rows[row->parent];
        parent->forward_device_ns += row->forward_device_ns;
        parent->backward_device_ns += row->backward_device_ns;
        parent->backward_host_ns += row->backward_host_ns;
        parent->kernels += row->kernels;
        add_price(&parent->flops, row->flops);
        add_price(&parent->bytes, row->bytes);
        add_price(&parent->macs, row->macs);
        add_price(&parent->least_ns, row->least_ns);
        add_price(&parent->allocated_bytes, row->allocated_bytes);
        for (size_t d = 0; d < PYRO_DTYPE_COUNT; d++)
            add_price(&state->flops_of_dtype[row->parent * PYRO_DTYPE_COUNT + d],
                      state->flops_of_dtype[i * PYRO_DTYPE_COUNT + d]);
    }
}

/* Replays of CUDA graphs repeat work whose ops are in the trace once, or not at all, and ops of a
 * capture run nothing: FLOPs over their time would be no rate. */
static bool has_replays(const pyro_analysis_context *context)
{
    static const char *const captures[] = {"cudaStreamBeginCapture", "hipStreamBeginCapture"};
    const pyro_graph_attribution *graphs = &context->joins->graphs;
    for (size_t i = 0; i < sizeof captures / sizeof *captures; i++)
        if (pyro_intern_find(&context->trace->names, captures[i], strlen(captures[i])) !=
            PYRO_INTERN_NONE)
            return true;
    for (int i = PYRO_GRAPH_UNKNOWN + 1; i < PYRO_GRAPH_SOURCE_COUNT; i++)
        if (graphs->time_ns[i] > 0)
            return true;
    return false;
}

/* Caches may have served a layer faster than its memory could: it needs at most its time. */
static void set_lost(pyro_layer_row *row, int64_t time_ns)
{
    if (row->least_ns < 0)
        return;
    row->least_ns = row->least_ns < time_ns ? row->least_ns : time_ns;
    row->lost_ns = time_ns - row->least_ns;
}

/* Work per time, compared with the peak of where it ran. */
static void rate_row(const layers_state *state, const pyro_analysis_context *context, size_t index)
{
    pyro_layer_row *row = &state->rows[index];
    const int64_t *flops = &state->flops_of_dtype[index * PYRO_DTYPE_COUNT];
    bool on_device = row->forward_device_ns + row->backward_device_ns > 0;
    int64_t time_ns = on_device ? row->forward_device_ns + row->backward_device_ns
                                : row->forward_host_ns + row->backward_host_ns;
    size_t most = 0;

    for (size_t d = 1; d < PYRO_DTYPE_COUNT; d++)
        if (flops[d] > flops[most])
            most = d;
    if (flops[most] > 0)
        row->dtype = pyro_dtype_name((pyro_dtype)most);
    if (time_ns <= 0 || on_device != state->on_device || (on_device && has_replays(context)))
        row->least_ns = -1;
    set_lost(row, time_ns);
    if (time_ns <= 0 || (on_device && has_replays(context)))
        return;
    if (row->bytes > 0) {
        double reach = pyro_context_bytes_reach(context, on_device);
        row->bytes_per_s = (double)row->bytes / ((double)time_ns / 1e9);
        row->bandwidth_share = reach > 0 ? row->bytes_per_s / reach : -1;
    }
    if (row->flops <= 0)
        return;
    row->flops_per_s = (double)row->flops / ((double)time_ns / 1e9);
    double peak = flops[most] > 0 ? pyro_context_reach(context, on_device, (uint8_t)most) : 0;
    if (peak > 0)
        row->peak_share = row->flops_per_s / peak;
}

static bool is_empty(const pyro_layer_row *row)
{
    return !row->calls && !row->backward_calls && !row->kernels && !row->forward_device_ns &&
           !row->backward_device_ns && !row->backward_host_ns;
}

/* The selected rows, in order; a hidden parent is replaced by its nearest shown ancestor. */
static int publish(layers_state *state, pyro_analysis_context *context)
{
    size_t layers = context->joins->layer_count, count = 0;
    uint32_t *new_index = pyro_arena_array(context->scratch, layers + 1, sizeof *new_index);
    pyro_layer_row *rows = pyro_arena_array(context->arena, layers + 1, sizeof *rows);
    if (!new_index || !rows)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < layers; i++) {
        const pyro_layer_row *row = &state->rows[i];
        uint32_t parent = row->parent == PYRO_NO_LAYER ? PYRO_NO_EVENT : new_index[row->parent];
        new_index[i] = parent;
        if (is_empty(row) || !pyro_context_shows(context, row->path))
            continue;
        rows[count] = *row;
        rows[count].parent = parent;
        new_index[i] = (uint32_t)count++;
    }
    context->result->layers = rows;
    context->result->layer_count = count;
    return PYRO_OK;
}

/* Most frames are no calls, so they are not looked at one by one. */
static void add_frames(layers_state *state, const pyro_analysis_context *context)
{
    const pyro_joins *joins = context->joins;
    for (uint32_t call = 0; call < joins->call_count; call++) {
        uint32_t event = joins->calls[call].event;
        if (event != PYRO_NO_EVENT && context->trace->category[event] == PYRO_EVENT_PYTHON &&
            joins->call[event] == call && pyro_context_wants(context, event))
            add_call(state, context, call);
    }
}

static int finish_layers(void *data, pyro_analysis_context *context)
{
    layers_state *state = data;
    const pyro_joins *joins = context->joins;
    add_frames(state, context);
    for (size_t c = 0; c < joins->call_count; c++)
        state->rows[joins->calls[c].layer].backward_calls += state->has_backward[c];
    /* A pure container has a backward when one of its sublayers has. */
    for (size_t c = joins->call_count; c-- > 0;) {
        uint32_t parent = joins->calls[c].parent;
        if (!state->has_backward[c] || parent == PYRO_NO_LAYER || state->has_backward[parent])
            continue;
        state->has_backward[parent] = 1;
        state->rows[joins->calls[parent].layer].backward_calls++;
    }
    roll_up(state, joins);
    for (size_t i = 0; i < joins->layer_count; i++)
        rate_row(state, context, i);
    return publish(state, context);
}

#define ALL_CATEGORIES ((1u << PYRO_EVENT_CATEGORY_COUNT) - 1)

const pyro_analyzer pyro_analyze_layers = {
    .name = "layers",
    .state_size = sizeof(layers_state),
    .init = init_layers,
    .event = add_event,
    .finish = finish_layers,
    .categories = ALL_CATEGORIES & ~(1u << PYRO_EVENT_PYTHON),
};
