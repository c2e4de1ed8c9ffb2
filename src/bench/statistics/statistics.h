/*
 * Descriptive statistics of samples, and the distributions that intervals need. Samples are finite;
 * an undefined result is NaN. docs/reference/statistics.md has the definitions.
 */
#ifndef PYRO_BENCH_STATISTICS_STATISTICS_H
#define PYRO_BENCH_STATISTICS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* The standard normal distribution. */
double pyro_normal_cdf(double x);
double pyro_normal_quantile(double probability);
/* P(X <= k) of a binomial variable. */
double pyro_binomial_cdf(long long k, size_t n, double probability);

double pyro_mean(const double *samples, size_t count);
/* Divides by n - 1; NaN below two samples. */
double pyro_stddev(const double *samples, size_t count);
void pyro_sort_samples(double *samples, size_t count);
/* The value at `rank` (from 0) if all were sorted; reorders the samples. */
double pyro_select(double *samples, size_t count, size_t rank);

/* Linear between order statistics (type 7: NumPy's and R's default); `sorted` is in order. */
double pyro_sample_quantile(const double *sorted, size_t count, double probability);
/* Median of the distances from the median, unscaled; `scratch` has room for all samples. */
double pyro_mad(const double *sorted, size_t count, double *scratch);

/* Samples beyond the quartiles by more than 1.5 (3) times their distance. */
typedef struct pyro_outliers {
    size_t low_mild, low_severe, high_mild, high_severe;
} pyro_outliers;
pyro_outliers pyro_find_outliers(const double *sorted, size_t count);

/* Correlation of the series with itself `lag` later; 0 if nothing varies. */
double pyro_autocorrelation(const double *samples, size_t count, size_t lag);
/* Whether it exceeds what independent samples show in 99 of 100 series. */
bool pyro_autocorrelation_is_significant(double lag1, size_t count);

/*
 * Ranks (from 1) of the order statistics between which the quantile lies with at least this
 * confidence, whatever the distribution. `low` 0 or `high` n + 1: the samples do not bound that side.
 */
typedef struct pyro_rank_bounds {
    size_t low, high;
} pyro_rank_bounds;
pyro_rank_bounds pyro_quantile_ranks(size_t count, double probability, double confidence);
/* Samples needed so that the largest is above the quantile with this confidence: p99, 95%: 299. */
size_t pyro_quantile_needs(double probability, double confidence);

/* Whether two successive windows agree: the warm-up is over. `scratch` has room for both. */
bool pyro_windows_agree(const double *first, const double *second, size_t count, double *scratch);

#endif
