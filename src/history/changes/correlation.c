/* How much neighbouring points of a line resemble each other, and what that costs a mean. */
#include "history/changes/changes.h"

#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The mean of a piece, and its values minus that mean. */
static void remove_level(double *out, const double *values, size_t count)
{
    double mean = pyro_mean(values, count);

    for (size_t i = 0; i < count; i++)
        out[i] = values[i] - mean;
}

/* Clips to three times the quartiles' distance, so that single outliers hide no correlation. */
static void clip(double *residuals, size_t count, double *scratch)
{
    memcpy(scratch, residuals, count * sizeof *scratch);
    pyro_sort_samples(scratch, count);
    double distance = pyro_sample_quantile(scratch, count, 0.75) -
                      pyro_sample_quantile(scratch, count, 0.25);
    double bound = 1.5 * distance;

    for (size_t i = 0; i < count; i++)
        residuals[i] = fmax(-bound, fmin(bound, residuals[i]));
}

double pyro_step_correlation(const double *values, size_t count, size_t split)
{
    double *residuals, products = 0, squares = 0;

    if (count < 8)
        return 0;
    residuals = malloc(2 * count * sizeof *residuals);
    if (!residuals)
        return 0;
    if (split > 0)
        remove_level(residuals, values, split);
    remove_level(residuals + split, values + split, count - split);
    clip(residuals, count, residuals + count);
    for (size_t i = 0; i < count; i++) {
        squares += residuals[i] * residuals[i];
        if (i > 0 && i != split)
            products += residuals[i] * residuals[i - 1];
    }
    free(residuals);
    if (squares == 0)
        return 0;
    /* Removing levels lowers the correlation by about this much (Marriott and Pope). */
    double correlation = products / squares, levels = split > 0 ? 2 : 1;
    correlation += (levels + (levels + 2) * correlation) / (double)count;
    return fmax(0, fmin(0.9, correlation));
}

double pyro_correlation_factor(double correlation)
{
    return sqrt((1 + correlation) / (1 - correlation));
}
