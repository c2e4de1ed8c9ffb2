/* Writes lists of results, single results and collections for people. */
#include "report/history/history.h"

#include "base/error.h"
#include "base/text/table.h"
#include "report/bench/bench.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

static void clean_cell(pyro_table *table, const char *text)
{
    pyro_buf clean = PYRO_BUF_INIT;

    pyro_text_clean(&clean, text);
    pyro_table_cell(table, clean.data);
    table->failed = table->failed || clean.failed;
    pyro_buf_free(&clean);
}

static int end_table(pyro_table *table, pyro_buf *buf, const pyro_report_request *request)
{
    bool failed = table->failed;

    pyro_table_write(table, buf, 2, request->options->width, request->options->color);
    pyro_table_free(table);
    return failed ? pyro_fail_memory(request->error) : PYRO_OK;
}

static int write_list(pyro_buf *buf, const pyro_report_request *request)
{
    static const pyro_table_column columns[] = {
        {"Result", true, false},  {"When (UTC)", false, false}, {"Kind", false, false},
        {"Project", false, true}, {"Commit", false, false},     {"Branch", false, true},
        {"Metrics", true, false}, {"Benchmarks", false, true}};
    static const char *const droppable[] = {"Kind", "Branch", "Metrics", NULL};
    const pyro_history_list *list = request->history->list;
    char time[PYRO_TIME_TEXT], commit[PYRO_COMMIT_TEXT];
    pyro_table table;

    if (list->run_count == 0) {
        pyro_buf_adds(buf, "No results.\n");
        return PYRO_OK;
    }
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < list->run_count; i++) {
        const pyro_history_run *run = &list->runs[i];

        pyro_table_cellf(&table, "%lld", (long long)run->run);
        pyro_table_cell(&table, pyro_format_time(time, run->time_ns));
        clean_cell(&table, run->kind);
        clean_cell(&table, run->project);
        clean_cell(&table, pyro_format_commit(commit, run->commit));
        clean_cell(&table, run->branch[0] != '\0' ? run->branch : "-");
        pyro_table_cellf(&table, "%zu", run->metric_count);
        clean_cell(&table, run->benchmarks);
    }
    pyro_table_fit(&table, droppable, 2, request->options->width);
    return end_table(&table, buf, request);
}

static void write_labels(pyro_buf *buf, const pyro_history_entry *entry)
{
    const pyro_history_point *point = entry->point;
    char time[PYRO_TIME_TEXT];
    const struct {
        const char *title, *text;
    } rows[] = {{"Project", entry->line->project},
                {"Commit", point->commit},
                {"Branch", point->branch},
                {"Tags", point->tags},
                {"Measured by", point->tool},
                {"Machine", point->machine[0] != '\0' ? point->machine : point->machine_class},
                {"Class", point->machine_class}};

    pyro_buf_addf(buf, "Result %lld, ", (long long)point->run);
    pyro_text_clean(buf, point->kind);
    pyro_buf_addf(buf, " of %s UTC\n", pyro_format_time(time, point->time_ns));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].text[0] == '\0')
            continue;
        pyro_buf_addf(buf, "  %-13s", rows[i].title);
        pyro_text_clean(buf, rows[i].text);
        pyro_buf_addc(buf, '\n');
    }
    pyro_buf_addc(buf, '\n');
}

static void add_entry(pyro_table *table, const pyro_history_entry *entry)
{
    const pyro_history_point *point = entry->point;
    const char *unit = entry->line->unit;
    const double amounts[] = {point->median, point->mean, point->lowest, point->highest,
                              point->p99};
    char amount[PYRO_UNIT_TEXT];

    clean_cell(table, entry->line->benchmark);
    clean_cell(table, entry->line->metric);
    pyro_table_cellf(table, "%zu", point->count > 0 ? point->count : 1);
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        clean_cell(table, pyro_format_safe_amount(amount, amounts[i], unit));
}

static int write_show(pyro_buf *buf, const pyro_report_request *request)
{
    static const pyro_table_column columns[] = {
        {"Benchmark", false, true}, {"Metric", false, false}, {"n", true, false},
        {"Median", true, false},    {"Mean", true, false},    {"Min", true, false},
        {"Max", true, false},       {"p99", true, false}};
    size_t count;
    pyro_history_entry *entries = pyro_history_entries(request->history->lines, &count);
    int status = entries ? PYRO_OK : pyro_fail_memory(request->error);

    if (status == PYRO_OK && count == 0)
        pyro_buf_adds(buf, "No results.\n");
    for (size_t i = 0, end; status == PYRO_OK && i < count; i = end) {
        pyro_table table;

        if (i > 0)
            pyro_buf_addc(buf, '\n');
        write_labels(buf, &entries[i]);
        pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
        for (end = i; end < count && entries[end].point->run == entries[i].point->run; end++)
            add_entry(&table, &entries[end]);
        status = end_table(&table, buf, request);
    }
    free(entries);
    return status;
}

static int write_collected(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_retention_result *collected = request->history->collected;
    const char *verb = request->history->only_counted ? "would remove" : "removed";

    pyro_buf_addf(buf,
                  "%s %lld sets of samples, %lld metrics rolled up, %lld old metrics, %lld "
                  "empty results\n",
                  verb, (long long)collected->samples, (long long)collected->rolled_up,
                  (long long)collected->removed, (long long)collected->runs);
    return PYRO_OK;
}

static int write_bisected(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_bisected *found = request->history->bisected;
    char change[PYRO_UNIT_TEXT], commit[PYRO_COMMIT_TEXT], good[PYRO_COMMIT_TEXT];

    if (found->is_certain) {
        pyro_buf_addf(
            buf, "%s is the first slower commit (%s): ", pyro_format_commit(commit, found->first),
            pyro_format_change(change, found->change));
        pyro_text_clean(buf, found->subject);
        pyro_buf_addf(buf, "\n%zu commits measured\n", found->steps);
    } else {
        pyro_buf_addf(buf,
                      "the first slower commit is after %s, most likely %s; a step had no verdict, "
                      "and its estimate decided\n",
                      pyro_format_commit(good, found->good),
                      pyro_format_commit(commit, found->first));
    }
    return PYRO_OK;
}

int pyro_write_history_text(pyro_buf *buf, const pyro_report_request *request)
{
    switch (request->history->view) {
    case PYRO_HISTORY_LIST:
        return write_list(buf, request);
    case PYRO_HISTORY_COLLECT:
        return write_collected(buf, request);
    case PYRO_HISTORY_TREND:
        return pyro_write_trend_text(buf, request);
    case PYRO_HISTORY_CHANGES:
        return pyro_write_changes_text(buf, request);
    case PYRO_HISTORY_BISECT:
        return write_bisected(buf, request);
    case PYRO_HISTORY_PLAN:
        return pyro_write_plan_text(buf, request);
    case PYRO_HISTORY_ALERTS:
        return pyro_write_alerts_text(buf, request);
    default:
        return write_show(buf, request);
    }
}
