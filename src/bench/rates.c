/* Derives rates from times, and means and medians of a few samples. */
#include <pyrometer/bench.h>

#include "base/error.h"
#include "bench/statistics/statistics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int pyro_bench_add_rate(pyro_bench *bench, size_t result, const char *of, const char *name,
                        const char *unit, double amount, pyro_error *error)
{
    const pyro_metric *times = pyro_bench_metric(&bench->results[result], of);
    if (!times || !times->count || strcmp(times->unit, "ms") != 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%.60s: no samples in ms", of);
    double mean_ms = pyro_mean(times->samples, times->count);
    double rate = mean_ms > 0 ? amount * 1000 / mean_ms : 0;
    return pyro_bench_add_value(bench, result, name, unit, true, rate, error);
}

double pyro_bench_calls_per_s(const pyro_bench_result *result)
{
    const pyro_metric *throughput = pyro_bench_metric(result, "throughput");

    if (!throughput || !(result->items > 0))
        return NAN;
    return (throughput->samples ? throughput->summary.mean : throughput->value) / result->items;
}

double pyro_samples_mean(const double *samples, size_t count)
{
    return count ? pyro_mean(samples, count) : NAN;
}

double pyro_samples_median(const double *samples, size_t count)
{
    double *sorted = count ? malloc(count * sizeof *sorted) : NULL;
    if (!sorted)
        return NAN;
    memcpy(sorted, samples, count * sizeof *sorted);
    pyro_sort_samples(sorted, count);
    double median = pyro_sample_quantile(sorted, count, 0.5);
    free(sorted);
    return median;
}
