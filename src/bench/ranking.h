/* Ranks results by speed, with the ratio of the fastest to each. */
#ifndef PYRO_BENCH_RANKING_H
#define PYRO_BENCH_RANKING_H

#include <pyrometer/bench.h>

typedef struct pyro_ranking {
    const pyro_bench_result *result;
    pyro_speed_ratio ratio; /* of the fastest to this one */
} pyro_ranking;

/* Sorted by mean latency; results without one are left out. The caller frees *out. */
int pyro_bench_rank(pyro_ranking **out, size_t *count, const pyro_bench *bench, pyro_error *error);

#endif
