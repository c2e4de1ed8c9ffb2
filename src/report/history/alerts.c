/* Writes alerts: text, JSON, CSV, JUnit, Markdown and the payload of a webhook. */
#include "report/history/history.h"

#include "report/bench/bench.h"
#include "report/csv.h"
#include "report/html.h"
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *state_name(pyro_alert_state state)
{
    static const char *const names[] = {"quiet", "fired", "cannot tell"};

    return names[state];
}

static const char *unit_of(const pyro_alert *alert)
{
    if (alert->rule->kind == PYRO_ALERT_REGRESSION)
        return "share";
    return alert->rule->kind == PYRO_ALERT_NO_DATA ? "ms" : alert->line->unit;
}

/* "p99 > 120ms: resnet50 latency on ci: 131.2 ms" */
static void add_sentence(pyro_buf *buf, const pyro_alert *alert)
{
    char amount[PYRO_UNIT_TEXT];

    pyro_text_clean(buf, alert->rule->text);
    pyro_buf_adds(buf, ": ");
    if (alert->line) {
        pyro_add_line_name(buf, alert->line);
        pyro_buf_adds(buf, ": ");
    }
    if (alert->change) {
        pyro_add_change_size(buf, alert->change);
        pyro_buf_adds(buf, ", ");
        pyro_add_change_place(buf, alert->change);
    } else if (alert->reason) {
        pyro_buf_adds(buf, alert->reason);
    } else if (alert->rule->kind == PYRO_ALERT_NO_DATA) {
        pyro_buf_addf(buf, "the newest result is %.1f days old", alert->value / 86400e3);
    } else if (isfinite(alert->value)) {
        pyro_buf_adds(buf, pyro_format_safe_amount(amount, alert->value, unit_of(alert)));
    } else {
        pyro_buf_adds(buf, "no regression");
    }
}

int pyro_write_alerts_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_alerts *alerts = request->history->alerts;

    for (size_t i = 0; i < alerts->alert_count; i++) {
        const pyro_alert *alert = &alerts->alerts[i];
        pyro_buf text = PYRO_BUF_INIT;

        if (alert->state == PYRO_ALERT_QUIET && !request->options->verbose)
            continue;
        if (alert->state == PYRO_ALERT_CANNOT_TELL && request->options->quiet)
            continue;
        pyro_buf_addf(&text, "%s: ", state_name(alert->state));
        add_sentence(&text, alert);
        pyro_text_wrap(buf, pyro_text_part(buf, &text), 0, 2, request->options->width);
        pyro_buf_free(&text);
    }
    return PYRO_OK;
}

static void write_alert_json(pyro_json_writer *w, const pyro_alert *alert)
{
    const pyro_history_line *line = alert->line;
    pyro_buf text = PYRO_BUF_INIT;

    add_sentence(&text, alert);
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "rule", alert->rule->text);
    pyro_json_member_string(w, "state", state_name(alert->state));
    pyro_json_member_string(w, "text", text.data);
    pyro_json_member_string(w, "project", line ? line->project : NULL);
    pyro_json_member_string(w, "benchmark", line ? line->benchmark : NULL);
    pyro_json_member_string(w, "metric", line ? line->metric : NULL);
    pyro_json_member_string(w, "machine_class", line ? line->machine_class : NULL);
    pyro_json_member_number(w, "value", alert->value);
    pyro_json_member_string(w, "unit", line ? unit_of(alert) : NULL);
    pyro_json_member_string(w, "change", alert->change ? alert->change->id : NULL);
    pyro_json_end_object(w);
    w->buf->failed = w->buf->failed || text.failed;
    pyro_buf_free(&text);
}

void pyro_write_alerts_json(pyro_json_writer *w, const pyro_alerts *alerts)
{
    pyro_json_key(w, "alerts");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < alerts->alert_count; i++)
        write_alert_json(w, &alerts->alerts[i]);
    pyro_json_end_array(w);
}

void pyro_write_alerts_csv(pyro_buf *buf, const pyro_alerts *alerts)
{
    pyro_csv_header(buf, "rule,state,project,benchmark,metric,machine_class,value,unit,reason");
    for (size_t i = 0; i < alerts->alert_count; i++) {
        const pyro_alert *alert = &alerts->alerts[i];
        const pyro_history_line *line = alert->line;

        pyro_csv_text(buf, alert->rule->text, false);
        pyro_csv_text(buf, state_name(alert->state), false);
        pyro_csv_text(buf, line ? line->project : "", false);
        pyro_csv_text(buf, line ? line->benchmark : "", false);
        pyro_csv_text(buf, line ? line->metric : "", false);
        pyro_csv_text(buf, line ? line->machine_class : "", false);
        pyro_csv_number(buf, alert->value, false);
        pyro_csv_text(buf, line ? unit_of(alert) : "", false);
        pyro_csv_text(buf, alert->reason ? alert->reason : "", true);
    }
}

