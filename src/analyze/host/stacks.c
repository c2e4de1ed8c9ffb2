/*
 * Builds stacks for flame graphs: a tree of the frames, layers and ops that spent host time or
 * launched device work. The tree is bounded: what does not fit goes to "(other)".
 */
#include "analyze/analyze.h"
#include "analyze/device/kernel_names.h"
#include "analyze/intervals.h"
#include "analyze/host/op_frames.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 1 << 20, MOST_ROWS = 10000, MOST_TEXT = 8 << 20, NO_NODE = UINT32_MAX };

/* The label of a node: a name of the trace, or a special label in the top bits. */
enum { LABEL_LAYER = 1u << 31, LABEL_KERNEL = 1u << 30, LABEL_OTHER = LABEL_KERNEL - 1 };
enum { LABEL_NO_LAUNCH = LABEL_KERNEL - 2, LABEL_BACKWARD = LABEL_KERNEL - 3 };
enum { LABEL_NO_NAME = LABEL_KERNEL - 4 };
enum { LABEL_FRAME = 1u << 29 }; /* a text of the context; the labels above come first */

typedef struct stack_node {
    uint32_t parent, label;
    uint32_t last_label, last_child; /* the child that was requested last */
    int64_t device_ns, host_self_ns;
} stack_node;

/* How far the time of a thread is assigned to stacks. */
typedef struct thread_time {
    uint32_t innermost; /* event that runs; PYRO_NO_EVENT */
    int64_t until_ns;
} thread_time;

typedef struct stacks_state {
    uint32_t *node_of; /* by host event */
    uint32_t *around; /* by host event: what encloses it */
    thread_time *threads; /* by track */
    stack_node *nodes; /* 0 is the root */
    size_t count, capacity;
    pyro_map children; /* (node, label) -> node */
    pyro_map short_index; /* label of a kernel -> index of its short name */
    const char **short_names;
    size_t short_count, short_capacity;
    pyro_op_frames frames;
} stacks_state;

static uint32_t find_child(stacks_state *state, uint32_t parent, uint32_t label)
{
    stack_node *node = &state->nodes[parent];
    if (node->last_label == label && node->last_child)
        return node->last_child;
    uint64_t key = (uint64_t)parent << 32 | label;
    uint32_t child = pyro_map_get(&state->children, key);
    if (child == PYRO_MAP_NONE) {
        if (state->count >= MOST_NODES && label != LABEL_OTHER)
            return parent && state->nodes[parent].label == LABEL_OTHER
                       ? parent
                       : find_child(state, 0, LABEL_OTHER);
        if (!pyro_grow(&state->nodes, &state->capacity, state->count + 1, sizeof *state->nodes) ||
            !pyro_map_put(&state->children, key, (uint32_t)state->count))
            return NO_NODE;
        child = (uint32_t)state->count++;
        state->nodes[child] = (stack_node){.parent = parent, .label = label};
    }
    state->nodes[parent].last_label = label;
    state->nodes[parent].last_child = child;
    return child;
}

static uint32_t label_of(const pyro_trace *trace, uint32_t event)
{
    return trace->name[event] == PYRO_NO_ID ? (uint32_t)LABEL_NO_NAME : trace->name[event];
}

static int init_stacks(void *data, pyro_analysis_context *context)
{
    stacks_state *state = data;
    size_t count = context->trace->count;
    state->node_of = pyro_arena_array(context->scratch, count ? count : 1, sizeof *state->node_of);
    state->around = pyro_arena_array(context->scratch, count ? count : 1, sizeof *state->around);
    state->threads = pyro_arena_array(context->scratch, context->trace->track_count + 1,
                                      sizeof *state->threads);
    if (!state->node_of || !state->around || !state->threads ||
        !pyro_grow(&state->nodes, &state->capacity, 1, sizeof *state->nodes))
        return pyro_fail_memory(context->error);
    memset(state->node_of, 0, count * sizeof *state->node_of);
    for (size_t i = 0; i < context->trace->track_count; i++)
        state->threads[i] = (thread_time){PYRO_NO_EVENT, INT64_MIN};
    state->nodes[state->count++] = (stack_node){.parent = NO_NODE};
    return pyro_op_frames_begin(&state->frames, context);
}

