/*
 * Finds captures of graphs. What is launched in a capture does not run, so that the device is idle:
 * that is no loss, for a capture happens once.
 */
#include "analyze/findings/findings.h"
#include "analyze/intervals.h"

#include <inttypes.h>
#include <string.h>

/* When the device worked first and last. */
typedef struct work_span {
    int64_t first_ns, last_ns;
} work_span;

static work_span find_work_span(const pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    work_span span = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < finder->work_count; i++) {
        int64_t start_ns = trace->start_ns[finder->work[i]];
        int64_t end_ns = pyro_event_end_ns(trace, finder->work[i]);
        span.first_ns = start_ns < span.first_ns ? start_ns : span.first_ns;
        span.last_ns = end_ns > span.last_ns ? end_ns : span.last_ns;
    }
    return span;
}

/* Begins or ends a capture on a track; 0: another event. */
static int capture_mark(const pyro_finder *finder, uint32_t event, const uint8_t *marks)
{
    const pyro_trace *trace = finder->context->trace;
    uint8_t category = trace->category[event];
    bool is_call = category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER;
    return is_call && trace->name[event] != PYRO_NO_ID ? marks[trace->name[event]] : 0;
}

enum { BEGINS = 1, ENDS = 2 };

/* Marks names of calls; false: the trace has no captures, or memory is out. */
static bool mark_names(pyro_finder *finder, uint8_t *marks)
{
    const pyro_trace *trace = finder->context->trace;
    bool begins = false, ends = false;
    for (uint32_t i = 0; i < trace->names.count; i++) {
        const char *name = pyro_trace_text(trace, i);
        marks[i] = strstr(name, "StreamBeginCapture") ? BEGINS
                   : strstr(name, "StreamEndCapture") ? ENDS
                                                      : 0;
        begins |= marks[i] == BEGINS;
        ends |= marks[i] == ENDS;
    }
    return begins && ends;
}

/* Counts a capture for the causes that its time has, by when the device worked. */
static void take_capture(pyro_finder *finder, const work_span *work, int64_t start_ns,
                         int64_t end_ns, int64_t taken_ns[3])
{
    int64_t limits_ns[] = {INT64_MIN, work->first_ns, work->last_ns, INT64_MAX};
    finder->captures++;
    for (int i = 0; i < 3; i++) {
        int64_t from_ns = start_ns > limits_ns[i] ? start_ns : limits_ns[i];
        int64_t to_ns = end_ns < limits_ns[i + 1] ? end_ns : limits_ns[i + 1];
        taken_ns[i] = pyro_add_ns(taken_ns[i], to_ns > from_ns ? to_ns - from_ns : 0);
    }
}

/* Takes the captures' part from a cause. */
static void leave_out(pyro_finder *finder, pyro_cause cause, int64_t taken_ns)
{
    int64_t part_ns = taken_ns < finder->cause_ns[cause] ? taken_ns : finder->cause_ns[cause];
    finder->cause_ns[cause] -= part_ns;
    finder->captured_ns += part_ns;
}

void pyro_find_captures(pyro_finder *finder)
{
    const pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    uint8_t *marks = pyro_arena_array(context->scratch, trace->names.count + 1, 1);
    int64_t *begun_ns = pyro_arena_array(context->scratch, trace->track_count + 1,
                                         sizeof *begun_ns);
    int64_t taken_ns[3] = {0, 0, 0};
    finder->late_part = 1;
    finder->memory_out |= !marks || !begun_ns;
    if (finder->memory_out || !finder->has_device_work || !mark_names(finder, marks))
        return;
    work_span work = find_work_span(finder);
    for (size_t i = 0; i < trace->track_count; i++)
        begun_ns[i] = INT64_MIN;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = context->joins->by_time[i];
        int mark = capture_mark(finder, event, marks);
        int64_t *begin_ns = &begun_ns[trace->track[event]];
        if (mark == ENDS && *begin_ns != INT64_MIN)
            take_capture(finder, &work, *begin_ns, pyro_event_end_ns(trace, event), taken_ns);
        if (mark)
            *begin_ns = mark == BEGINS && pyro_finder_wants(finder, event) ? trace->start_ns[event]
                                                                           : INT64_MIN;
    }
    int64_t late_ns = pyro_finder_causes_ns(finder, PYRO_LATE_CAUSES);
    int64_t late_taken_ns = taken_ns[1] < late_ns ? taken_ns[1] : late_ns;
    finder->captured_ns = late_taken_ns;
    finder->late_part = late_ns > 0 ? 1 - (double)late_taken_ns / (double)late_ns : 1;
    leave_out(finder, PYRO_CAUSE_BEFORE_FIRST, taken_ns[0]);
    leave_out(finder, PYRO_CAUSE_AFTER_LAST, taken_ns[2]);
}

DETECTOR(graph_capture)
{
    if (!finder->captures)
        return false;
    evidence->value = (double)finder->captured_ns / (double)finder->span_ns;
    evidence->rank_ns = finder->captured_ns;
    pyro_evidence_say(evidence,
                      "%" PRId64 " graph%s captured, in which the device idles for %.1f%% of %s "
                      "(%s): what is launched in a capture does not run",
                      finder->captures, finder->captures == 1 ? " is" : "s are",
                      evidence->value * 100, pyro_finder_whole(finder),
                      pyro_evidence_time(evidence, finder->captured_ns));
    return true;
}
