/* The verdict on one metric: regressed, improved, no change or cannot tell. */
#include "bench/verdict.h"

#include "base/error.h"
#include "bench/inference.h"
#include "bench/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERDICT_RESAMPLES = 2000 };

#define DEFAULT_DELTA 0.02
#define DEFAULT_CONFIDENCE 0.95
#define DEFAULT_FLOOR_BYTES 1048576.0

const char *pyro_verdict_name(pyro_verdict verdict)
{
    static const char *const names[] = {"no change", "improved", "regressed", "cannot tell"};

    return names[verdict];
}

/* Logarithms of both sides, base first, for the caller to free. NULL when memory is out. */
static double *take_logarithms(const double *base, size_t base_count, const double *current,
                               size_t current_count)
{
    double *logs = malloc((base_count + current_count) * sizeof *logs);

    for (size_t i = 0; logs != NULL && i < base_count; i++)
        logs[i] = log(base[i]);
    for (size_t i = 0; logs != NULL && i < current_count; i++)
        logs[base_count + i] = log(current[i]);
    return logs;
}

static bool all_above_zero(const double *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(samples[i] > 0))
            return false;
    return true;
}

static bool all_zero(const double *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (samples[i] != 0)
            return false;
    return true;
}

static double median_of(const double *samples, size_t count)
{
    double *copy = malloc((count > 0 ? count : 1) * sizeof *copy), median = NAN;

    if (copy != NULL && count > 0) {
        memcpy(copy, samples, count * sizeof *copy);
        median = pyro_statistic_median(copy, count);
    }
    free(copy);
    return median;
}

/* Both one-sided tests against the border of what matters, twice the smaller p. */
static int test_replicates(pyro_verdict_row *row, double *logs, double bound, pyro_error *error)
{
    double *base = logs, *current = logs + row->base_count;
    pyro_mann_whitney above, below;

    for (size_t i = 0; i < row->current_count; i++)
        current[i] -= bound;
    int status = pyro_mann_whitney_test(&above, current, row->current_count, base, row->base_count,
                                        PYRO_GREATER, error);
    for (size_t i = 0; i < row->current_count; i++)
        current[i] += 2 * bound;
    if (status == PYRO_OK)
        status = pyro_mann_whitney_test(&below, current, row->current_count, base, row->base_count,
                                        PYRO_LESS, error);
    if (status == PYRO_OK)
        row->p = fmin(1, 2 * fmin(above.p, below.p));
    return status;
}

static int estimate_replicates(pyro_verdict_row *row, const double *base, const double *current,
                               double confidence, double bound, double *shift,
                               pyro_interval *log_ci, pyro_error *error)
{
    double *logs = take_logarithms(base, row->base_count, current, row->current_count);

    if (logs == NULL)
        return pyro_fail_memory(error);
    int status = pyro_hodges_lehmann(shift, log_ci, logs, row->base_count, logs + row->base_count,
                                     row->current_count, confidence, error);
    if (status == PYRO_OK)
        status = test_replicates(row, logs, bound, error);
    free(logs);
    return status;
}

/* Iterations of one process: the medians, and both series drawn again in blocks. */
static int estimate_iterations(pyro_verdict_row *row, const double *base, const double *current,
                               const pyro_verdict_options *options, double confidence, double bound,
                               double *shift, pyro_interval *log_ci, pyro_error *error)
{
    size_t length = pyro_block_length(base, row->base_count);
    size_t other = pyro_block_length(current, row->current_count);
    pyro_bootstrap_options bootstrap = {.confidence = confidence,
                                        .resamples = VERDICT_RESAMPLES,
                                        .block_length = length > other ? length : other,
                                        .seed = options->seed};
    int status = pyro_bootstrap_log_ratio(log_ci, base, row->base_count, current,
                                          row->current_count, pyro_statistic_median, &bootstrap,
                                          error);

    *shift = log(row->current / row->base);
    double deviation = (log_ci->high - log_ci->low) /
                       (2 * pyro_normal_quantile(0.5 + confidence / 2));
    if (deviation > 0)
        row->p = fmin(1, 2 * pyro_normal_cdf((bound - fabs(*shift)) / deviation));
    else
        row->p = fabs(*shift) > bound ? 0 : 1;
    return status;
}

static void judge(pyro_verdict_row *row, const pyro_interval *log_ci, double bound,
                  bool higher_is_better)
{
    if (isnan(log_ci->low) || isnan(log_ci->high)) {
        row->reason = "too few samples for an interval";
    } else if (log_ci->low > bound) {
        row->verdict = higher_is_better ? PYRO_VERDICT_IMPROVED : PYRO_VERDICT_REGRESSED;
    } else if (log_ci->high < -bound) {
        row->verdict = higher_is_better ? PYRO_VERDICT_REGRESSED : PYRO_VERDICT_IMPROVED;
    } else if (log_ci->low >= -bound && log_ci->high <= bound) {
        row->verdict = PYRO_VERDICT_NO_CHANGE;
    } else {
        row->reason = "the interval crosses the border of what matters: measure more";
    }
}

