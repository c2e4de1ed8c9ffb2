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

/* What another thread does tells more than a frame that waits for it. */
static void make_rules(pyro_host_threads *threads)
{
    static const struct {
        uint16_t trait;
        pyro_host_state state, other_state;
    } states[PYRO_EVENT_CATEGORY_COUNT] = {
        [PYRO_EVENT_RUNTIME] = {PYRO_TRAIT_SYNC, PYRO_HOST_CALL, PYRO_HOST_WAITING},
        [PYRO_EVENT_DRIVER] = {PYRO_TRAIT_SYNC, PYRO_HOST_CALL, PYRO_HOST_WAITING},
        [PYRO_EVENT_OP] = {PYRO_TRAIT_STEP, PYRO_HOST_CALL, PYRO_HOST_PYTHON},
        [PYRO_EVENT_PYTHON] = {PYRO_TRAIT_BLOCKED, PYRO_HOST_PYTHON, PYRO_HOST_BLOCKED},
    };
    for (uint8_t category = 0; category < PYRO_EVENT_CATEGORY_COUNT; category++)
        threads->rules[category] = (pyro_host_rule){
            .cost_ns = pyro_event_cost_ns(&threads->cost, category, 0),
            .builtin_cost_ns = pyro_event_cost_ns(&threads->cost, category, PYRO_TRAIT_BUILTIN),
            .trait = states[category].trait,
            .state = states[category].trait ? states[category].state : PYRO_HOST_PYTHON,
            .other_state = states[category].other_state};
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
    make_rules(threads);
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
    if (threads->overhead_ns < now_ns)
        threads->overhead_ns = now_ns < threads->overhead_until_ns ? now_ns
                                                                   : threads->overhead_until_ns;
}
