/* Parts of the verdict that other files use: replicates, and the fingerprint of the machine. */
#ifndef PYRO_BENCH_VERDICT_H
#define PYRO_BENCH_VERDICT_H

#include "base/containers/arena.h"
#include "bench/statistics/change.h"

#include <pyrometer/bench.h>

/* The smallest change that matters, as a share, by default. */
#define PYRO_DEFAULT_DELTA 0.02
/* Fewer replicates per side show nothing. */
enum { PYRO_REPLICATES_MIN = 5, PYRO_ITERATIONS_MIN = 20 };

/* Like pyro_verdict_of, for sides whose circumstances of recording are known. */
int pyro_verdict_between(pyro_verdict_row *row, const double *base, size_t base_count,
                         const double *current, size_t current_count, bool higher_is_better,
                         const pyro_circumstances *circumstances,
                         const pyro_verdict_options *options, pyro_error *error);

/* Medians of this metric per process, or its samples if each is a process. */
typedef struct pyro_replicates {
    double *values; /* in the arena */
    size_t count;
    bool processes;
} pyro_replicates;

int pyro_replicates_of(pyro_replicates *out, pyro_arena *arena, const pyro_bench_result *result,
                       const pyro_metric *metric, pyro_error *error);

/* The first difference between the fingerprints, as a sentence in the arena; NULL: none. */
const char *pyro_environment_difference(pyro_arena *arena, const pyro_environment *base,
                                        const pyro_environment *current);

#endif
