/*
 * Detects time of the host in ops that are too small to pay for their calls, in runs without a
 * device; with one, the same shows as idle time before launches. What recording took is left out.
 */
#include "analyze/findings/findings.h"
#include "analyze/findings/op_words.h"
#include "base/containers/map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A call costs some microseconds, as much as arithmetic on this many elements. Where shapes are
 * unknown, ops of this time are small. */
enum {
    SMALL_ELEMENTS = 4096,
    SMALL_NS = 10000,
    LONGEST_GAP_NS = 50000,
    FEWEST_OPS = 100,
    MOST_PLACES = 256
};

/* The last outermost op of a track, and what recording took in it and since. */
typedef struct last_op {
    uint32_t event; /* plus 1; 0: none */
    int64_t end_ns, inside_ns, since_ns;
    int64_t loading_until_ns; /* ops of the data loader have findings of their own */
} last_op;

typedef struct place_sum {
    const char *place;
    int64_t time_ns;
} place_sum;

typedef struct small_sums {
    int64_t ops, time_ns;
    place_sum places[MOST_PLACES];
    size_t place_count;
    pyro_map by_place;
} small_sums;

static bool is_small(const pyro_finder *finder, uint32_t op, int64_t own_ns)
{
    int64_t elements = pyro_largest_elements(pyro_finder_dims(finder, op), SMALL_ELEMENTS);
    return elements < 0 ? own_ns < SMALL_NS : elements <= SMALL_ELEMENTS;
}

/* Whether a more specific finding is about this op. */
static bool is_claimed(pyro_finder *finder, uint32_t op)
{
    unsigned words = pyro_finder_words(finder, op);
    if (pyro_is_communication(pyro_event_name(finder->context->trace, op)))
        return true;
    if (finder->claims_optimizer && finder->context->joins->phase[op] == PYRO_PHASE_OPTIMIZER)
        return true;
    return finder->claims_loops && words & (PYRO_WORD_INDEX | PYRO_WORD_ITEM);
}

/* Texts are interned: equal ones have equal addresses. */
static void add_place(pyro_finder *finder, small_sums *sums, uint32_t op, int64_t time_ns)
{
    const char *place = pyro_finder_place(finder, op);
    uint32_t index = pyro_map_get(&sums->by_place, (uintptr_t)place);
    if (index == PYRO_MAP_NONE) {
        if (sums->place_count == MOST_PLACES)
            return;
        index = (uint32_t)sums->place_count++;
        sums->places[index] = (place_sum){place, 0};
        finder->memory_out |= !pyro_map_put(&sums->by_place, (uintptr_t)place, index);
    }
    sums->places[index].time_ns += time_ns;
}

/* Counts the last op of a track if it was small, with the time until the next one starts. */
static void end_op(pyro_finder *finder, last_op *last, int64_t next_ns, small_sums *sums)
{
    if (!last->event)
        return;
    uint32_t op = last->event - 1;
    int64_t own_ns = finder->context->trace->duration_ns[op] - last->inside_ns;
    int64_t gap_ns = next_ns - last->end_ns;
    if (!is_small(finder, op, own_ns) || is_claimed(finder, op))
        return;
    gap_ns = gap_ns > LONGEST_GAP_NS ? 0 : gap_ns - last->since_ns;
    int64_t time_ns = (own_ns > 0 ? own_ns : 0) + (gap_ns > 0 ? gap_ns : 0);
    sums->ops++;
    sums->time_ns += time_ns;
    add_place(finder, sums, op, time_ns);
}

static void take_event(pyro_finder *finder, last_op *last, uint32_t event, small_sums *sums)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t start_ns = trace->start_ns[event], cost_ns = pyro_finder_cost_ns(finder, event);
    if (start_ns < last->end_ns && last->event) {
        last->inside_ns += cost_ns;
        return;
    }
    last->since_ns += cost_ns;
    if (pyro_context_traits(finder->context, event) & PYRO_TRAIT_LOADER)
        last->loading_until_ns = pyro_event_end_ns(trace, event);
    if (trace->category[event] != PYRO_EVENT_OP || !pyro_finder_is_outermost(finder, event) ||
        start_ns < last->loading_until_ns || !pyro_finder_wants(finder, event))
        return;
    end_op(finder, last, start_ns, sums);
    last->event = event + 1;
    last->end_ns = pyro_event_end_ns(trace, event);
    last->inside_ns = last->since_ns = 0;
}

static bool find_small_ops(pyro_finder *finder, small_sums *sums)
{
    const pyro_trace *trace = finder->context->trace;
    last_op *tracks = calloc(trace->track_count + 1, sizeof *tracks);
    finder->memory_out |= !tracks;
    for (size_t i = 0; tracks && i < trace->count; i++) {
        uint32_t event = finder->context->joins->by_time[i];
        uint8_t category = trace->category[event];
        if (pyro_event_is_host(category) || category == PYRO_EVENT_MEMORY)
            take_event(finder, &tracks[trace->track[event]], event, sums);
    }
    for (size_t i = 0; tracks && i < trace->track_count; i++)
        end_op(finder, &tracks[i], tracks[i].end_ns, sums);
    free(tracks);
    return !finder->memory_out;
}

DETECTOR(small_ops)
{
    bool is_on_host = pyro_finder_runs_on_host(finder);
    small_sums *sums = is_on_host ? calloc(1, sizeof *sums) : NULL;
    finder->memory_out |= !sums && is_on_host;
    if (!sums)
        return false;
    sums->by_place = (pyro_map)PYRO_MAP_INIT;
    bool is_found = find_small_ops(finder, sums) && sums->ops >= FEWEST_OPS;
    const place_sum *most = &sums->places[0];
    for (size_t i = 1; i < sums->place_count; i++)
        most = sums->places[i].time_ns > most->time_ns ? &sums->places[i] : most;
    if (is_found) {
        evidence->value = (double)sums->time_ns / (double)finder->span_ns;
        evidence->gain_ns = sums->time_ns;
        evidence->gain_basis = "time of ops on few elements and of the Python code behind them";
        evidence->place = most->place;
        pyro_evidence_say(evidence,
                          "%" PRId64 " ops on at most %d elements take %.1f%% of %s with the "
                          "Python code behind them (%s, %s of it here)",
                          sums->ops, SMALL_ELEMENTS, evidence->value * 100,
                          pyro_finder_whole(finder), pyro_evidence_time(evidence, sums->time_ns),
                          pyro_evidence_time(evidence, most->time_ns));
    }
    pyro_map_free(&sums->by_place);
    free(sums);
    return is_found;
}
