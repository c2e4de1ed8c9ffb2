/* Adds up lost time by cause and place: op, layer and line of the host. */
#ifndef PYRO_ANALYZE_DEVICE_CAUSE_PLACES_H
#define PYRO_ANALYZE_DEVICE_CAUSE_PLACES_H

#include "analyze/analyze.h"

typedef struct pyro_place_sum pyro_place_sum;

/* The same places recur soon: the ops of a layer, the frames around them. The same event recurs
 * when another one in it has ended. */
enum { PYRO_RECENT_PLACES = 4096, PYRO_RECENT_EVENTS = 256 };

/* Where the time of an event went last. */
typedef struct pyro_recent_event {
    uint32_t event, sync;
    uint32_t cause;
    uint32_t sum; /* index plus 1; 0: none */
} pyro_recent_event;

typedef struct pyro_cause_places {
    pyro_map by_key;
    pyro_place_sum *sums;
    size_t count, capacity;
    uint32_t recent[PYRO_RECENT_PLACES]; /* index of a sum plus 1, by a part of its key */
    pyro_recent_event recent_events[PYRO_RECENT_EVENTS]; /* by a part of the event's number */
} pyro_cause_places; /* begins as zeros */

/* Time in which `event` explains what happened (PYRO_NO_EVENT: nothing does), after `sync`, in which
 * the host was when the device became idle (or PYRO_NO_EVENT). */
typedef struct pyro_lost_part {
    pyro_cause cause;
    uint32_t event, sync;
    int64_t time_ns, profiler_ns;
} pyro_lost_part;

bool pyro_cause_places_add(pyro_cause_places *places, const pyro_analysis_context *context,
                           const pyro_lost_part *part);
/* Makes the rows of the result. */
int pyro_cause_places_finish(pyro_cause_places *places, pyro_analysis_context *context);
void pyro_cause_places_free(pyro_cause_places *places);

#endif
