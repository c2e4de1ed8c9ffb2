/* Builds a set of results: benchmarks, metrics and samples, summarised at the end. */
#include "bench/results/results.h"

#include "base/error.h"
#include "bench/gpu.h"
#include "bench/statistics/inference.h"

#include <pyrometer/version.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOISY_CV 0.025 /* trtexec's limit */

bool pyro_arena_append(pyro_arena *arena, void *items_pointer, size_t count, size_t item_size)
{
    void **items = items_pointer;

    if ((count & (count - 1)) != 0)
        return true;
    void *grown = pyro_arena_array(arena, count > 0 ? 2 * count : 1, item_size);
    if (!grown)
        return false;
    if (count > 0)
        memcpy(grown, *items, count * item_size);
    *items = grown;
    return true;
}

int pyro_bench_copy(pyro_bench *bench, const char **member, const char *text, size_t length,
                    pyro_error *error)
{
    *member = text ? pyro_arena_text(&bench->store->arena, text, length) : NULL;
    return !text || *member ? PYRO_OK : pyro_fail_memory(error);
}

int pyro_bench_set_text(pyro_bench *bench, const char **member, const char *text, pyro_error *error)
{
    return pyro_bench_copy(bench, member, text, text ? strlen(text) : 0, error);
}

int pyro_bench_new(pyro_bench **out, pyro_error *error)
{
    struct pyro_bench_store *store = calloc(1, sizeof *store);
    char now[32] = "";
    time_t seconds = time(NULL);
    struct tm utc;

    *out = NULL;
    if (!store)
        return pyro_fail_memory(error);
    pyro_arena_init(&store->arena);
    store->bench.store = store;
    store->bench.tool = "pyrometer " PYRO_VERSION;
    store->bench.order = "sequential";
    store->bench.environment = (pyro_environment){
        .load_1m_before = NAN, .load_1m_after = NAN, .other_cpus = NAN, .throttled = -1};
    if (gmtime_r(&seconds, &utc))
        strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc);
    int status = pyro_bench_set_text(&store->bench, &store->bench.created, now, error);
    if (status != PYRO_OK) {
        pyro_bench_free(&store->bench);
        return status;
    }
    *out = &store->bench;
    return PYRO_OK;
}

void pyro_bench_free(pyro_bench *bench)
{
    if (!bench)
        return;
    struct pyro_bench_store *store = bench->store;
    pyro_arena_free(&store->arena);
    free(store);
}

int pyro_bench_add(pyro_bench *bench, const char *name, const char *engine, size_t *index,
                   pyro_error *error)
{
    if (bench->result_count >= PYRO_BENCH_RESULTS_MAX)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d benchmarks",
                         PYRO_BENCH_RESULTS_MAX);
    if (!pyro_arena_append(&bench->store->arena, &bench->results, bench->result_count,
                           sizeof *bench->results))
        return pyro_fail_memory(error);
    pyro_bench_result *result = &bench->results[bench->result_count];
    *result = (pyro_bench_result){
        .status = "ok", .loop = "closed", .items = 1, .warmup_settled = true};
    int status = pyro_bench_set_text(bench, &result->name, name, error);
    if (status == PYRO_OK)
        status = pyro_bench_set_text(bench, &result->engine, engine, error);
    if (status == PYRO_OK)
        *index = bench->result_count++;
    return status;
}

int pyro_bench_add_pair(pyro_bench *bench, pyro_pair **pairs, size_t *count, const char *name,
                        const char *value, pyro_error *error)
{
    if (*count >= PYRO_BENCH_PAIRS_MAX)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d entries", PYRO_BENCH_PAIRS_MAX);
    if (!pyro_arena_append(&bench->store->arena, pairs, *count, sizeof **pairs))
        return pyro_fail_memory(error);
    int status = pyro_bench_set_text(bench, &(*pairs)[*count].name, name, error);
    if (status == PYRO_OK)
        status = pyro_bench_set_text(bench, &(*pairs)[*count].value, value, error);
    if (status == PYRO_OK)
        ++*count;
    return status;
}

int pyro_bench_add_parameter(pyro_bench *bench, size_t result, const char *name, const char *value,
                             pyro_error *error)
{
    return pyro_bench_add_pair(bench, &bench->results[result].parameters,
                               &bench->results[result].parameter_count, name, value, error);
}

