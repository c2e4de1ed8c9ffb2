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
    *threads = (pyro_host_threads){.context = context};
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
        threads->threads[threads->count] = (pyro_host_thread){
            .track = (uint16_t)most, .running = PYRO_NO_EVENT, .loading_until_ns = INT64_MIN};
        threads->slot_of_track[most] = (uint8_t)++threads->count;
    }
    return status;
}

static pyro_host_thread *thread_of(pyro_host_threads *threads, uint32_t event)
{
    const pyro_trace *trace = threads->context->trace;
    uint8_t slot = threads->slot_of_track[trace->track[event]];
    return slot && pyro_event_is_host(trace->category[event]) ? &threads->threads[slot - 1] : NULL;
}

/* Adds what recording an event cost. A host that waits for the device catches up there: without a
 * profiler it would only wait longer. */
static void owe_for(pyro_host_threads *threads, uint32_t event)
{
    const pyro_trace *trace = threads->context->trace;
    uint8_t category = trace->category[event];
    if (!threads->slot_of_track[trace->track[event]])
        return;
    threads->owed_ns += pyro_event_cost_ns(&threads->cost, trace, event);
    if ((category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER) &&
        trace->start_ns[event] < threads->busy_until_ns &&
        pyro_context_traits(threads->context, event) & PYRO_TRAIT_SYNC)
        threads->owed_ns = 0;
}

/* Passes the events that started until now. Returns when the next one starts. */
static int64_t pass_starts(pyro_host_threads *threads, int64_t now_ns)
{
    pyro_analysis_context *context = threads->context;
    const pyro_trace *trace = context->trace;
    for (; threads->next < trace->count; threads->next++) {
        uint32_t event = context->joins->by_time[threads->next];
        pyro_host_thread *thread = thread_of(threads, event);
        if (thread && trace->start_ns[event] > now_ns)
            return trace->start_ns[event];
        owe_for(threads, event);
        if (!thread)
            continue;
        int64_t end = pyro_event_end_ns(trace, event);
        thread->running = event;
        if (end > thread->loading_until_ns &&
            pyro_context_traits(context, event) & PYRO_TRAIT_LOADER)
            thread->loading_until_ns = end;
    }
    return INT64_MAX;
}

void pyro_host_threads_settle(pyro_host_threads *threads, int64_t now_ns)
{
    pass_starts(threads, now_ns);
    threads->owed_ns = 0;
}

/* Work.wait() of torch.distributed: what another thread does tells more. */
static bool is_blocked(const pyro_trace *trace, uint32_t event)
{
    static const char wait[] = "<built-in method wait of ";
    return trace->category[event] == PYRO_EVENT_PYTHON &&
           !strncmp(pyro_event_name(trace, event), wait, sizeof wait - 1);
}

static pyro_host_state state_of(pyro_host_threads *threads, const pyro_host_thread *thread,
                                int64_t now_ns)
{
    pyro_analysis_context *context = threads->context;
    if (now_ns < thread->loading_until_ns)
        return PYRO_HOST_LOADING;
    if (thread->running == PYRO_NO_EVENT)
        return PYRO_HOST_NOTHING;
    uint8_t traits = pyro_context_traits(context, thread->running);
    switch (context->trace->category[thread->running]) {
    case PYRO_EVENT_RUNTIME:
    case PYRO_EVENT_DRIVER:
        return traits & PYRO_TRAIT_SYNC ? PYRO_HOST_WAITING : PYRO_HOST_CALL;
    case PYRO_EVENT_OP:
        return traits & PYRO_TRAIT_STEP ? PYRO_HOST_PYTHON : PYRO_HOST_CALL;
    default:
        return is_blocked(context->trace, thread->running) ? PYRO_HOST_BLOCKED : PYRO_HOST_PYTHON;
    }
}

/* Leaves the events that have ended. Returns when the innermost one ends. */
static int64_t leave_ended(const pyro_analysis_context *context, pyro_host_thread *thread,
                           int64_t now_ns)
{
    while (thread->running != PYRO_NO_EVENT) {
        int64_t end = pyro_event_end_ns(context->trace, thread->running);
        if (end > now_ns)
            return end;
        thread->running = context->joins->parent[thread->running];
    }
    return INT64_MAX;
}

/* Whether a state explains more than another; a frame of any thread explains less than a call. */
static bool tells_more(pyro_host_state state, pyro_host_state than)
{
    pyro_host_state call = PYRO_HOST_CALL;
    return (state < call ? state : call) > (than < call ? than : call);
}

pyro_host_activity pyro_host_activity_at(pyro_host_threads *threads, int64_t now_ns, uint16_t track)
{
    pyro_host_activity best = {PYRO_HOST_NOTHING, PYRO_NO_EVENT, pass_starts(threads, now_ns)};
    uint8_t asked = track < threads->context->trace->track_count ? threads->slot_of_track[track]
                                                                 : 0;
    size_t first = asked ? asked - 1u : 0;
    for (size_t i = 0; i < threads->count; i++) {
        /* The asked thread first, then the others in their order. */
        size_t slot = i == 0 ? first : i <= first ? i - 1 : i;
        pyro_host_thread *thread = &threads->threads[slot];
        int64_t end = leave_ended(threads->context, thread, now_ns);
        best.until_ns = end < best.until_ns ? end : best.until_ns;
        pyro_host_state state = state_of(threads, thread, now_ns);
        if (state == PYRO_HOST_LOADING && thread->loading_until_ns < best.until_ns)
            best.until_ns = thread->loading_until_ns;
        if (!tells_more(state, best.state))
            continue;
        best.state = state;
        best.event = thread->running;
    }
    return best;
}
