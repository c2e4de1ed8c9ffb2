/* Reads what Pyrometer itself writes: results of bench, traces, costs and exported histories. */
#include "history/import/import.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_schema(const pyro_node *root, const char *schema)
{
    return strcmp(pyro_node_text(root, "schema"), schema) == 0;
}

bool pyro_import_is_bench(const pyro_node *root)
{
    return has_schema(root, PYRO_BENCH_SCHEMA);
}

bool pyro_import_is_trace(const pyro_node *root)
{
    return has_schema(root, "pyrometer.trace/1");
}

bool pyro_import_is_cost(const pyro_node *root)
{
    return has_schema(root, "pyrometer.cost/1");
}

bool pyro_import_is_history(const pyro_node *root)
{
    return has_schema(root, PYRO_HISTORY_SCHEMA) && pyro_node_get(root, "runs");
}

/* The class says which machines are alike; drivers, settings and versions are the fingerprint. */
static int read_environment(pyro_import *import, pyro_run *run, const pyro_node *environment)
{
    static const char *const details[] = {"governor", "threads", "gpu_driver"};
    pyro_buf machine = PYRO_BUF_INIT, all = PYRO_BUF_INIT;
    const char *gpu = pyro_node_text(environment, "gpu");
    double cpus = pyro_node_number(environment, "usable_cpus");

    if (environment) {
        pyro_buf_addf(&machine, "%s, %s", pyro_node_text(environment, "architecture"),
                      pyro_node_text(environment, "cpu_model"));
        if (isfinite(cpus))
            pyro_buf_addf(&machine, ", %.0f CPUs", cpus);
        if (gpu[0] != '\0')
            pyro_buf_addf(&machine, ", %s", gpu);
        pyro_buf_adds(&all, machine.data ? machine.data : "");
        /* In steps of 1 GiB: kernels reserve slightly different amounts. */
        pyro_buf_addf(&all, ", %.0f GiB",
                      pyro_node_number(environment, "memory_bytes") / (1 << 30));
        for (size_t i = 0; i < sizeof details / sizeof *details; i++)
            if (pyro_node_text(environment, details[i])[0] != '\0')
                pyro_buf_addf(&all, ", %s %s", details[i], pyro_node_text(environment, details[i]));
        pyro_import_parameters(&all, pyro_node_get(environment, "extra"));
    }
    int status = pyro_import_machine(import, run, &machine, &all);
    pyro_buf_free(&machine);
    pyro_buf_free(&all);
    return status;
}

static int read_metrics(pyro_import *import, pyro_run *run, const pyro_node *metrics,
                        const char *benchmark, const char *method)
{
    int status = PYRO_OK;

    for (const pyro_node *metric = pyro_node_is(metrics, PYRO_JSON_ARRAY) ? metrics->first : NULL;
         metric && status == PYRO_OK; metric = metric->next)
        status = pyro_import_add(
            import, run,
            &(pyro_import_metric){
                .benchmark = benchmark,
                .metric = pyro_node_text(metric, "name"),
                .unit = pyro_node_text(metric, "unit"),
                .method = method,
                .higher_is_better = strcmp(pyro_node_text(metric, "better"), "higher") == 0,
                .samples = pyro_node_get(metric, "samples"),
                .value = pyro_node_number(metric, "value")});
    return status;
}

static int read_benchmark(pyro_import *import, pyro_run *run, const pyro_node *benchmark)
{
    pyro_buf name = PYRO_BUF_INIT, method = PYRO_BUF_INIT;
    double rate = pyro_node_number(benchmark, "rate_per_s");
    int status;

    if (strcmp(pyro_node_text(benchmark, "status"), "failed") == 0)
        return PYRO_OK;
    pyro_buf_adds(&name, pyro_node_text(benchmark, "name"));
    pyro_import_parameters(&name, pyro_node_get(benchmark, "parameters"));
    pyro_buf_addf(&method, "%s; %s; %s", run->tool, pyro_node_text(benchmark, "engine"),
                  pyro_node_text(benchmark, "loop"));
    if (rate > 0)
        pyro_buf_addf(&method, " %.6g/s", rate);
    pyro_buf_addf(&method, "; per %s", pyro_node_text(benchmark, "replicate"));
    status = name.failed || method.failed
                 ? pyro_fail_memory(import->error)
                 : read_metrics(import, run, pyro_node_get(benchmark, "metrics"), name.data,
                                method.data);
    pyro_buf_free(&name);
    pyro_buf_free(&method);
    return status;
}

