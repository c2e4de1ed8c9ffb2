/*
 * Reads results from JSON. Takes only what was measured (samples, settings and the environment);
 * what follows from that is computed again.
 */
#include "bench/results/values.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RECOGNISE_BYTES = 65536, TOKEN_BYTES_MAX = 1 << 20, DEPTH_MAX = 16 };

static int read_samples(pyro_results_reader *r, void *target)
{
    pyro_metric *metric = target;

    if (metric->samples)
        return pyro_json_fail(r->json, "samples twice");
    return pyro_results_amounts(r, &metric->samples, &metric->count);
}

static int read_better(pyro_results_reader *r, void *target)
{
    const char *text = NULL;
    int status = pyro_results_required_string(r, &text);

    if (status == PYRO_OK && strcmp(text, "higher") != 0 && strcmp(text, "lower") != 0)
        return pyro_json_fail(r->json, "expected higher or lower");
    if (status == PYRO_OK)
        *(bool *)target = strcmp(text, "higher") == 0;
    return status;
}

static const pyro_results_member metric_members[] = {
    {"name", pyro_results_required_string, offsetof(pyro_metric, name)},
    {"unit", pyro_results_required_string, offsetof(pyro_metric, unit)},
    {"better", read_better, offsetof(pyro_metric, higher_is_better)},
    {"value", pyro_results_number, offsetof(pyro_metric, value)},
    {"samples", read_samples, 0},
    {NULL, NULL, 0},
};

static int read_metric(pyro_results_reader *r, pyro_bench_result *result)
{
    pyro_metric metric = {.value = NAN};
    int status = pyro_results_members(r, metric_members, &metric);

    if (status != PYRO_OK)
        return status;
    if (!metric.name || !metric.unit)
        return pyro_json_fail(r->json, "metric without name or unit");
    if (pyro_bench_metric(result, metric.name))
        return pyro_json_fail(r->json, "duplicate metric");
    if (result->metric_count >= PYRO_BENCH_METRICS_MAX)
        return pyro_json_fail(r->json, "too many metrics");
    if (metric.samples && metric.count == 0)
        metric.samples = NULL;
    if (!pyro_arena_append(&r->bench->store->arena, &result->metrics, result->metric_count,
                           sizeof metric))
        return pyro_fail_memory(r->error);
    /* Derived throughput is derived again. */
    if (metric.samples || strcmp(metric.name, "throughput") != 0)
        result->metrics[result->metric_count++] = metric;
    return PYRO_OK;
}