/* Below a node, the Python frames between an event and what encloses it. */
static uint32_t place_frames(stacks_state *state, pyro_analysis_context *context, uint32_t above,
                             uint32_t event)
{
    size_t count;
    const uint32_t *list = pyro_op_frames_above(&state->frames, context, event, &count);
    if (!list)
        return NO_NODE;
    for (size_t i = 0; i < count && above != NO_NODE; i++)
        above = find_child(state, above, LABEL_FRAME | list[i]);
    return above;
}

/*
 * What encloses a host event. An annotation may outlive what it began in: a step of the profiler
 * begins shortly before the one before it ends, and inside of the function that starts it.
 */
static uint32_t find_around(stacks_state *state, const pyro_analysis_context *context,
                            uint32_t event)
{
    const pyro_trace *trace = context->trace;
    uint32_t outer = context->joins->parent[event];
    if (trace->category[event] == PYRO_EVENT_ANNOTATION)
        while (outer != PYRO_NO_EVENT &&
               pyro_event_end_ns(trace, outer) < pyro_event_end_ns(trace, event))
            outer = state->around[outer];
    return state->around[event] = outer;
}

/* The node of a host event: below what encloses it, under the layer that it calls. */
static uint32_t place(stacks_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_joins *joins = context->joins;
    uint32_t parent = joins->parent[event], call = joins->call[event];
    uint32_t around = find_around(state, context, event);
    uint32_t above = around == PYRO_NO_EVENT ? 0 : state->node_of[around];
    above = place_frames(state, context, above, event);
    if (above == NO_NODE)
        return NO_NODE;
    if (call == PYRO_NO_LAYER)
        return find_child(state, above, label_of(context->trace, event));
    if (joins->calls[call].event == event)
        return find_child(state, above, LABEL_LAYER | joins->calls[call].layer);
    /* A backward op has no frames above it: its layer stands in for them. */
    bool begins = parent == PYRO_NO_EVENT || joins->call[parent] != call;
    if (begins && joins->phase[event] == PYRO_PHASE_BACKWARD) {
        above = find_child(state, above, LABEL_BACKWARD);
        if (above != NO_NODE)
            above = find_child(state, above, LABEL_LAYER | joins->calls[call].layer);
    }
    return above == NO_NODE ? NO_NODE : find_child(state, above, label_of(context->trace, event));
}

/* Assigns the time of a thread up to `until_ns` to the innermost event, so that none counts twice.
 * */
static void advance(stacks_state *state, const pyro_analysis_context *context, thread_time *thread,
                    int64_t until_ns)
{
    while (thread->innermost != PYRO_NO_EVENT) {
        uint32_t event = thread->innermost;
        int64_t end_ns = pyro_event_end_ns(context->trace, event);
        int64_t next_ns = end_ns < until_ns ? end_ns : until_ns;
        if (next_ns > thread->until_ns) {
            if (pyro_context_wants(context, event))
                state->nodes[state->node_of[event]].host_self_ns += next_ns - thread->until_ns;
            thread->until_ns = next_ns;
        }
        if (end_ns > until_ns)
            return;
        thread->innermost = context->joins->parent[event];
    }
}

/* Kineto marks the whole recording on a row of its own, whose process is called "Spans". */
static bool is_bookkeeping(const pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    const size_t *count = context->category_count;
    bool has_others = count[PYRO_EVENT_OP] || count[PYRO_EVENT_ANNOTATION] ||
                      count[PYRO_EVENT_PYTHON];
    return trace->category[event] == PYRO_EVENT_OTHER &&
           trace->tracks[trace->track[event]].pid >> 63 &&
           (has_others || strncmp(pyro_event_name(trace, event), "PyTorch Profiler", 16) == 0);
}

static int add_host(stacks_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    thread_time *thread = &state->threads[trace->track[event]];
    if (is_bookkeeping(context, event))
        return PYRO_OK;
    uint32_t node = place(state, context, event);
    if (node == NO_NODE)
        return pyro_fail_memory(context->error);
    state->node_of[event] = node;
    advance(state, context, thread, trace->start_ns[event]);
    thread->innermost = event;
    if (thread->until_ns < trace->start_ns[event])
        thread->until_ns = trace->start_ns[event];
    return PYRO_OK;
}

