/* The bootstrap: resamples to estimate how a statistic varies. */
#include "bench/statistics/inference.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "bench/statistics/random.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 2000 };

double pyro_statistic_mean(double *samples, size_t count)
{
    return pyro_mean(samples, count);
}

double pyro_statistic_median(double *samples, size_t count)
{
    double upper = pyro_select(samples, count, count / 2);

    if (count % 2 != 0)
        return upper;
    /* The selection left the lower half in front. */
    double lower = samples[0];
    for (size_t i = 1; i < count / 2; i++)
        lower = fmax(lower, samples[i]);
    return lower + (upper - lower) / 2;
}

int pyro_median_of(double *out, const double *samples, size_t count, pyro_error *error)
{
    double *copy = malloc((count > 0 ? count : 1) * sizeof *copy);

    *out = NAN;
    if (!copy)
        return pyro_fail_memory(error);
    if (count > 0) {
        memcpy(copy, samples, count * sizeof *copy);
        *out = pyro_statistic_median(copy, count);
    }
    free(copy);
    return PYRO_OK;
}

static pyro_bootstrap_options with_defaults(const pyro_bootstrap_options *options)
{
    pyro_bootstrap_options filled = *options;

    if (filled.confidence == 0)
        filled.confidence = 0.95;
    if (filled.resamples == 0)
        filled.resamples = RESAMPLES;
    if (filled.block_length == 0)
        filled.block_length = 1;
    return filled;
}

/* Blocks wrap around at the end, so that every sample is equally likely. */
static void draw(double *out, const double *samples, size_t count, size_t block_length,
                 pyro_random *random)
{
    for (size_t i = 0; i < count;) {
        size_t at = (size_t)pyro_random_below(random, count);

        for (size_t j = 0; j < block_length && i < count; j++, i++) {
            out[i] = samples[at];
            at = at + 1 < count ? at + 1 : 0;
        }
    }
}

/* The skewness of the statistic, from leaving out each sample in turn. */
static double acceleration(const double *samples, size_t count, pyro_statistic statistic,
                           double *scratch, double *left_out)
{
    double squares = 0, cubes = 0;

    for (size_t i = 0; i < count; i++) {
        memcpy(scratch, samples, i * sizeof *samples);
        memcpy(scratch + i, samples + i + 1, (count - i - 1) * sizeof *samples);
        left_out[i] = statistic(scratch, count - 1);
    }
    double mean = pyro_mean(left_out, count);
    for (size_t i = 0; i < count; i++) {
        double influence = mean - left_out[i];

        squares += influence * influence;
        cubes += influence * influence * influence;
    }
    return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

/* The level at which to read the percentile interval, given bias and skewness. */
static double corrected_level(double level, double bias, double skew)
{
    double shifted = bias + pyro_normal_quantile(level);

    return pyro_normal_cdf(bias + shifted / (1 - skew * shifted));
}

static double bias_of(const double *drawn, size_t count, double observed)
{
    double below = 0;

    for (size_t i = 0; i < count; i++)
        below += drawn[i] < observed ? 1 : drawn[i] == observed ? 0.5 : 0;
    return pyro_normal_quantile(below / (double)count);
}

static void interval_of(pyro_interval *out, const double *sorted, size_t count, double low,
                        double high, double confidence)
{
    *out = (pyro_interval){pyro_sample_quantile(sorted, count, low),
                           pyro_sample_quantile(sorted, count, high), confidence};
}

int pyro_bootstrap(pyro_interval *out, const double *samples, size_t count,
                   pyro_statistic statistic, const pyro_bootstrap_options *options,
                   pyro_error *error)
{
    pyro_bootstrap_options chosen = with_defaults(options);
    double tail = (1 - chosen.confidence) / 2, low = tail, high = 1 - tail;
    pyro_random random;

    *out = (pyro_interval){NAN, NAN, chosen.confidence};
    if (count < 2)
        return PYRO_OK;
    double *scratch = malloc(count * sizeof *scratch), *left_out = malloc(count * sizeof *left_out);
    double *drawn = malloc(chosen.resamples * sizeof *drawn);
    if (!scratch || !left_out || !drawn) {
        free(scratch);
        free(left_out);
        free(drawn);
        return pyro_fail_memory(error);
    }
    pyro_random_seed(&random, chosen.seed);
    for (size_t i = 0; i < chosen.resamples; i++) {
        draw(scratch, samples, count, chosen.block_length, &random);
        drawn[i] = statistic(scratch, count);
    }
    if (chosen.block_length == 1) {
        memcpy(scratch, samples, count * sizeof *samples);
        double bias = bias_of(drawn, chosen.resamples, statistic(scratch, count));
        double skew = acceleration(samples, count, statistic, scratch, left_out);

        if (isfinite(bias)) {
            low = corrected_level(tail, bias, skew);
            high = corrected_level(1 - tail, bias, skew);
        }
    }
    pyro_sort_samples(drawn, chosen.resamples);
    interval_of(out, drawn, chosen.resamples, low, high, chosen.confidence);
    free(scratch);
    free(left_out);
    free(drawn);
    return PYRO_OK;
}

int pyro_bootstrap_log_ratio(pyro_interval *out, const double *a, size_t a_count, const double *b,
                             size_t b_count, pyro_statistic statistic,
                             const pyro_bootstrap_options *options, pyro_error *error)
{
    pyro_bootstrap_options chosen = with_defaults(options);
    double tail = (1 - chosen.confidence) / 2;
    size_t longer = a_count > b_count ? a_count : b_count;
    pyro_random random;

    *out = (pyro_interval){NAN, NAN, chosen.confidence};
    if (a_count < 2 || b_count < 2)
        return PYRO_OK;
    double *scratch = malloc(longer * sizeof *scratch);
    double *drawn = malloc(chosen.resamples * sizeof *drawn);
    if (!scratch || !drawn) {
        free(scratch);
        free(drawn);
        return pyro_fail_memory(error);
    }
    pyro_random_seed(&random, chosen.seed);
    for (size_t i = 0; i < chosen.resamples; i++) {
        draw(scratch, a, a_count, chosen.block_length, &random);
        double before = statistic(scratch, a_count);
        draw(scratch, b, b_count, chosen.block_length, &random);
        drawn[i] = log(statistic(scratch, b_count) / before);
    }
    pyro_sort_samples(drawn, chosen.resamples);
    interval_of(out, drawn, chosen.resamples, tail, 1 - tail, chosen.confidence);
    free(scratch);
    free(drawn);
    return PYRO_OK;
}

/*
 * A block has to be longer than the correlation between neighbours, and short enough that there are
 * many. Its length grows with the cube root of n, and to twice the lag at which the correlation has
 * vanished.
 */
size_t pyro_block_length(const double *samples, size_t count)
{
    size_t longest = count / 10, lag = 1;

    if (longest < 2 ||
        !pyro_autocorrelation_is_significant(pyro_autocorrelation(samples, count, 1), count))
        return 1;
    if (longest > 1000)
        longest = 1000;
    while (2 * lag < longest && pyro_autocorrelation(samples, count, lag) > 2 / sqrt((double)count))
        lag++;
    size_t root = (size_t)ceil(cbrt((double)count)), length = 2 * lag > root ? 2 * lag : root;
    return length < longest ? length : longest;
}
