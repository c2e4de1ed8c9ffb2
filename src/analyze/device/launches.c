/*
 * Analyses launches of the steps: the cost of calls that start kernels, the delay of kernels, and
 * the queue length, which counts all launches. A call that starts many kernels (a CUDA graph) is one
 * launch.
 */
#include "analyze/analyze.h"
#include "analyze/intervals.h"
#include "analyze/quantile.h"
#include "base/error.h"

#include <string.h>

typedef struct launch_state {
    uint8_t *kernels_of; /* by event: kernels that a call starts, 255 and more in `many` */
    pyro_map many;
    pyro_map executing; /* calls in which their kernels ran, to those kernels */
    int64_t *launch_ns, *delay_ns; /* of each call, of each kernel */
    size_t launch_count, delay_count;
    int64_t *device_until_ns;      /* by device number: end of its work so far */
    bool *device_begun;
    int64_t queued, changed_ns;    /* kernels launched but not started, and since when */
    int64_t first_ns;
    double queued_time;            /* integral of the queue over time */
    bool begun;
} launch_state;

static bool count_kernel(launch_state *state, uint32_t launch)
{
    if (state->kernels_of[launch] < UINT8_MAX - 1) {
        state->kernels_of[launch]++;
        return true;
    }
    state->kernels_of[launch] = UINT8_MAX;
    uint32_t count = pyro_map_get(&state->many, launch);
    return pyro_map_put(&state->many, launch, count == PYRO_MAP_NONE ? UINT8_MAX : count + 1);
}

/* Whether a call returns after its kernel: some runtimes execute in the call. A short kernel may run
 * while its launch returns, but is not most of the call. */
static bool executes(const pyro_trace *trace, uint32_t launch, uint32_t kernel)
{
    return trace->start_ns[kernel] >= trace->start_ns[launch] &&
           pyro_event_end_ns(trace, kernel) <= pyro_event_end_ns(trace, launch) &&
           trace->duration_ns[kernel] > trace->duration_ns[launch] / 2;
}

/* The queue grows by what a call will start, so that must be known before the pass. */
static int init_launch(void *data, pyro_analysis_context *context)
{
    launch_state *state = data;
    const pyro_trace *trace = context->trace;
    size_t kernels = context->category_count[PYRO_EVENT_KERNEL];
    size_t devices = context->device_count ? context->device_count : 1;
    pyro_arena *scratch = context->scratch;
    state->kernels_of = pyro_arena_array(scratch, trace->count ? trace->count : 1, 1);
    state->launch_ns = pyro_arena_array(scratch, kernels, sizeof(int64_t));
    state->delay_ns = pyro_arena_array(scratch, kernels, sizeof(int64_t));
    state->device_until_ns = pyro_arena_array(scratch, devices, sizeof(int64_t));
    state->device_begun = pyro_arena_array(scratch, devices, sizeof(bool));
    if (!state->kernels_of || !state->launch_ns || !state->delay_ns || !state->device_until_ns ||
        !state->device_begun)
        return pyro_fail_memory(context->error);
    for (size_t i = pyro_trace_next(trace, 0, PYRO_EVENT_KERNEL); i < trace->count;
         i = pyro_trace_next(trace, i + 1, PYRO_EVENT_KERNEL)) {
        uint32_t kernel = (uint32_t)i, launch = context->joins->launch[i];
        if (launch == PYRO_NO_EVENT || !pyro_context_wants(context, kernel))
            continue;
        if (!count_kernel(state, launch) ||
            (executes(trace, launch, kernel) && !pyro_map_put(&state->executing, launch, kernel)))
            return pyro_fail_memory(context->error);
    }
    return PYRO_OK;
}

static void change_queue(launch_state *state, pyro_launch_summary *summary, int64_t time_ns,
                         int64_t change)
{
    if (!state->begun) {
        state->begun = true;
        state->first_ns = state->changed_ns = time_ns;
    }
    /* A kernel that starts before its launch (two clocks) makes a queue shorter than empty. */
    if (state->queued > 0)
        state->queued_time += (double)state->queued * (double)(time_ns - state->changed_ns);
    state->changed_ns = time_ns;
    state->queued += change;
    if (state->queued > summary->max_queue)
        summary->max_queue = state->queued;
}

static bool is_graph_launch(pyro_analysis_context *context, uint32_t launch)
{
    return pyro_context_traits(context, launch) & PYRO_TRAIT_GRAPH_LAUNCH;
}

static int64_t executed_ns(const launch_state *state, const pyro_trace *trace, uint32_t launch)
{
    uint32_t kernel = pyro_map_get(&state->executing, launch);
    return kernel == PYRO_MAP_NONE ? 0 : trace->duration_ns[kernel];
}