/* Kernels stand under their launch by name; a launch comes before its work in order of time, but
 * clocks differ: work that starts first is placed by its op's chain when that is known. */
static int add_device_work(stacks_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    uint32_t launch = context->joins->launch[event], above;
    if (launch == PYRO_NO_EVENT)
        above = find_child(state, 0, LABEL_NO_LAUNCH);
    else
        above = state->node_of[launch];
    uint32_t node = above == NO_NODE
                        ? NO_NODE
                        : find_child(state, above, LABEL_KERNEL | label_of(trace, event));
    if (node == NO_NODE)
        return pyro_fail_memory(context->error);
    state->nodes[node].device_ns = pyro_add_ns(state->nodes[node].device_ns,
                                               trace->duration_ns[event]);
    return PYRO_OK;
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    uint8_t category = context->trace->category[event];
    if (pyro_event_is_host(category))
        return add_host(data, context, event);
    if (pyro_event_is_device_work(category) && pyro_context_wants(context, event))
        return add_device_work(data, context, event);
    return PYRO_OK;
}

/* ';' separates frames and a newline ends a stack: names must not hold them. */
static void put_frame(pyro_buf *buf, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, ";\n\r");
        pyro_buf_add(buf, text, length);
        text += length;
        if (!*text)
            return;
        pyro_buf_addc(buf, *text++ == ';' ? ',' : ' ');
    }
}

/* Many stacks end in the same kernel: its name is shortened once. NULL when memory is out. */
static const char *short_name_of(stacks_state *state, const pyro_analysis_context *context,
                                 uint32_t name)
{
    char text[PYRO_KERNEL_SHORT_NAME];
    uint32_t index = pyro_map_get(&state->short_index, name);
    if (index != PYRO_MAP_NONE)
        return state->short_names[index];
    pyro_kernel_short_name(pyro_trace_text(context->trace, name), text);
    const char *kept = pyro_arena_text(context->scratch, text, strlen(text));
    if (!kept ||
        !pyro_grow(&state->short_names, &state->short_capacity, state->short_count + 1,
                   sizeof *state->short_names) ||
        !pyro_map_put(&state->short_index, name, (uint32_t)state->short_count))
        return NULL;
    return state->short_names[state->short_count++] = kept;
}

static void put_label(pyro_buf *buf, stacks_state *state, const pyro_analysis_context *context,
                      uint32_t label)
{
    if (label == LABEL_NO_NAME || label == (LABEL_KERNEL | LABEL_NO_NAME)) {
        pyro_buf_adds(buf, "(no name)");
        return;
    }
    if (label & LABEL_LAYER) {
        const pyro_layer *layer = &context->joins->layers[label & ~LABEL_LAYER];
        put_frame(buf, layer->path[0] ? layer->path : layer->class_name);
    } else if (label == LABEL_OTHER) {
        pyro_buf_adds(buf, "(other)");
    } else if (label == LABEL_NO_LAUNCH) {
        pyro_buf_adds(buf, "(no launch in file)");
    } else if (label == LABEL_BACKWARD) {
        pyro_buf_adds(buf, "(backward)");
    } else if (label & LABEL_KERNEL) {
        const char *short_name = short_name_of(state, context, label & ~LABEL_KERNEL);
        buf->failed |= !short_name;
        put_frame(buf, short_name ? short_name : "");
    } else if (label & LABEL_FRAME) {
        put_frame(buf, pyro_intern_text(context->texts, label & ~LABEL_FRAME));
    } else {
        put_frame(buf, pyro_trace_text(context->trace, label));
    }
}

static bool put_stack(pyro_buf *buf, stacks_state *state, const pyro_analysis_context *context,
                      uint32_t node, uint32_t *path, size_t path_capacity)
{
    size_t depth = 0;
    for (; node != 0 && depth < path_capacity; node = state->nodes[node].parent)
        path[depth++] = node;
    pyro_buf_reset(buf);
    while (depth-- > 0) {
        put_label(buf, state, context, state->nodes[path[depth]].label);
        if (depth)
            pyro_buf_addc(buf, ';');
    }
    return !buf->failed;
}