int pyro_bench_add_environment(pyro_bench *bench, const char *name, const char *value,
                               pyro_error *error)
{
    return pyro_bench_add_pair(bench, &bench->environment.extra, &bench->environment.extra_count,
                               name, value, error);
}

const pyro_metric *pyro_bench_metric(const pyro_bench_result *result, const char *name)
{
    for (size_t i = 0; i < result->metric_count; i++)
        if (strcmp(result->metrics[i].name, name) == 0)
            return &result->metrics[i];
    return NULL;
}

/* The metric with that name, added if it does not exist. NULL with `error` filled. */
static pyro_metric *find_or_add(pyro_bench *bench, size_t index, const char *name, const char *unit,
                                bool higher_is_better, pyro_error *error)
{
    pyro_bench_result *result = &bench->results[index];
    pyro_metric *found = (pyro_metric *)pyro_bench_metric(result, name);

    if (found)
        return found;
    if (result->metric_count >= PYRO_BENCH_METRICS_MAX) {
        pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d metrics", PYRO_BENCH_METRICS_MAX);
        return NULL;
    }
    if (!pyro_arena_append(&bench->store->arena, &result->metrics, result->metric_count,
                           sizeof *result->metrics)) {
        pyro_fail_memory(error);
        return NULL;
    }
    found = &result->metrics[result->metric_count];
    *found = (pyro_metric){.higher_is_better = higher_is_better, .value = NAN};
    if (pyro_bench_set_text(bench, &found->name, name, error) != PYRO_OK ||
        pyro_bench_set_text(bench, &found->unit, unit, error) != PYRO_OK)
        return NULL;
    result->metric_count++;
    return found;
}

static int fail_or_memory(const pyro_error *error)
{
    return error && error->code != PYRO_OK ? (int)error->code : PYRO_ERROR_MEMORY;
}

int pyro_bench_add_metric(pyro_bench *bench, size_t result, const char *name, const char *unit,
                          bool higher_is_better, const double *samples, size_t count,
                          pyro_error *error)
{
    pyro_metric *metric = find_or_add(bench, result, name, unit, higher_is_better, error);

    if (!metric)
        return fail_or_memory(error);
    if (count > PYRO_BENCH_SAMPLES_MAX - metric->count)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d samples", PYRO_BENCH_SAMPLES_MAX);
    for (size_t i = 0; i < count; i++)
        if (!(samples[i] >= 0 && isfinite(samples[i])))
            return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%.60s: invalid value of sample %zu: %g",
                             name, i, samples[i]);
    double *all = pyro_arena_array(&bench->store->arena, metric->count + count + 1, sizeof *all);
    if (!all)
        return pyro_fail_memory(error);
    if (metric->count > 0)
        memcpy(all, metric->samples, metric->count * sizeof *all);
    if (count > 0)
        memcpy(all + metric->count, samples, count * sizeof *all);
    metric->samples = all;
    metric->count += count;
    return PYRO_OK;
}

int pyro_bench_add_value(pyro_bench *bench, size_t result, const char *name, const char *unit,
                         bool higher_is_better, double value, pyro_error *error)
{
    pyro_metric *metric = find_or_add(bench, result, name, unit, higher_is_better, error);

    if (!metric)
        return fail_or_memory(error);
    if (!(value >= 0 && isfinite(value)))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%.60s: invalid value: %g", name, value);
    metric->value = value;
    return PYRO_OK;
}

static double *to_milliseconds(pyro_arena *arena, const double *ns, size_t count)
{
    double *ms = pyro_arena_array(arena, count + 1, sizeof *ms);

    for (size_t i = 0; ms && i < count; i++)
        ms[i] = ns[i] / 1e6;
    return ms;
}

int pyro_bench_add_process(pyro_bench *bench, pyro_bench_result *result, size_t iterations,
                           pyro_error *error)
{
    int64_t *processes = (int64_t *)result->processes;

    if (!pyro_arena_append(&bench->store->arena, &processes, result->process_count,
                           sizeof *processes))
        return pyro_fail_memory(error);
    processes[result->process_count++] = (int64_t)iterations;
    result->processes = processes;
    return PYRO_OK;
}

