/* Merges the results of several processes: samples side by side, with their number per process. */
#include "bench/results/results.h"

#include "base/error.h"
#include "bench/gpu.h"

#include <math.h>
#include <string.h>

/* Drops numbers and warnings that are derived from samples: they are derived again. */
static void forget_derived(pyro_bench *bench, pyro_bench_result *result)
{
    size_t kept = 0, length = strlen(result->name);

    for (size_t i = 0; i < result->metric_count; i++)
        if (strcmp(result->metrics[i].name, "throughput") != 0 || result->metrics[i].samples)
            result->metrics[kept++] = result->metrics[i];
    result->metric_count = kept;
    kept = 0;
    for (size_t i = 0; i < bench->warning_count; i++)
        if (strncmp(bench->warnings[i], result->name, length) != 0 ||
            bench->warnings[i][length] != ':')
            bench->warnings[kept++] = bench->warnings[i];
    bench->warning_count = kept;
}

/* Keeps the worse value of a metric that was measured as a whole. */
static void keep_worst(pyro_metric *into, const pyro_metric *from)
{
    if (from->higher_is_better ? from->value < into->value : from->value > into->value)
        into->value = from->value;
}

static int merge_result(pyro_bench *into, size_t index, const pyro_bench_result *from,
                        pyro_error *error)
{
    int status = PYRO_OK;

    for (size_t i = 0; i < from->metric_count && status == PYRO_OK; i++) {
        const pyro_metric *metric = &from->metrics[i];
        pyro_metric *known = (pyro_metric *)pyro_bench_metric(&into->results[index], metric->name);

        if (metric->samples)
            status = pyro_bench_add_metric(into, index, metric->name, metric->unit,
                                           metric->higher_is_better, metric->samples, metric->count,
                                           error);
        else if (known && !known->samples)
            keep_worst(known, metric);
    }
    for (size_t i = 0; i < from->process_count && status == PYRO_OK; i++)
        status = pyro_bench_add_process(into, &into->results[index], (size_t)from->processes[i],
                                        error);
    pyro_bench_result *result = &into->results[index];
    result->warmup_settled = result->warmup_settled && from->warmup_settled;
    result->discarded += from->discarded;
    result->throttled += from->throttled;
    pyro_gpu_record_merge(&result->gpu, &from->gpu);
    /* The worse status: a benchmark that failed once has failed. */
    if (status == PYRO_OK && strcmp(from->status, "ok") != 0 &&
        strcmp(result->status, "failed") != 0) {
        status = pyro_bench_set_text(into, &result->status, from->status, error);
        if (status == PYRO_OK)
            status = pyro_bench_set_text(into, &result->message, from->message, error);
    }
    return status;
}

/* Whether a warning of the same kind exists, which differs only in its numbers. */
static bool is_known(const pyro_bench *bench, const char *warning)
{
    size_t length = strcspn(warning, "0123456789");

    for (size_t i = 0; i < bench->warning_count; i++)
        if (strncmp(bench->warnings[i], warning, length) == 0 &&
            strcspn(bench->warnings[i], "0123456789") == length)
            return true;
    return false;
}

/* Keeps the busiest environment of all processes. */
static void keep_busiest(pyro_environment *into, const pyro_environment *from)
{
    into->load_1m_before = fmax(into->load_1m_before, from->load_1m_before);
    into->load_1m_after = fmax(into->load_1m_after, from->load_1m_after);
    into->other_cpus = fmax(into->other_cpus, from->other_cpus);
}

int pyro_bench_merge(pyro_bench *into, const pyro_bench *from, pyro_error *error)
{
    int status = PYRO_OK;

    if (into->result_count != from->result_count)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the processes measured different things");
    for (size_t i = 0; i < into->result_count && status == PYRO_OK; i++) {
        if (strcmp(into->results[i].name, from->results[i].name) != 0)
            return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the processes measured different things");
        forget_derived(into, &into->results[i]);
        status = merge_result(into, i, &from->results[i], error);
    }
    keep_busiest(&into->environment, &from->environment);
    for (size_t i = 0; i < from->warning_count && status == PYRO_OK; i++) {
        bool of_samples = false;

        for (size_t j = 0; j < into->result_count; j++) {
            size_t length = strlen(into->results[j].name);

            of_samples |= strncmp(from->warnings[i], into->results[j].name, length) == 0 &&
                          from->warnings[i][length] == ':';
        }
        if (!of_samples && !is_known(into, from->warnings[i]))
            status = pyro_bench_warn(into, error, "%s", from->warnings[i]);
    }
    return status == PYRO_OK ? pyro_bench_finish(into, error) : status;
}
