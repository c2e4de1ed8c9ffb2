/* Parts of the verdict that others use: replicates, and the fingerprint of the machine. */
#ifndef PYRO_BENCH_VERDICT_H
#define PYRO_BENCH_VERDICT_H

#include "base/arena.h"

#include <pyrometer/bench.h>

/* Fewer replicates a side than this show nothing. */
enum { PYRO_REPLICATES_MIN = 5, PYRO_ITERATIONS_MIN = 20 };

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
