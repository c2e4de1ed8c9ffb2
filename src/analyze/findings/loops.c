/* Detects loops that take single elements or rows from tensors: indexing, and .item(). */
#include "analyze/findings/findings.h"
#include "analyze/findings/op_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Ops between two turns of a loop, and the fewest turns that are a loop. */
enum { MOST_BETWEEN = 12, SHORTEST_LOOP = 10, OPEN_RUNS = 4 };

/* Longer Python code between two ops is about something else. */
enum { LONGEST_GAP_NS = 50000 };

/* Ops on tensors of one shape that follow each other on a track. One line may hold several, as
 * x[0, i] does. */
typedef struct loop_run {
    uint32_t first, last, parent; /* parent: the Python function or annotation around */
    uint32_t dims, concrete;
    uint32_t window; /* the step: steps of training are no turns of a loop */
    int64_t turns;
    int64_t number; /* of the last op among the outermost ops of its track */
    int64_t items_before, items; /* numbers fetched on its track before it, and in it */
    int64_t
        turns_ns; /* of these ops and the Python code behind each, without what recording took */
} loop_run;

typedef struct track_runs {
    loop_run runs[OPEN_RUNS];
    loop_run *turned; /* in which the last op was a turn; NULL: in none */
    int64_t ops, items;
} track_runs;

typedef struct loop_sums {
    const pyro_finder *finder;
    bool without_items; /* loops that fetch numbers have a finding of their own */
    int64_t turns, loops, span_ns, turns_ns;
    loop_run longest;
} loop_sums;

/* The time of a loop without what recording took. */
static int64_t span_of(const pyro_finder *finder, const loop_run *run)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t span_ns = pyro_event_end_ns(trace, run->last) - trace->start_ns[run->first];
    int64_t cost_ns = pyro_finder_cost_between_ns(finder, run->first, run->last);
    return cost_ns < span_ns ? span_ns - cost_ns : 0;
}

static void end_run(loop_sums *sums, loop_run *run)
{
    bool is_other = sums->without_items && run->items > run->turns / 2;
    if (run->turns >= SHORTEST_LOOP && !is_other) {
        sums->turns += run->turns;
        sums->loops++;
        sums->span_ns += span_of(sums->finder, run);
        sums->turns_ns += run->turns_ns;
        if (run->turns > sums->longest.turns)
            sums->longest = *run;
    }
    *run = (loop_run){0};
}

/* The event around an op that a whole loop runs in: built-in functions around one call are
 * skipped. */
static uint32_t loop_around(const pyro_finder *finder, uint32_t event)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t around = finder->context->joins->parent[event];
    for (int i = 0; i < 8 && around != PYRO_NO_EVENT; i++) {
        const char *name = pyro_event_name(trace, around);
        bool is_call = trace->category[around] == PYRO_EVENT_PYTHON &&
                       (name[0] == '<' || !strncmp(name, "torch/", 6));
        if (!is_call)
            break;
        around = finder->context->joins->parent[around];
    }
    return around;
}

/* An element is another one each time; where the trace shows the index, it must differ. */
static bool goes_on(const loop_run *run, const loop_run *next, bool has_index)
{
    return run->parent == next->parent && run->window == next->window &&
           next->number - run->number <= MOST_BETWEEN + 1 &&
           (!has_index || next->concrete == PYRO_NO_ID || run->concrete != next->concrete);
}

/* The run on tensors of this shape, else the oldest, which ends. */
static loop_run *find_run(track_runs *track, uint32_t dims, loop_sums *sums)
{
    loop_run *oldest = &track->runs[0];
    for (size_t i = 0; i < OPEN_RUNS; i++) {
        loop_run *run = &track->runs[i];
        if (run->turns && run->dims == dims)
            return run;
        oldest = run->number < oldest->number ? run : oldest;
    }
    end_run(sums, oldest);
    return oldest;
}

/* Adds the time of the last turn, which ends where the next op begins. */
static void end_turn(const pyro_finder *finder, track_runs *track, int64_t next_ns)
{
    const pyro_trace *trace = finder->context->trace;
    loop_run *run = track->turned;
    if (!run)
        return;
    int64_t end_ns = pyro_event_end_ns(trace, run->last), gap_ns = next_ns - end_ns;
    int64_t time_ns = trace->duration_ns[run->last] -
                      pyro_finder_cost_between_ns(finder, run->last, run->last);
    if (gap_ns > 0 && gap_ns <= LONGEST_GAP_NS)
        time_ns += gap_ns;
    run->turns_ns += time_ns > 0 ? time_ns : 0;
    track->turned = NULL;
}