/* Records which limits ended a loop. */
static void add_limits(pyro_bench_result *result, const pyro_loop_samples *samples)
{
    if (samples->end == PYRO_LOOP_NOISY)
        result->status = "noisy";
    result->discarded += (int64_t)samples->discarded_count;
    result->throttled += (int64_t)samples->throttled_count;
    pyro_gpu_record_merge(&result->gpu, &samples->gpu);
}

/* Warns if the time limit ended the loop before the requested number of runs. */
static int tell_of_time(pyro_bench *bench, const pyro_bench_result *result,
                        const pyro_loop_samples *samples, pyro_error *error)
{
    if (samples->end != PYRO_LOOP_NOISY || samples->count >= samples->wanted_count)
        return PYRO_OK;
    return pyro_bench_warn(bench, error,
                           "%s: the time limit ended it after %zu of %zu runs: raise the limit, "
                           "or ask for fewer runs",
                           result->name, samples->count, samples->wanted_count);
}

int pyro_bench_add_loop(pyro_bench *bench, size_t index, const pyro_loop *loop, pyro_error *error)
{
    pyro_loop_samples samples = pyro_loop_read(loop);
    pyro_arena *arena = &bench->store->arena;
    pyro_bench_result *result = &bench->results[index];
    double *latency = to_milliseconds(arena, samples.latency_ns, samples.count);
    double *service = to_milliseconds(arena, samples.service_ns, samples.count);
    double *warmup = to_milliseconds(arena, samples.warmup_ns, samples.warmup_count);

    if (!latency || !service || !warmup)
        return pyro_fail_memory(error);
    result->replicate = PYRO_REPLICATE_ITERATION;
    result->loop = samples.rate_per_s > 0 ? "rate" : "closed";
    result->rate_per_s = samples.rate_per_s;
    result->warmup_ms = warmup;
    result->warmup_count = samples.warmup_count;
    result->warmup_settled = result->warmup_settled && samples.warmup_settled;
    add_limits(result, &samples);
    if (samples.count == 0)
        return PYRO_OK;
    int status = tell_of_time(bench, result, &samples, error);
    if (status == PYRO_OK)
        status = pyro_bench_add_metric(bench, index, "latency", "ms", false, latency, samples.count,
                                       error);
    if (status == PYRO_OK && samples.rate_per_s > 0)
        status = pyro_bench_add_metric(bench, index, "service", "ms", false, service, samples.count,
                                       error);
    return status == PYRO_OK
               ? pyro_bench_add_process(bench, &bench->results[index], samples.count, error)
               : status;
}

int pyro_bench_warn(pyro_bench *bench, pyro_error *error, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < bench->warning_count; i++)
        if (strcmp(bench->warnings[i], text) == 0)
            return PYRO_OK;
    if (!pyro_arena_append(&bench->store->arena, &bench->warnings, bench->warning_count,
                           sizeof *bench->warnings))
        return pyro_fail_memory(error);
    int status = pyro_bench_set_text(bench, &bench->warnings[bench->warning_count], text, error);
    bench->warning_count += status == PYRO_OK;
    return status;
}

/* Derives throughput (counted items per second) and its interval from the mean latency. */
static int derive_throughput(pyro_bench *bench, size_t index, pyro_error *error)
{
    const pyro_bench_result *result = &bench->results[index];
    const pyro_metric *latency = pyro_bench_metric(result, "latency");
    const char *unit = strcmp(result->engine, "command") == 0 ? "runs/s" : "samples/s";

    if (!latency || latency->count == 0 || !(latency->summary.mean > 0) ||
        strcmp(result->loop, "closed") != 0 || pyro_bench_metric(result, "throughput"))
        return PYRO_OK;
    pyro_summary of = latency->summary;
    double scale = result->items * 1000;
    int status = pyro_bench_add_value(bench, index, "throughput", unit, true, scale / of.mean,
                                      error);
    if (status != PYRO_OK)
        return status;
    pyro_metric *throughput = &bench->results[index].metrics[result->metric_count - 1];
    throughput->summary.mean = throughput->value;
    throughput->summary.mean_interval = (pyro_interval){
        scale / of.mean_interval.high, scale / of.mean_interval.low, of.mean_interval.confidence};
    return PYRO_OK;
}

