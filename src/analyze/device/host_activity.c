/* Keeps the innermost running event of every followed thread while time moves forward. */
#include "analyze/device/host_activity.h"
#include "base/error.h"

#include <string.h>

/* Counts launches, or ops in a trace without device work, per track. */
static void count_events(const pyro_analysis_context *context, uint32_t *counts)
{
    const pyro_trace *trace = context->trace;
    bool has_launches = false;
    for (size_t i = pyro_trace_next_work(trace, 0); i < trace->count;
         i = pyro_trace_next_work(trace, i + 1)) {
        uint32_t launch = context->joins->launch[i];
        if (launch == PYRO_NO_EVENT)
            continue;
        counts[trace->track[launch]]++;
        has_launches = true;
    }
    for (size_t i = 0; !has_launches && i < trace->count; i++)
        counts[trace->track[i]] += pyro_event_is_host(trace->category[i]);
}

/* The first thread has the most events: it is followed where none is asked for. */
int pyro_host_threads_init(pyro_host_threads *threads, pyro_analysis_context *context)
{
    size_t tracks = context->trace->track_count;
    uint32_t *counts = pyro_arena_array(context->scratch, tracks + 1, sizeof *counts);
    *threads = (pyro_host_threads){.context = context,
                                   .next = PYRO_NO_EVENT,
                                   .next_ns = INT64_MIN,
                                   .others = {.until_ns = INT64_MIN}};
    threads->slot_of_track = pyro_arena_array(context->scratch, tracks + 1, 1);
    if (!counts || !threads->slot_of_track)
        return pyro_fail_memory(context->error);
    count_events(context, counts);
    int status = pyro_event_costs_find(&threads->cost, context);
    while (threads->count < PYRO_HOST_THREADS) {
        size_t most = tracks;
        for (size_t i = 0; i < tracks; i++)
            if (counts[i] && (most == tracks || counts[i] > counts[most]))
                most = i;
        if (most == tracks)
            break;
        counts[most] = 0;
        threads->threads[threads->count] = (pyro_host_thread){.track = (uint16_t)most,
                                                              .running = PYRO_NO_EVENT,
                                                              .end_ns = INT64_MAX,
                                                              .loading_until_ns = INT64_MIN};
        threads->slot_of_track[most] = (uint8_t)++threads->count;
    }
    return status;
}

static inline pyro_host_state state_of(uint8_t category, uint16_t traits)
{
    switch (category) {
    case PYRO_EVENT_RUNTIME:
    case PYRO_EVENT_DRIVER:
        return traits & PYRO_TRAIT_SYNC ? PYRO_HOST_WAITING : PYRO_HOST_CALL;
    case PYRO_EVENT_OP:
        return traits & PYRO_TRAIT_STEP ? PYRO_HOST_PYTHON : PYRO_HOST_CALL;
    case PYRO_EVENT_PYTHON: /* what another thread does tells more than a wait for it */
        return traits & PYRO_TRAIT_BLOCKED ? PYRO_HOST_BLOCKED : PYRO_HOST_PYTHON;
    default:
        return PYRO_HOST_PYTHON;
    }
}

void pyro_host_leave_ended(pyro_host_threads *threads, pyro_host_thread *thread, int64_t now_ns)
{
    pyro_analysis_context *context = threads->context;
    const pyro_trace *trace = context->trace;
    uint32_t running = thread->running;
    int64_t end = thread->end_ns;
    while (running != PYRO_NO_EVENT && end <= now_ns) {
        running = context->joins->parent[running];
        end = running == PYRO_NO_EVENT ? INT64_MAX : pyro_event_end_ns(trace, running);
    }
    thread->running = running;
    thread->end_ns = end;
    thread->state = running == PYRO_NO_EVENT
                        ? PYRO_HOST_NOTHING
                        : state_of(trace->category[running], pyro_context_traits(context, running));
}

/* Adds what recording an event cost. A host that waits for the device catches up there: without a
 * profiler it would only wait longer. */
static inline void owe_for(pyro_host_threads *threads, int64_t start_ns, uint8_t category,
                           uint16_t traits)
{
    threads->owed_ns += pyro_event_cost_ns(&threads->cost, category, traits);
    if ((category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER) &&
        traits & PYRO_TRAIT_SYNC && start_ns < threads->busy_until_ns)
        threads->owed_ns = 0;
}

/* The event that comes next starts. */
static void start_next(pyro_host_threads *threads)
{
    pyro_analysis_context *context = threads->context;
    uint32_t event = threads->next;
    uint8_t category = context->trace->category[event];
    uint16_t traits = pyro_context_traits(context, event);
    size_t index = threads->slot_of_track[context->trace->track[event]] - 1u;
    pyro_host_thread *thread = &threads->threads[index];
    owe_for(threads, threads->next_ns, category, traits);
    thread->running = event; /* the next request leaves it, if it has ended */
    thread->end_ns = threads->next_ns + context->trace->duration_ns[event];
    thread->state = state_of(category, traits);
    if (traits & PYRO_TRAIT_LOADER && thread->end_ns > thread->loading_until_ns)
        thread->loading_until_ns = thread->end_ns;
    if (index != threads->first)
        threads->others.until_ns = INT64_MIN;
}

/* Finds the event that comes next, and adds what recording those before it cost that are no events
 * of the host. */
static void find_next(pyro_host_threads *threads)
{
    pyro_analysis_context *context = threads->context;
    const pyro_trace *trace = context->trace;
    const uint32_t *by_time = context->joins->by_time;
    size_t position = threads->position, count = trace->count;
    threads->next_ns = INT64_MAX;
    for (; position < count && threads->next_ns == INT64_MAX; position++) {
        uint32_t event = by_time[position];
        uint8_t category = trace->category[event];
        if (!threads->slot_of_track[trace->track[event]])
            continue;
        if (!pyro_event_is_host(category)) {
            owe_for(threads, trace->start_ns[event], category, 0);
            continue;
        }
        threads->next = event;
        threads->next_ns = trace->start_ns[event];
    }
    threads->position = position;
}

void pyro_host_pass_starts(pyro_host_threads *threads, int64_t now_ns)
{
    while (threads->next_ns <= now_ns) {
        if (threads->next != PYRO_NO_EVENT)
            start_next(threads);
        find_next(threads);
    }
}

void pyro_host_ask_others(pyro_host_threads *threads, int64_t now_ns, size_t first)
{
    threads->first = first;
    threads->others = (pyro_host_activity){PYRO_HOST_NOTHING, PYRO_NO_EVENT, INT64_MAX};
    for (size_t i = 0; i < threads->count; i++)
        if (i != first)
            pyro_host_consider(threads, &threads->threads[i], now_ns, &threads->others);
}

void pyro_host_threads_settle(pyro_host_threads *threads, int64_t now_ns)
{
    pyro_host_pass_starts(threads, now_ns);
    threads->owed_ns = 0;
}
