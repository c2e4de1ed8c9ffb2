/* Writes results as one static HTML page: tables, and plots of the samples. */
#include "report/bench/bench.h"

#include "report/html.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { NUMBER_LENGTH = 16 };

static void add_text(pyro_buf *buf, const char *text)
{
    pyro_buf_adds(buf, "<td class=\"amount\">");
    pyro_html_text(buf, text);
    pyro_buf_adds(buf, "</td>\n");
}

static void add_amount(pyro_buf *buf, double value, const char *unit)
{
    char text[PYRO_UNIT_TEXT];

    add_text(buf, pyro_format_amount(text, value, unit));
}

static void add_interval(pyro_buf *buf, const pyro_interval *interval, const char *unit)
{
    char low[PYRO_UNIT_TEXT], high[PYRO_UNIT_TEXT], text[2 * PYRO_UNIT_TEXT + 8];

    snprintf(text, sizeof text, "%s to %s", pyro_format_amount(low, interval->low, unit),
             pyro_format_amount(high, interval->high, unit));
    add_text(buf, interval->confidence > 0 && !isnan(interval->low) ? text : "-");
}

static void add_name(pyro_buf *buf, const char *name)
{
    pyro_buf text = PYRO_BUF_INIT;

    pyro_add_metric_name(&text, name);
    buf->failed = buf->failed || text.failed;
    pyro_html_element(buf, "td", text.failed || !text.data ? "" : text.data);
    pyro_buf_free(&text);
}

static void write_timing(pyro_buf *buf, const pyro_metric *metric)
{
    const pyro_summary *summary = &metric->summary;
    char count[32];

    snprintf(count, sizeof count, "%zu", metric->count);
    pyro_buf_adds(buf, "<tr>\n");
    add_name(buf, metric->name);
    add_text(buf, count);
    add_amount(buf, summary->mean, metric->unit);
    add_interval(buf, &summary->mean_interval, metric->unit);
    add_amount(buf, summary->percentiles[0].value, metric->unit);
    for (size_t j = 1; j < 3; j++) {
        if (!summary->percentiles[j].enough) {
            char amount[PYRO_UNIT_TEXT], uncertain[PYRO_UNIT_TEXT + 16];

            snprintf(uncertain, sizeof uncertain, "%s (uncertain)",
                     pyro_format_amount(amount, summary->percentiles[j].value, metric->unit));
            add_text(buf, uncertain);
        } else {
            add_amount(buf, summary->percentiles[j].value, metric->unit);
        }
    }
    add_amount(buf, summary->min, metric->unit);
    add_amount(buf, summary->max, metric->unit);
    pyro_buf_adds(buf, "</tr>\n");
}

/* Metrics with samples get statistics; metrics measured as a whole get a separate table. */
static void write_metrics(pyro_buf *buf, const pyro_bench_result *result)
{
    static const char *const titles[] = {"Metric", "n",   "Mean", "95% interval", "Median",
                                         "p95",    "p99", "Min",  "Max"};
    static const char *const amounts[] = {"Amount", "Value", "95% interval"};
    size_t with_samples = 0;

    for (size_t i = 0; i < result->metric_count; i++)
        with_samples += result->metrics[i].samples != NULL;
    if (with_samples > 0) {
        pyro_html_begin_table(buf, titles, COUNT(titles));
        for (size_t i = 0; i < result->metric_count; i++)
            if (result->metrics[i].samples)
                write_timing(buf, &result->metrics[i]);
        pyro_html_end_table(buf);
    }
    if (with_samples == result->metric_count)
        return;
    pyro_html_begin_table(buf, amounts, COUNT(amounts));
    for (size_t i = 0; i < result->metric_count; i++) {
        const pyro_metric *metric = &result->metrics[i];

        if (metric->samples)
            continue;
        pyro_buf_adds(buf, "<tr>\n");
        add_name(buf, metric->name);
        add_amount(buf, metric->value, metric->unit);
        add_interval(buf, &metric->summary.mean_interval, metric->unit);
        pyro_buf_adds(buf, "</tr>\n");
    }
    pyro_html_end_table(buf);
}

static void add_row(pyro_buf *buf, const char *name, const char *value)
{
    if (!value)
        return;
    pyro_buf_adds(buf, "<tr>\n");
    pyro_html_element(buf, "td", name);
    pyro_html_cell(buf, "td", value, true);
    pyro_buf_adds(buf, "</tr>\n");
}

typedef void (*add_words)(pyro_buf *buf, const pyro_bench_result *result);

static void write_gpu(pyro_buf *buf, const pyro_bench_result *result)
{
    static const struct {
        const char *name;
        add_words add;
    } rows[] = {
        {"GPU", pyro_add_gpu_clocks},
        {"Throttled", pyro_add_gpu_throttling},
        {"Discarded", pyro_add_gpu_discarded},
    };
    static const char *const titles[] = {"During the run", ""};

    if (result->gpu.looks == 0)
        return;
    pyro_html_begin_table(buf, titles, COUNT(titles));
    for (size_t i = 0; i < COUNT(rows); i++) {
        pyro_buf text = PYRO_BUF_INIT;

        rows[i].add(&text, result);
        buf->failed = buf->failed || text.failed;
        add_row(buf, rows[i].name, text.failed ? NULL : text.data);
        pyro_buf_free(&text);
    }
    pyro_html_end_table(buf);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Whether a column has more than short texts that start like numbers. */
static bool has_words(const pyro_bench_table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++) {
        const char *text = or_empty(table->cells[row * table->column_count + column]);
        const char *digit = text + strspn(text, "+-");

        if (strlen(text) > NUMBER_LENGTH || (*digit != '\0' && (*digit < '0' || *digit > '9')))
            return true;
    }
    return false;
}