static void take_turn(const pyro_finder *finder, track_runs *track, uint32_t event, bool has_index,
                      loop_sums *sums)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t detail = trace->detail[event];
    loop_run next = {.first = event,
                     .last = event,
                     .parent = loop_around(finder, event),
                     .dims = detail == PYRO_NO_ID ? PYRO_NO_ID : trace->ops[detail].dims,
                     .concrete = detail == PYRO_NO_ID ? PYRO_NO_ID : trace->ops[detail].concrete,
                     .window = pyro_context_window_at(finder->context, trace->start_ns[event]),
                     .turns = 1,
                     .number = track->ops,
                     .items_before = track->items};
    loop_run *run = find_run(track, next.dims, sums);
    if (run->turns && goes_on(run, &next, has_index)) {
        next.first = run->first;
        next.turns = run->turns + 1;
        next.turns_ns = run->turns_ns;
        next.items_before = run->items_before;
        next.items = track->items - run->items_before;
    } else {
        end_run(sums, run);
    }
    *run = next;
    track->turned = run;
}

/* Finds loops of ops with a PYRO_WORD_*. Optimizers of torch have loops of their own. False when
 * memory is out. */
static bool find_loops(pyro_finder *finder, unsigned word, loop_sums *sums)
{
    const pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    track_runs *tracks = calloc(trace->track_count + 1, sizeof *tracks);
    for (size_t i = 0; tracks && i < finder->outer_op_count; i++) {
        uint32_t event = finder->outer_ops[i];
        track_runs *track = &tracks[trace->track[event]];
        end_turn(finder, track, trace->start_ns[event]);
        if (context->joins->phase[event] == PYRO_PHASE_OPTIMIZER)
            continue;
        unsigned words = pyro_finder_words(finder, event);
        track->ops++;
        track->items += (words & PYRO_WORD_ITEM) != 0;
        if (words & word)
            take_turn(finder, track, event, word == PYRO_WORD_INDEX, sums);
    }
    for (size_t t = 0; tracks && t < trace->track_count * OPEN_RUNS; t++)
        end_run(sums, &tracks[t / OPEN_RUNS].runs[t % OPEN_RUNS]);
    finder->memory_out |= !tracks;
    free(tracks);
    return !finder->memory_out;
}

/* What of a loop's time can be saved: all of it on a run without a device, else at most the idle
 * time. */
static int64_t loop_gain(const pyro_finder *finder, int64_t time_ns)
{
    if (!finder->has_device_work)
        return time_ns;
    int64_t late_ns = pyro_finder_late_ns(finder, 1u << PYRO_CAUSE_PYTHON | 1u << PYRO_CAUSE_OPS |
                                                      1u << PYRO_CAUSE_LAUNCH_LATENCY);
    return time_ns < late_ns ? time_ns : late_ns;
}

/* What else a loop over elements does stays to be done; a loop that fetches numbers goes as a whole. */
DETECTOR(repeated_selects)
{
    loop_sums sums = {.finder = finder, .without_items = true};
    if (!find_loops(finder, PYRO_WORD_INDEX, &sums) || !sums.loops)
        return false;
    evidence->value = (double)sums.longest.turns;
    evidence->gain_ns = loop_gain(finder, sums.turns_ns);
    evidence->gain_basis = finder->has_device_work
                               ? "time of the indexing, at most the idle time before launches"
                               : "time of the indexing";
    evidence->place = pyro_finder_place(finder, sums.longest.first);
    pyro_evidence_say(
        evidence,
        "%" PRId64 " elements or rows of a tensor are taken in %" PRId64
        " loop%s: %s of the %s that %s on the host; the longest has %" PRId64 " calls of %s",
        sums.turns, sums.loops, PYRO_PLURAL(sums.loops),
        pyro_evidence_time(evidence, sums.turns_ns), pyro_evidence_time(evidence, sums.span_ns),
        sums.loops == 1 ? "it takes" : "they take", sums.longest.turns,
        pyro_event_name(finder->context->trace, sums.longest.first));
    return true;
}

DETECTOR(items_in_loops)
{
    loop_sums sums = {.finder = finder};
    if (!find_loops(finder, PYRO_WORD_ITEM, &sums) || !sums.loops)
        return false;
    evidence->value = (double)sums.longest.turns;
    evidence->gain_ns = loop_gain(finder, sums.span_ns);
    evidence->gain_basis = finder->has_device_work
                               ? "time of the loops, at most the idle time before launches"
                               : "time of the loops";
    evidence->place = pyro_finder_place(finder, sums.longest.first);
    pyro_evidence_say(evidence,
                      "%" PRId64 " numbers are fetched from tensors in %" PRId64
                      " loop%s, which take%s %s on the host; the longest has %" PRId64
                      " calls of %s",
                      sums.turns, sums.loops, PYRO_PLURAL(sums.loops), sums.loops == 1 ? "s" : "",
                      pyro_evidence_time(evidence, sums.span_ns), sums.longest.turns,
                      pyro_event_name(finder->context->trace, sums.longest.first));
    return true;
}
