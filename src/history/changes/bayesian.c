/*
 * A Bayesian online detector: the probability of every length of the current run, point by point
 * (Adams and MacKay 2007), with a normal level of unknown mean and variance. Works on what a point
 * adds to its neighbour, so that correlated lines do not look like steps.
 */
#include "history/changes/changes.h"

#include "base/error.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HAZARD (1.0 / 250) /* changes per point */
#define CERTAIN 0.6 /* probability that the run began there */
#define NEGLIGIBLE 2e-4
enum { RUNS_MAX = 60, CONFIRMED = 4, NEAR = 3 };

/* One hypothesis: a run that began at `start`, and what its points have taught. */
typedef struct run {
    size_t start, count;
    double weight; /* probability */
    double mean, squares; /* of its points */
} run;

/* Prior beliefs in units of the noise: the level is within 10, the deviation near 1. */
typedef struct prior {
    double level, level_weight, shape, squares;
    const double *constants; /* the part of the density that depends on the count only */
} prior;

static void fill_constants(double *constants, size_t count, double shape)
{
    int sign;

    for (size_t i = 0; i < count; i++) {
        double degrees = 2 * shape + (double)i;

        constants[i] = lgamma_r((degrees + 1) / 2, &sign) - lgamma_r(degrees / 2, &sign) -
                       0.5 * log(degrees * M_PI);
    }
}

/* The density of the next point: Student's, after the run's points. */
static double predict(const run *r, const prior *p, double value)
{
    double n = (double)r->count, weight = p->level_weight + n, shape = p->shape + n / 2;
    double level = (p->level_weight * p->level + n * r->mean) / weight;
    double offset = r->mean - p->level;
    double squares = p->squares + r->squares / 2 +
                     p->level_weight * n * offset * offset / (2 * weight);
    double scale = squares * (weight + 1) / (shape * weight), degrees = 2 * shape;
    double z = (value - level) * (value - level) / scale;

    return exp(p->constants[r->count] - 0.5 * log(scale) -
               (degrees + 1) / 2 * log(1 + z / degrees));
}

static void learn(run *r, double value)
{
    double difference = value - r->mean;

    r->count++;
    r->mean += difference / (double)r->count;
    r->squares += difference * (value - r->mean);
}

/* One step: every run continues, or a new one begins at this point. */
static size_t advance(run *runs, size_t count, const prior *p, double value, size_t index)
{
    run fresh = {.start = index};
    double total = 0, density = predict(&fresh, p, value);
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        fresh.weight += runs[i].weight * HAZARD * density;
        runs[i].weight *= (1 - HAZARD) * predict(&runs[i], p, value);
        learn(&runs[i], value);
        total += runs[i].weight;
    }
    if (count == 0)
        fresh.weight = density;
    total += fresh.weight;
    learn(&fresh, value);
    for (size_t i = 0; i < count; i++) {
        runs[i].weight /= total;
        if (runs[i].weight > NEGLIGIBLE && kept < RUNS_MAX - 1)
            runs[kept++] = runs[i];
    }
    fresh.weight /= total;
    runs[kept++] = fresh;
    return kept;
}

/* The start of the current run, if it is later than `begin`, confirmed and nearly certain. */
static size_t confirmed_start(const run *runs, size_t count, size_t begin, size_t now)
{
    size_t best = 0;
    double mass = 0;

    for (size_t i = 1; i < count; i++)
        if (runs[i].weight > runs[best].weight)
            best = i;
    if (runs[best].start <= begin + 1 || now - runs[best].start + 1 < CONFIRMED)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (runs[i].start > begin + 1 && runs[i].start + NEAR >= runs[best].start &&
            runs[i].start <= runs[best].start + NEAR)
            mass += runs[i].weight;
    return mass > CERTAIN ? runs[best].start : 0;
}

