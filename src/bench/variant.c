/* Computes the gain of a variant over the model, from interleaved rounds. */
#include <pyrometer/bench.h>
#include <pyrometer/recommend.h>

#include "base/error.h"
#include "bench/statistics/statistics.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A variant whose gain is surely below this does not help. */
static const double least_gain = 0.02;
/* Share of the throughput that a variant which frees processors has to keep. */
static const double least_kept = 0.90;

const char *pyro_outcome_name(pyro_outcome outcome)
{
    static const char *const names[] = {"confirmed", "refuted", "not confirmed"};
    return names[outcome];
}

static pyro_outcome judge(const pyro_variant_gain *gain, bool frees_processors)
{
    if (frees_processors)
        return gain->middle >= least_kept - 1 ? PYRO_OUTCOME_CONFIRMED : PYRO_OUTCOME_REFUTED;
    if (gain->low > 0)
        return PYRO_OUTCOME_CONFIRMED;
    return gain->high < least_gain || gain->middle <= 0 ? PYRO_OUTCOME_REFUTED : PYRO_OUTCOME_OPEN;
}

int pyro_variant_compare(pyro_variant_gain *out, const double *before_ms, const double *after_ms,
                         size_t rounds, double factor, bool frees_processors, pyro_error *error)
{
    if (!rounds)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "no rounds to compare");
    double *gains = calloc(rounds, sizeof *gains);
    if (!gains)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < rounds; i++)
        gains[i] = factor * before_ms[i] / after_ms[i] - 1;
    pyro_sort_samples(gains, rounds);
    *out = (pyro_variant_gain){.low = gains[0],
                               .middle = pyro_sample_quantile(gains, rounds, 0.5),
                               .high = gains[rounds - 1],
                               .before_ms = pyro_samples_median(before_ms, rounds),
                               .after_ms = pyro_samples_median(after_ms, rounds)};
    free(gains);
    if (isnan(out->before_ms) || isnan(out->after_ms))
        return pyro_fail_memory(error);
    out->outcome = judge(out, frees_processors);
    bool is_clear = out->low > 0 || out->high < 0;
    snprintf(out->text, sizeof out->text,
             "%+.0f%% throughput (%+.0f%% to %+.0f%%; run here: %.3g ms, with it %.3g ms)%s",
             out->middle * 100, out->low * 100, out->high * 100, out->before_ms, out->after_ms,
             is_clear ? "" : "; unclear whether it is faster");
    return PYRO_OK;
}
