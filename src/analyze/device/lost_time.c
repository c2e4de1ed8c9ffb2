/*
 * Divides every nanosecond of the steps by cause: device work, exposed communication and copies, and
 * idle time by what kept the device waiting. An idle stretch is cut at the launch of the work that
 * ends it: before the launch the host was late, after it the device was.
 */
#include "analyze/analyze.h"
#include "analyze/device/cause_places.h"
#include "analyze/device/host_activity.h"
#include "analyze/device/peer_wait.h"
#include "analyze/intervals.h"
#include "base/error.h"

#include <string.h>

enum { COMPUTE, COMMUNICATION, PEER_WAIT, COPY, CLASS_COUNT };
#define BIT(class) (1u << (class))

/* A call that waits returns this soon after the device has finished, and a launch takes effect this
 * soon on an idle device. What takes longer waits for something else. */
#define WAKE_UP_NS 100000

/* Time up to now, by cause. */
typedef struct cause_sums {
    int64_t ns[PYRO_CAUSE_COUNT];
    int64_t profiler_ns[PYRO_CAUSE_COUNT]; /* of it, what recording took */
} cause_sums;

typedef struct lost_state {
    pyro_analysis_context *context;
    pyro_sweep sweep;
    size_t next_boundary;
    int64_t boundary_ns; /* when the next boundary comes; INT64_MAX: none is left */
    bool is_in_window;
    cause_sums total;
    cause_sums *windows; /* by window */
    pyro_cause_places places;
    pyro_host_threads threads;
    pyro_peer_waits peers;
    uint32_t next;   /* the work that ends the present stretch; PYRO_NO_EVENT: none */
    uint32_t launch; /* its launch, or what it was launched before; PYRO_NO_EVENT: unknown */
    bool has_begun;  /* some device work was passed */
    bool memory_out;
} lost_state;

/* An idle stretch. */
typedef struct idle_stretch {
    int64_t start_ns, end_ns;
    int64_t launch_ns; /* where the host stops being late; at most the end */
    uint32_t sync;     /* the waiting call in which the host was when it began; PYRO_NO_EVENT */
    size_t thread;     /* that launched the next work (host_activity.h) */
    bool has_device;   /* some device work comes before or after it */
    pyro_cause in_python, in_call; /* causes of the time before the launch, by what the host does */
} idle_stretch;

static void close_window(lost_state *state, const pyro_boundary *boundary)
{
    cause_sums *sums = &state->windows[boundary->window];
    int sign = boundary->is_end ? 1 : -1;
    for (int cause = 0; cause < PYRO_CAUSE_COUNT; cause++) {
        sums->ns[cause] += sign * state->total.ns[cause];
        sums->profiler_ns[cause] += sign * state->total.profiler_ns[cause];
    }
}

static void find_boundary(lost_state *state)
{
    const pyro_analysis_context *context = state->context;
    size_t next = state->next_boundary;
    state->boundary_ns = next < context->boundary_count ? context->span_boundaries[next].time_ns
                                                        : INT64_MAX;
    state->is_in_window = next && context->span_boundaries[next - 1].owner != PYRO_NO_EVENT;
}

/* Causes in which the host is late; it would be less so without what recording took. */
#define LATE_HOST_CAUSES \
    (1u << PYRO_CAUSE_PYTHON | 1u << PYRO_CAUSE_OPS | 1u << PYRO_CAUSE_DATA_LOADING | \
     1u << PYRO_CAUSE_BEFORE_FIRST | 1u << PYRO_CAUSE_AFTER_LAST)

/* The part of a stretch that recording took. The costs are estimates: some of the time is always the
 * host's own. What CUPTI did itself is known. */
static inline int64_t take_owed(lost_state *state, pyro_cause cause, int64_t start_ns,
                                int64_t duration_ns)
{
    pyro_host_threads *threads = &state->threads;
    if (!(LATE_HOST_CAUSES >> cause & 1))
        return 0;
    int64_t known_ns = pyro_host_take_overhead(threads, start_ns, start_ns + duration_ns);
    int64_t most_ns = (int64_t)((uint64_t)(duration_ns - known_ns) / 4 * 3);
    int64_t part_ns = most_ns < threads->owed_ns ? most_ns : threads->owed_ns;
    if (part_ns <= 0)
        return known_ns;
    threads->owed_ns -= part_ns;
    return known_ns + part_ns;
}

