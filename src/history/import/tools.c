/* Reads results of other tools: hyperfine, pytest-benchmark, Google Benchmark. */
#include "history/import/import.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

/* Bounds the search for repetitions of a benchmark, which is quadratic. */
enum { ENTRIES_MAX = 20000 };

static const pyro_node *first_of(const pyro_node *array)
{
    return pyro_node_is(array, PYRO_JSON_ARRAY) ? array->first : NULL;
}

bool pyro_import_is_hyperfine(const pyro_node *root)
{
    const pyro_node *first = first_of(pyro_node_get(root, "results"));

    return first && pyro_node_get(first, "command") &&
           (pyro_node_get(first, "times") || pyro_node_get(first, "mean"));
}

int pyro_import_read_hyperfine(pyro_import *import, const pyro_node *root)
{
    pyro_run *run;
    int status = pyro_import_run(import, &run, "hyperfine");

    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->tool, "hyperfine", import->error);
    for (const pyro_node *result = first_of(pyro_node_get(root, "results"));
         result && status == PYRO_OK; result = result->next) {
        const char *name = pyro_node_text(result, "command");
        const struct {
            const char *metric, *value, *samples, *unit;
            double factor;
        } rows[] = {{"latency", "mean", "times", "ms", 1000},
                    {"user", "user", "", "ms", 1000},
                    {"system", "system", "", "ms", 1000},
                    {"memory", "", "memory_usage_byte", "bytes", 1}};

        for (size_t i = 0; i < sizeof rows / sizeof *rows && status == PYRO_OK; i++)
            status = pyro_import_add(
                import, run,
                &(pyro_import_metric){.benchmark = name,
                                      .metric = rows[i].metric,
                                      .unit = rows[i].unit,
                                      .method = "hyperfine",
                                      .samples = pyro_node_get(result, rows[i].samples),
                                      .factor = rows[i].factor,
                                      .value = pyro_node_number(result, rows[i].value)});
    }
    return status;
}

bool pyro_import_is_pytest(const pyro_node *root)
{
    const pyro_node *first = first_of(pyro_node_get(root, "benchmarks"));

    return pyro_node_get(root, "machine_info") && (!first || pyro_node_get(first, "stats"));
}

static int read_pytest_machine(pyro_import *import, pyro_run *run, const pyro_node *machine)
{
    const pyro_node *cpu = pyro_node_get(machine, "cpu");
    pyro_buf text = PYRO_BUF_INIT, all = PYRO_BUF_INIT;
    double count = pyro_node_number(cpu, "count");

    pyro_buf_addf(&text, "%s, %s", pyro_node_text(machine, "machine"),
                  pyro_node_text(cpu, "brand_raw"));
    if (isfinite(count))
        pyro_buf_addf(&text, ", %.0f CPUs", count);
    pyro_buf_addf(&all, "%s, %s %s, kernel %s", text.data ? text.data : "",
                  pyro_node_text(machine, "python_implementation"),
                  pyro_node_text(machine, "python_version"), pyro_node_text(machine, "release"));
    int status = pyro_import_machine(import, run, &text, &all);
    pyro_buf_free(&text);
    pyro_buf_free(&all);
    return status;
}

int pyro_import_read_pytest(pyro_import *import, const pyro_node *root)
{
    const pyro_node *commit = pyro_node_get(root, "commit_info");
    pyro_run *run;
    int status = pyro_import_run(import, &run, "pytest-benchmark");

    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->tool, "pytest-benchmark", import->error);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->commit, pyro_node_text(commit, "id"), import->error);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->branch, pyro_node_text(commit, "branch"), import->error);
    if (status == PYRO_OK)
        status = read_pytest_machine(import, run, pyro_node_get(root, "machine_info"));
    if (status == PYRO_OK)
        run->time_ns = pyro_parse_time(pyro_node_text(root, "datetime"));
    for (const pyro_node *benchmark = first_of(pyro_node_get(root, "benchmarks"));
         benchmark && status == PYRO_OK; benchmark = benchmark->next) {
        const char *full = pyro_node_text(benchmark, "fullname");
        const pyro_node *stats = pyro_node_get(benchmark, "stats");

        status = pyro_import_add(
            import, run,
            &(pyro_import_metric){.benchmark = full[0] != '\0' ? full
                                                               : pyro_node_text(benchmark, "name"),
                                  .metric = "latency",
                                  .unit = "ms",
                                  .method = "pytest-benchmark",
                                  .samples = pyro_node_get(stats, "data"),
                                  .factor = 1000,
                                  .value = pyro_node_number(stats, "mean")});
    }
    return status;
}

