/* Writes the history as JSON; an export holds every sample, and `history import` reads it. */
#include "report/history/history.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

/* As text, because a double cannot hold nanoseconds since 1970. */
static void write_time(pyro_json_writer *w, int64_t time_ns)
{
    char exact[32], time[PYRO_TIME_TEXT];

    snprintf(exact, sizeof exact, "%lld", (long long)time_ns);
    pyro_json_member_string(w, "time", pyro_format_time_exact(time, time_ns));
    pyro_json_member_string(w, "time_ns", exact);
}

static void write_list(pyro_json_writer *w, const pyro_history_list *list)
{
    pyro_json_key(w, "results");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < list->run_count; i++) {
        const pyro_history_run *run = &list->runs[i];

        pyro_json_begin_object(w);
        pyro_json_member_integer(w, "result", run->run);
        pyro_json_member_string(w, "kind", run->kind);
        pyro_json_member_string(w, "project", run->project);
        pyro_json_member_string(w, "commit", run->commit);
        pyro_json_member_string(w, "branch", run->branch);
        write_time(w, run->time_ns);
        pyro_json_member_string(w, "tool", run->tool);
        pyro_json_member_string(w, "tags", run->tags);
        pyro_json_member_string(w, "machine_class", run->machine_class);
        pyro_json_member_string(w, "fingerprint", run->fingerprint);
        pyro_json_member_string(w, "machine", run->machine);
        pyro_json_member_string(w, "benchmarks", run->benchmarks);
        pyro_json_member_integer(w, "metrics", (int64_t)run->metric_count);
        pyro_json_end_object(w);
    }
    pyro_json_end_array(w);
}

static void write_metric(pyro_json_writer *w, const pyro_history_entry *entry, bool with_samples)
{
    const pyro_history_line *line = entry->line;
    const pyro_history_point *point = entry->point;

    pyro_json_begin_object(w);
    pyro_json_member_string(w, "benchmark", line->benchmark);
    pyro_json_member_string(w, "metric", line->metric);
    pyro_json_member_string(w, "unit", line->unit);
    pyro_json_member_string(w, "method", point->method);
    pyro_json_member_string(w, "better", line->higher_is_better ? "higher" : "lower");
    pyro_json_member_integer(w, "n", (int64_t)point->count);
    pyro_json_member_number(w, "value", point->median);
    pyro_json_member_number(w, "mean", point->mean);
    pyro_json_member_number(w, "stddev", point->stddev);
    pyro_json_member_number(w, "min", point->lowest);
    pyro_json_member_number(w, "max", point->highest);
    pyro_json_member_number(w, "p95", point->p95);
    pyro_json_member_number(w, "p99", point->p99);
    if (with_samples && point->samples) {
        pyro_json_key(w, "samples");
        pyro_json_begin_array_inline(w);
        for (size_t i = 0; i < point->sample_count; i++)
            pyro_json_number(w, point->samples[i]);
        pyro_json_end_array(w);
    }
    pyro_json_end_object(w);
}

static size_t write_run(pyro_json_writer *w, const pyro_history_entry *entries, size_t count,
                        bool with_samples)
{
    const pyro_history_point *point = entries->point;
    size_t end = 0;

    pyro_json_begin_object(w);
    pyro_json_member_integer(w, "result", point->run);
    if (point->key)
        pyro_json_member_string(w, "key", point->key);
    pyro_json_member_string(w, "kind", point->kind);
    pyro_json_member_string(w, "project", entries->line->project);
    pyro_json_member_string(w, "commit", point->commit);
    pyro_json_member_string(w, "branch", point->branch);
    write_time(w, point->time_ns);
    pyro_json_member_string(w, "tool", point->tool);
    pyro_json_member_string(w, "tags", point->tags);
    pyro_json_member_string(w, "machine_class", point->machine_class);
    pyro_json_member_string(w, "fingerprint", point->fingerprint);
    pyro_json_member_string(w, "machine", point->machine);
    pyro_json_key(w, "metrics");
    pyro_json_begin_array(w);
    for (; end < count && entries[end].point->run == point->run; end++)
        write_metric(w, &entries[end], with_samples);
    pyro_json_end_array(w);
    pyro_json_end_object(w);
    return end;
}

static int write_runs(pyro_json_writer *w, const pyro_report_request *request)
{
    bool with_samples = request->history->view == PYRO_HISTORY_EXPORT;
    size_t count;
    pyro_history_entry *entries = pyro_history_entries(request->history->lines, &count);

    if (!entries)
        return pyro_fail_memory(request->error);
    pyro_json_key(w, "runs");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < count;)
        i += write_run(w, entries + i, count - i, with_samples);
    pyro_json_end_array(w);
    free(entries);
    return PYRO_OK;
}

static void write_collected(pyro_json_writer *w, const pyro_history_report *report)
{
    pyro_json_key(w, "collected");
    pyro_json_begin_object(w);
    pyro_json_member_boolean(w, "only_counted", report->only_counted);
    pyro_json_member_integer(w, "samples", report->collected->samples);
    pyro_json_member_integer(w, "rolled_up", report->collected->rolled_up);
    pyro_json_member_integer(w, "removed", report->collected->removed);
    pyro_json_member_integer(w, "results", report->collected->runs);
    pyro_json_end_object(w);
}

static void write_bisected(pyro_json_writer *w, const pyro_bisected *found)
{
    pyro_json_key(w, "bisect");
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "good", found->good);
    pyro_json_member_string(w, "first", found->first);
    pyro_json_member_string(w, "subject", found->subject);
    pyro_json_member_integer(w, "steps", (int64_t)found->steps);
    pyro_json_member_number(w, "change", found->change);
    pyro_json_member_boolean(w, "certain", found->is_certain);
    pyro_json_end_object(w);
}

int pyro_write_history_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_history_report *report = request->history;
    pyro_json_writer writer, *w = &writer;
    int status = PYRO_OK;

    pyro_json_writer_init(w, buf, 2);
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "schema", PYRO_HISTORY_SCHEMA);
    switch (report->view) {
    case PYRO_HISTORY_LIST:
        write_list(w, report->list);
        break;
    case PYRO_HISTORY_COLLECT:
        write_collected(w, report);
        break;
    case PYRO_HISTORY_TREND:
        pyro_write_trend_json(w, report);
        pyro_write_changes_json(w, report->changes);
        break;
    case PYRO_HISTORY_BISECT:
        write_bisected(w, report->bisected);
        break;
    case PYRO_HISTORY_PLAN:
        pyro_write_plan_json(w, report);
        break;
    case PYRO_HISTORY_ALERTS:
        pyro_write_alerts_json(w, report->alerts);
        break;
    case PYRO_HISTORY_CHANGES:
        pyro_write_changes_json(w, report->changes);
        break;
    default:
        status = write_runs(w, request);
    }
    pyro_json_end_object(w);
    pyro_buf_addc(buf, '\n');
    return status;
}
