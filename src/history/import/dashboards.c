/* Reads results of tools that keep a history themselves: asv and github-action-benchmark. */
#include "history/import/import.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COMBINATIONS_MAX = 5000 }; /* finding one is linear */

bool pyro_import_is_asv(const pyro_node *root)
{
    return pyro_node_get(root, "commit_hash") &&
           pyro_node_is(pyro_node_get(root, "results"), PYRO_JSON_OBJECT);
}

/* The position of a column, or the one that asv wrote before it named columns. */
static size_t column_of(const pyro_node *columns, const char *name, size_t otherwise)
{
    size_t index = 0;

    for (const pyro_node *column = columns ? columns->first : NULL; column;
         column = column->next, index++)
        if (column->kind == PYRO_JSON_STRING && strcmp(column->text, name) == 0)
            return index;
    return otherwise;
}

static const pyro_node *child_at(const pyro_node *array, size_t index)
{
    const pyro_node *child = pyro_node_is(array, PYRO_JSON_ARRAY) ? array->first : NULL;

    for (; child && index > 0; index--)
        child = child->next;
    return child;
}

/* The values of the parameters of one combination: the last one changes fastest. */
static void add_combination(pyro_buf *name, const pyro_node *params, size_t combination)
{
    size_t divisor = 1;

    for (const pyro_node *values = params ? params->first : NULL; values; values = values->next)
        if (values->kind == PYRO_JSON_ARRAY && values->count > 0)
            divisor *= values->count < COMBINATIONS_MAX / divisor + 1 ? values->count : 1;
    for (const pyro_node *values = params ? params->first : NULL; values; values = values->next) {
        const pyro_node *value;

        if (values->kind != PYRO_JSON_ARRAY || values->count == 0 || divisor < values->count)
            continue;
        divisor /= values->count;
        value = child_at(values, combination / divisor % values->count);
        if (pyro_node_is(value, PYRO_JSON_STRING))
            pyro_buf_addf(name, " %s", value->text);
    }
}

/* Units are not in the file: asv's names begin with the kind of benchmark. */
static pyro_import_metric asv_metric(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;

    if (strncmp(last, "time", 4) == 0)
        return (pyro_import_metric){.metric = "latency", .unit = "ms", .factor = 1000};
    if (strncmp(last, "mem", 3) == 0 || strncmp(last, "peakmem", 7) == 0)
        return (pyro_import_metric){.metric = "memory", .unit = "bytes"};
    return (pyro_import_metric){.metric = "value", .unit = ""};
}

static int read_asv_benchmark(pyro_import *import, pyro_run *run, const pyro_node *row,
                              const pyro_node *columns)
{
    const pyro_node *values = child_at(row, column_of(columns, "result", 0));
    const pyro_node *params = child_at(row, column_of(columns, "params", 1));
    const pyro_node *samples = child_at(row, column_of(columns, "samples", 11));
    size_t index = 0;
    int status = PYRO_OK;

    if (!pyro_node_is(row, PYRO_JSON_ARRAY) || !pyro_node_is(values, PYRO_JSON_ARRAY) ||
        values->count > COMBINATIONS_MAX)
        return PYRO_OK;
    for (const pyro_node *value = values->first; value && status == PYRO_OK;
         value = value->next, index++) {
        pyro_buf name = PYRO_BUF_INIT;
        pyro_import_metric metric = asv_metric(row->key);

        pyro_buf_adds(&name, row->key);
        add_combination(&name, pyro_node_is(params, PYRO_JSON_ARRAY) ? params : NULL, index);
        metric.benchmark = name.data;
        metric.method = "asv";
        metric.samples = child_at(samples, index);
        metric.value = value->kind == PYRO_JSON_NUMBER ? value->number : NAN;
        status = name.failed ? pyro_fail_memory(import->error)
                             : pyro_import_add(import, run, &metric);
        pyro_buf_free(&name);
    }
    return status;
}

int pyro_import_read_asv(pyro_import *import, const pyro_node *root)
{
    const pyro_node *params = pyro_node_get(root, "params");
    const pyro_node *columns = pyro_node_get(root, "result_columns");
    pyro_buf machine = PYRO_BUF_INIT, all = PYRO_BUF_INIT;
    double date_ms = pyro_node_number(root, "date");
    pyro_run *run;
    int status = pyro_import_run(import, &run, "asv");

    pyro_buf_addf(&machine, "%s, %s", pyro_node_text(params, "machine"),
                  pyro_node_text(params, "cpu"));
    pyro_import_parameters(&all, params);
    if (status == PYRO_OK)
        status = pyro_import_machine(import, run, &machine, &all);
    pyro_buf_free(&machine);
    pyro_buf_free(&all);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->tool, "asv", import->error);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->commit, pyro_node_text(root, "commit_hash"),
                              import->error);
    if (status == PYRO_OK && date_ms > 0 && date_ms < 9e12)
        run->time_ns = (int64_t)date_ms * 1000000;
    for (const pyro_node *row = pyro_node_get(root, "results")->first; row && status == PYRO_OK;
         row = row->next)
        status = read_asv_benchmark(import, run, row, columns);
    return status;
}

