/*
 * Estimates the change between two sides. Interleaved rounds are compared round by round, which
 * cancels what slowed down both sides. Sides that were recorded one after the other are compared as
 * a whole, and the interval is widened by the drift of the machine between them.
 */
#include "bench/statistics/change.h"

#include "base/error.h"
#include "bench/statistics/drift.h"
#include "bench/statistics/inference.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>

/* Below PAIRS_MIN rounds the signed-rank interval is that of the two outermost pairs. */
enum { CHANGE_RESAMPLES = 2000, PAIRS_MIN = 10 };

/*
 * Two recordings are further apart than two halves of one, and the floor is estimated from few
 * blocks, so it counts twice.
 */
#define FLOOR_WEIGHT 2.0
/*
 * On a busy machine a whole recording is off by as much as its samples: its centre has this share
 * of their variance. The share starts when others use a tenth of the processors, and is full at a
 * half. Samples that vary by this many percent also show a busy machine, whatever was recorded of
 * it.
 */
#define BUSY_FLOOR 1.0
#define BUSY_FROM 0.1
#define BUSY_FULL 0.5
#define NOISY_FROM 0.03
#define NOISY_FULL 0.1

/* Logarithms of both sides, base first, for the caller to free. NULL when memory is out. */
static double *take_logarithms(const double *base, size_t base_count, const double *current,
                               size_t current_count)
{
    double *logs = malloc((base_count + current_count) * sizeof *logs);

    for (size_t i = 0; logs && i < base_count; i++)
        logs[i] = log(base[i]);
    for (size_t i = 0; logs && i < current_count; i++)
        logs[base_count + i] = log(current[i]);
    return logs;
}

static double clamp_share(double value, double from, double full)
{
    return fmax(0, fmin(1, (value - from) / (full - from)));
}

/* Adds a variance, and a possible shift of the whole on either side, to an interval. */
static void widen(pyro_change *change, double variance, double bias, double confidence)
{
    double z = pyro_normal_quantile(0.5 + confidence / 2);
    double low = change->shift - change->interval.low, high = change->interval.high - change->shift;
    double width = low + high;

    low = sqrt(low * low + z * z * variance) + bias;
    high = sqrt(high * high + z * z * variance) + bias;
    change->interval.low = change->shift - low;
    change->interval.high = change->shift + high;
    change->widened = width > 0 ? (low + high) / width : low + high > 0 ? INFINITY : 1;
}

/* The variance that drift between two recordings adds to the difference of their centres. */
static double drift_between(const pyro_drift *drift, const pyro_circumstances *circumstances)
{
    double busy = clamp_share(sqrt(drift->variance), NOISY_FROM, NOISY_FULL);

    if (!isnan(circumstances->busy))
        busy = fmax(busy, clamp_share(circumstances->busy, BUSY_FROM, BUSY_FULL));

    return 2 * fmax(FLOOR_WEIGHT * drift->floor, BUSY_FLOOR * busy * drift->variance);
}

/* The p-value that corresponds to the interval, so that the two never contradict each other. */
static double interval_p(const pyro_change *change, double confidence, double bound)
{
    double z = pyro_normal_quantile(0.5 + confidence / 2);
    double reach = change->shift > 0 ? change->shift - change->interval.low
                                     : change->interval.high - change->shift;

    if (reach > 0)
        return fmin(1, 2 * pyro_normal_cdf((bound - fabs(change->shift)) * z / reach));
    return fabs(change->shift) > bound ? 0 : 1;
}

/* Both one-sided tests against the smallest change that matters: twice the smaller p. */
static int test_sides(double *p, double *logs, size_t base_count, size_t current_count,
                      double bound, pyro_error *error)
{
    double *base = logs, *current = logs + base_count;
    pyro_mann_whitney above, below;

    for (size_t i = 0; i < current_count; i++)
        current[i] -= bound;
    int status = pyro_mann_whitney_test(&above, current, current_count, base, base_count,
                                        PYRO_GREATER, error);
    for (size_t i = 0; i < current_count; i++)
        current[i] += 2 * bound;
    if (status == PYRO_OK)
        status = pyro_mann_whitney_test(&below, current, current_count, base, base_count, PYRO_LESS,
                                        error);
    for (size_t i = 0; i < current_count; i++)
        current[i] -= bound;
    if (status == PYRO_OK)
        *p = fmin(1, 2 * fmin(above.p, below.p));
    return status;
}

static int estimate_sides(pyro_change *out, double *logs, size_t base_count, size_t current_count,
                          const pyro_circumstances *circumstances, double confidence, double bound,
                          pyro_error *error)
{
    const double *current = logs + base_count;
    pyro_drift drift;
    double p = 1;
    int status = pyro_hodges_lehmann(&out->shift, &out->interval, logs, base_count, current,
                                     current_count, confidence, error);

    if (status == PYRO_OK)
        status = pyro_drift_measure(&drift, logs, base_count, current, current_count, error);
    if (status == PYRO_OK)
        status = test_sides(&p, logs, base_count, current_count, bound, error);
    if (status != PYRO_OK || isnan(out->interval.low) || isnan(out->interval.high))
        return status;
    if (!circumstances->interleaved)
        widen(out, drift_between(&drift, circumstances), circumstances->load_bias, confidence);
    out->p = fmax(p, interval_p(out, confidence, bound));
    return PYRO_OK;
}

