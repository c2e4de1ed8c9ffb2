/* Intervals and tests: bootstrap, Hodges-Lehmann, Mann-Whitney, Holm. */
#ifndef PYRO_BENCH_STATISTICS_INFERENCE_H
#define PYRO_BENCH_STATISTICS_INFERENCE_H

#include <pyrometer/bench.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that describes samples; may reorder them. */
typedef double (*pyro_statistic)(double *samples, size_t count);
double pyro_statistic_mean(double *samples, size_t count);
double pyro_statistic_median(double *samples, size_t count);
/* The median of samples, which keep their order; NaN without samples. */
int pyro_median_of(double *out, const double *samples, size_t count, pyro_error *error);

typedef struct pyro_bootstrap_options {
    double confidence;   /* 0: 0.95 */
    size_t resamples;    /* 0: 2000 */
    size_t block_length; /* > 1: resamples blocks of neighbours, which keeps their correlation */
    uint64_t seed;
} pyro_bootstrap_options;

/*
 * The bias-corrected and accelerated (BCa) interval of a statistic; with blocks, the percentile
 * interval. PYRO_ERROR_MEMORY is the only failure; below two samples both ends are NaN.
 */
int pyro_bootstrap(pyro_interval *out, const double *samples, size_t count,
                   pyro_statistic statistic, const pyro_bootstrap_options *options,
                   pyro_error *error);
/* Percentile interval of log(statistic(b) / statistic(a)), with both sides resampled. */
int pyro_bootstrap_log_ratio(pyro_interval *out, const double *a, size_t a_count, const double *b,
                             size_t b_count, pyro_statistic statistic,
                             const pyro_bootstrap_options *options, pyro_error *error);
/* How many neighbours are correlated, from the decay of the autocorrelation; 1: none. */
size_t pyro_block_length(const double *samples, size_t count);

typedef enum pyro_alternative {
    PYRO_TWO_SIDED,
    PYRO_LESS, /* a tends to be smaller than b */
    PYRO_GREATER
} pyro_alternative;

typedef struct pyro_mann_whitney {
    double u; /* of a: number of pairs with a above b, ties count half */
    double p;
    bool exact; /* small and without ties; else the normal approximation with its corrections */
} pyro_mann_whitney;

int pyro_mann_whitney_test(pyro_mann_whitney *out, const double *a, size_t a_count, const double *b,
                           size_t b_count, pyro_alternative alternative, pyro_error *error);

/*
 * The shift from a to b: the median of all differences b - a, and the interval of them that the
 * Mann-Whitney test does not reject. Too few samples for the confidence leave NaN ends.
 */
int pyro_hodges_lehmann(double *shift, pyro_interval *out, const double *a, size_t a_count,
                        const double *b, size_t b_count, double confidence, pyro_error *error);

/*
 * Wilcoxon's signed-rank test of differences against 0: `w` is the sum of the ranks of those above
 * 0, ties share theirs, and differences of 0 are left out.
 */
typedef struct pyro_signed_rank {
    double w;
    double p;
    bool exact; /* at most 50 differences, without ties; else the normal approximation */
} pyro_signed_rank;

/* PYRO_LESS: the differences tend to be below 0. */
int pyro_signed_rank_test(pyro_signed_rank *out, const double *differences, size_t count,
                          pyro_alternative alternative, pyro_error *error);

/*
 * The centre of differences: the median of all their pairwise means, and the interval of them that
 * the signed-rank test does not reject. Below six differences 95% is not possible: NaN ends.
 */
int pyro_hodges_lehmann_paired(double *centre, pyro_interval *out, const double *differences,
                               size_t count, double confidence, pyro_error *error);

/* Beyond this the pairs of two samples would fill the memory. */
#define PYRO_HODGES_LEHMANN_MAX 3000

/* Replaces p-values by Holm's adjusted ones. */
int pyro_holm(double *p, size_t count, pyro_error *error);

#endif
