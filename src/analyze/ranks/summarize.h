/* Makes the part of a rank from its trace. Shared by the files that do so. */
#ifndef PYRO_ANALYZE_RANKS_SUMMARIZE_H
#define PYRO_ANALYZE_RANKS_SUMMARIZE_H

#include "analyze/coverage.h"
#include "analyze/ranks/summary.h"

typedef struct pyro_rank_maker {
    pyro_analysis_context context;
    const pyro_analysis *analysis;
    pyro_rank_summary *summary;
    pyro_rank_part part;
    pyro_coverage compute, communication; /* on devices, or on the host where nothing ran on any */
    pyro_coverage waiting; /* of the host: communication that no compute covers */
    bool on_device;
} pyro_rank_maker;

/* The wall clock of a time of the trace; hostile files stay where differences do not overflow. */
#define PYRO_RANK_TIME_LIMIT (INT64_C(1) << 61)
static inline int64_t pyro_rank_clamp(int64_t time_ns)
{
    if (time_ns > PYRO_RANK_TIME_LIMIT)
        return PYRO_RANK_TIME_LIMIT;
    return time_ns < -PYRO_RANK_TIME_LIMIT ? -PYRO_RANK_TIME_LIMIT : time_ns;
}

static inline int64_t pyro_rank_wall_ns(const pyro_trace *trace, int64_t time_ns)
{
    return pyro_rank_clamp(pyro_rank_clamp(time_ns) + pyro_rank_clamp(trace->base_time_ns));
}

/* An op that computes: wrappers of autograd do not. */
bool pyro_rank_is_compute(const char *name);

/* Fills the collectives and the covers. */
int pyro_rank_make_collectives(pyro_rank_maker *maker);
/* Fills the layers; needs the covers. */
int pyro_rank_make_layers(pyro_rank_maker *maker);

#endif
