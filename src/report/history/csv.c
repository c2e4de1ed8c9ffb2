/* Writes the history as CSV: one row per result, or per metric of a result. */
#include "report/history/history.h"

#include "base/error.h"
#include "report/csv.h"

static void write_list(pyro_buf *buf, const pyro_history_list *list)
{
    char time[PYRO_TIME_TEXT];

    pyro_csv_header(buf, "result,time,kind,project,commit,branch,tags,machine_class,fingerprint,"
                         "tool,metrics,benchmarks");
    for (size_t i = 0; i < list->run_count; i++) {
        const pyro_history_run *run = &list->runs[i];

        pyro_csv_integer(buf, run->run, false);
        pyro_csv_text(buf, pyro_format_time_exact(time, run->time_ns), false);
        pyro_csv_text(buf, run->kind, false);
        pyro_csv_text(buf, run->project, false);
        pyro_csv_text(buf, run->commit, false);
        pyro_csv_text(buf, run->branch, false);
        pyro_csv_text(buf, run->tags, false);
        pyro_csv_text(buf, run->machine_class, false);
        pyro_csv_text(buf, run->fingerprint, false);
        pyro_csv_text(buf, run->tool, false);
        pyro_csv_integer(buf, (int64_t)run->metric_count, false);
        pyro_csv_text(buf, run->benchmarks, true);
    }
}

static void write_point(pyro_buf *buf, const pyro_history_line *line,
                        const pyro_history_point *point)
{
    const double numbers[] = {point->median, point->mean,    point->stddev,
                              point->lowest, point->highest, point->p95};
    char time[PYRO_TIME_TEXT];

    pyro_csv_integer(buf, point->run, false);
    pyro_csv_text(buf, pyro_format_time_exact(time, point->time_ns), false);
    pyro_csv_text(buf, line->project, false);
    pyro_csv_text(buf, line->benchmark, false);
    pyro_csv_text(buf, line->metric, false);
    pyro_csv_text(buf, line->unit, false);
    pyro_csv_text(buf, point->machine_class, false);
    pyro_csv_text(buf, point->fingerprint, false);
    pyro_csv_text(buf, point->commit, false);
    pyro_csv_text(buf, point->branch, false);
    pyro_csv_text(buf, point->tags, false);
    pyro_csv_integer(buf, (int64_t)point->count, false);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        pyro_csv_exact(buf, numbers[i], false);
    pyro_csv_exact(buf, point->p99, true);
}

static void write_lines(pyro_buf *buf, const pyro_history_lines *lines)
{
    pyro_csv_header(buf, "result,time,project,benchmark,metric,unit,machine_class,fingerprint,"
                         "commit,branch,tags,n,median,mean,stddev,min,max,p95,p99");
    for (size_t i = 0; i < lines->line_count; i++)
        for (size_t j = 0; j < lines->lines[i].point_count; j++)
            write_point(buf, &lines->lines[i], &lines->lines[i].points[j]);
}

static void write_collected(pyro_buf *buf, const pyro_retention_result *collected)
{
    pyro_csv_header(buf, "samples,rolled_up,removed,results");
    pyro_csv_integer(buf, collected->samples, false);
    pyro_csv_integer(buf, collected->rolled_up, false);
    pyro_csv_integer(buf, collected->removed, false);
    pyro_csv_integer(buf, collected->runs, true);
}

int pyro_write_history_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_history_report *report = request->history;

    switch (report->view) {
    case PYRO_HISTORY_LIST:
        write_list(buf, report->list);
        break;
    case PYRO_HISTORY_COLLECT:
        write_collected(buf, report->collected);
        break;
    case PYRO_HISTORY_BISECT:
        pyro_csv_header(buf, "good,first,change,certain");
        pyro_csv_text(buf, report->bisected->good, false);
        pyro_csv_text(buf, report->bisected->first, false);
        pyro_csv_number(buf, report->bisected->change, false);
        pyro_csv_text(buf, report->bisected->is_certain ? "yes" : "no", true);
        break;
    case PYRO_HISTORY_PLAN:
        pyro_write_plan_csv(buf, report);
        break;
    case PYRO_HISTORY_ALERTS:
        pyro_write_alerts_csv(buf, report->alerts);
        break;
    case PYRO_HISTORY_CHANGES:
        pyro_write_changes_csv(buf, report->changes);
        break;
    default:
        write_lines(buf, report->lines);
    }
    return PYRO_OK;
}