bool pyro_import_is_google(const pyro_node *root)
{
    const pyro_node *first = first_of(pyro_node_get(root, "benchmarks"));

    return pyro_node_get(root, "context") && first && pyro_node_get(first, "real_time");
}

static double milliseconds(const pyro_node *entry)
{
    const char *unit = pyro_node_text(entry, "time_unit");

    if (strcmp(unit, "us") == 0)
        return 1e-3;
    if (strcmp(unit, "ms") == 0)
        return 1;
    return strcmp(unit, "s") == 0 ? 1e3 : 1e-6;
}

static bool is_repetition(const pyro_node *entry)
{
    return strcmp(pyro_node_text(entry, "run_type"), "aggregate") != 0 &&
           !pyro_node_true(entry, "error_occurred");
}

static const char *google_name(const pyro_node *entry)
{
    const char *name = pyro_node_text(entry, "run_name");

    return name[0] != '\0' ? name : pyro_node_text(entry, "name");
}

/* All repetitions of the benchmark that begins at `first` as the samples of one. */
static int add_google(pyro_import *import, pyro_run *run, const pyro_node *first, const char *key,
                      const char *metric)
{
    pyro_node *list = pyro_arena_alloc(&import->document.arena, sizeof *list);
    const pyro_node **link = list ? &list->first : NULL;

    if (!list)
        return pyro_fail_memory(import->error);
    list->kind = PYRO_JSON_ARRAY;
    for (const pyro_node *entry = first; entry; entry = entry->next) {
        pyro_node *copy;

        if (!is_repetition(entry) || strcmp(google_name(entry), google_name(first)) != 0)
            continue;
        copy = pyro_arena_alloc(&import->document.arena, sizeof *copy);
        if (!copy)
            return pyro_fail_memory(import->error);
        *copy = (pyro_node){.kind = PYRO_JSON_NUMBER, .number = pyro_node_number(entry, key)};
        *link = copy;
        link = &copy->next;
    }
    return pyro_import_add(import, run,
                           &(pyro_import_metric){.benchmark = google_name(first),
                                                 .metric = metric,
                                                 .unit = "ms",
                                                 .method = "Google Benchmark",
                                                 .samples = list,
                                                 .factor = milliseconds(first),
                                                 .value = NAN});
}

/* Whether an earlier entry has the same name, and has taken this one's time already. */
static bool is_taken(const pyro_node *all, const pyro_node *entry)
{
    for (const pyro_node *other = all; other != entry; other = other->next)
        if (is_repetition(other) && strcmp(google_name(other), google_name(entry)) == 0)
            return true;
    return false;
}

int pyro_import_read_google(pyro_import *import, const pyro_node *root)
{
    const pyro_node *context = pyro_node_get(root, "context");
    const pyro_node *entries = pyro_node_get(root, "benchmarks");
    pyro_buf machine = PYRO_BUF_INIT, all = PYRO_BUF_INIT;
    pyro_run *run;
    int status = pyro_import_run(import, &run, "google-benchmark");

    if (entries->count > ENTRIES_MAX)
        return pyro_fail(import->error, PYRO_ERROR_LIMIT, "more than %d entries", ENTRIES_MAX);
    pyro_buf_addf(&machine, "%.0f CPUs at %.0f MHz", pyro_node_number(context, "num_cpus"),
                  pyro_node_number(context, "mhz_per_cpu"));
    pyro_buf_addf(&all, "%s, %s", pyro_node_text(context, "host_name"),
                  machine.data ? machine.data : "");
    if (status == PYRO_OK)
        status = pyro_import_machine(import, run, &machine, &all);
    pyro_buf_free(&machine);
    pyro_buf_free(&all);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->tool, "Google Benchmark", import->error);
    if (status == PYRO_OK)
        run->time_ns = pyro_parse_time(pyro_node_text(context, "date"));
    for (const pyro_node *entry = entries->first; entry && status == PYRO_OK; entry = entry->next) {
        if (!is_repetition(entry) || is_taken(entries->first, entry))
            continue;
        status = add_google(import, run, entry, "real_time", "latency");
        if (status == PYRO_OK)
            status = add_google(import, run, entry, "cpu_time", "cpu_time");
    }
    return status;
}