static int read_metrics(pyro_results_reader *r, void *target)
{
    int status = PYRO_OK;

    if (pyro_json_next(r->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(r->json, "expected an array");
    while (status == PYRO_OK && pyro_json_next(r->json) == PYRO_JSON_OBJECT)
        status = read_metric(r, target);
    if (status == PYRO_OK && pyro_json_current(r->json) != PYRO_JSON_ARRAY_END)
        status = pyro_json_fail(r->json, "expected a metric");
    return status;
}

static int read_replicate(pyro_results_reader *r, void *target)
{
    const char *text = NULL;
    int status = pyro_results_required_string(r, &text);

    if (status != PYRO_OK)
        return status;
    if (strcmp(text, "process") != 0 && strcmp(text, "iteration") != 0)
        return pyro_json_fail(r->json, "expected process or iteration");
    *(pyro_replicate *)target = strcmp(text, "process") == 0 ? PYRO_REPLICATE_PROCESS
                                                             : PYRO_REPLICATE_ITERATION;
    return PYRO_OK;
}

/* Reads the number of iterations per process. */
static int read_processes(pyro_results_reader *r, void *target)
{
    pyro_bench_result *result = target;
    const double *counts = NULL;
    size_t count = 0;
    int status = pyro_results_amounts(r, &counts, &count);
    int64_t *whole = pyro_arena_array(&r->bench->store->arena, count + 1, sizeof *whole);

    if (status == PYRO_OK && !whole)
        return pyro_fail_memory(r->error);
    for (size_t i = 0; i < count && status == PYRO_OK; i++) {
        if (counts[i] > PYRO_BENCH_SAMPLES_MAX || counts[i] != floor(counts[i]))
            status = pyro_json_fail(r->json, "invalid iteration count");
        else
            whole[i] = (int64_t)counts[i];
    }
    result->processes = whole;
    result->process_count = status == PYRO_OK ? count : 0;
    return status;
}

static int read_parameters(pyro_results_reader *r, void *target)
{
    pyro_bench_result *result = target;

    return pyro_results_pairs(r, &result->parameters, &result->parameter_count);
}

static int read_warmup_samples(pyro_results_reader *r, void *target)
{
    pyro_bench_result *result = target;

    return pyro_results_amounts(r, &result->warmup_ms, &result->warmup_count);
}

static int read_facts(pyro_results_reader *r, void *target)
{
    pyro_bench_result *result = target;

    return pyro_results_pairs(r, &result->facts, &result->fact_count);
}

/* Reads an array of texts, at most as many as a table has columns; *count is their number. */
static int read_texts(pyro_results_reader *r, const char **out, size_t *count)
{
    *count = 0;
    while (pyro_json_next(r->json) != PYRO_JSON_ARRAY_END) {
        size_t length;
        const char *text = NULL;
        pyro_json_kind kind = pyro_json_current(r->json);

        if ((kind != PYRO_JSON_STRING && kind != PYRO_JSON_NULL) ||
            *count >= PYRO_BENCH_COLUMNS_MAX)
            return pyro_json_fail(r->json, "expected a text, or too many texts");
        if (kind == PYRO_JSON_STRING)
            text = pyro_json_text(r->json, &length);
        if (text && memchr(text, '\0', length))
            return pyro_json_fail(r->json, "NUL character in a text");
        int status = pyro_bench_copy(r->bench, &out[*count], text, text ? length : 0, r->error);
        if (status != PYRO_OK)
            return status;
        ++*count;
    }
    return PYRO_OK;
}

/* Reads a table; its title and columns stand before its rows. */
static int read_table(pyro_results_reader *r, size_t result)
{
    const char *title = NULL, *texts[PYRO_BENCH_COLUMNS_MAX];
    size_t count, columns = 0;
    int status = PYRO_OK;

    while (status == PYRO_OK && pyro_json_next(r->json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(r->json, "title")) {
            status = pyro_results_required_string(r, &title);
        } else if (PYRO_JSON_IS(r->json, "columns") && title && columns == 0) {
            if (pyro_json_next(r->json) != PYRO_JSON_ARRAY)
                return pyro_json_fail(r->json, "expected an array");
            status = read_texts(r, texts, &columns);
            if (status == PYRO_OK)
                status = pyro_bench_add_table(r->bench, result, title, texts, columns, r->error);
        } else if (PYRO_JSON_IS(r->json, "rows") && columns > 0) {
            if (pyro_json_next(r->json) != PYRO_JSON_ARRAY)
                return pyro_json_fail(r->json, "expected an array");
            while (status == PYRO_OK && pyro_json_next(r->json) == PYRO_JSON_ARRAY) {
                status = read_texts(r, texts, &count);
                if (status == PYRO_OK && count != columns)
                    return pyro_json_fail(r->json, "row with fewer or more cells than columns");
                if (status == PYRO_OK)
                    status = pyro_bench_add_row(r->bench, result, texts, r->error);
            }
            if (status == PYRO_OK && pyro_json_current(r->json) != PYRO_JSON_ARRAY_END)
                return pyro_json_fail(r->json, "expected a row");
        } else if (!pyro_json_skip(r->json)) {
            return pyro_json_status(r->json);
        }
    }
    if (status == PYRO_OK && (columns == 0 || pyro_json_current(r->json) != PYRO_JSON_OBJECT_END))
        return pyro_json_fail(r->json, "expected a table");
    return status;
}

static int read_tables(pyro_results_reader *r, void *target)
{
    size_t result = (size_t)((pyro_bench_result *)target - r->bench->results);
    int status = PYRO_OK;

    if (pyro_json_next(r->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(r->json, "expected an array");
    while (status == PYRO_OK && pyro_json_next(r->json) == PYRO_JSON_OBJECT)
        status = read_table(r, result);
    if (status == PYRO_OK && pyro_json_current(r->json) != PYRO_JSON_ARRAY_END)
        return pyro_json_fail(r->json, "expected a table");
    return status;
}

static const pyro_results_member gpu_members[] = {
    {"clock_mhz", pyro_results_number, offsetof(pyro_gpu_record, clock_mhz)},
    {"clock_min_mhz", pyro_results_number, offsetof(pyro_gpu_record, clock_min_mhz)},
    {"clock_max_mhz", pyro_results_number, offsetof(pyro_gpu_record, clock_max_mhz)},
    {"clock_limit_mhz", pyro_results_number, offsetof(pyro_gpu_record, clock_limit_mhz)},
    {"memory_clock_mhz", pyro_results_number, offsetof(pyro_gpu_record, memory_clock_mhz)},
    {"power_cap_w", pyro_results_number, offsetof(pyro_gpu_record, power_cap_w)},
    {"power_default_cap_w", pyro_results_number, offsetof(pyro_gpu_record, power_default_cap_w)},
    {"power_w", pyro_results_number, offsetof(pyro_gpu_record, power_w)},
    {"temperature_c", pyro_results_number, offsetof(pyro_gpu_record, temperature_c)},
    {"looks", pyro_results_integer, offsetof(pyro_gpu_record, looks)},
    {"throttled_looks", pyro_results_integer, offsetof(pyro_gpu_record, throttled_looks)},
    {"reasons_mask", pyro_results_integer, offsetof(pyro_gpu_record, reasons)},
    {NULL, NULL, 0},
};

/* Reads the GPU's record; null if no GPU was watched. */
static int read_gpu(pyro_results_reader *r, void *target)
{
    pyro_gpu_record *gpu = target;
    pyro_json_kind kind = pyro_json_next(r->json);

    if (kind == PYRO_JSON_NULL)
        return PYRO_OK;
    if (kind != PYRO_JSON_OBJECT)
        return pyro_json_fail(r->json, "expected an object");
    *gpu = (pyro_gpu_record){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, 0, 0};
    int status = pyro_results_members(r, gpu_members, gpu);
    if (status == PYRO_OK && (gpu->looks < 0 || gpu->throttled_looks < 0))
        status = pyro_json_fail(r->json, "expected counts of at least 0");
    return status;
}

static const pyro_results_member result_members[] = {
    {"name", pyro_results_required_string, offsetof(pyro_bench_result, name)},
    {"engine", pyro_results_required_string, offsetof(pyro_bench_result, engine)},
    {"command", pyro_results_string, offsetof(pyro_bench_result, command)},
    {"status", pyro_results_required_string, offsetof(pyro_bench_result, status)},
    {"message", pyro_results_string, offsetof(pyro_bench_result, message)},
    {"loop", pyro_results_required_string, offsetof(pyro_bench_result, loop)},
    {"rate_per_s", pyro_results_number, offsetof(pyro_bench_result, rate_per_s)},
    {"items", pyro_results_number, offsetof(pyro_bench_result, items)},
    {"replicate", read_replicate, offsetof(pyro_bench_result, replicate)},
    {"processes", read_processes, 0},
    {"warmup_settled", pyro_results_boolean, offsetof(pyro_bench_result, warmup_settled)},
    {"warmup_samples", read_warmup_samples, 0},
    {"shell_ms", pyro_results_number, offsetof(pyro_bench_result, shell_ms)},
    {"discarded", pyro_results_integer, offsetof(pyro_bench_result, discarded)},
    {"throttled", pyro_results_integer, offsetof(pyro_bench_result, throttled)},
    {"gpu", read_gpu, offsetof(pyro_bench_result, gpu)},
    {"parameters", read_parameters, 0},
    {"facts", read_facts, 0},
    {"tables", read_tables, 0},
    {"metrics", read_metrics, 0},
    {NULL, NULL, 0},
};

static int read_results(pyro_results_reader *r, void *target)
{
    int status = PYRO_OK;

    (void)target;
    if (pyro_json_next(r->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(r->json, "expected an array");
    while (status == PYRO_OK && pyro_json_next(r->json) == PYRO_JSON_OBJECT) {
        size_t index;

        status = pyro_bench_add(r->bench, "", "unknown", &index, r->error);
        if (status == PYRO_OK)
            status = pyro_results_members(r, result_members, &r->bench->results[index]);
        if (status == PYRO_OK && r->bench->results[index].name[0] == '\0')
            status = pyro_json_fail(r->json, "benchmark without a name");
    }
    if (status == PYRO_OK && pyro_json_current(r->json) != PYRO_JSON_ARRAY_END)
        status = pyro_json_fail(r->json, "expected a benchmark");
    return status;
}

static int read_extra(pyro_results_reader *r, void *target)
{
    pyro_environment *environment = target;

    return pyro_results_pairs(r, &environment->extra, &environment->extra_count);
}

static const pyro_results_member environment_members[] = {
    {"architecture", pyro_results_string, offsetof(pyro_environment, architecture)},
    {"cpu_model", pyro_results_string, offsetof(pyro_environment, cpu_model)},
    {"cpu_count", pyro_results_integer, offsetof(pyro_environment, cpu_count)},
    {"usable_cpus", pyro_results_integer, offsetof(pyro_environment, usable_cpus)},
    {"governor", pyro_results_string, offsetof(pyro_environment, governor)},
    {"threads", pyro_results_string, offsetof(pyro_environment, threads)},
    {"memory_bytes", pyro_results_integer, offsetof(pyro_environment, memory_bytes)},
    {"gpu", pyro_results_string, offsetof(pyro_environment, gpu)},
    {"gpu_driver", pyro_results_string, offsetof(pyro_environment, gpu_driver)},
    {"gpu_clocks", pyro_results_string, offsetof(pyro_environment, gpu_clocks)},
    {"kernel", pyro_results_string, offsetof(pyro_environment, kernel)},
    {"system", pyro_results_string, offsetof(pyro_environment, system)},
    {"commit", pyro_results_string, offsetof(pyro_environment, commit)},
    {"load_1m_before", pyro_results_number, offsetof(pyro_environment, load_1m_before)},
    {"other_cpus", pyro_results_number, offsetof(pyro_environment, other_cpus)},
    {"load_1m_after", pyro_results_number, offsetof(pyro_environment, load_1m_after)},
    {"swap_used_bytes", pyro_results_integer, offsetof(pyro_environment, swap_used_bytes)},
    {"swapped_pages", pyro_results_integer, offsetof(pyro_environment, swapped_pages)},
    {"throttled", pyro_results_integer, offsetof(pyro_environment, throttled)},
    {"noise", pyro_results_number, offsetof(pyro_environment, noise)},
    {"extra", read_extra, 0},
    {NULL, NULL, 0},
};

static int read_environment(pyro_results_reader *r, void *target)
{
    (void)target;
    return pyro_results_object(r, environment_members, &r->bench->environment);
}

static int read_schema(pyro_results_reader *r, void *target)
{
    const char *text = NULL;
    int status = pyro_results_required_string(r, &text);

    (void)target;
    if (status != PYRO_OK)
        return status;
    r->schema_seen = true;
    if (strcmp(text, PYRO_BENCH_SCHEMA) == 0)
        return PYRO_OK;
    return pyro_fail(r->error, PYRO_ERROR_UNSUPPORTED,
                     "unsupported schema %.60s; this program reads " PYRO_BENCH_SCHEMA, text);
}

/* Reads warnings; those that follow from samples are added again later, but not twice. */
static int read_warnings(pyro_results_reader *r, void *target)
{
    int status = PYRO_OK;

    (void)target;
    if (pyro_json_next(r->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(r->json, "expected an array");
    while (status == PYRO_OK && pyro_json_next(r->json) == PYRO_JSON_STRING) {
        size_t length;

        if (r->bench->warning_count >= PYRO_BENCH_PAIRS_MAX)
            return pyro_json_fail(r->json, "too many warnings");
        status = pyro_bench_warn(r->bench, r->error, "%s", pyro_json_text(r->json, &length));
    }
    if (status == PYRO_OK && pyro_json_current(r->json) != PYRO_JSON_ARRAY_END)
        return pyro_json_fail(r->json, "expected a warning");
    return status;
}

static const pyro_results_member bench_members[] = {
    {"schema", read_schema, 0},
    {"created", pyro_results_required_string, offsetof(pyro_bench, created)},
    {"tool", pyro_results_required_string, offsetof(pyro_bench, tool)},
    {"seed", pyro_results_integer, offsetof(pyro_bench, seed)},
    {"warnings", read_warnings, 0},
    {"order", pyro_results_required_string, offsetof(pyro_bench, order)},
    {"rounds", pyro_results_string, offsetof(pyro_bench, rounds)},
    {"interrupted", pyro_results_boolean, offsetof(pyro_bench, interrupted)},
    {"environment", read_environment, 0},
    {"benchmarks", read_results, 0},
    {NULL, NULL, 0},
};

/* Checks that iteration counts match the samples. */
static int check_counts(pyro_results_reader *r)
{
    for (size_t i = 0; i < r->bench->result_count; i++) {
        const pyro_bench_result *result = &r->bench->results[i];
        const pyro_metric *latency = pyro_bench_metric(result, "latency");
        int64_t sum = 0;

        for (size_t j = 0; j < result->process_count; j++)
            sum += result->processes[j];
        if (result->process_count > 0 && latency && sum != (int64_t)latency->count)
            return pyro_fail(
                r->error, PYRO_ERROR_FORMAT,
                "%.100s: the iteration counts of the processes do not match the latencies",
                result->name);
        if (!(result->items >= 0) || result->rate_per_s < 0)
            return pyro_fail(r->error, PYRO_ERROR_FORMAT, "%.100s: negative amount", result->name);
    }
    return PYRO_OK;
}

static int read_document(pyro_results_reader *r)
{
    int status = pyro_results_object(r, bench_members, r->bench);

    if (status == PYRO_OK && !r->schema_seen)
        return pyro_fail(r->error, PYRO_ERROR_FORMAT, "no schema: not a results file");
    if (status == PYRO_OK && pyro_json_next(r->json) != PYRO_JSON_END)
        status = pyro_json_fail(r->json, "expected the end of the file");
    return status == PYRO_OK ? check_counts(r) : status;
}

static int read_source(pyro_bench **out, pyro_source *source, pyro_error *error)
{
    pyro_json_options options = {.max_depth = DEPTH_MAX, .max_token_bytes = TOKEN_BYTES_MAX};
    pyro_error own;
    pyro_results_reader r = {.error = error ? error : &own};
    int status;

    *out = NULL;
    if (!error)
        pyro_error_clear(&own);
    status = pyro_json_open(&r.json, source, &options, r.error);
    if (status != PYRO_OK)
        return status;
    status = pyro_bench_new(&r.bench, r.error);
    if (status == PYRO_OK)
        status = read_document(&r);
    if (status == PYRO_OK)
        status = pyro_bench_finish(r.bench, r.error);
    pyro_json_close(r.json);
    if (status != PYRO_OK)
        pyro_bench_free(r.bench);
    else
        *out = r.bench;
    return status;
}

int pyro_bench_parse(pyro_bench **out, const void *bytes, size_t size, pyro_error *error)
{
    pyro_source *source;
    int status = pyro_source_open_memory(&source, bytes, size, error);

    *out = NULL;
    if (status != PYRO_OK)
        return status;
    status = read_source(out, source, error);
    pyro_source_close(source);
    return status;
}

int pyro_bench_open(pyro_bench **out, const char *path, pyro_error *error)
{
    pyro_source *source;
    int status = pyro_source_open_file(&source, path, error);

    *out = NULL;
    if (status == PYRO_OK) {
        status = read_source(out, source, error);
        pyro_source_close(source);
    }
    if (status != PYRO_OK)
        pyro_error_where(error, path, NULL);
    return status;
}

/* Recognises results by their first key, which has to be the schema. */
bool pyro_bench_recognise(const char *path)
{
    pyro_source *source = NULL;
    char *start = malloc(RECOGNISE_BYTES);
    bool found = false;
    struct stat file;

    /* A pipe can be read only once, so not here. */
    if (start && stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
        pyro_source_open_file(&source, path, NULL) == PYRO_OK) {
        int64_t length = pyro_source_read(source, start, RECOGNISE_BYTES - 1, NULL);

        if (length > 0) {
            start[length] = '\0';
            const char *at = start + strspn(start, " \t\r\n{");
            const char *value = at + 8;

            found = strncmp(at, "\"schema\"", 8) == 0 &&
                    strncmp(value + strspn(value, " \t\r\n:"), "\"pyrometer.bench/", 17) == 0;
        }
    }
    pyro_source_close(source);
    free(start);
    return found;
}