static int compare_rows(const void *a, const void *b)
{
    const pyro_stack_row *left = a, *right = b;
    if (left->device_ns != right->device_ns)
        return left->device_ns < right->device_ns ? 1 : -1;
    return left->host_self_ns < right->host_self_ns   ? 1
           : left->host_self_ns > right->host_self_ns ? -1
                                                      : 0;
}

/* Nodes with time of their own, most first; `frames` holds the node until its text is made. */
static pyro_stack_row *collect(const stacks_state *state, pyro_analysis_context *context,
                               size_t *count)
{
    size_t used = 0;
    for (size_t i = 1; i < state->count; i++)
        used += state->nodes[i].device_ns > 0 || state->nodes[i].host_self_ns > 0;
    pyro_stack_row *rows = pyro_arena_array(context->scratch, used + 1, sizeof *rows);
    *count = 0;
    for (size_t i = 1; rows && i < state->count; i++) {
        const stack_node *node = &state->nodes[i];
        if (node->device_ns <= 0 && node->host_self_ns <= 0)
            continue;
        rows[(*count)++] = (pyro_stack_row){
            .frames = (const char *)(uintptr_t)i,
            .device_ns = node->device_ns,
            .host_self_ns = node->host_self_ns > 0 ? node->host_self_ns : 0};
    }
    if (rows)
        qsort(rows, *count, sizeof *rows, compare_rows);
    return rows;
}

static int finish_stacks(void *data, pyro_analysis_context *context)
{
    enum { DEEPEST_STACK = 4096 };
    stacks_state *state = data;
    size_t count, kept = 0, text = 0;
    for (size_t i = 0; i < context->trace->track_count; i++)
        advance(state, context, &state->threads[i], INT64_MAX);
    pyro_stack_row *rows = collect(state, context, &count), rest = {.frames = "(other)"};
    uint32_t *path = pyro_arena_array(context->scratch, DEEPEST_STACK, sizeof *path);
    pyro_buf buf = PYRO_BUF_INIT;
    int status = rows && path ? PYRO_OK : pyro_fail_memory(context->error);
    for (size_t i = 0; i < count && status == PYRO_OK; i++) {
        uint32_t node = (uint32_t)(uintptr_t)rows[i].frames;
        if (kept >= MOST_ROWS || text >= MOST_TEXT) {
            rest.device_ns = pyro_add_ns(rest.device_ns, rows[i].device_ns);
            rest.host_self_ns = pyro_add_ns(rest.host_self_ns, rows[i].host_self_ns);
            continue;
        }
        if (!put_stack(&buf, state, context, node, path, DEEPEST_STACK) ||
            !(rows[i].frames = pyro_arena_text(context->arena, buf.data, buf.length)))
            status = pyro_fail_memory(context->error);
        text += buf.length + 1;
        rows[kept++] = rows[i];
    }
    if (status == PYRO_OK && (rest.device_ns || rest.host_self_ns))
        rows[kept++] = rest;
    pyro_buf_free(&buf);
    if (status != PYRO_OK)
        return status;
    pyro_stack_row *out = pyro_arena_array(context->arena, kept + 1, sizeof *out);
    if (!out)
        return pyro_fail_memory(context->error);
    memcpy(out, rows, kept * sizeof *out);
    context->result->stacks = out;
    context->result->stack_count = kept;
    return PYRO_OK;
}

static void clear_stacks(void *data)
{
    stacks_state *state = data;
    free(state->nodes);
    free(state->short_names);
    pyro_op_frames_free(&state->frames);
    pyro_map_free(&state->children);
    pyro_map_free(&state->short_index);
}

const pyro_analyzer pyro_analyze_stacks = {
    .name = "stacks",
    .state_size = sizeof(stacks_state),
    .init = init_stacks,
    .event = add_event,
    .finish = finish_stacks,
    .clear = clear_stacks,
    .whole_trace = true,
};
