/* Results as one static page: tables, and drawings of the samples. */
#include "report/bench.h"

#include "report/html.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void add_amount(pyro_buf *buf, double value, const char *unit)
{
    char text[PYRO_UNIT_TEXT];

    pyro_html_element(buf, "td", pyro_format_amount(text, value, unit));
}

static void add_interval(pyro_buf *buf, const pyro_interval *interval, const char *unit)
{
    char low[PYRO_UNIT_TEXT], high[PYRO_UNIT_TEXT], text[2 * PYRO_UNIT_TEXT + 8];

    snprintf(text, sizeof text, "%s to %s", pyro_format_amount(low, interval->low, unit),
             pyro_format_amount(high, interval->high, unit));
    pyro_html_element(buf, "td", interval->confidence > 0 && !isnan(interval->low) ? text : "-");
}

static void write_metrics(pyro_buf *buf, const pyro_bench_result *result)
{
    static const char *const titles[] = {"Metric", "n",   "Mean", "95% interval", "Median",
                                         "p95",    "p99", "Min",  "Max"};

    pyro_html_begin_table(buf, titles, COUNT(titles));
    for (size_t i = 0; i < result->metric_count; i++) {
        const pyro_metric *metric = &result->metrics[i];
        const pyro_summary *summary = &metric->summary;
        bool samples = metric->samples != NULL;
        char count[32];

        snprintf(count, sizeof count, "%zu", metric->count);
        pyro_buf_adds(buf, "<tr>\n");
        pyro_html_element(buf, "td", metric->name);
        pyro_html_element(buf, "td", samples ? count : "-");
        add_amount(buf, pyro_metric_middle(metric), metric->unit);
        add_interval(buf, &summary->mean_interval, metric->unit);
        add_amount(buf, samples ? summary->percentiles[0].value : NAN, metric->unit);
        for (size_t j = 1; j < 3; j++) {
            if (samples && !summary->percentiles[j].enough)
                pyro_html_element(buf, "td", "n too small");
            else
                add_amount(buf, samples ? summary->percentiles[j].value : NAN, metric->unit);
        }
        add_amount(buf, samples ? summary->min : NAN, metric->unit);
        add_amount(buf, samples ? summary->max : NAN, metric->unit);
        pyro_buf_adds(buf, "</tr>\n");
    }
    pyro_html_end_table(buf);
}

static void add_row(pyro_buf *buf, const char *name, const char *value)
{
    if (value == NULL)
        return;
    pyro_buf_adds(buf, "<tr>\n");
    pyro_html_element(buf, "td", name);
    pyro_html_element(buf, "td", value);
    pyro_buf_adds(buf, "</tr>\n");
}

/* What an engine told besides numbers. */
static void write_details(pyro_buf *buf, const pyro_bench_result *result)
{
    static const char *const titles[] = {"Fact", ""};

    if (result->fact_count > 0) {
        pyro_html_begin_table(buf, titles, COUNT(titles));
        for (size_t i = 0; i < result->fact_count; i++)
            add_row(buf, result->facts[i].name, result->facts[i].value);
        pyro_html_end_table(buf);
    }
    for (size_t i = 0; i < result->table_count; i++) {
        const pyro_bench_table *table = &result->tables[i];

        pyro_html_element(buf, "h3", table->title);
        pyro_html_begin_table(buf, table->columns, table->column_count);
        for (size_t cell = 0; cell < table->row_count * table->column_count; cell++) {
            if (cell % table->column_count == 0)
                pyro_buf_adds(buf, "<tr>\n");
            pyro_html_element(buf, "td", table->cells[cell] != NULL ? table->cells[cell] : "");
            if (cell % table->column_count == table->column_count - 1)
                pyro_buf_adds(buf, "</tr>\n");
        }
        pyro_html_end_table(buf);
    }
}

static void write_result(pyro_buf *buf, const pyro_bench_result *result,
                         const pyro_bench_report *report)
{
    const pyro_metric *latency = pyro_bench_metric(result, "latency");

    pyro_html_element(buf, "h2", result->name);
    if (result->command != NULL && strcmp(result->command, result->name) != 0)
        pyro_html_element(buf, "p", result->command);
    if (strcmp(result->status, "ok") != 0) {
        pyro_html_element(buf, "p", result->status);
        if (result->message != NULL)
            pyro_html_element(buf, "p", result->message);
    }
    write_metrics(buf, result);
    if (latency != NULL && latency->count > 0 && !report->without_drawings) {
        pyro_html_histogram(buf, latency->samples, latency->count,
                            latency->summary.percentiles[0].value, latency->unit);
        pyro_html_sequence(buf, latency->samples, latency->count, latency->unit);
    }
    if (!report->without_details)
        write_details(buf, result);
}

