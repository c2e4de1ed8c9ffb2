/* Writes results as CSV and Markdown, and verdicts as CSV. */
#include "report/bench/bench.h"

#include "base/text/printable.h"
#include "report/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_interval(pyro_buf *buf, const pyro_interval *interval)
{
    pyro_csv_number(buf, interval->low, false);
    pyro_csv_number(buf, interval->high, false);
}

static void add_pairs(pyro_buf *buf, const pyro_pair *pairs, size_t count)
{
    pyro_buf text = PYRO_BUF_INIT;

    for (size_t i = 0; i < count; i++)
        pyro_buf_addf(&text, "%s%s=%s", i > 0 ? " " : "", pairs[i].name, pairs[i].value);
    if (text.failed)
        buf->failed = true;
    pyro_csv_text(buf, text.data ? text.data : "", false);
    pyro_buf_free(&text);
}

/* Percentiles that more samples may move: "p99 p99.9". */
static void add_uncertain(pyro_buf *buf, const pyro_metric *metric)
{
    char text[64] = "";
    size_t length = 0;

    for (size_t i = 1; i < PYRO_PERCENTILE_COUNT && metric->samples; i++)
        if (!metric->summary.percentiles[i].enough)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                       length > 0 ? " " : "", metric->summary.percentiles[i].name);
    pyro_csv_text(buf, text, true);
}

static void add_metric(pyro_buf *buf, const pyro_bench_result *result, const pyro_metric *metric)
{
    const pyro_summary *summary = &metric->summary;
    bool samples = metric->samples != NULL;

    pyro_csv_text(buf, result->name, false);
    add_pairs(buf, result->parameters, result->parameter_count);
    pyro_csv_text(buf, result->status, false);
    pyro_csv_text(buf, metric->name, false);
    pyro_csv_text(buf, metric->unit, false);
    pyro_csv_integer(buf, (int64_t)metric->count, false);
    pyro_csv_number(buf, pyro_metric_middle(metric), false);
    if (summary->mean_interval.confidence > 0)
        add_interval(buf, &summary->mean_interval);
    else
        pyro_buf_adds(buf, ",,");
    pyro_csv_number(buf, samples ? summary->stddev : NAN, false);
    pyro_csv_number(buf, samples ? summary->min : NAN, false);
    for (size_t i = 0; i < PYRO_PERCENTILE_COUNT; i++) {
        const pyro_percentile *percentile = &summary->percentiles[i];

        pyro_csv_number(buf, samples ? percentile->value : NAN, false);
        if (i == 0)
            add_interval(buf, samples ? &percentile->interval : &(pyro_interval){NAN, NAN, 0});
    }
    pyro_csv_number(buf, samples ? summary->max : NAN, false);
    add_uncertain(buf, metric);
}

int pyro_write_bench_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_bench_report *report = request->bench.report;

    pyro_csv_header(buf, "name,parameters,status,metric,unit,n,mean,mean_low,mean_high,stddev,min,"
                         "p50,p50_low,p50_high,p95,p99,p99_9,max,uncertain");
    for (size_t i = 0; i < report->bench->result_count; i++) {
        const pyro_bench_result *result = &report->bench->results[i];

        for (size_t j = 0; j < result->metric_count; j++)
            add_metric(buf, result, &result->metrics[j]);
    }
    return PYRO_OK;
}

int pyro_write_verdict_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_comparison *comparison = request->verdict;

    pyro_csv_header(buf, "benchmark,metric,unit,base,current,change,change_low,change_high,delta,"
                         "base_n,current_n,verdict,reason");
    for (size_t i = 0; i < comparison->row_count; i++) {
        const pyro_verdict_row *row = &comparison->rows[i];

        pyro_csv_text(buf, row->benchmark, false);
        pyro_csv_text(buf, row->metric, false);
        pyro_csv_text(buf, row->unit, false);
        pyro_csv_number(buf, row->base, false);
        pyro_csv_number(buf, row->current, false);
        pyro_csv_number(buf, row->change, false);
        add_interval(buf, &row->interval);
        pyro_csv_number(buf, row->delta, false);
        pyro_csv_integer(buf, (int64_t)row->base_count, false);
        pyro_csv_integer(buf, (int64_t)row->current_count, false);
        pyro_csv_text(buf, pyro_verdict_name(row->verdict), false);
        pyro_csv_text(buf, row->reason ? row->reason : "", true);
    }
    return PYRO_OK;
}

/* A name in a Markdown cell; escapes characters that would end the cell or start markup. */
static void add_cell(pyro_buf *buf, const char *text)
{
    for (const char *end = text + strlen(text); text < end;) {
        bool printable;
        size_t size = pyro_next_character(text, end, &printable);

        if (strchr("\\`*_[]<>|", *text))
            pyro_buf_addc(buf, '\\');
        if (printable)
            pyro_buf_add(buf, text, size);
        else
            pyro_buf_addc(buf, strchr("\t\r\n", *text) ? ' ' : '?');
        text += size;
    }
}

