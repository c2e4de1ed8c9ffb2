/* Compares two sets of results: matches benchmarks and machines, and gives a verdict per metric. */
#include "bench/statistics/inference.h"
#include "bench/results/results.h"
#include "bench/verdict.h"

#include "base/containers/arena.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pyro_comparison_store {
    pyro_comparison comparison;
    pyro_arena arena;
    size_t row_capacity, note_capacity;
    const char *difference; /* between the fingerprints */
    pyro_circumstances circumstances;
    pyro_verdict_options options;
};

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static const char *describe_text(pyro_arena *arena, const char *what, const char *base,
                                 const char *current)
{
    if (same_text(base, current))
        return NULL;
    return pyro_arena_format(arena,
                             "the machines differ: %s is \"%.80s\" in the base, \"%.80s\" now",
                             what, base ? base : "unknown", current ? current : "unknown");
}

static const char *describe_count(pyro_arena *arena, const char *what, int64_t base,
                                  int64_t current)
{
    if (base == current)
        return NULL;
    return pyro_arena_format(arena, "the machines differ: %s is %lld in the base, %lld now", what,
                             (long long)base, (long long)current);
}

static const char *find_extra(const pyro_environment *environment, const char *name)
{
    for (size_t i = 0; i < environment->extra_count; i++)
        if (strcmp(environment->extra[i].name, name) == 0)
            return environment->extra[i].value;
    return NULL;
}

static const char *describe_extras(pyro_arena *arena, const pyro_environment *base,
                                   const pyro_environment *current)
{
    const char *found = NULL;

    for (size_t i = 0; i < base->extra_count && !found; i++)
        found = describe_text(arena, base->extra[i].name, base->extra[i].value,
                              find_extra(current, base->extra[i].name));
    for (size_t i = 0; i < current->extra_count && !found; i++)
        found = describe_text(arena, current->extra[i].name,
                              find_extra(base, current->extra[i].name), current->extra[i].value);
    return found;
}

const char *pyro_environment_difference(pyro_arena *arena, const pyro_environment *base,
                                        const pyro_environment *current)
{
    const struct {
        const char *what, *base, *current;
    } texts[] = {
        {"architecture", base->architecture, current->architecture},
        {"cpu_model", base->cpu_model, current->cpu_model},
        {"governor", base->governor, current->governor},
        {"threads", base->threads, current->threads},
        {"gpu", base->gpu, current->gpu},
        {"gpu_driver", base->gpu_driver, current->gpu_driver},
    };
    const char *found = NULL;

    for (size_t i = 0; i < sizeof texts / sizeof *texts && !found; i++)
        found = describe_text(arena, texts[i].what, texts[i].base, texts[i].current);
    if (!found)
        found = describe_count(arena, "cpu_count", base->cpu_count, current->cpu_count);
    if (!found)
        found = describe_count(arena, "usable_cpus", base->usable_cpus, current->usable_cpus);
    /* Firmware and kernels reserve a little memory, and the amount varies. */
    double larger = (double)(base->memory_bytes > current->memory_bytes ? base->memory_bytes
                                                                        : current->memory_bytes);
    if (!found && fabs((double)base->memory_bytes - (double)current->memory_bytes) > 0.05 * larger)
        found = describe_count(arena, "memory_bytes", base->memory_bytes, current->memory_bytes);
    return found ? found : describe_extras(arena, base, current);
}

static pyro_verdict_row *add_row(struct pyro_comparison_store *store, const char *benchmark,
                                 const pyro_metric *metric)
{
    pyro_comparison *comparison = &store->comparison;

    if (!pyro_grow(&comparison->rows, &store->row_capacity, comparison->row_count + 1,
                   sizeof *comparison->rows))
        return NULL;
    pyro_verdict_row *row = &comparison->rows[comparison->row_count++];
    *row = (pyro_verdict_row){
        .benchmark = pyro_arena_text(&store->arena, benchmark, strlen(benchmark)),
        .metric = pyro_arena_format(&store->arena, "%s", metric ? metric->name : "latency"),
        .unit = pyro_arena_format(&store->arena, "%s", metric ? metric->unit : ""),
        .base = NAN,
        .current = NAN,
        .change = NAN,
        .interval = {NAN, NAN, 0.95},
        .p = NAN,
        .processes = true,
        .verdict = PYRO_VERDICT_CANNOT_TELL,
    };
    return row->benchmark && row->metric && row->unit ? row : NULL;
}