static size_t count_state(const pyro_alerts *alerts, pyro_alert_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < alerts->alert_count; i++)
        count += alerts->alerts[i].state == state;
    return count;
}

static void write_junit(pyro_buf *buf, const pyro_alerts *alerts)
{
    static const char *const elements[] = {"", "failure", "skipped"};

    pyro_buf_addf(buf,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                  "  <testsuite name=\"pyrometer history alert\" tests=\"%zu\" failures=\"%zu\" "
                  "errors=\"0\" skipped=\"%zu\">\n",
                  alerts->alert_count, count_state(alerts, PYRO_ALERT_FIRED),
                  count_state(alerts, PYRO_ALERT_CANNOT_TELL));
    for (size_t i = 0; i < alerts->alert_count; i++) {
        const pyro_alert *alert = &alerts->alerts[i];
        pyro_buf text = PYRO_BUF_INIT, name = PYRO_BUF_INIT;

        add_sentence(&text, alert);
        if (alert->line)
            pyro_add_line_name(&name, alert->line);
        pyro_buf_adds(buf, "    <testcase classname=\"");
        pyro_html_text(buf, alert->rule->text);
        pyro_buf_adds(buf, "\" name=\"");
        pyro_html_text(buf, name.data ? name.data : "no results");
        pyro_buf_adds(buf, "\">");
        if (alert->state != PYRO_ALERT_QUIET) {
            pyro_buf_addf(buf, "<%s message=\"", elements[alert->state]);
            pyro_html_text(buf, pyro_text_part(buf, &text));
            pyro_buf_adds(buf, "\"/>");
        }
        pyro_buf_adds(buf, "</testcase>\n");
        pyro_buf_free(&text);
        pyro_buf_free(&name);
    }
    pyro_buf_adds(buf, "  </testsuite>\n</testsuites>\n");
}

/* Text for a cell of a Markdown table: names of benchmarks may hold any character. */
static void add_markdown(pyro_buf *buf, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("|\\`*_<>[]", *text))
            pyro_buf_addc(buf, '\\');
        pyro_buf_addc(buf, *text == '\n' ? ' ' : *text);
    }
}

static void write_markdown(pyro_buf *buf, const pyro_alerts *alerts)
{
    pyro_buf_addf(buf, "### History: %zu alert%s\n\n", count_state(alerts, PYRO_ALERT_FIRED),
                  count_state(alerts, PYRO_ALERT_FIRED) == 1 ? "" : "s");
    if (!alerts->fired && !alerts->cannot_tell)
        return;
    pyro_buf_adds(buf, "| state | alert |\n|---|---|\n");
    for (size_t i = 0; i < alerts->alert_count; i++) {
        pyro_buf text = PYRO_BUF_INIT;

        if (alerts->alerts[i].state == PYRO_ALERT_QUIET)
            continue;
        add_sentence(&text, &alerts->alerts[i]);
        pyro_buf_addf(buf, "| %s | ", state_name(alerts->alerts[i].state));
        add_markdown(buf, pyro_text_part(buf, &text));
        pyro_buf_adds(buf, " |\n");
        pyro_buf_free(&text);
    }
}

/* "text" is what Slack, Mattermost and Teams show; the rest is for programs. */
static void write_webhook(pyro_buf *buf, const pyro_alerts *alerts)
{
    pyro_buf text = PYRO_BUF_INIT;
    pyro_json_writer w;

    for (size_t i = 0; i < alerts->alert_count; i++) {
        if (alerts->alerts[i].state != PYRO_ALERT_FIRED)
            continue;
        pyro_buf_adds(&text, text.length > 0 ? "\n" : "");
        add_sentence(&text, &alerts->alerts[i]);
    }
    pyro_json_writer_init(&w, buf, 2);
    pyro_json_begin_object(&w);
    pyro_json_member_string(&w, "schema", PYRO_HISTORY_SCHEMA);
    pyro_json_member_string(&w, "text", text.data ? text.data : "no alert");
    pyro_json_member_boolean(&w, "fired", alerts->fired);
    pyro_write_alerts_json(&w, alerts);
    pyro_json_end_object(&w);
    pyro_buf_addc(buf, '\n');
    buf->failed = buf->failed || text.failed;
    pyro_buf_free(&text);
}

int pyro_report_alerts(char **out, size_t *size, const pyro_alerts *alerts,
                       pyro_alerts_format format, pyro_error *error)
{
    static void (*const writers[])(pyro_buf *, const pyro_alerts *) = {write_junit, write_markdown,
                                                                       write_webhook};
    pyro_buf buf = PYRO_BUF_INIT;

    writers[format](&buf, alerts);
    return pyro_report_hand_over(&buf, out, size, error);
}
