/*
 * Follows the threads that launch device work through time and reports which of their events
 * explains what the host did. Time only moves forward, so that all requests together take one pass
 * over the events.
 */
#ifndef PYRO_ANALYZE_DEVICE_HOST_ACTIVITY_H
#define PYRO_ANALYZE_DEVICE_HOST_ACTIVITY_H

#include "analyze/analyze.h"
#include "analyze/host/profiler_cost.h"
#include "analyze/intervals.h"

/* Threads that are followed: those with the most launches (without any, with the most ops). */
#define PYRO_HOST_THREADS 8

/* What a thread does, the least telling first. */
typedef enum pyro_host_state {
    PYRO_HOST_NOTHING, /* nothing that was recorded */
    PYRO_HOST_BLOCKED, /* a frame that waits for another thread */
    PYRO_HOST_PYTHON,  /* a frame or an annotation, outside of ops */
    PYRO_HOST_CALL,    /* an op, or a call of the runtime */
    PYRO_HOST_WAITING, /* a call that waits for the device */
    PYRO_HOST_LOADING  /* the data loader */
} pyro_host_state;

/* Up to `until_ns` the host did this; `event` is PYRO_NO_EVENT for PYRO_HOST_NOTHING. */
typedef struct pyro_host_activity {
    pyro_host_state state;
    uint32_t event;
    int64_t until_ns;
} pyro_host_activity;

typedef struct pyro_host_thread {
    uint32_t running; /* innermost event, as of the last request; PYRO_NO_EVENT */
    uint16_t track;
    pyro_host_state state; /* what it does in that event, but for the data loader */
    int64_t end_ns;        /* of the event; INT64_MAX: none */
    int64_t loading_until_ns;
} pyro_host_thread;

/* What an event of a category means: a table, because jumps by category are hard to predict. */
typedef struct pyro_host_rule {
    int64_t cost_ns, builtin_cost_ns; /* of recording it; the latter with PYRO_TRAIT_BUILTIN */
    uint16_t trait;                   /* with it, the thread is in the other state */
    pyro_host_state state, other_state;
} pyro_host_rule;

typedef struct pyro_host_threads {
    pyro_analysis_context *context;
    pyro_host_thread threads[PYRO_HOST_THREADS];
    size_t count;
    uint8_t *slot_of_track; /* index plus 1; 0: not followed */
    uint32_t next;          /* event of these threads that starts next; PYRO_NO_EVENT at first */
    int64_t next_ns;        /* when it starts; INT64_MAX: none is left */
    size_t position;        /* in order of time, behind it */
    size_t first;           /* the thread that the last request was about */
    pyro_host_activity others; /* what the other threads do together */
    pyro_profiler_cost cost; /* per event */
    pyro_host_rule rules[PYRO_EVENT_CATEGORY_COUNT];
    /* What recording the passed events cost the host. A device that works does not wait for that;
     * the next stretch in which the host is late takes it. */
    int64_t owed_ns;
    int64_t overhead_ns, overhead_until_ns; /* CUPTI's own work that no stretch has taken yet */
    int64_t busy_until_ns; /* a wait that began before this waited for the device */
} pyro_host_threads;

int pyro_host_threads_init(pyro_host_threads *threads, pyro_analysis_context *context);

/* The host is late from `now_ns` on, after the device has worked. */
static inline void pyro_host_threads_begin_idle(pyro_host_threads *threads, int64_t now_ns)
{
    threads->busy_until_ns = now_ns;
}

/* Passes the events until `now_ns`, and forgets what recording them cost. */
void pyro_host_threads_settle(pyro_host_threads *threads, int64_t now_ns);

/* Index of the thread of a track; that of the first thread where the track is not followed. */
static inline size_t pyro_host_thread_of(const pyro_host_threads *threads, uint16_t track)
{
    uint8_t slot = track < threads->context->trace->track_count ? threads->slot_of_track[track] : 0;
    return slot ? slot - 1u : 0;
}

static inline pyro_host_state pyro_host_state_of(const pyro_host_rule *rule, uint16_t traits)
{
    return traits & rule->trait ? rule->other_state : rule->state;
}

