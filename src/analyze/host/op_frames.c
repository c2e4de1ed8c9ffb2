/*
 * Places the frames of an op's stack among layers and ops. A layer is a call of
 * nn.Module._call_impl: frames before that one called the layer, the rest run inside it.
 */
#include "analyze/host/op_frames.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define MODULE_FILE "torch/nn/modules/module.py("

static bool is_call(const pyro_analysis_context *context, uint32_t event)
{
    uint32_t call = context->joins->call[event];
    return call != PYRO_NO_LAYER && context->joins->calls[call].event == event;
}

static bool has_frame_events(const pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    if (!context->category_count[PYRO_EVENT_PYTHON])
        return false;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->category[i] == PYRO_EVENT_PYTHON && !is_call(context, (uint32_t)i))
            return true;
    }
    return false;
}

/* A layer has no stack: the first op in it with a stack gives the frames around it. */
static void find_stacks(pyro_op_frames *frames, const pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    for (size_t i = trace->count; i-- > 0;) {
        uint32_t event = context->joins->by_time[i], detail = trace->detail[event];
        if (!pyro_event_is_host(trace->category[event]))
            continue;
        if (trace->category[event] == PYRO_EVENT_OP && detail != PYRO_NO_ID &&
            trace->ops[detail].stack != PYRO_NO_ID)
            frames->stack[event] = trace->ops[detail].stack;
        uint32_t parent = context->joins->parent[event];
        if (parent != PYRO_NO_EVENT && frames->stack[event] != PYRO_NO_ID)
            frames->stack[parent] = frames->stack[event];
    }
}

int pyro_op_frames_begin(pyro_op_frames *frames, const pyro_analysis_context *context)
{
    size_t count = context->trace->count + 1;
    frames->is_used = context->trace->has_stacks && !has_frame_events(context);
    if (!frames->is_used)
        return PYRO_OK;
    frames->stack = pyro_arena_array(context->scratch, count, sizeof *frames->stack);
    frames->done = pyro_arena_array(context->scratch, count, sizeof *frames->done);
    if (!frames->stack || !frames->done)
        return pyro_fail_memory(context->error);
    memset(frames->done, 0, count * sizeof *frames->done);
    for (size_t i = 0; i < count; i++)
        frames->stack[i] = PYRO_NO_ID;
    find_stacks(frames, context);
    return PYRO_OK;
}

static bool add_frame(pyro_op_frames *frames, pyro_analysis_context *context, const char *text,
                      size_t length)
{
    uint32_t id = pyro_intern_add(context->texts, text, length);
    if (id == PYRO_INTERN_NONE || !pyro_grow(&frames->frames, &frames->frame_capacity,
                                             frames->frame_count + 1, sizeof *frames->frames))
        return false;
    frames->frames[frames->frame_count++] = id;
    return true;
}

/* The text has the innermost frame first, with ';' or newlines between. */
static const pyro_parsed_stack *parse(pyro_op_frames *frames, pyro_analysis_context *context,
                                      uint32_t text)
{
    uint32_t known = pyro_map_get(&frames->parsed_index, text);
    if (known != PYRO_MAP_NONE)
        return &frames->parsed[known];
    const char *stack = pyro_trace_text(context->trace, text), *end = stack + strlen(stack);
    uint32_t first = (uint32_t)frames->frame_count;
    while (end > stack) {
        const char *begin = end;
        while (begin > stack && begin[-1] != ';' && begin[-1] != '\n')
            begin--;
        if (end > begin && !add_frame(frames, context, begin, (size_t)(end - begin)))
            return NULL;
        end = begin > stack ? begin - 1 : stack;
    }
    if (!pyro_grow(&frames->parsed, &frames->parsed_capacity, frames->parsed_count + 1,
                   sizeof *frames->parsed) ||
        !pyro_map_put(&frames->parsed_index, text, (uint32_t)frames->parsed_count))
        return NULL;
    frames->parsed[frames->parsed_count] = (pyro_parsed_stack){
        first, (uint32_t)frames->frame_count - first};
    return &frames->parsed[frames->parsed_count++];
}

static bool is_module_frame(const pyro_analysis_context *context, uint32_t frame,
                            const char *function)
{
    const char *text = pyro_intern_text(context->texts, frame);
    size_t length = strlen(text), name_length = strlen(function);
    return length > name_length && strcmp(text + length - name_length, function) == 0 &&
           strstr(text, MODULE_FILE);
}

/* Frames of the stack that called the layer; if none did, the frames already above it. */
static uint32_t find_call(const pyro_op_frames *frames, const pyro_analysis_context *context,
                          const pyro_parsed_stack *stack, uint32_t above, bool is_inside)
{
    const uint32_t *list = frames->frames + stack->first;
    for (uint32_t i = above + is_inside; i < stack->count; i++) {
        if (is_module_frame(context, list[i], ": _call_impl"))
            return i;
    }
    return above;
}

/* Whether a layer encloses an event: the frame of its call then comes first of those below. */
static bool is_in_call(const pyro_op_frames *frames, const pyro_analysis_context *context,
                       uint32_t parent)
{
    while (parent != PYRO_NO_EVENT && !is_call(context, parent)) {
        uint32_t around = context->joins->parent[parent];
        if (around != PYRO_NO_EVENT && frames->done[around] != frames->done[parent])
            return false;
        parent = around;
    }
    return parent != PYRO_NO_EVENT;
}

const uint32_t *pyro_op_frames_above(pyro_op_frames *frames, pyro_analysis_context *context,
                                     uint32_t event, size_t *count)
{
    static const uint32_t none[1];
    *count = 0;
    if (!frames->is_used)
        return none;
    uint32_t parent = context->joins->parent[event];
    uint32_t above = parent == PYRO_NO_EVENT ? 0 : frames->done[parent];
    frames->done[event] = above;
    if (frames->stack[event] == PYRO_NO_ID)
        return none;
    const pyro_parsed_stack *stack = parse(frames, context, frames->stack[event]);
    if (!stack)
        return NULL;
    uint32_t until = stack->count;
    if (is_call(context, event))
        until = find_call(frames, context, stack, above, is_in_call(frames, context, parent));
    else if (context->trace->category[event] != PYRO_EVENT_OP)
        return none;
    if (until <= above)
        return none;
    const uint32_t *list = frames->frames + stack->first;
    frames->done[event] = until;
    *count = until - above;
    /* The layer stands for the function that every call of a module goes through. */
    if (is_call(context, event) &&
        is_module_frame(context, list[until - 1], ": _wrapped_call_impl"))
        --*count;
    return list + above;
}

void pyro_op_frames_free(pyro_op_frames *frames)
{
    free(frames->parsed);
    free(frames->frames);
    pyro_map_free(&frames->parsed_index);
}