int pyro_import_read_bench(pyro_import *import, const pyro_node *root)
{
    const pyro_node *environment = pyro_node_get(root, "environment");
    const pyro_node *benchmarks = pyro_node_get(root, "benchmarks");
    pyro_run *run;
    int status = pyro_import_run(import, &run, "bench");

    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->tool, pyro_node_text(root, "tool"), import->error);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->commit, pyro_node_text(environment, "commit"),
                              import->error);
    if (status == PYRO_OK)
        status = read_environment(import, run, environment);
    if (status == PYRO_OK)
        run->time_ns = pyro_parse_time(pyro_node_text(root, "created"));
    for (const pyro_node *benchmark = benchmarks ? benchmarks->first : NULL;
         benchmark && status == PYRO_OK; benchmark = benchmark->next)
        status = read_benchmark(import, run, benchmark);
    return status;
}

/* The part of a path after the last slash. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The members `key` of all rows, without those of the whole trace, which is no step. */
static int add_steps(pyro_import *import, pyro_run *run, const char *benchmark,
                     const pyro_node *rows, const char *key, pyro_import_metric metric)
{
    pyro_node *list = pyro_arena_alloc(&import->document.arena, sizeof *list);
    const pyro_node **link = list ? &list->first : NULL;

    if (!list)
        return pyro_fail_memory(import->error);
    list->kind = PYRO_JSON_ARRAY;
    for (const pyro_node *row = pyro_node_is(rows, PYRO_JSON_ARRAY) ? rows->first : NULL; row;
         row = row->next) {
        const pyro_node *cell = pyro_node_get(row, key);
        pyro_node *copy;

        if (!pyro_node_is(cell, PYRO_JSON_NUMBER) ||
            !pyro_node_is(pyro_node_get(row, "number"), PYRO_JSON_NUMBER))
            continue;
        copy = pyro_arena_alloc(&import->document.arena, sizeof *copy);
        if (!copy)
            return pyro_fail_memory(import->error);
        *copy = (pyro_node){.kind = PYRO_JSON_NUMBER, .number = cell->number};
        *link = copy;
        link = &copy->next;
        list->count++;
    }
    metric.benchmark = benchmark;
    metric.samples = list;
    metric.value = NAN;
    return pyro_import_add(import, run, &metric);
}

static int add_trace_totals(pyro_import *import, pyro_run *run, const char *benchmark,
                            const pyro_node *root)
{
    double span_ns = pyro_node_number(root, "span_ns");
    const pyro_import_metric totals[] = {
        {.metric = "span", .unit = "ms", .factor = 1e-6, .value = span_ns},
        {.metric = "device_busy",
         .unit = "share",
         .higher_is_better = true,
         .value = pyro_node_number(root, "device_busy_ns") / span_ns},
        {.metric = "kernels", .unit = "kernels", .value = pyro_node_number(root, "kernel_count")},
        {.metric = "memory_peak",
         .unit = "bytes",
         .value = pyro_node_number(pyro_node_get(root, "memory"), "peak_bytes")},
    };
    int status = PYRO_OK;

    for (size_t i = 0; i < sizeof totals / sizeof *totals && status == PYRO_OK; i++) {
        pyro_import_metric metric = totals[i];

        metric.benchmark = benchmark;
        metric.method = "pyrometer trace";
        status = pyro_import_add(import, run, &metric);
    }
    return status;
}

int pyro_import_read_trace(pyro_import *import, const pyro_node *root)
{
    static const pyro_import_metric step_time = {
        .metric = "step_time", .unit = "ms", .method = "pyrometer trace", .factor = 1e-6};
    static const pyro_import_metric speed = {.metric = "flops_per_s",
                                             .unit = "FLOP/s",
                                             .method = "pyrometer trace",
                                             .higher_is_better = true};
    const char *benchmark = base_name(pyro_node_text(root, "file"));
    const char *device = pyro_node_text(root, "device");
    const pyro_node *training = pyro_node_get(root, "training");
    bool is_training = training &&
                       pyro_node_is(pyro_node_get(training->first, "number"), PYRO_JSON_NUMBER);
    pyro_buf machine = PYRO_BUF_INIT, all = PYRO_BUF_INIT;
    pyro_run *run;
    int status = pyro_import_run(import, &run, is_training ? "training" : "trace");

    pyro_buf_adds(&machine, device[0] != '\0' ? device : "host");
    pyro_buf_adds(&all, device[0] != '\0' ? device : "");
    /* A trace does not describe its machine; profiler(history=) adds the one that it runs on. */
    if (status == PYRO_OK)
        status = pyro_node_get(root, "environment")
                     ? read_environment(import, run, pyro_node_get(root, "environment"))
                     : pyro_import_machine(import, run, &machine, &all);
    pyro_buf_free(&machine);
    pyro_buf_free(&all);
    if (status == PYRO_OK)
        status = add_steps(import, run, benchmark,
                           is_training ? training : pyro_node_get(root, "steps"), "span_ns",
                           step_time);
    if (status == PYRO_OK && is_training)
        status = add_steps(import, run, benchmark, training, "flops_per_s", speed);
    return status == PYRO_OK ? add_trace_totals(import, run, benchmark, root) : status;
}