static inline void add_part(lost_state *state, pyro_cause cause, int64_t start_ns,
                            int64_t duration_ns, uint32_t event, uint32_t sync)
{
    pyro_lost_part part = {cause, event, sync, duration_ns,
                           take_owed(state, cause, start_ns, duration_ns)};
    state->total.ns[cause] += duration_ns;
    state->total.profiler_ns[cause] += part.profiler_ns;
    if (duration_ns > 0 && state->is_in_window)
        state->memory_out |= !pyro_cause_places_add(&state->places, state->context, &part);
}

/* Adds a stretch up to the last boundary in it. Returns where that is. */
static int64_t add_to_boundaries(lost_state *state, pyro_cause cause, int64_t start_ns,
                                 int64_t end_ns, uint32_t event, uint32_t sync)
{
    while (state->boundary_ns <= end_ns && state->next_boundary < state->context->boundary_count) {
        if (state->boundary_ns > start_ns) {
            add_part(state, cause, start_ns, state->boundary_ns - start_ns, event, sync);
            start_ns = state->boundary_ns;
        }
        close_window(state, &state->context->span_boundaries[state->next_boundary++]);
        find_boundary(state);
    }
    return start_ns;
}

/* Adds a stretch, which begins where the last one ended, cut where windows start and end. */
static inline void add_stretch(lost_state *state, pyro_cause cause, int64_t start_ns,
                               int64_t end_ns, uint32_t event, uint32_t sync)
{
    if (state->boundary_ns <= end_ns)
        start_ns = add_to_boundaries(state, cause, start_ns, end_ns, event, sync);
    add_part(state, cause, start_ns, end_ns - start_ns, event, sync);
}

/* A kernel whose launch call takes long starts late because of the call: it loads a module, for
 * example. A copy's call waits for the device. */
static int64_t launch_time(const lost_state *state, const idle_stretch *idle)
{
    const pyro_trace *trace = state->context->trace;
    uint32_t launch = state->launch;
    int64_t time = trace->start_ns[launch];
    if (state->context->joins->launch[state->next] == launch &&
        trace->duration_ns[launch] > PYRO_SLOW_LAUNCH_US * 1000 &&
        trace->category[state->next] != PYRO_EVENT_MEMCPY &&
        !(pyro_context_traits(state->context, launch) & PYRO_TRAIT_SYNC))
        time = pyro_event_end_ns(trace, launch);
    if (time < idle->start_ns)
        return idle->start_ns;
    return time < idle->end_ns ? time : idle->end_ns;
}

/* Whether the host was blocked in the call that launched the next work until that started. */
static bool launch_blocks(const lost_state *state)
{
    const pyro_trace *trace = state->context->trace;
    uint32_t next = state->next, launch = state->context->joins->launch[next];
    if (launch == PYRO_NO_EVENT || trace->category[next] != PYRO_EVENT_MEMCPY ||
        pyro_event_end_ns(trace, launch) < trace->start_ns[next])
        return false;
    return pyro_context_traits(state->context, launch) & PYRO_TRAIT_SYNC ||
           strstr(pyro_event_name(trace, next), "DtoH");
}

/* Whether a call waits for long in a part of an idle stretch. */
static bool waits_long(const lost_state *state, uint32_t call, int64_t start_ns, int64_t end_ns)
{
    const pyro_trace *trace = state->context->trace;
    int64_t start = trace->start_ns[call], end = pyro_event_end_ns(trace, call);
    start = start > start_ns ? start : start_ns;
    end = end < end_ns ? end : end_ns;
    return end - start > WAKE_UP_NS;
}

/* Work whose launch the file lacks, though it has others, was launched before recording began. It
 * waited for earlier work, which the file lacks too. */