static void add_verdict_row(pyro_buf *buf, const pyro_verdict_row *row)
{
    char base[PYRO_UNIT_TEXT], current[PYRO_UNIT_TEXT], change[PYRO_UNIT_TEXT];
    char low[PYRO_UNIT_TEXT], high[PYRO_UNIT_TEXT];

    pyro_buf_adds(buf, "| ");
    add_cell(buf, row->benchmark);
    pyro_buf_addf(buf, " | %s | %s | %s | %s | ", row->metric,
                  pyro_format_amount(base, row->base, row->unit),
                  pyro_format_amount(current, row->current, row->unit),
                  pyro_format_change(change, row->change));
    if (isnan(row->interval.low) || isnan(row->interval.high))
        pyro_buf_addc(buf, '-');
    else
        pyro_buf_addf(buf, "%s to %s", pyro_format_change(low, row->interval.low),
                      pyro_format_change(high, row->interval.high));
    pyro_buf_addf(buf, " | %s%s", pyro_verdict_name(row->verdict), row->reason ? ": " : "");
    add_cell(buf, row->reason ? row->reason : "");
    pyro_buf_adds(buf, " |\n");
}

void pyro_add_verdict_markdown(pyro_buf *buf, const pyro_comparison *comparison)
{
    pyro_buf_addf(buf, "**Verdict: %s**\n\n", pyro_verdict_name(comparison->overall));
    if (comparison->row_count > 0)
        pyro_buf_adds(buf, "| Benchmark | Metric | Base | New | Change | 95% interval | Verdict |\n"
                           "|:---|:---|---:|---:|---:|---:|:---|\n");
    for (size_t i = 0; i < comparison->row_count; i++)
        add_verdict_row(buf, &comparison->rows[i]);
    if (comparison->note_count > 0)
        pyro_buf_addc(buf, '\n');
    for (size_t i = 0; i < comparison->note_count; i++) {
        pyro_buf_adds(buf, "- ");
        add_cell(buf, comparison->notes[i]);
        pyro_buf_addc(buf, '\n');
    }
}

static void add_markdown_row(pyro_buf *buf, const pyro_ranking *rank)
{
    const pyro_metric *latency = pyro_bench_metric(rank->result, "latency");
    const pyro_metric *memory = pyro_bench_metric(rank->result, "memory");
    const pyro_summary *summary = &latency->summary;
    char mean[PYRO_UNIT_TEXT], low[PYRO_UNIT_TEXT], high[PYRO_UNIT_TEXT], p50[PYRO_UNIT_TEXT];
    char p99[PYRO_UNIT_TEXT], peak[PYRO_UNIT_TEXT];
    const pyro_percentile *deep = &summary->percentiles[2];

    pyro_buf_adds(buf, "| ");
    add_cell(buf, rank->result->name);
    pyro_buf_addf(buf, " | %s | %s to %s | %s | %s%s | %zu | %s |",
                  pyro_format_amount(mean, summary->mean, latency->unit),
                  pyro_format_amount(low, summary->mean_interval.low, latency->unit),
                  pyro_format_amount(high, summary->mean_interval.high, latency->unit),
                  pyro_format_amount(p50, summary->percentiles[0].value, latency->unit),
                  pyro_format_amount(p99, deep->value, latency->unit),
                  deep->enough ? "" : " (uncertain)", summary->count,
                  memory ? pyro_format_amount(peak,
                                              memory->samples ? memory->summary.max : memory->value,
                                              memory->unit)
                         : "-");
    if (isfinite(rank->ratio.ratio))
        pyro_buf_addf(buf, " %.2f |\n", rank->ratio.ratio);
    else
        pyro_buf_adds(buf, " - |\n");
}

int pyro_write_bench_markdown(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_bench_report *report = request->bench.report;

    pyro_buf_adds(buf, "| Benchmark | Mean | 95% interval | Median | p99 | n | Peak memory | "
                       "Relative |\n|:---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < request->bench.ranking_count; i++)
        add_markdown_row(buf, &request->bench.ranking[i]);
    if (report->gate_count > 0)
        pyro_buf_adds(buf,
                      "\n| Threshold | Benchmark | Value | Verdict |\n|:---|:---|---:|:---|\n");
    for (size_t i = 0; i < report->gate_count; i++) {
        const pyro_gate_row *row = &report->gates[i];
        char value[PYRO_UNIT_TEXT];

        pyro_buf_addf(buf, "| %s | ", row->threshold->text);
        add_cell(buf, row->result->name);
        pyro_buf_addf(buf, " | %s | %s%s%s |\n", pyro_format_amount(value, row->value, row->unit),
                      pyro_gate_name(row->gate), row->reason ? ": " : "",
                      row->reason ? row->reason : "");
    }
    if (report->comparison) {
        pyro_buf_addc(buf, '\n');
        pyro_add_verdict_markdown(buf, report->comparison);
    }
    return PYRO_OK;
}
