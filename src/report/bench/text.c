/* Writes results and verdicts as text. */
#include "report/bench/bench.h"

#include "base/text/table.h"
#include "bench/results/results.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int width_of(const pyro_report_options *options)
{
    return options->width > 0 ? options->width : PYRO_TEXT_WIDTH;
}

/* "12.3 ms (12.1 ms to 12.5 ms)"; the value alone where there is no interval. */
static void add_with_interval(pyro_buf *buf, double value, const pyro_interval *interval,
                              const char *unit)
{
    char middle[PYRO_UNIT_TEXT], low[PYRO_UNIT_TEXT], high[PYRO_UNIT_TEXT];

    pyro_buf_adds(buf, pyro_format_amount(middle, value, unit));
    if (interval->confidence > 0 && !isnan(interval->low) && !isnan(interval->high))
        pyro_buf_addf(buf, " (%s to %s)", pyro_format_amount(low, interval->low, unit),
                      pyro_format_amount(high, interval->high, unit));
}

static void write_label(pyro_buf *buf, const char *label)
{
    pyro_buf_addf(buf, "  %-12s ", label);
}

/* Percentiles, marked where more samples may move them; the deepest only with enough samples. */
static void write_percentiles(pyro_buf *buf, const pyro_summary *summary, const char *unit)
{
    char text[PYRO_UNIT_TEXT];

    write_label(buf, "Percentiles:");
    for (size_t i = 1; i < PYRO_PERCENTILE_COUNT; i++) {
        const pyro_percentile *percentile = &summary->percentiles[i];

        if (!percentile->enough && i + 1 == PYRO_PERCENTILE_COUNT)
            break;
        pyro_buf_addf(buf, "%s%s ", i > 1 ? ", " : "", percentile->name);
        if (percentile->enough)
            add_with_interval(buf, percentile->value, &percentile->interval, unit);
        else
            pyro_buf_addf(buf, "%s (uncertain: %zu of %zu runs)",
                          pyro_format_amount(text, percentile->value, unit), summary->count,
                          percentile->needs);
    }
    pyro_buf_addc(buf, '\n');
}

static void write_latency(pyro_buf *buf, const pyro_bench_result *result,
                          const pyro_metric *latency)
{
    const pyro_summary *summary = &latency->summary;
    const pyro_percentile *median = &summary->percentiles[0];
    char text[PYRO_UNIT_TEXT], other[PYRO_UNIT_TEXT];
    bool rate = strcmp(result->loop, "rate") == 0;

    write_label(buf, rate ? "Response:" : "Latency:");
    pyro_buf_adds(buf, "mean ");
    add_with_interval(buf, summary->mean, &summary->mean_interval, latency->unit);
    if (!isnan(summary->stddev))
        pyro_buf_addf(buf, ", sd %s", pyro_format_amount(text, summary->stddev, latency->unit));
    pyro_buf_addf(buf, ", n %zu%s\n", summary->count, rate ? ", from the intended start" : "");
    write_label(buf, "");
    pyro_buf_adds(buf, "median ");
    add_with_interval(buf, median->value, &median->interval, latency->unit);
    pyro_buf_addf(buf, ", min %s, max %s\n", pyro_format_amount(text, summary->min, latency->unit),
                  pyro_format_amount(other, summary->max, latency->unit));
    write_percentiles(buf, summary, latency->unit);
}

/* All metrics but latency: one line per metric with samples, with its own label where known. */
static void write_other(pyro_buf *buf, const pyro_bench_result *result)
{
    const pyro_metric *user = pyro_bench_metric(result, "user");
    const pyro_metric *system = pyro_bench_metric(result, "system");
    char text[PYRO_UNIT_TEXT], other[PYRO_UNIT_TEXT];

    for (size_t i = 0; i < result->metric_count; i++) {
        const pyro_metric *metric = &result->metrics[i];

        if (strcmp(metric->name, "latency") == 0 || metric == user || metric == system)
            continue;
        size_t start = buf->length;
        pyro_buf_adds(buf, "  ");
        pyro_add_metric_name(buf, metric->name);
        pyro_buf_addc(buf, ':');
        size_t length = buf->length - start - 2;
        pyro_buf_fill(buf, ' ', length < 13 ? 13 - length : 1);
        add_with_interval(buf, pyro_metric_middle(metric), &metric->summary.mean_interval,
                          metric->unit);
        if (metric->samples)
            pyro_buf_addf(buf, ", max %s",
                          pyro_format_amount(text, metric->summary.max, metric->unit));
        pyro_buf_addc(buf, '\n');
    }
    if (user && system) {
        write_label(buf, "Processor:");
        pyro_buf_addf(buf, "user %s, system %s\n",
                      pyro_format_amount(text, pyro_metric_middle(user), user->unit),
                      pyro_format_amount(other, pyro_metric_middle(system), system->unit));
    }
}

