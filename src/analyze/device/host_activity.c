/* Keeps the innermost running event of every followed thread while time moves forward. */
#include "analyze/device/host_activity.h"
#include "base/error.h"

#include <string.h>

/* Counts launches, or ops in a trace without device work, per track. */
static void count_events(const pyro_analysis_context *context, uint32_t *counts)
{
    const pyro_trace *trace = context->trace;
    bool has_launches = false;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t launch = pyro_event_is_device_work(trace->category[i]) ? context->joins->launch[i]
                                                                        : PYRO_NO_EVENT;
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
    *threads = (pyro_host_threads){.context = context, .next_ns = INT64_MIN};
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

void pyro_host_pass_starts(pyro_host_threads *threads, int64_t now_ns)
{
    pyro_analysis_context *context = threads->context;
    const pyro_trace *trace = context->trace;
    const uint32_t *by_time = context->joins->by_time;
    size_t next = threads->next, count = trace->count;
    threads->next_ns = INT64_MAX;
    for (; next < count; next++) {
        uint32_t event = by_time[next];
        uint8_t slot = threads->slot_of_track[trace->track[event]];
        if (!slot)
            continue;
        uint8_t category = trace->category[event];
        int64_t start = trace->start_ns[event];
        bool is_host = pyro_event_is_host(category);
        if (is_host && start > now_ns) {
            threads->next_ns = start;
            break;
        }
        uint16_t traits = pyro_context_traits(context, event);
        owe_for(threads, start, category, traits);
        if (!is_host)
            continue;
        pyro_host_thread *thread = &threads->threads[slot - 1];
        thread->running = event; /* the next request leaves it, if it has ended */
        thread->end_ns = start + trace->duration_ns[event];
        thread->state = state_of(category, traits);
        if (traits & PYRO_TRAIT_LOADER && thread->end_ns > thread->loading_until_ns)
            thread->loading_until_ns = thread->end_ns;
    }
    threads->next = next;
}

void pyro_host_threads_settle(pyro_host_threads *threads, int64_t now_ns)
{
    pyro_host_pass_starts(threads, now_ns);
    threads->owed_ns = 0;
}
