/* Gives the verdict on one metric: regressed, improved, no change or cannot tell. */
#include "bench/verdict.h"

#include "base/error.h"
#include "bench/statistics/inference.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <string.h>

#define DEFAULT_CONFIDENCE 0.95
#define DEFAULT_FLOOR_BYTES 1048576.0
/* Typical difference between processes of a program; for alarms if only one was measured. */
#define PROCESS_NOISE 0.03
/* If drift widened an interval by this factor, drift is why it is too wide. */
#define DRIFTING 1.5

const char *pyro_verdict_name(pyro_verdict verdict)
{
    static const char *const names[] = {"no change", "improved", "regressed", "cannot tell"};

    return names[verdict];
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

/*
 * `alarm`: a change has to be beyond it; `bound`: no change has to be within it. Reasons that more
 * samples would remove end in "measure more".
 */
static void judge(pyro_verdict_row *row, const pyro_change *change, double bound, double alarm,
                  bool higher_is_better)
{
    const pyro_interval *interval = &change->interval;

    if (isnan(interval->low) || isnan(interval->high)) {
        row->reason = "too few samples for an interval";
    } else if (interval->low > alarm) {
        row->verdict = higher_is_better ? PYRO_VERDICT_IMPROVED : PYRO_VERDICT_REGRESSED;
    } else if (interval->high < -alarm) {
        row->verdict = higher_is_better ? PYRO_VERDICT_REGRESSED : PYRO_VERDICT_IMPROVED;
    } else if (interval->low >= -bound && interval->high <= bound) {
        row->verdict = PYRO_VERDICT_NO_CHANGE;
    } else if (interval->low > bound || interval->high < -bound) {
        row->reason = "one process per side, and processes differ by about 3%: use --processes 5, "
                      "or measure more";
    } else if (change->widened >= DRIFTING && !row->interleaved) {
        row->reason = "the machine drifts between recordings, which made the interval wider: run "
                      "both sides in turn (bench --against), or measure more";
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
        return row->processes ? "too few samples: 5 processes per side are needed"
                              : "too few samples: 20 iterations per side are needed";
    if (!all_above_zero(base, row->base_count) || !all_above_zero(current, row->current_count))
        return "some samples are 0, so there is no ratio";
    return NULL;
}

static double choose_delta(const pyro_verdict_row *row, const pyro_verdict_options *options)
{
    double delta = options->delta > 0 ? options->delta : PYRO_DEFAULT_DELTA;

    if (row->unit && strcmp(row->unit, "ms") == 0 && row->base > 0)
        delta = fmax(delta, options->floor_ms / row->base);
    if (row->unit && strcmp(row->unit, "bytes") == 0 && row->base > 0)
        delta = fmax(delta,
                     (options->floor_bytes > 0 ? options->floor_bytes : DEFAULT_FLOOR_BYTES) /
                         row->base);
    return fmax(delta, options->noise);
}

/* Whether the metric is a time or rate: a busy machine changes these, but not memory use. */
static bool depends_on_load(const pyro_verdict_row *row)
{
    return !row->unit || strcmp(row->unit, "bytes") != 0;
}

/* Sets the two centres whose ratio is the change: both medians, shifted until they match it. */
static void set_estimates(pyro_verdict_row *row, double base, double current,
                          const pyro_change *change)
{
    double middle = (log(base) + log(current)) / 2;

    row->base = exp(middle - change->shift / 2);
    row->current = exp(middle + change->shift / 2);
    row->change = expm1(change->shift);
}

static int judge_samples(pyro_verdict_row *row, const double *base, const double *current,
                         bool higher_is_better, const pyro_circumstances *circumstances,
                         double confidence, uint64_t seed, pyro_error *error)
{
    pyro_circumstances known = *circumstances;
    double bound = log1p(row->delta), alarm = bound;
    pyro_change change;

    if (!depends_on_load(row)) {
        known.busy = 0;
        known.load_bias = 0;
    }
    if (!known.processes)
        alarm += log1p(PROCESS_NOISE);
    int status = pyro_change_estimate(&change, base, row->base_count, current, row->current_count,
                                      &known, confidence, alarm, seed, error);
    if (status != PYRO_OK)
        return status;
    set_estimates(row, row->base, row->current, &change);
    row->interval = (pyro_interval){expm1(change.interval.low), expm1(change.interval.high),
                                    confidence};
    row->p = change.p;
    judge(row, &change, bound, alarm, higher_is_better);
    return PYRO_OK;
}

int pyro_verdict_between(pyro_verdict_row *row, const double *base, size_t base_count,
                         const double *current, size_t current_count, bool higher_is_better,
                         const pyro_circumstances *circumstances,
                         const pyro_verdict_options *options, pyro_error *error)
{
    double confidence = options->confidence > 0 ? options->confidence : DEFAULT_CONFIDENCE;
    int status;

    row->processes = circumstances->processes;
    row->interleaved = circumstances->interleaved;
    row->base_count = base_count;
    row->current_count = current_count;
    row->interval = (pyro_interval){NAN, NAN, confidence};
    row->p = NAN;
    row->verdict = PYRO_VERDICT_CANNOT_TELL;
    status = pyro_median_of(&row->base, base, base_count, error);
    if (status == PYRO_OK)
        status = pyro_median_of(&row->current, current, current_count, error);
    if (status != PYRO_OK)
        return status;
    row->change = row->base > 0 ? row->current / row->base - 1 : NAN;
    row->delta = choose_delta(row, options);
    if (base_count > 0 && current_count > 0 && all_zero(base, base_count) &&
        all_zero(current, current_count)) {
        row->verdict = PYRO_VERDICT_NO_CHANGE;
        return PYRO_OK;
    }
    row->reason = find_obstacle(row, base, current);
    return row->reason ? PYRO_OK
                       : judge_samples(row, base, current, higher_is_better, circumstances,
                                       confidence, options->seed, error);
}

int pyro_verdict_of(pyro_verdict_row *row, const double *base, size_t base_count,
                    const double *current, size_t current_count, bool higher_is_better,
                    const pyro_verdict_options *options, pyro_error *error)
{
    pyro_circumstances unknown = {
        .processes = row->processes, .interleaved = row->interleaved, .busy = NAN};

    return pyro_verdict_between(row, base, base_count, current, current_count, higher_is_better,
                                &unknown, options, error);
}

/* `each`: samples per process; 0: as many as the result has. */
static int medians_of_processes(pyro_replicates *out, pyro_arena *arena,
                                const pyro_bench_result *result, const pyro_metric *metric,
                                size_t each, pyro_error *error)
{
    const double *at = metric->samples;

    out->count = result->process_count;
    out->values = pyro_arena_array(arena, out->count, sizeof *out->values);
    if (!out->values)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < out->count; i++) {
        size_t count = each > 0 ? each : (size_t)result->processes[i];

        int status = pyro_median_of(&out->values[i], at, count, error);

        if (status != PYRO_OK)
            return status;
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
    /* Times of tokens and of stages have their own number of samples, equal in every process. */
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