static int add_note(struct pyro_comparison_store *store, const char *note, pyro_error *error)
{
    pyro_comparison *comparison = &store->comparison;

    if (!note || !pyro_grow(&comparison->notes, &store->note_capacity, comparison->note_count + 1,
                            sizeof *comparison->notes))
        return pyro_fail_memory(error);
    comparison->notes[comparison->note_count++] = note;
    return PYRO_OK;
}

/* Processor and service times are reported but not judged: latency includes them. */
static bool is_judged(const pyro_metric *metric)
{
    return metric->count > 0 && strcmp(metric->name, "user") != 0 &&
           strcmp(metric->name, "system") != 0 && strcmp(metric->name, "service") != 0;
}

static int compare_metric(struct pyro_comparison_store *store, const pyro_bench_result *base,
                          const pyro_metric *base_metric, const pyro_bench_result *current,
                          pyro_error *error)
{
    const pyro_metric *metric = pyro_bench_metric(current, base_metric->name);
    pyro_verdict_row *row = add_row(store, base->name, base_metric);
    pyro_replicates before, after;

    if (!row)
        return pyro_fail_memory(error);
    if (!metric || metric->count == 0) {
        row->reason = "not measured in the new results";
        return PYRO_OK;
    }
    if (strcmp(metric->unit, base_metric->unit) != 0 ||
        metric->higher_is_better != base_metric->higher_is_better) {
        row->reason = "measured in another unit";
        return PYRO_OK;
    }
    if (strcmp(base->loop, current->loop) != 0 || base->rate_per_s != current->rate_per_s) {
        row->reason = "one was measured in a closed loop, the other at a rate";
        return PYRO_OK;
    }
    int status = pyro_replicates_of(&before, &store->arena, base, base_metric, error);
    if (status == PYRO_OK)
        status = pyro_replicates_of(&after, &store->arena, current, metric, error);
    if (status != PYRO_OK)
        return status;
    pyro_circumstances circumstances = store->circumstances;
    circumstances.processes = before.processes && after.processes;
    if (!circumstances.processes) {
        before = (pyro_replicates){(double *)base_metric->samples, base_metric->count, false};
        after = (pyro_replicates){(double *)metric->samples, metric->count, false};
        circumstances.interleaved = false;
    }
    status = pyro_verdict_between(row, before.values, before.count, after.values, after.count,
                                  metric->higher_is_better, &circumstances, &store->options, error);
    if (store->difference) {
        row->verdict = PYRO_VERDICT_CANNOT_TELL;
        row->reason = store->difference;
    }
    return status;
}

static const pyro_bench_result *find_result(const pyro_bench *bench, const char *name)
{
    for (size_t i = 0; i < bench->result_count; i++)
        if (strcmp(bench->results[i].name, name) == 0)
            return &bench->results[i];
    return NULL;
}

static bool failed(const pyro_bench_result *result)
{
    return strcmp(result->status, "failed") == 0;
}

static const char *find_parameter(const pyro_bench_result *result, const char *name)
{
    for (size_t i = 0; i < result->parameter_count; i++)
        if (strcmp(result->parameters[i].name, name) == 0)
            return result->parameters[i].value;
    return NULL;
}

/* The setting that differs between two results of one name; NULL: none. */
static const char *describe_parameters(pyro_arena *arena, const pyro_bench_result *base,
                                       const pyro_bench_result *current)
{
    for (size_t i = 0; i < base->parameter_count; i++) {
        const pyro_pair *pair = &base->parameters[i];
        const char *now = find_parameter(current, pair->name);

        if (!pyro_same_setting(pair->name, pair->value, now))
            return pyro_arena_format(
                arena, "other settings: %.40s is \"%.80s\" in the base, \"%.80s\" now", pair->name,
                pair->value, now ? now : "not there");
    }
    return NULL;
}