static int write_overview(pyro_buf *buf, const pyro_bench_report *report, pyro_error *error)
{
    const pyro_bench *bench = report->bench;
    static const char *const titles[] = {"Benchmark", "Mean", "Times slower than the fastest",
                                         "95% interval"};
    pyro_ranking *ranking;
    size_t count;
    int status = pyro_rank_results(&ranking, &count, bench, error);
    pyro_html_box *boxes = calloc(count + 1, sizeof *boxes);

    if (status == PYRO_OK && boxes == NULL)
        status = pyro_fail_memory(error);
    if (status == PYRO_OK && count > 1) {
        pyro_html_element(buf, "h2", "Comparison");
        pyro_html_begin_table(buf, titles, COUNT(titles));
        for (size_t i = 0; i < count; i++) {
            const pyro_summary *summary = &pyro_bench_metric(ranking[i].result, "latency")->summary;

            boxes[i] = (pyro_html_box){ranking[i].result->name,       summary->min, summary->q1,
                                       summary->percentiles[0].value, summary->q3,  summary->max};
            pyro_buf_adds(buf, "<tr>\n");
            pyro_html_element(buf, "td", ranking[i].result->name);
            add_amount(buf, summary->mean, "ms");
            if (isfinite(ranking[i].ratio.ratio))
                pyro_buf_addf(buf, "<td>%.2f</td>\n<td>%.2f to %.2f</td>\n</tr>\n",
                              ranking[i].ratio.ratio, ranking[i].ratio.interval.low,
                              ranking[i].ratio.interval.high);
            else
                pyro_buf_adds(buf, "<td>-</td>\n<td>-</td>\n</tr>\n");
        }
        pyro_html_end_table(buf);
        if (!report->without_drawings)
            pyro_html_boxes(buf, boxes, count, "ms");
    }
    free(boxes);
    free(ranking);
    return status;
}

static void write_gates(pyro_buf *buf, const pyro_bench_report *report)
{
    static const char *const titles[] = {"Threshold", "Benchmark", "Value", "95% interval",
                                         "Verdict"};

    if (report->gate_count == 0)
        return;
    pyro_html_element(buf, "h2", "Thresholds");
    pyro_html_begin_table(buf, titles, COUNT(titles));
    for (size_t i = 0; i < report->gate_count; i++) {
        const pyro_gate_row *row = &report->gates[i];

        pyro_buf_adds(buf, "<tr>\n");
        pyro_html_element(buf, "td", row->threshold->text);
        pyro_html_element(buf, "td", row->result->name);
        add_amount(buf, row->value, row->unit);
        add_interval(buf, &row->interval, row->unit);
        pyro_html_element(buf, "td", pyro_gate_name(row->gate));
        pyro_buf_adds(buf, "</tr>\n");
    }
    pyro_html_end_table(buf);
}

static void write_comparison(pyro_buf *buf, const pyro_comparison *comparison)
{
    static const char *const titles[] = {"Benchmark", "Metric",  "Base",   "New",
                                         "Change",    "Verdict", "Because"};

    if (comparison == NULL)
        return;
    pyro_html_element(buf, "h2", "Against the base");
    pyro_html_begin_table(buf, titles, COUNT(titles));
    for (size_t i = 0; i < comparison->row_count; i++) {
        const pyro_verdict_row *row = &comparison->rows[i];
        char change[PYRO_UNIT_TEXT];

        pyro_buf_adds(buf, "<tr>\n");
        pyro_html_element(buf, "td", row->benchmark);
        pyro_html_element(buf, "td", row->metric);
        add_amount(buf, row->base, row->unit);
        add_amount(buf, row->current, row->unit);
        pyro_html_element(buf, "td", pyro_format_change(change, row->change));
        pyro_html_element(buf, "td", pyro_verdict_name(row->verdict));
        pyro_html_element(buf, "td", row->reason != NULL ? row->reason : "");
        pyro_buf_adds(buf, "</tr>\n");
    }
    pyro_html_end_table(buf);
}

static void write_environment(pyro_buf *buf, const pyro_bench *bench)
{
    static const char *const titles[] = {"Environment", ""};
    const pyro_environment *environment = &bench->environment;
    char text[PYRO_UNIT_TEXT];

    pyro_html_begin_table(buf, titles, COUNT(titles));
    add_row(buf, "Measured", bench->created);
    add_row(buf, "Tool", bench->tool);
    add_row(buf, "Processor", environment->cpu_model);
    snprintf(text, sizeof text, "%lld of %lld", (long long)environment->usable_cpus,
             (long long)environment->cpu_count);
    add_row(buf, "Usable processors", text);
    add_row(buf, "Governor", environment->governor);
    add_row(buf, "Threads", environment->threads);
    add_row(buf, "Memory", pyro_format_bytes(text, environment->memory_bytes));
    add_row(buf, "GPU", environment->gpu);
    add_row(buf, "GPU driver", environment->gpu_driver);
    add_row(buf, "GPU clocks", environment->gpu_clocks);
    add_row(buf, "System", environment->system);
    add_row(buf, "Kernel", environment->kernel);
    add_row(buf, "Commit", environment->commit);
    for (size_t i = 0; i < environment->extra_count; i++)
        add_row(buf, environment->extra[i].name, environment->extra[i].value);
    pyro_html_end_table(buf);
}

int pyro_write_bench_html(pyro_buf *buf, const pyro_bench_report *report, pyro_error *error)
{
    const pyro_bench *bench = report->bench;

    pyro_html_begin(buf, "Benchmark results");
    pyro_html_element(buf, "h1", "Benchmark results");
    if (bench->interrupted)
        pyro_html_element(buf, "p", "Interrupted: what was measured until then.");
    int status = write_overview(buf, report, error);
    write_gates(buf, report);
    write_comparison(buf, report->comparison);
    for (size_t i = 0; i < bench->result_count; i++)
        write_result(buf, &bench->results[i], report);
    if (bench->warning_count > 0)
        pyro_html_element(buf, "h2", "Warnings");
    for (size_t i = 0; i < bench->warning_count; i++)
        pyro_html_element(buf, "p", bench->warnings[i]);
    if (!report->without_details)
        write_environment(buf, bench);
    pyro_html_end(buf);
    return status;
}
