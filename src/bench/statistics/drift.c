/*
 * Models the noise of series as independent noise plus a floor that does not average away. Slow
 * phases of a busy machine are close to 1/f noise, whose Allan variance is the same at every scale.
 */
#include "bench/statistics/drift.h"

#include "base/error.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SCALES_MAX = 40, BLOCKS_MIN = 3, ITERATIONS = 8 };

/* Distance from the quartiles, in units of their distance. Both machine phases lie within it. */
#define CLIPPED_AT 3.0
#define CHANCE 2.0 /* standard errors */

/* Allan variances by scale: blocks of 1, 2, 4, ... samples. */
typedef struct scales {
    double sum[SCALES_MAX];    /* variance times weight */
    double weight[SCALES_MAX]; /* number of compared blocks */
    size_t count;
} scales;

/* The series minus its mean, with far outliers clipped; `scratch` has room for count. */
static void clip(double *out, const double *series, size_t count, double *scratch)
{
    memcpy(scratch, series, count * sizeof *series);
    pyro_sort_samples(scratch, count);
    double low = pyro_sample_quantile(scratch, count, 0.25);
    double high = pyro_sample_quantile(scratch, count, 0.75), reach = CLIPPED_AT * (high - low);
    for (size_t i = 0; i < count; i++)
        out[i] = reach > 0 ? fmax(low - reach, fmin(high + reach, series[i])) : series[i];
    double mean = pyro_mean(out, count);
    for (size_t i = 0; i < count; i++)
        out[i] -= mean;
}

/* Adds all pairs of neighbouring blocks, overlapping; `sums` has room for count + 1. */
static void add_scales(scales *to, const double *series, size_t count, double *sums)
{
    sums[0] = 0;
    for (size_t i = 0; i < count; i++)
        sums[i + 1] = sums[i] + series[i];
    size_t block = 1;
    for (size_t s = 0; s < SCALES_MAX && count / block >= BLOCKS_MIN; s++, block *= 2) {
        double squares = 0, weight = (double)count / (double)block - 1;
        size_t pairs = count - 2 * block + 1;

        for (size_t i = 0; i < pairs; i++) {
            double step = (sums[i + 2 * block] - 2 * sums[i + block] + sums[i]) / (double)block;

            squares += step * step;
        }
        to->sum[s] += weight * squares / (2 * (double)pairs);
        to->weight[s] += weight;
        if (s + 1 > to->count)
            to->count = s + 1;
    }
}

static int add_series(pyro_drift *out, scales *to, const double *series, size_t count,
                      pyro_error *error)
{
    if (count < 2)
        return PYRO_OK;
    double *work = malloc((2 * count + 1) * sizeof *work);
    if (!work)
        return pyro_fail_memory(error);
    clip(work, series, count, work + count);
    for (size_t i = 0; i < count; i++)
        out->variance += work[i] * work[i];
    add_scales(to, work, count, work + count);
    free(work);
    return PYRO_OK;
}

/*
 * Weighted least squares of variance = white / block + floor, both at least 0. Returns the standard
 * error of the floor.
 */
static double fit_once(pyro_drift *out, const scales *of)
{
    double xx = 0, x = 0, one = 0, xy = 0, y = 0, block = 1;

    for (size_t s = 0; s < of->count; s++, block *= 2) {
        double expected = out->white / block + out->floor, variance = of->sum[s] / of->weight[s];
        double weight = of->weight[s] / (expected * expected), inverse = 1 / block;

        xx += weight * inverse * inverse;
        x += weight * inverse;
        one += weight;
        xy += weight * inverse * variance;
        y += weight * variance;
    }
    double determinant = xx * one - x * x;
    if (!(determinant > 0) || !isfinite(determinant))
        return INFINITY;
    out->white = (xy * one - x * y) / determinant;
    out->floor = (xx * y - x * xy) / determinant;
    if (out->floor < 0) {
        out->floor = 0;
        out->white = xy / xx;
    } else if (out->white < 0) {
        out->white = 0;
        out->floor = y / one;
    }
    return sqrt(2 * xx / determinant);
}

/* No floor is above the variance of any scale: short correlations vanish at longer ones. */
static double highest_floor(const scales *of)
{
    double highest = INFINITY;

    for (size_t s = 0; s < of->count; s++)
        highest = fmin(highest, of->sum[s] / of->weight[s] * (1 + sqrt(2 / of->weight[s])));
    return highest;
}

/* A floor that independent noise of this size would show by chance counts as 0. */
static void fit(pyro_drift *out, const scales *of)
{
    pyro_drift independent = {out->variance, out->variance, 0};
    double by_chance = fit_once(&independent, of);

    out->white = out->variance;
    for (int i = 0; i < ITERATIONS; i++)
        fit_once(out, of);
    out->floor = fmin(out->floor, highest_floor(of));
    if (out->floor < CHANCE * by_chance) {
        out->white = out->variance;
        out->floor = 0;
    }
}

int pyro_drift_measure(pyro_drift *out, const double *first, size_t first_count,
                       const double *second, size_t second_count, pyro_error *error)
{
    scales all = {.count = 0};
    size_t freedom = (first_count > 1 ? first_count - 1 : 0) +
                     (second && second_count > 1 ? second_count - 1 : 0);

    *out = (pyro_drift){0, 0, 0};
    int status = add_series(out, &all, first, first_count, error);
    if (status == PYRO_OK && second)
        status = add_series(out, &all, second, second_count, error);
    if (status != PYRO_OK || freedom == 0)
        return status;
    out->variance /= (double)freedom;
    out->white = out->variance;
    if (all.count > 1 && out->variance > 0)
        fit(out, &all);
    return PYRO_OK;
}
