/* Estimates what recording itself added to a trace: costs per event, and the steps without them. */
#ifndef PYRO_ANALYZE_HOST_PROFILER_COST_H
#define PYRO_ANALYZE_HOST_PROFILER_COST_H

#include "analyze/analyze.h"

/* Finds what events cost with the recorder that wrote the trace. Fails only when memory is out. */
int pyro_event_costs_find(pyro_profiler_cost *cost, pyro_analysis_context *context);

/* What recording an event took of the host's time; `traits` are those of its name. */
static inline int64_t pyro_event_cost_ns(const pyro_profiler_cost *cost, uint8_t category,
                                         uint16_t traits)
{
    switch (category) {
    case PYRO_EVENT_OP:
    case PYRO_EVENT_ANNOTATION:
        return cost->op_ns;
    case PYRO_EVENT_PYTHON:
        return traits & PYRO_TRAIT_BUILTIN ? cost->builtin_ns : cost->frame_ns;
    case PYRO_EVENT_MEMORY:
        return cost->memory_ns;
    case PYRO_EVENT_RUNTIME:
    case PYRO_EVENT_DRIVER:
        return cost->call_ns;
    default:
        return 0;
    }
}

/* Fills in the steps without the cost, from the causes, which hold the time that recording took. */
int pyro_find_profiler_cost(pyro_analysis_context *context);

#endif
