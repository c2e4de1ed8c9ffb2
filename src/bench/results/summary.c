/* Summarises the samples of one metric. */
#include "bench/results/results.h"

#include "base/error.h"
#include "bench/statistics/inference.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Above this the bootstrap is slow and agrees with the normal approximation. */
enum { BOOTSTRAP_SAMPLES_MAX = 5000 };

#define CONFIDENCE 0.95

static const struct {
    double probability;
    const char *name;
} percentiles[PYRO_PERCENTILE_COUNT] = {
    {0.5, "p50"}, {0.95, "p95"}, {0.99, "p99"}, {0.999, "p99.9"}};

/*
 * A percentile is reported as reliable if the largest sample bounds it; the largest sample is then
 * its upper bound if the two-sided interval would need a larger one.
 */
static void describe_percentile(pyro_percentile *out, const double *sorted, size_t count,
                                size_t which)
{
    double probability = percentiles[which].probability;
    pyro_rank_bounds ranks = pyro_quantile_ranks(count, probability, CONFIDENCE);

    *out = (pyro_percentile){
        .probability = probability,
        .name = percentiles[which].name,
        .value = pyro_sample_quantile(sorted, count, probability),
        .interval = {NAN, NAN, CONFIDENCE},
        .needs = pyro_quantile_needs(probability, CONFIDENCE),
    };
    out->enough = count >= out->needs;
    if (ranks.low > 0)
        out->interval.low = sorted[ranks.low - 1];
    if (ranks.high <= count)
        out->interval.high = sorted[ranks.high - 1];
    else if (out->enough && probability > 0.5)
        out->interval.high = sorted[count - 1];
}

/* Means of nearly independent blocks, with the normal approximation. */
static pyro_interval interval_of_many(const double *samples, size_t count, size_t block_length)
{
    size_t blocks = count / block_length;
    double mean = pyro_mean(samples, count), square = 0;

    for (size_t i = 0; i < blocks; i++) {
        double distance = pyro_mean(samples + i * block_length, block_length) - mean;

        square += distance * distance;
    }
    double error = sqrt(square / (double)(blocks - 1) / (double)blocks);
    double reach = pyro_normal_quantile(0.5 + CONFIDENCE / 2) * error;
    return (pyro_interval){mean - reach, mean + reach, CONFIDENCE};
}

static int describe_mean(pyro_summary *out, const double *samples, size_t count, uint64_t seed,
                         pyro_error *error)
{
    size_t block_length = pyro_block_length(samples, count);
    pyro_bootstrap_options options = {
        .confidence = CONFIDENCE, .block_length = block_length, .seed = seed};

    if (count <= BOOTSTRAP_SAMPLES_MAX)
        return pyro_bootstrap(&out->mean_interval, samples, count, pyro_statistic_mean, &options,
                              error);
    out->mean_interval = interval_of_many(samples, count, block_length);
    return PYRO_OK;
}

int pyro_summarize(pyro_summary *out, const double *samples, size_t count, uint64_t seed,
                   pyro_error *error)
{
    *out = (pyro_summary){.count = count, .mean_interval = {NAN, NAN, CONFIDENCE}};
    double *sorted = malloc((2 * count + 1) * sizeof *sorted);
    if (!sorted)
        return pyro_fail_memory(error);
    if (count > 0)
        memcpy(sorted, samples, count * sizeof *sorted);
    pyro_sort_samples(sorted, count);
    out->mean = pyro_mean(samples, count);
    out->stddev = pyro_stddev(samples, count);
    out->cv = out->mean > 0 ? out->stddev / out->mean : NAN;
    out->min = count > 0 ? sorted[0] : NAN;
    out->max = count > 0 ? sorted[count - 1] : NAN;
    out->mad = pyro_mad(sorted, count, sorted + count);
    out->q1 = pyro_sample_quantile(sorted, count, 0.25);
    out->q3 = pyro_sample_quantile(sorted, count, 0.75);
    for (size_t i = 0; i < PYRO_PERCENTILE_COUNT; i++)
        describe_percentile(&out->percentiles[i], sorted, count, i);
    pyro_outliers outliers = pyro_find_outliers(sorted, count);
    out->outliers_severe = outliers.low_severe + outliers.high_severe;
    out->outliers = out->outliers_severe + outliers.low_mild + outliers.high_mild;
    out->autocorrelation = pyro_autocorrelation(samples, count, 1);
    out->autocorrelated = pyro_autocorrelation_is_significant(out->autocorrelation, count);
    free(sorted);
    return describe_mean(out, samples, count, seed, error);
}