static void write_gpu(pyro_buf *buf, const pyro_bench_result *result)
{
    if (result->gpu.looks == 0)
        return;
    write_label(buf, "GPU:");
    pyro_add_gpu_clocks(buf, result);
    pyro_buf_addc(buf, '\n');
    write_label(buf, "Throttled:");
    pyro_add_gpu_throttling(buf, result);
    pyro_buf_addc(buf, '\n');
    write_label(buf, "Discarded:");
    pyro_add_gpu_discarded(buf, result);
    pyro_buf_addc(buf, '\n');
}

static void write_facts(pyro_buf *buf, const pyro_bench_result *result)
{
    for (size_t i = 0; i < result->fact_count; i++) {
        pyro_buf_adds(buf, "  ");
        pyro_text_clean(buf, result->facts[i].name);
        pyro_buf_adds(buf, ": ");
        pyro_text_clean(buf, result->facts[i].value);
        pyro_buf_addc(buf, '\n');
    }
}

/* Wider lines are hard to read, even on wide terminals. */
enum { WIDTH_READABLE = 160 };

/* How wide the table would be with its longest cells. */
static size_t table_width(const pyro_bench_table *table)
{
    size_t sum = 4;

    for (size_t column = 0; column < table->column_count; column++) {
        size_t longest = table->columns[column] ? strlen(table->columns[column]) : 0;

        for (size_t row = 0; row < table->row_count; row++) {
            const char *cell = table->cells[row * table->column_count + column];

            if (cell && strlen(cell) > longest)
                longest = strlen(cell);
        }
        sum += longest + 2;
    }
    return sum;
}

/* A row of a table that is too wide: its first cell, then the other cells below it with labels. */
static void write_long_row(pyro_buf *buf, const pyro_bench_table *table, size_t row)
{
    for (size_t column = 0; column < table->column_count; column++) {
        const char *cell = table->cells[row * table->column_count + column];

        if (!cell || cell[0] == '\0')
            continue;
        pyro_buf_adds(buf, column == 0 ? "    " : "      ");
        if (column > 0 && table->columns[column]) {
            pyro_text_clean(buf, table->columns[column]);
            pyro_buf_adds(buf, ": ");
        }
        pyro_text_clean(buf, cell);
        pyro_buf_addc(buf, '\n');
    }
}

static void write_rows(pyro_buf *buf, const pyro_bench_table *of,
                       const pyro_report_options *options)
{
    pyro_table_column columns[PYRO_BENCH_COLUMNS_MAX];
    pyro_table table;

    size_t widest = width_of(options) < WIDTH_READABLE ? (size_t)width_of(options) : WIDTH_READABLE;
    if (table_width(of) > widest) {
        for (size_t row = 0; row < of->row_count; row++)
            write_long_row(buf, of, row);
        return;
    }
    for (size_t i = 0; i < of->column_count; i++)
        columns[i] = (pyro_table_column){of->columns[i] ? of->columns[i] : "", i > 0, false};
    pyro_table_init(&table, columns, of->column_count);
    for (size_t cell = 0; cell < of->row_count * of->column_count; cell++)
        pyro_table_cell(&table, of->cells[cell] ? of->cells[cell] : "");
    pyro_table_write(&table, buf, 4, width_of(options), options->color);
    pyro_table_free(&table);
}

static void write_tables(pyro_buf *buf, const pyro_bench_result *result,
                         const pyro_report_options *options)
{
    for (size_t i = 0; i < result->table_count; i++) {
        pyro_buf_adds(buf, "  ");
        pyro_text_clean(buf, result->tables[i].title);
        pyro_buf_adds(buf, result->tables[i].row_count > 0 ? "\n" : ": none\n");
        if (result->tables[i].row_count > 0)
            write_rows(buf, &result->tables[i], options);
    }
}