static int compare_result(struct pyro_comparison_store *store, const pyro_bench_result *base,
                          const pyro_bench_result *current, pyro_error *error)
{
    if (!current || failed(base) || failed(current)) {
        pyro_verdict_row *row = add_row(store, base->name, NULL);

        if (!row)
            return pyro_fail_memory(error);
        row->reason = !current       ? "not in the new results"
                      : failed(base) ? "it failed in the base"
                                     : "it failed in the new results";
        return PYRO_OK;
    }
    const char *other = describe_parameters(&store->arena, base, current);
    if (other) {
        pyro_verdict_row *row = add_row(store, base->name, NULL);

        if (!row)
            return pyro_fail_memory(error);
        row->reason = other;
        return PYRO_OK;
    }
    size_t rows = store->comparison.row_count;
    int status = PYRO_OK;
    for (size_t i = 0; i < base->metric_count && status == PYRO_OK; i++)
        if (is_judged(&base->metrics[i]))
            status = compare_metric(store, base, &base->metrics[i], current, error);
    if (status == PYRO_OK && store->comparison.row_count == rows) {
        pyro_verdict_row *row = add_row(store, base->name, NULL);

        if (!row)
            return pyro_fail_memory(error);
        row->reason = "too few samples: 0";
    }
    return status;
}

/* Corrects alarms for the number of comparisons, any of which could raise one by chance. */
static int correct_alarms(struct pyro_comparison_store *store, pyro_error *error)
{
    pyro_comparison *comparison = &store->comparison;
    double confidence = store->options.confidence > 0 ? store->options.confidence : 0.95;
    double *p = malloc((comparison->row_count + 1) * sizeof *p);
    size_t count = 0;

    if (!p)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < comparison->row_count; i++)
        if (!isnan(comparison->rows[i].p))
            p[count++] = comparison->rows[i].p;
    int status = pyro_holm(p, count, error);
    for (size_t i = 0, at = 0; i < comparison->row_count && status == PYRO_OK; i++) {
        pyro_verdict_row *row = &comparison->rows[i];

        if (isnan(row->p))
            continue;
        row->p = p[at++];
        bool alarm = row->verdict == PYRO_VERDICT_REGRESSED ||
                     row->verdict == PYRO_VERDICT_IMPROVED;
        if (alarm && row->p > 1 - confidence) {
            row->verdict = PYRO_VERDICT_CANNOT_TELL;
            row->reason = "not sure enough among so many comparisons: measure more";
        }
    }
    free(p);
    return status;
}

static int sum_up(struct pyro_comparison_store *store, pyro_error *error)
{
    static const int weight[] = {
        [PYRO_VERDICT_NO_CHANGE] = 0,
        [PYRO_VERDICT_IMPROVED] = 1,
        [PYRO_VERDICT_CANNOT_TELL] = 2,
        [PYRO_VERDICT_REGRESSED] = 3,
    };
    pyro_comparison *comparison = &store->comparison;
    bool blocks = false;

    for (size_t i = 0; i < comparison->row_count; i++) {
        const pyro_verdict_row *row = &comparison->rows[i];

        if (weight[row->verdict] > weight[comparison->overall])
            comparison->overall = row->verdict;
        comparison->regressed |= row->verdict == PYRO_VERDICT_REGRESSED;
        comparison->cannot_tell |= row->verdict == PYRO_VERDICT_CANNOT_TELL;
        blocks |= !row->processes;
    }
    if (comparison->row_count == 0) {
        comparison->overall = PYRO_VERDICT_CANNOT_TELL;
        comparison->cannot_tell = true;
        return add_note(store, "the results have no benchmark in common", error);
    }
    if (blocks)
        return add_note(store,
                        "the noise between processes was not measured (fewer than 5 processes "
                        "per side); intervals cover iterations only",
                        error);
    return PYRO_OK;
}