static void count_launch(launch_state *state, pyro_analysis_context *context, uint32_t event)
{
    pyro_launch_summary *summary = &context->result->launch;
    int64_t duration = context->trace->duration_ns[event];
    state->launch_ns[state->launch_count++] = duration;
    summary->launches++;
    summary->launch_total_ns = pyro_add_ns(summary->launch_total_ns, duration);
    if (is_graph_launch(context, event)) {
        summary->graph_launches++;
        summary->graph_launch_total_ns = pyro_add_ns(summary->graph_launch_total_ns, duration);
    } else {
        summary->slow_launches += duration - executed_ns(state, context->trace, event) >
                                  PYRO_SLOW_LAUNCH_US * 1000;
    }
    summary->executed_ns = pyro_add_ns(summary->executed_ns,
                                       executed_ns(state, context->trace, event));
}

/* Launches of the start-up are no part of the steps; they count where no steps are known. */
static bool is_in_steps(const pyro_analysis_context *context, uint32_t launch)
{
    return pyro_context_window_at(context, context->trace->start_ns[launch]) != PYRO_NO_EVENT;
}

static void add_launch(launch_state *state, pyro_analysis_context *context, uint32_t event)
{
    int64_t kernels = state->kernels_of[event];
    if (kernels == UINT8_MAX)
        kernels = pyro_map_get(&state->many, event);
    if (is_in_steps(context, event))
        count_launch(state, context, event);
    change_queue(state, &context->result->launch, context->trace->start_ns[event], kernels);
}

static void add_kernel(launch_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    pyro_launch_summary *summary = &context->result->launch;
    uint32_t launch = context->joins->launch[event];
    uint16_t device = context->device_of_track[trace->track[event]];
    if (launch == PYRO_NO_EVENT)
        return;
    change_queue(state, summary, trace->start_ns[event], -1);
    if (!is_in_steps(context, launch))
        return;
    int64_t delay = trace->start_ns[event] - pyro_event_end_ns(trace, launch);
    state->delay_ns[state->delay_count++] = delay > 0 ? delay : 0;
    if (trace->duration_ns[event] < trace->duration_ns[launch] && state->kernels_of[launch] == 1 &&
        !is_graph_launch(context, launch) && !executed_ns(state, trace, launch)) {
        summary->short_kernels++;
        summary->short_kernel_total_ns = pyro_add_ns(summary->short_kernel_total_ns,
                                                     trace->duration_ns[event]);
    }
    summary->late_kernels += state->device_begun[device] &&
                             trace->start_ns[launch] > state->device_until_ns[device];
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    launch_state *state = data;
    const pyro_trace *trace = context->trace;
    uint8_t category = trace->category[event];
    if (!pyro_event_is_device_work(category)) {
        if (state->kernels_of[event])
            add_launch(state, context, event);
        return PYRO_OK;
    }
    if (category == PYRO_EVENT_KERNEL && pyro_context_wants(context, event))
        add_kernel(state, context, event);
    uint16_t device = context->device_of_track[trace->track[event]];
    int64_t end = pyro_event_end_ns(trace, event);
    if (!state->device_begun[device] || end > state->device_until_ns[device])
        state->device_until_ns[device] = end;
    state->device_begun[device] = true;
    return PYRO_OK;
}

static int finish_launch(void *data, pyro_analysis_context *context)
{
    launch_state *state = data;
    pyro_launch_summary *summary = &context->result->launch;
    summary->launch_median_ns = pyro_quantile(state->launch_ns, state->launch_count, 1, 2);
    summary->delay_median_ns = pyro_quantile(state->delay_ns, state->delay_count, 1, 2);
    summary->delay_p95_ns = pyro_quantile(state->delay_ns, state->delay_count, 19, 20);
    if (state->changed_ns > state->first_ns)
        summary->mean_queue = state->queued_time / (double)(state->changed_ns - state->first_ns);
    return PYRO_OK;
}

static void clear_launch(void *data)
{
    pyro_map_free(&((launch_state *)data)->many);
    pyro_map_free(&((launch_state *)data)->executing);
}

const pyro_analyzer pyro_analyze_launch = {
    .name = "launch",
    .state_size = sizeof(launch_state),
    .init = init_launch,
    .event = add_event,
    .finish = finish_launch,
    .clear = clear_launch,
    .categories = 1u << PYRO_EVENT_RUNTIME | 1u << PYRO_EVENT_DRIVER | 1u << PYRO_EVENT_KERNEL |
                  1u << PYRO_EVENT_MEMCPY | 1u << PYRO_EVENT_MEMSET,
    .whole_trace = true,
};
