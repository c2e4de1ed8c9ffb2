/* Builds a run in memory: its labels, its metrics, and the key of its content. */
#include "history/run.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pyro_run_new(pyro_run **out, const char *kind, pyro_error *error)
{
    struct pyro_run_store *store = calloc(1, sizeof *store);

    *out = NULL;
    if (!store)
        return pyro_fail_memory(error);
    pyro_arena_init(&store->arena);
    store->run = (pyro_run){.kind = "",
                            .project = "",
                            .commit = "",
                            .branch = "",
                            .tool = "",
                            .tags = "",
                            .machine_class = "",
                            .fingerprint = "",
                            .machine = "",
                            .key = "",
                            .store = store};
    int status = pyro_run_set(&store->run, &store->run.kind, kind, error);
    if (status == PYRO_OK)
        *out = &store->run;
    else
        pyro_run_free(&store->run);
    return status;
}

void pyro_run_free(pyro_run *run)
{
    if (!run)
        return;
    struct pyro_run_store *store = run->store;

    free(run->metrics);
    pyro_arena_free(&store->arena);
    free(store);
}

int pyro_run_set(pyro_run *run, const char **member, const char *text, pyro_error *error)
{
    size_t length = text ? strlen(text) : 0;

    if (length > PYRO_RUN_TEXT_MAX) {
        length = PYRO_RUN_TEXT_MAX;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    const char *copy = length > 0 ? pyro_arena_text(&run->store->arena, text, length) : "";
    if (!copy)
        return pyro_fail_memory(error);
    *member = copy;
    return PYRO_OK;
}

static int check_metric(const pyro_run *run, const pyro_run_metric *metric, pyro_error *error)
{
    if (run->metric_count >= PYRO_RUN_METRICS_MAX)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d metrics in a run",
                         PYRO_RUN_METRICS_MAX);
    if (metric->count > PYRO_RUN_SAMPLES_MAX)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d samples of a metric",
                         PYRO_RUN_SAMPLES_MAX);
    for (size_t i = 0; metric->samples && i < metric->count; i++)
        if (!isfinite(metric->samples[i]))
            return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%.100s: a sample is not a finite number",
                             metric->benchmark);
    if ((!metric->samples || metric->count == 0) && !isfinite(metric->value))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%.100s: the value is not a finite number",
                         metric->benchmark);
    return PYRO_OK;
}

int pyro_run_add_metric(pyro_run *run, const pyro_run_metric *metric, pyro_error *error)
{
    pyro_run_metric copy = *metric;
    int status = check_metric(run, metric, error);

    if (status == PYRO_OK)
        status = pyro_run_set(run, &copy.benchmark, metric->benchmark, error);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &copy.metric, metric->metric, error);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &copy.unit, metric->unit, error);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &copy.method, metric->method, error);
    if (status != PYRO_OK)
        return status;
    if (metric->count == 0)
        copy.samples = NULL;
    if (copy.samples) {
        double *samples = pyro_arena_array(&run->store->arena, metric->count, sizeof *samples);

        if (!samples)
            return pyro_fail_memory(error);
        memcpy(samples, metric->samples, metric->count * sizeof *samples);
        copy.samples = samples;
    }
    if (copy.statistics) {
        pyro_run_statistics *statistics = pyro_arena_alloc(&run->store->arena, sizeof *statistics);

        if (!statistics)
            return pyro_fail_memory(error);
        *statistics = *copy.statistics;
        copy.statistics = statistics;
    }
    if (!pyro_grow(&run->metrics, &run->store->metric_capacity, run->metric_count + 1,
                   sizeof *run->metrics))
        return pyro_fail_memory(error);
    run->metrics[run->metric_count++] = copy;
    return PYRO_OK;
}

/* With its length, so that "ab" and "c" differ from "a" and "bc". */
static void hash_text(pyro_sha256 *hash, const char *text)
{
    uint64_t length = strlen(text);

    pyro_sha256_add(hash, &length, sizeof length);
    pyro_sha256_add(hash, text, length);
}

void pyro_run_key(const pyro_run *run, char hex[PYRO_SHA256_HEX])
{
    pyro_sha256 hash;

    if (run->key[0] != '\0') {
        snprintf(hex, PYRO_SHA256_HEX, "%s", run->key);
        return;
    }
    pyro_sha256_init(&hash);
    hash_text(&hash, run->kind);
    hash_text(&hash, run->project);
    hash_text(&hash, run->commit);
    hash_text(&hash, run->machine_class);
    hash_text(&hash, run->fingerprint);
    pyro_sha256_add(&hash, &run->time_ns, sizeof run->time_ns);
    for (size_t i = 0; i < run->metric_count; i++) {
        const pyro_run_metric *metric = &run->metrics[i];
        uint64_t count = metric->samples ? metric->count : 0;

        hash_text(&hash, metric->benchmark);
        hash_text(&hash, metric->metric);
        hash_text(&hash, metric->unit);
        hash_text(&hash, metric->method);
        pyro_sha256_add(&hash, &count, sizeof count);
        if (count > 0)
            pyro_sha256_add(&hash, metric->samples, count * sizeof *metric->samples);
        else
            pyro_sha256_add(&hash, &metric->value, sizeof metric->value);
    }
    pyro_sha256_finish(&hash, hex);
}

int pyro_run_summarize(pyro_run_statistics *out, const pyro_run_metric *metric, pyro_error *error)
{
    size_t count = metric->samples ? metric->count : 0;

    *out = (pyro_run_statistics){0, metric->value, metric->value, NAN, NAN, NAN, NAN, NAN};
    if (count == 0 && metric->statistics)
        *out = *metric->statistics;
    if (count == 0)
        return PYRO_OK;
    double *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return pyro_fail_memory(error);
    memcpy(sorted, metric->samples, count * sizeof *sorted);
    pyro_sort_samples(sorted, count);
    *out = (pyro_run_statistics){.count = count,
                                 .mean = pyro_mean(metric->samples, count),
                                 .median = pyro_sample_quantile(sorted, count, 0.5),
                                 .stddev = pyro_stddev(metric->samples, count),
                                 .lowest = sorted[0],
                                 .highest = sorted[count - 1],
                                 .p95 = pyro_sample_quantile(sorted, count, 0.95),
                                 .p99 = pyro_sample_quantile(sorted, count, 0.99)};
    free(sorted);
    return PYRO_OK;
}

int pyro_runs_add(pyro_runs *runs, pyro_run *run, pyro_error *error)
{
    if (runs->count >= PYRO_RUNS_MAX) {
        pyro_run_free(run);
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d runs", PYRO_RUNS_MAX);
    }
    if (!pyro_grow(&runs->items, &runs->capacity, runs->count + 1, sizeof *runs->items)) {
        pyro_run_free(run);
        return pyro_fail_memory(error);
    }
    runs->items[runs->count++] = run;
    return PYRO_OK;
}

void pyro_runs_free(pyro_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        pyro_run_free(runs->items[i]);
    free(runs->items);
    *runs = (pyro_runs){0};
}

void pyro_fingerprint(char out[PYRO_FINGERPRINT], const char *text)
{
    char hex[PYRO_SHA256_HEX];
    pyro_sha256 hash;

    pyro_sha256_init(&hash);
    pyro_sha256_add(&hash, text, strlen(text));
    pyro_sha256_finish(&hash, hex);
    memcpy(out, hex, PYRO_FINGERPRINT - 1);
    out[PYRO_FINGERPRINT - 1] = '\0';
}
