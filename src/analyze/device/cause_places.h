/* Adds up lost time by cause and place: op, layer and line of the host. */
#ifndef PYRO_ANALYZE_DEVICE_CAUSE_PLACES_H
#define PYRO_ANALYZE_DEVICE_CAUSE_PLACES_H

#include "analyze/analyze.h"
#include "analyze/intervals.h"

/* What tells places apart, in two numbers, because keys are compared for every part. */
typedef struct pyro_place_key {
    uint64_t place; /* the layer, then the name in the lower half */
    uint64_t
        how;   /* the waiting call's name (PYRO_NO_ID: none), then pyro_cause << 8 | pyro_phase */
} pyro_place_key;

static inline pyro_place_key pyro_place_key_make(pyro_cause cause, uint32_t sync_name,
                                                 uint32_t layer, uint32_t name, uint8_t phase)
{
    return (pyro_place_key){(uint64_t)layer << 32 | name,
                            (uint64_t)sync_name << 32 | (uint32_t)cause << 8 | phase};
}

typedef struct pyro_place_sum {
    pyro_place_key key;
    uint32_t event, sync; /* those with the largest part; PYRO_NO_EVENT */
    uint32_t likely; /* the sum that was found after this one last time, plus 1; 0: none */
    int64_t event_ns, time_ns, profiler_ns, stretches;
} pyro_place_sum;

/* The same event recurs when another one in it has ended. */
enum { PYRO_RECENT_EVENTS = 256 };

/* Where the time of an event went last. */
typedef struct pyro_recent_event {
    uint64_t how; /* the waiting call, then pyro_cause */
    uint32_t event;
    uint32_t sum; /* index plus 1; 0: none */
} pyro_recent_event;

typedef struct pyro_cause_places {
    pyro_place_sum *sums;
    size_t count, capacity;
    uint32_t *slots; /* a hash table: indices of sums plus 1; 0: free */
    size_t slot_count; /* a power of two; 0: no table yet */
    uint32_t last; /* the sum that was found last, plus 1; 0: none */
    pyro_recent_event recent_events[PYRO_RECENT_EVENTS]; /* by a part of the event's number */
} pyro_cause_places; /* begins as zeros */

/* Time in which `event` explains what happened (PYRO_NO_EVENT: nothing does), after `sync`, in which
 * the host was when the device became idle (or PYRO_NO_EVENT). */
typedef struct pyro_lost_part {
    pyro_cause cause;
    uint32_t event, sync;
    int64_t time_ns, profiler_ns;
} pyro_lost_part;

/* Calls count for the op around them; other events stand for themselves. */
static inline uint32_t pyro_named_event(const pyro_analysis_context *context, uint32_t event)
{
    uint8_t category = context->trace->category[event];
    uint32_t op = context->joins->op[event];
    return category == PYRO_EVENT_PYTHON || op == PYRO_NO_EVENT ? event : op;
}

static inline pyro_place_key pyro_place_key_of(const pyro_analysis_context *context,
                                               const pyro_lost_part *part)
{
    const pyro_joins *joins = context->joins;
    const uint32_t *names = context->trace->name;
    uint32_t event = part->event, layer = PYRO_NO_LAYER, name = PYRO_NO_ID;
    uint8_t phase = 0;
    if (event != PYRO_NO_EVENT) {
        uint32_t call = joins->call[event];
        layer = call == PYRO_NO_LAYER ? PYRO_NO_LAYER : joins->calls[call].layer;
        name = names[pyro_named_event(context, event)];
        phase = joins->phase[event];
    }
    return pyro_place_key_make(part->cause,
                               part->sync == PYRO_NO_EVENT ? PYRO_NO_ID : names[part->sync], layer,
                               name, phase);
}

/* Without a jump for each half, because either may differ. */
static inline bool pyro_is_sum_of(const pyro_place_sum *sum, const pyro_place_key *wanted)
{
    return !((sum->key.place ^ wanted->place) | (sum->key.how ^ wanted->how));
}

/* Index of a place's sum plus 1, created if missing; 0 when memory is out. */
uint32_t pyro_cause_places_find(pyro_cause_places *places, const pyro_place_key *wanted);

/* The same for the place of a part. Programs repeat what they do, so that the place after the last one
 * is most often the same again. */
static inline uint32_t pyro_cause_places_find_next(pyro_cause_places *places,
                                                   const pyro_analysis_context *context,
                                                   const pyro_lost_part *part)
{
    pyro_place_key key = pyro_place_key_of(context, part);
    uint32_t likely = places->last ? places->sums[places->last - 1].likely : 0;
    if (!likely || !pyro_is_sum_of(&places->sums[likely - 1], &key)) {
        likely = pyro_cause_places_find(places, &key);
        if (places->last)
            places->sums[places->last - 1].likely = likely;
    }
    return places->last = likely;
}

/* Adds a part; false when memory is out. Inline, because there are more parts than events. */
static inline bool pyro_cause_places_add(pyro_cause_places *places,
                                         const pyro_analysis_context *context,
                                         const pyro_lost_part *part)
{
    pyro_recent_event *recent = &places->recent_events[part->event % PYRO_RECENT_EVENTS];
    uint64_t how = (uint64_t)part->sync << 32 | (uint32_t)part->cause;
    if (recent->event != part->event || recent->how != how || !recent->sum) {
        recent->event = part->event;
        recent->how = how;
        recent->sum = pyro_cause_places_find_next(places, context, part);
        if (!recent->sum)
            return false;
    }
    pyro_place_sum *sum = &places->sums[recent->sum - 1];
    sum->time_ns = pyro_add_ns(sum->time_ns, part->time_ns);
    sum->profiler_ns = pyro_add_ns(sum->profiler_ns, part->profiler_ns);
    sum->stretches++;
    if (part->time_ns > sum->event_ns) {
        sum->event = part->event;
        sum->sync = part->sync;
        sum->event_ns = part->time_ns;
    }
    return true;
}

/* Makes the rows of the result. */
int pyro_cause_places_finish(pyro_cause_places *places, pyro_analysis_context *context);
void pyro_cause_places_free(pyro_cause_places *places);

#endif
