/*
 * Finds where the time of each step lies. Usually that is where the host ran the step. A host that
 * runs ahead leaves the device behind: then a step lasts from its first work on the device to the
 * first work of the next one, and the device's account of the time is the one that counts.
 */
#include "analyze/analyze.h"
#include "analyze/quantile.h"
#include "base/error.h"

#include <stdlib.h>

enum { FEWEST_STEPS = 3, LEAST_LAG = 10 /* a tenth of a step */ };

/* When the device worked for a step; `end_ns` is INT64_MIN if it did not. */
typedef struct device_step {
    int64_t start_ns, end_ns;
} device_step;

typedef struct span_search {
    const pyro_analysis_context *context;
    device_step *steps; /* by index of joins->steps */
    int64_t *times;     /* to find medians in */
    bool *computes;     /* by track: some kernel there is no collective */
    int64_t before_ns;  /* when the work of before the first step ended */
} span_search;

static bool are_in_order(const pyro_joins *joins)
{
    for (size_t i = 1; i < joins->step_count; i++)
        if (joins->steps[i].start_ns < joins->steps[i - 1].end_ns)
            return false;
    return true;
}

/* The step in which device work was launched; step_count: none. */
static size_t step_at(const pyro_joins *joins, int64_t launch_ns, size_t near)
{
    size_t count = joins->step_count;
    while (near > 0 && (near == count || joins->steps[near].start_ns > launch_ns))
        near--;
    while (near < count && joins->steps[near].end_ns <= launch_ns)
        near++;
    return near < count && joins->steps[near].start_ns <= launch_ns ? near : count;
}

/* Copies and collectives on streams of their own can run ahead of their step: they do not begin it. */
static void find_computing_tracks(span_search *search)
{
    const pyro_trace *trace = search->context->trace;
    const pyro_joins *joins = search->context->joins;
    for (size_t event = pyro_trace_next_work(trace, 0); event < trace->count;
         event = pyro_trace_next_work(trace, event + 1))
        if (trace->category[event] == PYRO_EVENT_KERNEL &&
            joins->bucket[event] != PYRO_BUCKET_COLLECTIVE)
            search->computes[trace->track[event]] = true;
}

static void find_device_times(span_search *search)
{
    const pyro_trace *trace = search->context->trace;
    const pyro_joins *joins = search->context->joins;
    size_t near = 0;
    find_computing_tracks(search);
    for (size_t i = 0; i < joins->step_count; i++)
        search->steps[i] = (device_step){INT64_MAX, INT64_MIN};
    search->before_ns = INT64_MIN;
    for (size_t event = pyro_trace_next_work(trace, 0); event < trace->count;
         event = pyro_trace_next_work(trace, event + 1)) {
        if (!search->computes[trace->track[event]])
            continue;
        uint32_t launch = joins->launch[event];
        int64_t start_ns = trace->start_ns[event], end_ns = pyro_event_end_ns(trace, event);
        int64_t launch_ns = launch == PYRO_NO_EVENT ? INT64_MIN : trace->start_ns[launch];
        size_t step = launch_ns == INT64_MIN ? joins->step_count : step_at(joins, launch_ns, near);
        if (step == joins->step_count) {
            if (launch_ns < joins->steps[0].start_ns && end_ns > search->before_ns)
                search->before_ns = end_ns;
            continue;
        }
        near = step;
        device_step *times = &search->steps[step];
        times->start_ns = start_ns < times->start_ns ? start_ns : times->start_ns;
        times->end_ns = end_ns > times->end_ns ? end_ns : times->end_ns;
    }
}

/* Whether each step has work of its own, one after the other, and the device is behind in most. */
static bool device_lags(span_search *search)
{
    const pyro_joins *joins = search->context->joins;
    size_t count = joins->step_count;
    for (size_t i = 0; i < count; i++)
        if (search->steps[i].end_ns == INT64_MIN ||
            (i && search->steps[i].start_ns <= search->steps[i - 1].start_ns))
            return false;
    for (size_t i = 0; i < count; i++)
        search->times[i] = joins->steps[i].end_ns - joins->steps[i].start_ns;
    int64_t step_ns = pyro_median(search->times, count);
    for (size_t i = 0; i < count; i++)
        search->times[i] = search->steps[i].end_ns - joins->steps[i].end_ns;
    return pyro_median(search->times, count) > step_ns / LEAST_LAG;
}

/* Work of before the first step can still run when that begins. */
static void close_gaps(span_search *search)
{
    const pyro_joins *joins = search->context->joins;
    int64_t first_ns = joins->steps[0].start_ns;
    first_ns = search->before_ns > first_ns ? search->before_ns : first_ns;
    if (first_ns < search->steps[0].start_ns)
        search->steps[0].start_ns = first_ns;
    for (size_t i = 0; i + 1 < joins->step_count; i++)
        search->steps[i].end_ns = search->steps[i + 1].start_ns;
}

static int use_device_times(const span_search *search, pyro_analysis_context *context)
{
    const pyro_joins *joins = context->joins;
    pyro_window *spans = pyro_arena_array(context->scratch, context->window_count, sizeof *spans);
    size_t count = 0;
    if (!spans)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < joins->step_count && count < context->window_count; i++) {
        if (context->options->step >= 0 && joins->steps[i].number != context->options->step)
            continue;
        spans[count] = context->windows[count];
        spans[count].start_ns = search->steps[i].start_ns;
        spans[count++].end_ns = search->steps[i].end_ns;
    }
    context->spans = spans;
    context->result->steps_on_device = true;
    return PYRO_OK;
}

int pyro_context_find_spans(pyro_analysis_context *context)
{
    const pyro_joins *joins = context->joins;
    int status = PYRO_OK;
    context->spans = context->windows;
    if (joins->step_count < FEWEST_STEPS || !context->category_count[PYRO_EVENT_KERNEL] ||
        context->options->host_steps || !are_in_order(joins))
        return PYRO_OK;
    span_search search = {
        .context = context,
        .steps = calloc(joins->step_count, sizeof *search.steps),
        .times = calloc(joins->step_count, sizeof *search.times),
        .computes = calloc(context->trace->track_count + 1, sizeof *search.computes)};
    if (!search.steps || !search.times || !search.computes) {
        status = pyro_fail_memory(context->error);
    } else {
        find_device_times(&search);
        if (device_lags(&search)) {
            close_gaps(&search);
            status = use_device_times(&search, context);
        }
    }
    free(search.steps);
    free(search.times);
    free(search.computes);
    return status;
}