/* Why these samples allow no verdict; NULL when they do. */
static const char *find_obstacle(const pyro_verdict_row *row, const double *base,
                                 const double *current)
{
    size_t needed = row->processes ? PYRO_REPLICATES_MIN : PYRO_ITERATIONS_MIN;

    if (row->base_count < needed || row->current_count < needed)
        return row->processes ? "too few samples: 5 processes a side are needed"
                              : "too few samples: 20 iterations a side are needed";
    if (!all_above_zero(base, row->base_count) || !all_above_zero(current, row->current_count))
        return "some samples are 0, so there is no ratio";
    return NULL;
}

static double choose_delta(const pyro_verdict_row *row, const pyro_verdict_options *options)
{
    double delta = options->delta > 0 ? options->delta : DEFAULT_DELTA;

    if (row->unit != NULL && strcmp(row->unit, "ms") == 0 && row->base > 0)
        delta = fmax(delta, options->floor_ms / row->base);
    if (row->unit != NULL && strcmp(row->unit, "bytes") == 0 && row->base > 0)
        delta = fmax(delta,
                     (options->floor_bytes > 0 ? options->floor_bytes : DEFAULT_FLOOR_BYTES) /
                         row->base);
    return fmax(delta, options->noise);
}

int pyro_verdict_of(pyro_verdict_row *row, const double *base, size_t base_count,
                    const double *current, size_t current_count, bool higher_is_better,
                    const pyro_verdict_options *options, pyro_error *error)
{
    double confidence = options->confidence > 0 ? options->confidence : DEFAULT_CONFIDENCE;
    double shift = NAN;
    pyro_interval log_ci = {NAN, NAN, confidence};
    int status;

    row->base_count = base_count;
    row->current_count = current_count;
    row->base = median_of(base, base_count);
    row->current = median_of(current, current_count);
    row->change = row->base > 0 ? row->current / row->base - 1 : NAN;
    row->interval = log_ci;
    row->p = NAN;
    row->verdict = PYRO_VERDICT_CANNOT_TELL;
    row->delta = choose_delta(row, options);
    if (base_count > 0 && current_count > 0 && all_zero(base, base_count) &&
        all_zero(current, current_count)) {
        row->verdict = PYRO_VERDICT_NO_CHANGE;
        return PYRO_OK;
    }
    row->reason = find_obstacle(row, base, current);
    if (row->reason != NULL)
        return PYRO_OK;
    double bound = log1p(row->delta);
    bool few = base_count <= PYRO_HODGES_LEHMANN_MAX && current_count <= PYRO_HODGES_LEHMANN_MAX;
    if (row->processes && few) {
        status = estimate_replicates(row, base, current, confidence, bound, &shift, &log_ci, error);
    } else {
        status = estimate_iterations(row, base, current, options, confidence, bound, &shift,
                                     &log_ci, error);
    }
    if (status != PYRO_OK)
        return status;
    row->change = expm1(shift);
    row->interval = (pyro_interval){expm1(log_ci.low), expm1(log_ci.high), confidence};
    judge(row, &log_ci, bound, higher_is_better);
    return PYRO_OK;
}

/* `each`: samples of every process; 0: as many as the result says. */
static int medians_of_processes(pyro_replicates *out, pyro_arena *arena,
                                const pyro_bench_result *result, const pyro_metric *metric,
                                size_t each, pyro_error *error)
{
    const double *at = metric->samples;

    out->count = result->process_count;
    out->values = pyro_arena_array(arena, out->count, sizeof *out->values);
    if (out->values == NULL)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < out->count; i++) {
        size_t count = each > 0 ? each : (size_t)result->processes[i];

        out->values[i] = median_of(at, count);
        at += count;
    }
    return PYRO_OK;
}

int pyro_replicates_of(pyro_replicates *out, pyro_arena *arena, const pyro_bench_result *result,
                       const pyro_metric *metric, pyro_error *error)
{
    int64_t iterations = 0;

    for (size_t i = 0; i < result->process_count; i++)
        iterations += result->processes[i];
    out->processes = result->replicate == PYRO_REPLICATE_PROCESS;
    bool several = !out->processes && result->process_count >= PYRO_REPLICATES_MIN;
    bool by_iteration = iterations == (int64_t)metric->count;
    /* Times of tokens and of stages have a number of their own, the same in every process. */
    if (several && (by_iteration || metric->count % result->process_count == 0)) {
        out->processes = true;
        return medians_of_processes(out, arena, result, metric,
                                    by_iteration ? 0 : metric->count / result->process_count,
                                    error);
    }
    out->values = (double *)metric->samples;
    out->count = metric->count;
    return PYRO_OK;
}
