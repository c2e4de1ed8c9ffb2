/* Measures how much a series drifts: noise that more samples do not average away. */
#ifndef PYRO_BENCH_STATISTICS_DRIFT_H
#define PYRO_BENCH_STATISTICS_DRIFT_H

#include <pyrometer/error.h>
#include <stddef.h>

/*
 * The noise of one or two series that were recorded in order. The variance between the means of b
 * neighbouring samples and of the next b (the Allan variance) is fitted by white / b + floor:
 * independent noise averages away, slow phases of the machine do not.
 */
typedef struct pyro_drift {
    double variance; /* of a sample, around the mean of its own series */
    double white;    /* of a sample, independent of its neighbours */
    double floor;    /* of a mean over any number of samples */
} pyro_drift;

/*
 * `second` may be NULL; both series have the same kind of noise, and may have different means. Far
 * outliers are clipped at three times the quartiles' distance beyond the quartiles. Series of fewer
 * than six samples show no floor. PYRO_ERROR_MEMORY is the only failure.
 */
int pyro_drift_measure(pyro_drift *out, const double *first, size_t first_count,
                       const double *second, size_t second_count, pyro_error *error);

#endif