static void write_table(pyro_buf *buf, const pyro_bench_table *table)
{
    pyro_html_element(buf, "h3", table->title);
    if (table->row_count == 0) {
        pyro_html_element(buf, "p", "None.");
        return;
    }
    pyro_buf_adds(buf, "<table>\n<thead><tr>\n");
    for (size_t i = 0; i < table->column_count; i++)
        pyro_html_cell(buf, "th", or_empty(table->columns[i]), has_words(table, i));
    pyro_buf_adds(buf, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < table->row_count; row++) {
        pyro_buf_adds(buf, "<tr>\n");
        for (size_t i = 0; i < table->column_count; i++)
            pyro_html_cell(buf, "td", or_empty(table->cells[row * table->column_count + i]),
                           has_words(table, i));
        pyro_buf_adds(buf, "</tr>\n");
    }
    pyro_html_end_table(buf);
}

/* Tables that an engine reports besides metrics; the last one, its advice, comes first. */
static void write_details(pyro_buf *buf, const pyro_bench_result *result)
{
    static const char *const titles[] = {"Fact", ""};

    if (result->table_count > 0)
        write_table(buf, &result->tables[result->table_count - 1]);
    for (size_t i = 0; i + 1 < result->table_count; i++)
        write_table(buf, &result->tables[i]);
    if (result->fact_count == 0)
        return;
    pyro_html_element(buf, "h3", "Facts");
    pyro_html_begin_table(buf, titles, COUNT(titles));
    for (size_t i = 0; i < result->fact_count; i++)
        add_row(buf, result->facts[i].name, result->facts[i].value);
    pyro_html_end_table(buf);
}

static void write_result(pyro_buf *buf, const pyro_bench_result *result,
                         const pyro_bench_report *report)
{
    const pyro_metric *latency = pyro_bench_metric(result, "latency");

    pyro_html_element(buf, "h2", result->name);
    if (result->command && strcmp(result->command, result->name) != 0)
        pyro_html_element(buf, "p", result->command);
    if (strcmp(result->status, "ok") != 0) {
        pyro_html_element(buf, "p", result->status);
        if (result->message)
            pyro_html_element(buf, "p", result->message);
    }
    write_metrics(buf, result);
    write_gpu(buf, result);
    if (latency && latency->count > 0 && !report->without_drawings) {
        pyro_html_histogram(buf, latency->samples, latency->count,
                            latency->summary.percentiles[0].value, latency->unit);
        pyro_html_sequence(buf, latency->samples, latency->count, latency->unit);
    }
    if (!report->without_details)
        write_details(buf, result);
}

static int write_overview(pyro_buf *buf, const pyro_report_request *request)
{
    static const char *const titles[] = {"Benchmark", "Mean", "Times slower than the fastest",
                                         "95% interval"};
    const pyro_ranking *ranking = request->bench.ranking;
    size_t count = request->bench.ranking_count;
    pyro_html_box *boxes = calloc(count + 1, sizeof *boxes);

    if (!boxes)
        return pyro_fail_memory(request->error);
    if (count > 1) {
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
        if (!request->bench.report->without_drawings)
            pyro_html_boxes(buf, boxes, count, "ms");
    }
    free(boxes);
    return PYRO_OK;
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
        pyro_html_cell(buf, "td", row->threshold->text, true);
        pyro_html_cell(buf, "td", row->result->name, true);
        add_amount(buf, row->value, row->unit);
        add_interval(buf, &row->interval, row->unit);
        pyro_html_cell(buf, "td", pyro_gate_name(row->gate), true);
        pyro_buf_adds(buf, "</tr>\n");
    }
    pyro_html_end_table(buf);
}

static void add_change(pyro_buf *buf, const pyro_verdict_row *row)
{
    char low[PYRO_UNIT_TEXT], high[PYRO_UNIT_TEXT], text[2 * PYRO_UNIT_TEXT + 8];

    snprintf(text, sizeof text, "%s to %s", pyro_format_change(low, row->interval.low),
             pyro_format_change(high, row->interval.high));
    add_text(buf, isnan(row->interval.low) ? "-" : text);
}

static void write_comparison(pyro_buf *buf, const pyro_comparison *comparison)
{
    static const char *const titles[] = {"Benchmark", "Metric",       "Base",    "New",
                                         "Change",    "95% interval", "Verdict", "Because"};

    if (!comparison)
        return;
    pyro_html_element(buf, "h2", "Compared with the baseline");
    pyro_html_begin_table(buf, titles, COUNT(titles));
    for (size_t i = 0; i < comparison->row_count; i++) {
        const pyro_verdict_row *row = &comparison->rows[i];
        char change[PYRO_UNIT_TEXT];

        pyro_buf_adds(buf, "<tr>\n");
        pyro_html_cell(buf, "td", row->benchmark, true);
        pyro_html_cell(buf, "td", row->metric, true);
        add_amount(buf, row->base, row->unit);
        add_amount(buf, row->current, row->unit);
        add_text(buf, pyro_format_change(change, row->change));
        add_change(buf, row);
        pyro_html_cell(buf, "td", pyro_verdict_name(row->verdict), true);
        pyro_html_cell(buf, "td", row->reason ? row->reason : "", true);
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

int pyro_write_bench_html(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_bench_report *report = request->bench.report;
    const pyro_bench *bench = report->bench;

    pyro_html_begin(buf, "Benchmark results");
    pyro_html_element(buf, "h1", "Benchmark results");
    if (bench->interrupted)
        pyro_html_element(buf, "p", "Interrupted: results until then.");
    int status = write_overview(buf, request);
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