int pyro_import_read_cost(pyro_import *import, const pyro_node *root)
{
    static const char *const members[][2] = {{"total_flops", "FLOPs"},
                                             {"total_macs", "MACs"},
                                             {"total_memory", "bytes"},
                                             {"params", "params"}};
    pyro_run *run;
    int status = pyro_import_run(import, &run, "cost");

    /* The cost of a graph depends on no machine. */
    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->machine_class, "any machine", import->error);
    for (size_t i = 0; i < sizeof members / sizeof *members && status == PYRO_OK; i++)
        status = pyro_import_add(
            import, run,
            &(pyro_import_metric){.benchmark = pyro_node_text(root, "model"),
                                  .metric = members[i][0],
                                  .unit = members[i][1],
                                  .method = pyro_node_text(root, "convention"),
                                  .value = pyro_node_number(root, members[i][0])});
    return status;
}

static bool is_key(const char *text)
{
    return strlen(text) == PYRO_SHA256_HEX - 1 &&
           strspn(text, "0123456789abcdef") == PYRO_SHA256_HEX - 1;
}

static int read_exported_labels(pyro_import *import, pyro_run *run, const pyro_node *node)
{
    const struct {
        const char **member;
        const char *key;
    } labels[] = {{&run->project, "project"},
                  {&run->commit, "commit"},
                  {&run->branch, "branch"},
                  {&run->tool, "tool"},
                  {&run->tags, "tags"},
                  {&run->machine_class, "machine_class"},
                  {&run->fingerprint, "fingerprint"},
                  {&run->machine, "machine"}};
    int status = PYRO_OK;

    for (size_t i = 0; i < sizeof labels / sizeof *labels && status == PYRO_OK; i++)
        status = pyro_run_set(run, labels[i].member, pyro_node_text(node, labels[i].key),
                              import->error);
    const char *key = pyro_node_text(node, "key");
    if (status == PYRO_OK && is_key(key))
        status = pyro_run_set(run, &run->key, key, import->error);
    /* As text: a double cannot hold nanoseconds since 1970. */
    run->time_ns = strtoll(pyro_node_text(node, "time_ns"), NULL, 10);
    return status;
}

/* What is known of samples that a gc removed; a missing number is NaN. */
static pyro_run_statistics read_statistics(const pyro_node *metric)
{
    double count = pyro_node_number(metric, "n"), mean = pyro_node_number(metric, "mean");
    double value = pyro_node_number(metric, "value");

    return (pyro_run_statistics){
        .count = count >= 1 && count <= PYRO_RUN_SAMPLES_MAX ? (size_t)count : 0,
        .mean = isfinite(mean) ? mean : value,
        .median = value,
        .stddev = pyro_node_number(metric, "stddev"),
        .lowest = pyro_node_number(metric, "min"),
        .highest = pyro_node_number(metric, "max"),
        .p95 = pyro_node_number(metric, "p95"),
        .p99 = pyro_node_number(metric, "p99")};
}

static int read_exported_run(pyro_import *import, const pyro_node *node)
{
    const pyro_node *metrics = pyro_node_get(node, "metrics");
    pyro_run *run;
    int status = pyro_import_run(import, &run, pyro_node_text(node, "kind"));

    if (status == PYRO_OK)
        status = read_exported_labels(import, run, node);
    for (const pyro_node *metric = pyro_node_is(metrics, PYRO_JSON_ARRAY) ? metrics->first : NULL;
         metric && status == PYRO_OK; metric = metric->next) {
        pyro_run_statistics statistics = read_statistics(metric);

        status = pyro_import_add(
            import, run,
            &(pyro_import_metric){
                .benchmark = pyro_node_text(metric, "benchmark"),
                .metric = pyro_node_text(metric, "metric"),
                .unit = pyro_node_text(metric, "unit"),
                .method = pyro_node_text(metric, "method"),
                .higher_is_better = strcmp(pyro_node_text(metric, "better"), "higher") == 0,
                .samples = pyro_node_get(metric, "samples"),
                .value = pyro_node_number(metric, "value"),
                .statistics = &statistics});
    }
    return status;
}

int pyro_import_read_history(pyro_import *import, const pyro_node *root)
{
    const pyro_node *runs = pyro_node_get(root, "runs");
    int status = PYRO_OK;

    for (const pyro_node *run = pyro_node_is(runs, PYRO_JSON_ARRAY) ? runs->first : NULL;
         run && status == PYRO_OK; run = run->next)
        status = read_exported_run(import, run);
    return status;
}