static bool was_launched_before(const lost_state *state)
{
    const pyro_analysis_context *context = state->context;
    return context->joins->launch[state->next] == PYRO_NO_EVENT &&
           (context->category_count[PYRO_EVENT_RUNTIME] ||
            context->category_count[PYRO_EVENT_DRIVER]);
}

/* Finds what the time before the launch is, unless the host waits or loads data. */
static void find_causes(const lost_state *state, idle_stretch *idle)
{
    pyro_cause cause = PYRO_CAUSE_COUNT;
    idle->has_device = state->has_begun || state->next != PYRO_NO_EVENT;
    if (idle->has_device && !state->has_begun)
        cause = was_launched_before(state) ? PYRO_CAUSE_UNRECORDED : PYRO_CAUSE_BEFORE_FIRST;
    else if (idle->has_device && state->next == PYRO_NO_EVENT)
        cause = PYRO_CAUSE_AFTER_LAST;
    else if (idle->has_device && state->launch == PYRO_NO_EVENT)
        cause = PYRO_CAUSE_UNKNOWN;
    bool is_known = cause != PYRO_CAUSE_COUNT;
    idle->in_python = is_known ? cause : PYRO_CAUSE_PYTHON;
    idle->in_call = is_known ? cause : PYRO_CAUSE_OPS;
}

/* The cause of the time before the launch. */
static inline pyro_cause cause_on_host(const lost_state *state, const idle_stretch *idle,
                                       const pyro_host_activity *activity)
{
    if (activity->state == PYRO_HOST_LOADING)
        return PYRO_CAUSE_DATA_LOADING;
    if (!idle->has_device && activity->event != PYRO_NO_EVENT &&
        pyro_context_traits(state->context, activity->event) & PYRO_TRAIT_COMMUNICATION)
        return PYRO_CAUSE_COMMUNICATION;
    if (idle->has_device && activity->state == PYRO_HOST_WAITING &&
        waits_long(state, activity->event, idle->start_ns, idle->launch_ns))
        return PYRO_CAUSE_UNRECORDED;
    return activity->state >= PYRO_HOST_CALL ? idle->in_call : idle->in_python;
}

/* As long as one thread is in ops or Python, in one window. Returns where that ends. */
static int64_t explain_by_thread(lost_state *state, const idle_stretch *idle, int64_t now)
{
    const pyro_host_thread *thread = &state->threads.threads[idle->thread];
    int64_t until;
    if (idle->thread >= state->threads.count || !idle->has_device)
        return now;
    while (now < idle->launch_ns && !state->memory_out &&
           pyro_host_does_one_thing(&state->threads, now, idle->thread, &until)) {
        until = until < idle->launch_ns ? until : idle->launch_ns;
        if (until >= state->boundary_ns)
            break;
        add_part(state, thread->state == PYRO_HOST_CALL ? idle->in_call : idle->in_python, now,
                 until - now, thread->running, idle->sync);
        now = until;
    }
    return now;
}

/* Until the launch: what the host did instead of launching. */
static void explain_late_host(lost_state *state, idle_stretch *idle)
{
    for (int64_t now = idle->start_ns; now < idle->launch_ns && !state->memory_out;) {
        now = explain_by_thread(state, idle, now);
        if (now >= idle->launch_ns || state->memory_out)
            break;
        pyro_host_activity activity = pyro_host_activity_at(&state->threads, now, idle->thread);
        int64_t until = activity.until_ns < idle->launch_ns ? activity.until_ns : idle->launch_ns;
        if (now == idle->start_ns && state->has_begun && activity.state == PYRO_HOST_WAITING)
            idle->sync = activity.event;
        add_stretch(state, cause_on_host(state, idle, &activity), now, until, activity.event,
                    idle->sync);
        now = until;
    }
}

/* After a launch that took long to take effect. The device has no other work in the file, so where
 * the host waits for it, it waits for work that is not in the file. */