static int warn_of_samples(pyro_bench *bench, const pyro_bench_result *result, pyro_error *error)
{
    const pyro_metric *latency = pyro_bench_metric(result, "latency");
    int status = PYRO_OK;

    if (!latency || latency->count < 2)
        return PYRO_OK;
    const pyro_summary *summary = &latency->summary;
    if (summary->cv > NOISY_CV)
        status = pyro_bench_warn(bench, error, "%s: latency varies by %.1f%% (more than 2.5%%)",
                                 result->name, summary->cv * 100);
    if (status == PYRO_OK && summary->outliers_severe > 0)
        status = pyro_bench_warn(bench, error,
                                 "%s: %zu of %zu latencies are far outliers: other programs, or "
                                 "caches that fill",
                                 result->name, summary->outliers_severe, summary->count);
    if (status == PYRO_OK && summary->autocorrelated)
        status = pyro_bench_warn(bench, error,
                                 "%s: successive latencies are correlated (%.2f): "
                                 "the machine drifts, or the program has phases",
                                 result->name, summary->autocorrelation);
    if (status == PYRO_OK && !result->warmup_settled)
        status = pyro_bench_warn(bench, error, "%s: the warm-up did not settle", result->name);
    return status;
}

static int warn_of_gpu(pyro_bench *bench, const pyro_bench_result *result, pyro_error *error)
{
    const pyro_gpu_record *gpu = &result->gpu;
    char reasons[160];
    int status = PYRO_OK;

    pyro_gpu_reasons(reasons, sizeof reasons, (uint64_t)gpu->reasons);
    const char *why = reasons[0] != '\0' ? reasons : "a low clock";
    if (result->throttled > 0)
        status = pyro_bench_warn(bench, error,
                                 "%s: the GPU was throttled (%s) so often that %lld throttled "
                                 "samples had to be kept",
                                 result->name, why, (long long)result->throttled);
    else if (result->discarded > 0)
        status = pyro_bench_warn(bench, error,
                                 "%s: %lld samples were discarded: the GPU was throttled (%s)",
                                 result->name, (long long)result->discarded, why);
    /* 75%, as for samples; locked clocks look like this. */
    if (status == PYRO_OK && gpu->clock_mhz < 0.75 * gpu->clock_limit_mhz)
        status = pyro_bench_warn(bench, error,
                                 "%s: the GPU ran at %.0f of %.0f MHz: are its clocks locked, or "
                                 "is it idle between calls?",
                                 result->name, gpu->clock_mhz, gpu->clock_limit_mhz);
    return status;
}

int pyro_bench_finish(pyro_bench *bench, pyro_error *error)
{
    int status = PYRO_OK;

    for (size_t i = 0; i < bench->result_count && status == PYRO_OK; i++) {
        pyro_bench_result *result = &bench->results[i];

        for (size_t j = 0; j < result->metric_count && status == PYRO_OK; j++) {
            pyro_metric *metric = &result->metrics[j];

            if (metric->samples)
                status = pyro_summarize(&metric->summary, metric->samples, metric->count,
                                        bench->seed, error);
        }
        if (status == PYRO_OK)
            status = derive_throughput(bench, i, error);
        if (status == PYRO_OK)
            status = warn_of_samples(bench, &bench->results[i], error);
        if (status == PYRO_OK && result->gpu.looks > 0)
            status = warn_of_gpu(bench, &bench->results[i], error);
    }
    return status;
}

int pyro_bench_speed_ratio(pyro_speed_ratio *out, const pyro_bench_result *fast,
                           const pyro_bench_result *slow, uint64_t seed, pyro_error *error)
{
    const pyro_metric *a = pyro_bench_metric(fast, "latency"),
                      *b = pyro_bench_metric(slow, "latency");
    pyro_bootstrap_options options = {.seed = seed};

    *out = (pyro_speed_ratio){NAN, {NAN, NAN, 0.95}};
    /* A command that is not distinguishable from its shell has no ratio. */
    if (!a || !b || !(a->summary.mean > 0) || !(b->summary.mean > 0))
        return PYRO_OK;
    int status = pyro_bootstrap_log_ratio(&out->interval, a->samples, a->count, b->samples,
                                          b->count, pyro_statistic_mean, &options, error);
    out->ratio = b->summary.mean / a->summary.mean;
    out->interval.low = exp(out->interval.low);
    out->interval.high = exp(out->interval.high);
    return status;
}