static void write_result(pyro_buf *buf, const pyro_bench_result *result, size_t index,
                         const pyro_report_options *options)
{
    const pyro_metric *latency = pyro_bench_metric(result, "latency");
    pyro_buf title = PYRO_BUF_INIT;

    pyro_buf_addf(&title, "Benchmark %zu: ", index + 1);
    pyro_text_clean(&title, result->name);
    pyro_text_heading(buf, pyro_text_part(buf, &title), options->color);
    pyro_buf_free(&title);
    if (latency && latency->count > 0)
        write_latency(buf, result, latency);
    write_other(buf, result);
    write_gpu(buf, result);
    if (strcmp(result->status, "ok") != 0 || result->message) {
        write_label(buf, "Status:");
        pyro_text_clean(buf, result->status);
        if (result->message) {
            pyro_buf_adds(buf, ": ");
            pyro_text_clean(buf, result->message);
        }
        pyro_buf_addc(buf, '\n');
    }
    write_facts(buf, result);
    write_tables(buf, result, options);
    pyro_buf_addc(buf, '\n');
}

static void add_clean_name(pyro_buf *buf, const pyro_bench_result *result)
{
    pyro_text_clean(buf, result->name);
}

/* Half of the interval, in as many digits as the ratio has. */
static void add_ratio(pyro_buf *buf, const pyro_speed_ratio *ratio)
{
    double half = (ratio->interval.high - ratio->interval.low) / 2;

    if (!isfinite(ratio->ratio)) {
        pyro_buf_adds(buf, "faster (runs too short to tell by how much) than ");
        return;
    }
    pyro_buf_addf(buf, "%.2f +- %.2f times faster than ", ratio->ratio, half);
}

static void write_ranking(pyro_buf *buf, const pyro_ranking *ranking, size_t count, bool color)
{
    if (count < 2)
        return;
    pyro_text_heading(buf, "Summary", color);
    pyro_buf_adds(buf, "  ");
    add_clean_name(buf, ranking[0].result);
    pyro_buf_adds(buf, " ran\n");
    for (size_t i = 1; i < count; i++) {
        pyro_buf_adds(buf, "    ");
        add_ratio(buf, &ranking[i].ratio);
        add_clean_name(buf, ranking[i].result);
        pyro_buf_addc(buf, '\n');
    }
    pyro_buf_addc(buf, '\n');
}

static void write_gates(pyro_buf *buf, const pyro_bench_report *report,
                        const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {
        {"Threshold", false, false}, {"Verdict", false, false},  {"Value", true, false},
        {"Interval", true, false},   {"Benchmark", false, true},
    };
    char text[PYRO_UNIT_TEXT], low[PYRO_UNIT_TEXT], high[PYRO_UNIT_TEXT];
    pyro_table table;

    if (report->gate_count == 0)
        return;
    pyro_text_heading(buf, "Thresholds", options->color);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < report->gate_count; i++) {
        const pyro_gate_row *row = &report->gates[i];

        pyro_table_cell(&table, row->threshold->text);
        pyro_table_cell(&table, pyro_gate_name(row->gate));
        pyro_table_cell(&table, pyro_format_amount(text, row->value, row->unit));
        pyro_table_cellf(&table, "%s to %s", pyro_format_amount(low, row->interval.low, row->unit),
                         pyro_format_amount(high, row->interval.high, row->unit));
        pyro_table_cell(&table, row->result->name);
    }
    pyro_table_write(&table, buf, 2, width_of(options), options->color);
    pyro_table_free(&table);
    for (size_t i = 0; i < report->gate_count; i++)
        if (report->gates[i].reason)
            pyro_buf_addf(buf, "  %s: %s\n", report->gates[i].threshold->text,
                          report->gates[i].reason);
    pyro_buf_addc(buf, '\n');
}