/* The deviation of the noise, from differences of neighbours, which steps hardly change. */
static double noise_of(const double *values, size_t count, double *scratch)
{
    for (size_t i = 0; i + 1 < count; i++)
        scratch[i] = fabs(values[i + 1] - values[i]);
    pyro_sort_samples(scratch, count - 1);
    return 1.4826 * pyro_sample_quantile(scratch, count - 1, 0.5) / sqrt(2);
}

/* Replaces a point that both of its neighbours' neighbourhoods contradict by their median. */
static void remove_outliers(double *out, const double *values, size_t count, double noise)
{
    enum { AROUND = 2 };
    double near[2 * AROUND + 1];

    for (size_t i = 0; i < count; i++) {
        size_t first = i > AROUND ? i - AROUND : 0;
        size_t end = i + AROUND + 1 < count ? i + AROUND + 1 : count;

        memcpy(near, values + first, (end - first) * sizeof *near);
        pyro_sort_samples(near, end - first);
        double middle = pyro_sample_quantile(near, end - first, 0.5);
        out[i] = fabs(values[i] - middle) > 3.5 * noise ? middle : values[i];
    }
}

/* The points in units of their noise, without the part that their neighbour predicts. */
static bool whiten(double *out, const double *values, size_t count, double correlation)
{
    double *scratch = malloc(2 * count * sizeof *scratch), *clean = scratch + count;

    if (!scratch)
        return false;
    remove_outliers(clean, values, count, noise_of(values, count, scratch));
    memcpy(scratch, values, count * sizeof *scratch);
    pyro_sort_samples(scratch, count);
    double middle = pyro_sample_quantile(scratch, count, 0.5);
    for (size_t i = 0; i < count; i++)
        out[i] = clean[i] - middle - (i > 0 ? correlation * (clean[i - 1] - middle) : 0);
    double noise = noise_of(out, count, scratch);
    free(scratch);
    for (size_t i = 0; i < count && noise > 0; i++)
        out[i] /= noise;
    return noise > 0;
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

/* The median correlation within short stretches, of which few contain a step. */
static double correlation_of(const double *values, size_t count)
{
    enum { STRETCH = 20, STRETCHES_MAX = 1000 };
    size_t length = count < STRETCH ? count : STRETCH, found = 0, step = length / 2;
    double correlations[STRETCHES_MAX];

    for (size_t start = 0; start + length <= count && found < STRETCHES_MAX; start += step)
        correlations[found++] = pyro_step_correlation(values + start, length, 0);
    if (found == 0)
        return 0;
    qsort(correlations, found, sizeof *correlations, compare_doubles);
    return pyro_sample_quantile(correlations, found, 0.5);
}

int pyro_changes_bayesian(pyro_change_list *out, const double *values, size_t count,
                          const pyro_change_options *options, pyro_error *error)
{
    double *white = malloc((count + 1) * sizeof *white);
    double *constants = malloc((count + 1) * sizeof *constants);
    prior beliefs = {0, 0.01, 5, 5, constants};
    run *runs = malloc((RUNS_MAX + 1) * sizeof *runs);
    bool enough = white && runs && constants;
    size_t run_count = 0, begin = 0;

    (void)options;
    if (enough && count >= 2 * CONFIRMED) {
        fill_constants(constants, count + 1, beliefs.shape);
        if (!whiten(white, values, count, correlation_of(values, count)))
            count = 0;
        for (size_t i = 0; i < count && enough; i++) {
            run_count = advance(runs, run_count, &beliefs, white[i], i);
            size_t start = confirmed_start(runs, run_count, begin, i);

            if (start == 0)
                continue;
            pyro_change_point point = {.index = start, .p = 1 - CERTAIN};
            enough = pyro_change_list_insert(out, &point);
            begin = start;
            /* What was before is over: older runs are forgotten. */
            size_t kept = 0;
            for (size_t j = 0; j < run_count; j++)
                if (runs[j].start + NEAR >= start)
                    runs[kept++] = runs[j];
            run_count = kept;
        }
    }
    free(white);
    free(constants);
    free(runs);
    return enough ? PYRO_OK : pyro_fail_memory(error);
}