/* Leaves events of a thread that have ended. */
static inline void pyro_host_leave_ended(pyro_host_threads *threads, pyro_host_thread *thread,
                                         int64_t now_ns)
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
    thread->state = PYRO_HOST_NOTHING;
    if (running != PYRO_NO_EVENT)
        thread->state = pyro_host_state_of(&threads->rules[trace->category[running]],
                                           pyro_context_host_traits(context, running));
}

/* Adds what recording an event cost. A host that waits for the device catches up there: without a
 * profiler it would only wait longer. */
static inline void pyro_host_owe_for(pyro_host_threads *threads, const pyro_host_rule *rule,
                                     int64_t start_ns, uint16_t traits)
{
    threads->owed_ns += traits & PYRO_TRAIT_BUILTIN ? rule->builtin_cost_ns : rule->cost_ns;
    if (traits & rule->trait && rule->other_state == PYRO_HOST_WAITING &&
        start_ns < threads->busy_until_ns)
        threads->owed_ns = 0;
}

/* The event that comes next starts. */
static inline void pyro_host_start_next(pyro_host_threads *threads)
{
    pyro_analysis_context *context = threads->context;
    uint32_t event = threads->next;
    const pyro_host_rule *rule = &threads->rules[context->trace->category[event]];
    uint16_t traits = pyro_context_host_traits(context, event);
    size_t index = threads->slot_of_track[context->trace->track[event]] - 1u;
    pyro_host_thread *thread = &threads->threads[index];
    pyro_host_owe_for(threads, rule, threads->next_ns, traits);
    thread->running = event; /* the next request leaves it, if it has ended */
    thread->end_ns = threads->next_ns + context->trace->duration_ns[event];
    thread->state = pyro_host_state_of(rule, traits);
    if (traits & PYRO_TRAIT_LOADER && thread->end_ns > thread->loading_until_ns)
        thread->loading_until_ns = thread->end_ns;
    if (index != threads->first)
        threads->others.until_ns = INT64_MIN;
}

/* Notes what CUPTI itself did on a thread of the program, which the trace does not name. Of what the
 * stretches before have left, the host is late by as much as the other costs. */
static inline void pyro_host_meet_overhead(pyro_host_threads *threads, uint32_t event)
{
    const pyro_trace *trace = threads->context->trace;
    if (!(pyro_context_host_traits(threads->context, event) & PYRO_TRAIT_PROFILING))
        return;
    threads->owed_ns = pyro_add_ns(threads->owed_ns,
                                   threads->overhead_until_ns - threads->overhead_ns);
    threads->overhead_ns = trace->start_ns[event];
    threads->overhead_until_ns = pyro_event_end_ns(trace, event);
}

/* The part of a stretch in which the host waited for CUPTI. Before the stretch, the device worked:
 * the host is late by that. */
static inline int64_t pyro_host_take_overhead(pyro_host_threads *threads, int64_t start_ns,
                                              int64_t end_ns)
{
    if (threads->overhead_ns >= threads->overhead_until_ns || threads->overhead_ns >= end_ns)
        return 0;
    int64_t until_ns = threads->overhead_until_ns < end_ns ? threads->overhead_until_ns : end_ns;
    int64_t from_ns = threads->overhead_ns > start_ns ? threads->overhead_ns : start_ns;
    from_ns = from_ns < until_ns ? from_ns : until_ns;
    threads->owed_ns = pyro_add_ns(threads->owed_ns, from_ns - threads->overhead_ns);
    threads->overhead_ns = until_ns;
    return until_ns - from_ns;
}

/* Finds the event that comes next, and adds what recording those before it cost that are no events
 * of the host. */
static inline void pyro_host_find_next(pyro_host_threads *threads)
{
    const pyro_trace *trace = threads->context->trace;
    const uint32_t *by_time = threads->context->joins->by_time;
    size_t position = threads->position, count = trace->count;
    threads->next_ns = INT64_MAX;
    while (position < count) {
        uint32_t event = by_time[position++];
        uint8_t category = trace->category[event];
        if (category == PYRO_EVENT_OVERHEAD)
            pyro_host_meet_overhead(threads, event);
        if (!threads->slot_of_track[trace->track[event]])
            continue;
        if (pyro_event_is_host(category)) {
            threads->next = event;
            threads->next_ns = trace->start_ns[event];
            break;
        }
        pyro_host_owe_for(threads, &threads->rules[category], trace->start_ns[event], 0);
    }
    threads->position = position;
}