static void explain_late_start(lost_state *state, const idle_stretch *idle)
{
    uint32_t launch = state->launch;
    if (!state->has_begun || launch_blocks(state)) {
        add_stretch(state, PYRO_CAUSE_UNRECORDED, idle->launch_ns, idle->end_ns, launch,
                    PYRO_NO_EVENT);
        return;
    }
    for (int64_t now = idle->launch_ns; now < idle->end_ns && !state->memory_out;) {
        pyro_host_activity activity = pyro_host_activity_at(&state->threads, now, idle->thread);
        int64_t until = activity.until_ns < idle->end_ns ? activity.until_ns : idle->end_ns;
        bool waits = activity.state == PYRO_HOST_WAITING &&
                     waits_long(state, activity.event, idle->launch_ns, idle->end_ns);
        add_stretch(state, waits ? PYRO_CAUSE_UNRECORDED : PYRO_CAUSE_QUEUED, now, until,
                    waits ? activity.event : state->next, PYRO_NO_EVENT);
        now = until;
    }
}

static void explain_idle(lost_state *state, int64_t start_ns, int64_t end_ns)
{
    const pyro_analysis_context *context = state->context;
    idle_stretch idle = {
        .start_ns = start_ns, .end_ns = end_ns, .launch_ns = end_ns, .sync = PYRO_NO_EVENT};
    uint32_t launch = state->next == PYRO_NO_EVENT ? PYRO_NO_EVENT : state->launch;
    if (launch != PYRO_NO_EVENT) {
        idle.launch_ns = launch_time(state, &idle);
        idle.thread = pyro_host_thread_of(&state->threads, context->trace->track[launch]);
    }
    pyro_host_threads_begin_idle(&state->threads, start_ns);
    if (state->has_begun && state->next == PYRO_NO_EVENT)
        pyro_host_threads_settle(&state->threads, start_ns);
    find_causes(state, &idle);
    explain_late_host(state, &idle);
    if (end_ns - idle.launch_ns > WAKE_UP_NS)
        explain_late_start(state, &idle);
    else if (idle.launch_ns < end_ns)
        add_stretch(state,
                    context->trace->start_ns[launch] < start_ns ? PYRO_CAUSE_QUEUED
                                                                : PYRO_CAUSE_LAUNCH_LATENCY,
                    idle.launch_ns, end_ns, state->next, idle.sync);
}

static void add_segment(void *user, int64_t start_ns, int64_t end_ns, unsigned classes)
{
    lost_state *state = user;
    if (!classes) {
        explain_idle(state, start_ns, end_ns);
        return;
    }
    pyro_cause cause = PYRO_CAUSE_COPY;
    if (classes & BIT(COMPUTE))
        cause = PYRO_CAUSE_COMPUTE;
    else if (classes & BIT(COMMUNICATION))
        cause = classes & BIT(PEER_WAIT) ? PYRO_CAUSE_PEER_WAIT : PYRO_CAUSE_COMMUNICATION;
    add_stretch(state, cause, start_ns, end_ns, PYRO_NO_EVENT, PYRO_NO_EVENT);
}

static int init_lost_time(void *data, pyro_analysis_context *context)
{
    lost_state *state = data;
    state->context = context;
    state->windows = pyro_arena_array(context->scratch, context->window_count,
                                      sizeof *state->windows);
    state->next = PYRO_NO_EVENT;
    if (!state->windows)
        return pyro_fail_memory(context->error);
    find_boundary(state);
    int status = pyro_host_threads_init(&state->threads, context);
    if (status == PYRO_OK) /* what recording took before the first step is no part of it */
        pyro_host_threads_settle(&state->threads, context->span_boundaries[0].time_ns - 1);
    if (status == PYRO_OK)
        status = pyro_peer_waits_init(&state->peers, context);
    pyro_sweep_init(&state->sweep, CLASS_COUNT, context->span_boundaries[0].time_ns, add_segment,
                    state);
    return status;
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    lost_state *state = data;
    const pyro_trace *trace = context->trace;
    int64_t start = trace->start_ns[event], end = pyro_event_end_ns(trace, event);
    if (end <= start)
        return PYRO_OK;
    unsigned class = trace->category[event] == PYRO_EVENT_MEMCPY ? COPY : COMPUTE;
    if (trace->category[event] == PYRO_EVENT_KERNEL &&
        pyro_context_traits(context, event) & PYRO_TRAIT_COLLECTIVE)
        class = COMMUNICATION;
    state->next = event;
    state->launch = pyro_context_latest_launch(context, event);
    pyro_sweep_cover(&state->sweep, class, start, end);
    if (class == COMMUNICATION)
        pyro_sweep_cover(&state->sweep, PEER_WAIT, start,
                         start + pyro_peer_wait_ns(&state->peers, context, event));
    state->has_begun = true;
    return state->memory_out ? pyro_fail_memory(context->error) : PYRO_OK;
}