static int add_warnings(struct pyro_comparison_store *store, const pyro_bench *bench,
                        const char *side, pyro_error *error)
{
    int status = PYRO_OK;

    for (size_t i = 0; i < bench->warning_count && status == PYRO_OK; i++)
        status = add_note(
            store, pyro_arena_format(&store->arena, "%s: %s", side, bench->warnings[i]), error);
    for (size_t i = 0; i < bench->result_count && status == PYRO_OK; i++)
        if (strcmp(bench->results[i].status, "noisy") == 0)
            status = add_note(store,
                              pyro_arena_format(&store->arena,
                                                "%s: %s: noisy: the interval of the median is "
                                                "wider than requested",
                                                side, bench->results[i].name),
                              error);
    return status;
}

static int compare_all(struct pyro_comparison_store *store, const pyro_bench *base,
                       const pyro_bench *current, pyro_error *error)
{
    int status = PYRO_OK;

    for (size_t i = 0; i < base->result_count && status == PYRO_OK; i++)
        status = compare_result(store, &base->results[i],
                                find_result(current, base->results[i].name), error);
    for (size_t i = 0; i < current->result_count && status == PYRO_OK; i++)
        if (!find_result(base, current->results[i].name))
            status = add_note(store,
                              pyro_arena_format(&store->arena, "%s: only in the new results",
                                                current->results[i].name),
                              error);
    if (status == PYRO_OK && store->difference)
        status = add_note(store, store->difference, error);
    if (status == PYRO_OK)
        status = add_warnings(store, base, "base", error);
    return status == PYRO_OK ? add_warnings(store, current, "new", error) : status;
}

/* The share of the processors that other programs used; from the load if that was not recorded. */
static double busy_share(const pyro_environment *environment)
{
    double processors = (double)(environment->cpu_count > 0 ? environment->cpu_count : 1);

    return (isnan(environment->other_cpus) ? environment->load_1m_before
                                           : environment->other_cpus) /
           processors;
}

/*
 * By which factor other programs slow down one that computes, at worst: it waits for a processor or
 * shares a core. The load includes our own programs, so it does not count if others used little.
 */
static double slowdown_by_load(const pyro_environment *environment)
{
    double processors = (double)(environment->cpu_count > 0 ? environment->cpu_count : 1);
    double busy = busy_share(environment), load = environment->load_1m_before;

    if (environment->load_1m_after > load)
        load = environment->load_1m_after;
    if (!(busy > 0.1))
        return 1;
    return fmax(1 + fmin(1, busy), isnan(load) ? 1 : (load + 1) / processors);
}

/* How the two were recorded: interleaved, or one after the other on a machine with other work. */
static pyro_circumstances find_circumstances(const pyro_bench *base, const pyro_bench *current)
{
    bool interleaved = base->rounds && current->rounds &&
                       strcmp(base->rounds, current->rounds) == 0;

    return (pyro_circumstances){
        .interleaved = interleaved,
        .busy = fmax(busy_share(&base->environment), busy_share(&current->environment)),
        .load_bias = fabs(
            log(slowdown_by_load(&current->environment) / slowdown_by_load(&base->environment))),
    };
}

int pyro_bench_compare(pyro_comparison **out, const pyro_bench *base, const pyro_bench *current,
                       const pyro_verdict_options *options, pyro_error *error)
{
    struct pyro_comparison_store *store = calloc(1, sizeof *store);

    *out = NULL;
    if (!store)
        return pyro_fail_memory(error);
    pyro_arena_init(&store->arena);
    store->comparison.store = store;
    if (options)
        store->options = *options;
    if (store->options.noise == 0)
        store->options.noise = fmax(base->environment.noise, current->environment.noise);
    if (!store->options.any_machine)
        store->difference = pyro_environment_difference(&store->arena, &base->environment,
                                                        &current->environment);
    store->circumstances = find_circumstances(base, current);
    int status = compare_all(store, base, current, error);
    if (status == PYRO_OK)
        status = correct_alarms(store, error);
    if (status == PYRO_OK)
        status = sum_up(store, error);
    if (status != PYRO_OK) {
        pyro_comparison_free(&store->comparison);
        return status;
    }
    *out = &store->comparison;
    return PYRO_OK;
}

void pyro_comparison_free(pyro_comparison *comparison)
{
    if (!comparison)
        return;
    struct pyro_comparison_store *store = comparison->store;
    pyro_arena_free(&store->arena);
    free(comparison->rows);
    free(comparison->notes);
    free(store);
}
