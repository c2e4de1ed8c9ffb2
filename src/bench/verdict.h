/* Parts of the verdict that others use: replicates, and the fingerprint of the machine. */
#ifndef PYRO_BENCH_VERDICT_H
#define PYRO_BENCH_VERDICT_H

#include "base/containers/arena.h"
#include "bench/statistics/change.h"

#include <pyrometer/bench.h>

/* A change that matters, a share, where the options do not say it. */
#define PYRO_DEFAULT_DELTA 0.02
/* Fewer replicates of a side than this show nothing. */
enum { PYRO_REPLICATES_MIN = 5, PYRO_ITERATIONS_MIN = 20 };

/* As pyro_verdict_of, for sides of which it is known how they were recorded. */
int pyro_verdict_between(pyro_verdict_row *row, const double *base, size_t base_count,
                         const double *current, size_t current_count, bool higher_is_better,
                         const pyro_circumstances *circumstances,
                         const pyro_verdict_options *options, pyro_error *error);

/* What the medians of this metric's processes are, or its samples where each is a process. */
typedef struct pyro_replicates {
    double *values; /* in the arena */
    size_t count;
    bool processes;
} pyro_replicates;

int pyro_replicates_of(pyro_replicates *out, pyro_arena *arena, const pyro_bench_result *result,
                       const pyro_metric *metric, pyro_error *error);

/* The first part of the fingerprints that differs, as a sentence in the arena; NULL: none. */
const char *pyro_environment_difference(pyro_arena *arena, const pyro_environment *base,
                                        const pyro_environment *current);

#endif