static int make_rows(lost_state *state, pyro_analysis_context *context)
{
    size_t count = 0, most = context->window_count * PYRO_CAUSE_COUNT;
    pyro_cause_row *rows = pyro_arena_array(context->arena, most, sizeof *rows);
    if (!rows)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < context->window_count; i++)
        for (int cause = 0; cause < PYRO_CAUSE_COUNT; cause++)
            if (state->windows[i].ns[cause])
                rows[count++] = (pyro_cause_row){
                    .step = context->windows[i].number,
                    .cause = (pyro_cause)cause,
                    .time_ns = state->windows[i].ns[cause],
                    .profiler_ns = state->windows[i].profiler_ns[cause]};
    context->result->causes = rows;
    context->result->cause_count = count;
    context->result->profiler_cost = state->threads.cost;
    return PYRO_OK;
}

static int finish_lost_time(void *data, pyro_analysis_context *context)
{
    lost_state *state = data;
    state->next = PYRO_NO_EVENT;
    pyro_sweep_to(&state->sweep, context->span_boundaries[context->boundary_count - 1].time_ns);
    /* Boundaries where the sweep began and ended at once lie in no stretch. */
    for (; state->next_boundary < context->boundary_count; state->next_boundary++)
        close_window(state, &context->span_boundaries[state->next_boundary]);
    if (state->memory_out)
        return pyro_fail_memory(context->error);
    int status = make_rows(state, context);
    return status == PYRO_OK ? pyro_cause_places_finish(&state->places, context) : status;
}

static void clear_lost_time(void *data)
{
    lost_state *state = data;
    pyro_cause_places_free(&state->places);
    pyro_peer_waits_free(&state->peers);
}

const char *pyro_cause_name(pyro_cause cause)
{
    static const char *const names[PYRO_CAUSE_COUNT] = {
        [PYRO_CAUSE_COMPUTE] = "compute",
        [PYRO_CAUSE_COMMUNICATION] = "communication",
        [PYRO_CAUSE_PEER_WAIT] = "peer_wait",
        [PYRO_CAUSE_COPY] = "copy",
        [PYRO_CAUSE_PYTHON] = "python",
        [PYRO_CAUSE_OPS] = "ops",
        [PYRO_CAUSE_DATA_LOADING] = "data_loading",
        [PYRO_CAUSE_LAUNCH_LATENCY] = "launch_latency",
        [PYRO_CAUSE_QUEUED] = "queued",
        [PYRO_CAUSE_UNRECORDED] = "unrecorded",
        [PYRO_CAUSE_BEFORE_FIRST] = "before_first",
        [PYRO_CAUSE_AFTER_LAST] = "after_last",
        [PYRO_CAUSE_UNKNOWN] = "unknown",
    };
    return (size_t)cause < PYRO_CAUSE_COUNT ? names[cause] : "";
}

const pyro_analyzer pyro_analyze_lost_time = {
    .name = "lost_time",
    .state_size = sizeof(lost_state),
    .init = init_lost_time,
    .event = add_event,
    .finish = finish_lost_time,
    .clear = clear_lost_time,
    .categories = 1u << PYRO_EVENT_KERNEL | 1u << PYRO_EVENT_MEMCPY | 1u << PYRO_EVENT_MEMSET,
    .whole_trace = true,
};