static int test_pairs(double *p, double *differences, size_t count, double bound, pyro_error *error)
{
    pyro_signed_rank above, below;

    for (size_t i = 0; i < count; i++)
        differences[i] -= bound;
    int status = pyro_signed_rank_test(&above, differences, count, PYRO_GREATER, error);
    for (size_t i = 0; i < count; i++)
        differences[i] += 2 * bound;
    if (status == PYRO_OK)
        status = pyro_signed_rank_test(&below, differences, count, PYRO_LESS, error);
    if (status == PYRO_OK)
        *p = fmin(1, 2 * fmin(above.p, below.p));
    return status;
}

/* Compares round by round. Drift that remains in the differences counts if neighbours show it. */
static int estimate_pairs(pyro_change *out, double *logs, size_t base_count, size_t count,
                          double confidence, double bound, pyro_error *error)
{
    double *differences = logs; /* overwrites the base */
    pyro_drift drift = {0};
    double p = 1, p_sides = 1;
    /* Few pairs give no small p, however clear they are; unpaired sides of that size do. */
    int status = test_sides(&p_sides, logs, base_count, count, bound, error);

    for (size_t i = 0; i < count; i++)
        differences[i] = logs[base_count + i] - logs[i];
    if (status == PYRO_OK)
        status = pyro_hodges_lehmann_paired(&out->shift, &out->interval, differences, count,
                                            confidence, error);
    double neighbours = pyro_autocorrelation(differences, count, 1);
    if (status == PYRO_OK && pyro_autocorrelation_is_significant(neighbours, count))
        status = pyro_drift_measure(&drift, differences, count, NULL, 0, error);
    if (status == PYRO_OK)
        status = test_pairs(&p, differences, count, bound, error);
    if (status != PYRO_OK || isnan(out->interval.low) || isnan(out->interval.high))
        return status;
    widen(out, drift.floor, 0, confidence);
    out->p = fmax(fmin(p, p_sides), interval_p(out, confidence, bound));
    return PYRO_OK;
}

/* Iterations of one process: the medians, with both series resampled in blocks. */
static int estimate_iterations(pyro_change *out, const double *base, const double *current,
                               const double *logs, size_t base_count, size_t current_count,
                               const pyro_circumstances *circumstances, double confidence,
                               double bound, uint64_t seed, pyro_error *error)
{
    size_t length = pyro_block_length(base, base_count);
    size_t other = pyro_block_length(current, current_count);
    pyro_bootstrap_options bootstrap = {.confidence = confidence,
                                        .resamples = CHANGE_RESAMPLES,
                                        .block_length = length > other ? length : other,
                                        .seed = seed};
    double before, after;
    pyro_drift drift;
    int status = pyro_bootstrap_log_ratio(&out->interval, base, base_count, current, current_count,
                                          pyro_statistic_median, &bootstrap, error);

    if (status == PYRO_OK)
        status = pyro_median_of(&before, base, base_count, error);
    if (status == PYRO_OK)
        status = pyro_median_of(&after, current, current_count, error);
    if (status == PYRO_OK)
        status = pyro_drift_measure(&drift, logs, base_count, logs + base_count, current_count,
                                    error);
    if (status != PYRO_OK)
        return status;
    out->shift = log(after / before);
    /* The percentile interval of a median may miss it by a rounding error. */
    out->interval.low = fmin(out->interval.low, out->shift);
    out->interval.high = fmax(out->interval.high, out->shift);
    widen(out, drift_between(&drift, circumstances), circumstances->load_bias, confidence);
    out->p = interval_p(out, confidence, bound);
    return PYRO_OK;
}

int pyro_change_estimate(pyro_change *out, const double *base, size_t base_count,
                         const double *current, size_t current_count,
                         const pyro_circumstances *circumstances, double confidence, double bound,
                         uint64_t seed, pyro_error *error)
{
    size_t pairs = base_count < current_count ? base_count : current_count;
    size_t longer = base_count < current_count ? current_count : base_count;
    double *logs = take_logarithms(base, base_count, current, current_count);
    int status;

    *out = (pyro_change){NAN, {NAN, NAN, confidence}, NAN, 1};
    if (!logs)
        return pyro_fail_memory(error);
    if (!circumstances->processes || longer > PYRO_HODGES_LEHMANN_MAX)
        status = estimate_iterations(out, base, current, logs, base_count, current_count,
                                     circumstances, confidence, bound, seed, error);
    else if (circumstances->interleaved && pairs >= PAIRS_MIN)
        status = estimate_pairs(out, logs, base_count, pairs, confidence, bound, error);
    else
        status = estimate_sides(out, logs, base_count, current_count, circumstances, confidence,
                                bound, error);
    free(logs);
    return status;
}
