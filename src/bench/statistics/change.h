/* The change from one side to the other: an estimate, an interval with drift, a p-value. */
#ifndef PYRO_BENCH_STATISTICS_CHANGE_H
#define PYRO_BENCH_STATISTICS_CHANGE_H

#include <pyrometer/bench.h>

/* How two sides were recorded. Samples of a side are in the order in which they were taken. */
typedef struct pyro_circumstances {
    bool processes; /* a sample is a process; else an iteration of one process */
    bool interleaved; /* sample i of both sides is of the same round */
    double busy; /* the share of the processors that other programs used; NaN: unknown */
    double load_bias; /* by how much load alone may have changed times, a logarithm; 0: none */
} pyro_circumstances;

/* Of log(current / base). */
typedef struct pyro_change {
    double shift;
    pyro_interval interval; /* NaN ends: too few samples */
    double p; /* that the shift is within +-bound after all */
    double widened; /* factor by which drift widened the interval */
} pyro_change;

/* All samples must be above 0. */
int pyro_change_estimate(pyro_change *out, const double *base, size_t base_count,
                         const double *current, size_t current_count,
                         const pyro_circumstances *circumstances, double confidence, double bound,
                         uint64_t seed, pyro_error *error);

#endif