static bool is_entry(const pyro_node *node)
{
    return node && pyro_node_get(node, "name") && pyro_node_get(node, "unit") &&
           pyro_node_get(node, "value");
}

bool pyro_import_is_github(const pyro_node *root)
{
    if (pyro_node_is(root, PYRO_JSON_ARRAY))
        return is_entry(root->first);
    return pyro_node_is(pyro_node_get(root, "entries"), PYRO_JSON_OBJECT) &&
           (pyro_node_get(root, "lastUpdate") || pyro_node_get(root, "repoUrl"));
}

/* "ns/iter" and the like become milliseconds; rates are better the higher they are. */
static pyro_import_metric github_metric(const pyro_node *entry, const char *tool)
{
    const char *unit = pyro_node_text(entry, "unit");
    pyro_import_metric metric = {.benchmark = pyro_node_text(entry, "name"),
                                 .metric = "value",
                                 .unit = unit,
                                 .method = "github-action-benchmark",
                                 .value = pyro_node_number(entry, "value")};
    static const struct {
        const char *unit;
        double factor;
    } times[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"sec", 1e3}};
    size_t length = strcspn(unit, "/");

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strlen(times[i].unit) == length && strncmp(unit, times[i].unit, length) == 0) {
            metric.metric = "latency";
            metric.unit = "ms";
            metric.factor = times[i].factor;
            return metric;
        }
    metric.higher_is_better = strstr(unit, "/s") || strcmp(tool, "customBiggerIsBetter") == 0;
    return metric;
}

static int add_entries(pyro_import *import, pyro_run *run, const pyro_node *entries,
                       const char *suite, const char *tool)
{
    int status = PYRO_OK;

    for (const pyro_node *entry = pyro_node_is(entries, PYRO_JSON_ARRAY) ? entries->first : NULL;
         entry && status == PYRO_OK; entry = entry->next) {
        pyro_import_metric metric = github_metric(entry, tool);
        pyro_buf name = PYRO_BUF_INIT;

        pyro_buf_addf(&name, "%s%s%s", suite, suite[0] != '\0' ? ": " : "", metric.benchmark);
        metric.benchmark = name.data;
        status = name.failed ? pyro_fail_memory(import->error)
                             : pyro_import_add(import, run, &metric);
        pyro_buf_free(&name);
    }
    return status;
}

static int read_published(pyro_import *import, const pyro_node *node, const char *suite)
{
    const pyro_node *commit = pyro_node_get(node, "commit");
    double date_ms = pyro_node_number(node, "date");
    pyro_run *run;
    int status = pyro_import_run(import, &run, "github-action-benchmark");

    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->tool, "github-action-benchmark", import->error);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->commit, pyro_node_text(commit, "id"), import->error);
    if (status == PYRO_OK)
        run->time_ns = date_ms > 0 && date_ms < 9e12
                           ? (int64_t)date_ms * 1000000
                           : pyro_parse_time(pyro_node_text(commit, "timestamp"));
    return status == PYRO_OK ? add_entries(import, run, pyro_node_get(node, "benches"), suite,
                                           pyro_node_text(node, "tool"))
                             : status;
}

int pyro_import_read_github(pyro_import *import, const pyro_node *root)
{
    int status = PYRO_OK;
    pyro_run *run;

    if (root->kind == PYRO_JSON_ARRAY) {
        status = pyro_import_run(import, &run, "github-action-benchmark");
        if (status == PYRO_OK)
            status = pyro_run_set(run, &run->tool, "github-action-benchmark", import->error);
        return status == PYRO_OK ? add_entries(import, run, root, "", "") : status;
    }
    for (const pyro_node *suite = pyro_node_get(root, "entries")->first; suite && status == PYRO_OK;
         suite = suite->next)
        for (const pyro_node *node = pyro_node_is(suite, PYRO_JSON_ARRAY) ? suite->first : NULL;
             node && status == PYRO_OK; node = node->next)
            status = read_published(import, node, suite->key);
    return status;
}
