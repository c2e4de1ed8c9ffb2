/* Adds up lost time by cause and place: op, layer and line of the host. */
#ifndef PYRO_ANALYZE_DEVICE_CAUSE_PLACES_H
#define PYRO_ANALYZE_DEVICE_CAUSE_PLACES_H

#include "analyze/analyze.h"
#include "analyze/intervals.h"

/* What tells places apart. */
typedef struct pyro_place_key {
    uint32_t cause;     /* pyro_cause */
    uint32_t sync_name; /* PYRO_NO_ID: none */
    uint32_t layer, name;
    uint32_t phase;
} pyro_place_key;

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
    uint32_t event, sync;
    uint32_t cause;
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

/* Finds the sum of the place of an event, and creates it if missing: its index plus 1; 0 when memory
 * is out. */
uint32_t pyro_cause_places_find(pyro_cause_places *places, const pyro_analysis_context *context,
                                const pyro_recent_event *wanted);

/* Adds a part; false when memory is out. Inline, because there are more parts than events. */
static inline bool pyro_cause_places_add(pyro_cause_places *places,
                                         const pyro_analysis_context *context,
                                         const pyro_lost_part *part)
{
    pyro_recent_event *recent = &places->recent_events[part->event % PYRO_RECENT_EVENTS];
    if (recent->event != part->event || recent->cause != (uint32_t)part->cause ||
        recent->sync != part->sync || !recent->sum) {
        *recent = (pyro_recent_event){part->event, part->sync, part->cause, 0};
        recent->sum = pyro_cause_places_find(places, context, recent);
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