/* Passes the events that started until now. */
static inline void pyro_host_pass_starts(pyro_host_threads *threads, int64_t now_ns)
{
    while (threads->next_ns <= now_ns) {
        if (threads->next != PYRO_NO_EVENT)
            pyro_host_start_next(threads);
        pyro_host_find_next(threads);
    }
}

/* Whether a state explains more than another; a frame of any thread explains less than a call. */
static inline bool pyro_host_tells_more(pyro_host_state state, pyro_host_state than)
{
    return than < PYRO_HOST_CALL && state > than;
}

/* Compares what a thread does with what others do. */
static inline void pyro_host_consider(pyro_host_threads *threads, pyro_host_thread *thread,
                                      int64_t now_ns, pyro_host_activity *best)
{
    if (thread->end_ns <= now_ns)
        pyro_host_leave_ended(threads, thread, now_ns);
    pyro_host_state state = thread->state;
    if (thread->end_ns < best->until_ns)
        best->until_ns = thread->end_ns;
    if (now_ns < thread->loading_until_ns) {
        state = PYRO_HOST_LOADING;
        if (thread->loading_until_ns < best->until_ns)
            best->until_ns = thread->loading_until_ns;
    }
    if (pyro_host_tells_more(state, best->state)) {
        best->state = state;
        best->event = thread->running;
    }
}

/* Finds what all threads but one do. */
void pyro_host_ask_others(pyro_host_threads *threads, int64_t now_ns, size_t first);

/*
 * What the host does at `now_ns`, which must not decrease from call to call. A thread in a call
 * tells more than one in Python code; among equals, the thread with the index `first` comes first.
 * Inline, because a trace with stacks has more requests than events; the other threads are asked
 * again only when one of them does something else.
 */
static inline pyro_host_activity pyro_host_activity_at(pyro_host_threads *threads, int64_t now_ns,
                                                       size_t first)
{
    if (threads->next_ns <= now_ns)
        pyro_host_pass_starts(threads, now_ns);
    if (threads->others.until_ns <= now_ns || threads->first != first)
        pyro_host_ask_others(threads, now_ns, first);
    pyro_host_activity best = {PYRO_HOST_NOTHING, PYRO_NO_EVENT, threads->next_ns};
    if (first < threads->count)
        pyro_host_consider(threads, &threads->threads[first], now_ns, &best);
    if (threads->others.until_ns < best.until_ns)
        best.until_ns = threads->others.until_ns;
    if (pyro_host_tells_more(threads->others.state, best.state)) {
        best.state = threads->others.state;
        best.event = threads->others.event;
    }
    return best;
}

/*
 * Whether what one thread does in its innermost event is all that the host does at `now_ns`: no other
 * thread tells more, it loads no data and waits for no device. That is nearly always so, and needs
 * less work than pyro_host_activity_at(), which gives the same answer. `until_ns` is set if so.
 */
static inline bool pyro_host_does_one_thing(pyro_host_threads *threads, int64_t now_ns,
                                            size_t first, int64_t *until_ns)
{
    pyro_host_thread *thread = &threads->threads[first];
    if (threads->next_ns <= now_ns)
        pyro_host_pass_starts(threads, now_ns);
    if (threads->first != first || threads->others.until_ns <= now_ns)
        return false;
    if (thread->end_ns <= now_ns)
        pyro_host_leave_ended(threads, thread, now_ns);
    if (thread->state > PYRO_HOST_CALL || now_ns < thread->loading_until_ns ||
        pyro_host_tells_more(threads->others.state, thread->state))
        return false;
    int64_t until = threads->next_ns < thread->end_ns ? threads->next_ns : thread->end_ns;
    *until_ns = until < threads->others.until_ns ? until : threads->others.until_ns;
    return true;
}

#endif