int pyro_write_bench_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_bench_report *report = request->bench.report;
    const pyro_report_options *options = request->options;
    const pyro_bench *bench = report->bench;

    for (size_t i = 0; i < bench->result_count; i++)
        write_result(buf, &bench->results[i], i, options);
    if (!report->comparison)
        write_ranking(buf, request->bench.ranking, request->bench.ranking_count, options->color);
    write_gates(buf, report, options);
    if (report->comparison) {
        pyro_add_verdict_text(buf, report->comparison, options);
        pyro_buf_addc(buf, '\n');
    }
    /* The notes of a comparison hold the warnings of both sides. */
    if (!options->quiet && !report->comparison)
        pyro_text_list(buf, "Warnings:", bench->warnings, bench->warning_count,
                       width_of(options) < PYRO_TEXT_WIDTH ? width_of(options) : PYRO_TEXT_WIDTH,
                       options->color);
    if (bench->interrupted)
        pyro_buf_adds(buf, "Interrupted: results until then.\n");
    return PYRO_OK;
}

static void write_verdict_row(pyro_table *table, const pyro_verdict_row *row)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, row->benchmark);
    pyro_table_cell(table, row->metric);
    pyro_table_cell(table, pyro_format_amount(text, row->base, row->unit));
    pyro_table_cell(table, pyro_format_amount(text, row->current, row->unit));
    pyro_table_cell(table, pyro_format_change(text, row->change));
    if (isnan(row->interval.low) || isnan(row->interval.high))
        pyro_table_cell(table, "-");
    else
        pyro_table_cellf(table, "%+.1f to %+.1f%%", row->interval.low * 100,
                         row->interval.high * 100);
    pyro_table_cellf(table, "%zu/%zu", row->base_count, row->current_count);
    pyro_table_cell(table, pyro_verdict_name(row->verdict));
}

/* " (tolerance: 2% of latency, 26% of memory)": the largest of each metric. */
static void write_deltas(pyro_buf *buf, const pyro_comparison *comparison)
{
    size_t written = 0;

    for (size_t i = 0; i < comparison->row_count; i++) {
        double delta = comparison->rows[i].delta;
        bool first = true;

        for (size_t j = 0; j < comparison->row_count; j++) {
            if (strcmp(comparison->rows[j].metric, comparison->rows[i].metric) != 0)
                continue;
            first = first && j >= i;
            delta = fmax(delta, comparison->rows[j].delta);
        }
        if (!first || !(delta > 0))
            continue;
        pyro_buf_addf(buf, "%s%.3g%% of %s", written++ == 0 ? " (tolerance: " : ", ", delta * 100,
                      comparison->rows[i].metric);
    }
    pyro_buf_adds(buf, written > 0 ? ")\n" : "\n");
}

void pyro_add_verdict_text(pyro_buf *buf, const pyro_comparison *comparison,
                           const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {
        {"Name", false, true}, {"Metric", false, false},  {"Base", true, false},
        {"New", true, false},  {"Change", true, false},   {"95% interval", true, false},
        {"n", true, false},    {"Verdict", false, false},
    };
    pyro_table table;

    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < comparison->row_count; i++)
        write_verdict_row(&table, &comparison->rows[i]);
    if (comparison->row_count > 0)
        pyro_table_write(&table, buf, 2, width_of(options), options->color);
    pyro_table_free(&table);
    pyro_buf_addf(buf, "\nVerdict: %s", pyro_verdict_name(comparison->overall));
    write_deltas(buf, comparison);
    for (size_t i = 0; i < comparison->row_count; i++) {
        const pyro_verdict_row *row = &comparison->rows[i];

        if (!row->reason || strncmp(row->reason, "other machine", 13) == 0)
            continue;
        pyro_buf_adds(buf, "  ");
        pyro_text_clean(buf, row->benchmark);
        pyro_buf_addf(buf, ", %s: ", row->metric);
        pyro_text_clean(buf, row->reason);
        pyro_buf_addc(buf, '\n');
    }
    if (!options->quiet)
        for (size_t i = 0; i < comparison->note_count; i++) {
            pyro_buf_adds(buf, "  ");
            pyro_text_clean(buf, comparison->notes[i]);
            pyro_buf_addc(buf, '\n');
        }
}

int pyro_write_verdict_text(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_add_verdict_text(buf, request->verdict, request->options);
    return PYRO_OK;
}
