/* Writes results for continuous integration: JUnit XML and the JSON of github-action-benchmark. */
#include "report/bench/bench.h"
#include "report/html.h"

#include <math.h>
#include <string.h>

static void begin_case(pyro_buf *buf, const char *class_name, const char *name, const char *detail)
{
    pyro_buf_adds(buf, "    <testcase classname=\"");
    pyro_html_text(buf, class_name);
    pyro_buf_adds(buf, "\" name=\"");
    pyro_html_text(buf, name);
    if (detail) {
        pyro_buf_addc(buf, ' ');
        pyro_html_text(buf, detail);
    }
    pyro_buf_addc(buf, '"');
}

static void add_latency_time(pyro_buf *buf, const pyro_bench_result *result)
{
    const pyro_metric *latency = pyro_bench_metric(result, "latency");

    if (latency && latency->count > 0)
        pyro_buf_addf(buf, " time=\"%.9f\"", latency->summary.mean / 1000);
}

static void add_failure(pyro_buf *buf, const char *kind, const char *message, const char *more)
{
    pyro_buf_addf(buf, "<%s message=\"", kind);
    pyro_html_text(buf, message);
    if (more) {
        pyro_buf_adds(buf, ": ");
        pyro_html_text(buf, more);
    }
    pyro_buf_adds(buf, "\"/>");
}

static void write_gate(pyro_buf *buf, const pyro_gate_row *row)
{
    char value[PYRO_UNIT_TEXT];

    begin_case(buf, row->result->name, row->threshold->text, NULL);
    pyro_buf_addc(buf, '>');
    pyro_format_amount(value, row->value, row->unit);
    if (row->gate == PYRO_GATE_FAILED)
        add_failure(buf, "failure", value, row->threshold->text);
    else if (row->gate == PYRO_GATE_CANNOT_TELL)
        add_failure(buf, "error", "cannot tell", row->reason);
    pyro_buf_adds(buf, "</testcase>\n");
}

static void write_verdict(pyro_buf *buf, const pyro_verdict_row *row, bool cannot_tell_passes)
{
    char change[PYRO_UNIT_TEXT];

    begin_case(buf, row->benchmark, row->metric, "against the base");
    pyro_buf_addc(buf, '>');
    if (row->verdict == PYRO_VERDICT_REGRESSED)
        add_failure(buf, "failure", "regressed", pyro_format_change(change, row->change));
    else if (row->verdict == PYRO_VERDICT_CANNOT_TELL)
        add_failure(buf, cannot_tell_passes ? "skipped" : "error", "cannot tell", row->reason);
    pyro_buf_adds(buf, "</testcase>\n");
}

static void write_counts(pyro_buf *buf, const pyro_bench_report *report)
{
    size_t tests = report->bench->result_count + report->gate_count, failures = 0, errors = 0;
    size_t skipped = 0;

    for (size_t i = 0; i < report->bench->result_count; i++)
        errors += strcmp(report->bench->results[i].status, "failed") == 0;
    for (size_t i = 0; i < report->gate_count; i++) {
        failures += report->gates[i].gate == PYRO_GATE_FAILED;
        errors += report->gates[i].gate == PYRO_GATE_CANNOT_TELL;
    }
    for (size_t i = 0; report->comparison && i < report->comparison->row_count; i++) {
        tests++;
        failures += report->comparison->rows[i].verdict == PYRO_VERDICT_REGRESSED;
        if (report->comparison->rows[i].verdict == PYRO_VERDICT_CANNOT_TELL)
            *(report->cannot_tell_passes ? &skipped : &errors) += 1;
    }
    pyro_buf_addf(buf,
                  "  <testsuite name=\"pyrometer bench\" tests=\"%zu\" failures=\"%zu\" "
                  "errors=\"%zu\" skipped=\"%zu\" timestamp=\"%.19s\">\n",
                  tests, failures, errors, skipped, report->bench->created);
}

int pyro_write_bench_junit(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_bench_report *report = request->bench.report;
    const pyro_bench *bench = report->bench;

    pyro_buf_adds(buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    write_counts(buf, report);
    for (size_t i = 0; i < bench->result_count; i++) {
        const pyro_bench_result *result = &bench->results[i];

        begin_case(buf, result->engine, result->name, NULL);
        add_latency_time(buf, result);
        pyro_buf_addc(buf, '>');
        if (strcmp(result->status, "failed") == 0)
            add_failure(buf, "error", "failed", result->message);
        pyro_buf_adds(buf, "</testcase>\n");
    }
    for (size_t i = 0; i < report->gate_count; i++)
        write_gate(buf, &report->gates[i]);
    for (size_t i = 0; report->comparison && i < report->comparison->row_count; i++)
        write_verdict(buf, &report->comparison->rows[i], report->cannot_tell_passes);
    pyro_buf_adds(buf, "  </testsuite>\n</testsuites>\n");
    return PYRO_OK;
}

/* The action knows one direction only, so this writes only metrics where smaller is better. */
static void write_entry(pyro_json_writer *w, const pyro_bench_result *result,
                        const pyro_metric *metric)
{
    const pyro_summary *summary = &metric->summary;
    pyro_buf name = PYRO_BUF_INIT, range = PYRO_BUF_INIT, extra = PYRO_BUF_INIT;

    pyro_buf_addf(&name, "%s: %s", result->name, metric->name);
    pyro_buf_addf(&range, "%.6g", (summary->mean_interval.high - summary->mean_interval.low) / 2);
    pyro_buf_addf(&extra, "n %zu, median %.6g, max %.6g", metric->count,
                  summary->percentiles[0].value, summary->max);
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "name", name.data);
    pyro_json_member_string(w, "unit", metric->unit);
    pyro_json_member_number(w, "value", summary->mean);
    if (isfinite(summary->mean_interval.low))
        pyro_json_member_string(w, "range", range.data);
    pyro_json_member_string(w, "extra", extra.data);
    pyro_json_end_object(w);
    if (name.failed || range.failed || extra.failed)
        w->buf->failed = true;
    pyro_buf_free(&name);
    pyro_buf_free(&range);
    pyro_buf_free(&extra);
}

int pyro_write_bench_github(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_bench_report *report = request->bench.report;
    pyro_json_writer writer;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_array(&writer);
    for (size_t i = 0; i < report->bench->result_count; i++) {
        const pyro_bench_result *result = &report->bench->results[i];

        for (size_t j = 0; j < result->metric_count; j++)
            if (result->metrics[j].samples && !result->metrics[j].higher_is_better)
                write_entry(&writer, result, &result->metrics[j]);
    }
    pyro_json_end_array(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}
