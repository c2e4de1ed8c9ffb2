/* Estimates what recording itself added to a trace: costs per event, and the steps without them. */
#ifndef PYRO_ANALYZE_HOST_PROFILER_COST_H
#define PYRO_ANALYZE_HOST_PROFILER_COST_H

#include "analyze/analyze.h"

/* Time of the host that each event of a category costs, in nanoseconds; 0: nothing. */
typedef struct pyro_event_costs {
    int64_t by_category[PYRO_EVENT_CATEGORY_COUNT];
    pyro_cost_source source;
} pyro_event_costs;

/* Finds the costs of the recorder that wrote the trace; fails only when memory is out. */
int pyro_event_costs_find(pyro_event_costs *costs, pyro_analysis_context *context);

/* Fills result->profiler_cost from the causes, which hold the time that recording took. */
int pyro_find_profiler_cost(pyro_analysis_context *context);

#endif
