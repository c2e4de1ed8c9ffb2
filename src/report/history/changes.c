/* Writes change points: a paragraph each for people, JSON and CSV. */
#include "report/history/history.h"

#include "report/bench/bench.h"
#include "report/csv.h"
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static unsigned count_votes(const pyro_history_change *change)
{
    return (unsigned)__builtin_popcount(change->votes);
}

size_t pyro_count_new_changes(const pyro_history_changes *changes, const pyro_history_line *line)
{
    size_t count = 0;

    for (size_t i = 0; i < changes->change_count; i++)
        count += !changes->changes[i].acknowledged && (!line || changes->changes[i].line == line);
    return count;
}

void pyro_add_line_name(pyro_buf *buf, const pyro_history_line *line)
{
    pyro_text_clean(buf, line->benchmark);
    pyro_buf_addc(buf, ' ');
    pyro_text_clean(buf, line->metric);
    pyro_buf_adds(buf, " on ");
    pyro_text_clean(buf, line->machine_class);
}

void pyro_add_change_size(pyro_buf *buf, const pyro_history_change *change)
{
    char size[PYRO_UNIT_TEXT], low[PYRO_UNIT_TEXT], high[PYRO_UNIT_TEXT];
    const char *unit = change->kind == PYRO_CHANGE_NOISE ? "share" : change->line->unit;

    pyro_buf_addf(buf, "%s: %s", pyro_change_class_name(change->kind),
                  pyro_format_change(size, change->change));
    if (isfinite(change->interval.low) && isfinite(change->interval.high))
        pyro_buf_addf(buf, " (%s to %s)", pyro_format_change(low, change->interval.low),
                      pyro_format_change(high, change->interval.high));
    pyro_buf_addf(buf, ", %s -> ", pyro_format_safe_amount(low, change->before, unit));
    pyro_buf_adds(buf, pyro_format_safe_amount(high, change->after, unit));
}

/* A commit, or the time of a result without one. */
static void add_place(pyro_buf *buf, const pyro_history_point *point)
{
    char commit[PYRO_COMMIT_TEXT], time[PYRO_TIME_TEXT];

    pyro_text_clean(buf, point->commit[0] != '\0' ? pyro_format_commit(commit, point->commit)
                                                  : pyro_format_time(time, point->time_ns));
}

void pyro_add_change_place(pyro_buf *buf, const pyro_history_change *change)
{
    const pyro_history_point *points = change->line->points;
    char time[PYRO_TIME_TEXT];

    pyro_buf_adds(buf, "between ");
    add_place(buf, &points[change->low - 1]);
    pyro_buf_adds(buf, " and ");
    add_place(buf, &points[change->high]);
    pyro_buf_adds(buf, ", most likely ");
    add_place(buf, &points[change->index]);
    pyro_buf_addf(buf, " (%s)", pyro_format_time(time, points[change->index].time_ns));
}

static void write_change(pyro_buf *buf, const pyro_history_change *change, int width)
{
    pyro_buf text = PYRO_BUF_INIT;

    pyro_add_change_size(&text, change);
    pyro_buf_adds(&text, "; ");
    pyro_add_change_place(&text, change);
    pyro_buf_addf(&text, "; %u of 3 detectors; change %s", count_votes(change), change->id);
    if (change->kind == PYRO_CHANGE_MACHINE)
        pyro_buf_adds(&text, "; later results have this as their baseline");
    if (change->acknowledged) {
        pyro_buf_adds(&text, "; acknowledged");
        if (change->note && change->note[0] != '\0') {
            pyro_buf_adds(&text, ": ");
            pyro_text_clean(&text, change->note);
        }
    }
    pyro_text_wrap(buf, pyro_text_part(buf, &text), 4, 6, width);
    pyro_buf_free(&text);
}

int pyro_write_changes_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_history_changes *changes = request->history->changes;
    const pyro_history_line *last = NULL;
    size_t quiet = changes->change_count - pyro_count_new_changes(changes, NULL), points = 0;

    for (size_t i = 0; i < changes->change_count; i++) {
        const pyro_history_change *change = &changes->changes[i];

        if (change->acknowledged && !request->options->verbose)
            continue;
        if (change->line != last) {
            pyro_buf_adds(buf, "  ");
            pyro_add_line_name(buf, change->line);
            pyro_buf_addf(buf, " (%zu results)\n", change->line->point_count);
        }
        last = change->line;
        write_change(buf, change, request->options->width);
    }
    for (size_t i = 0; i < request->history->lines->line_count; i++)
        points += request->history->lines->lines[i].point_count;
    if (!last)
        pyro_buf_addf(buf, "No %schange in %zu results of %zu lines.\n", quiet > 0 ? "new " : "",
                      points, request->history->lines->line_count);
    if (quiet > 0 && !request->options->verbose && !request->options->quiet)
        pyro_buf_addf(buf, "%zu acknowledged change%s: --verbose shows them.\n", quiet,
                      quiet == 1 ? "" : "s");
    return PYRO_OK;
}

static void write_interval(pyro_json_writer *w, const pyro_interval *interval)
{
    pyro_json_key(w, "interval");
    pyro_json_begin_array_inline(w);
    pyro_json_number(w, interval->low);
    pyro_json_number(w, interval->high);
    pyro_json_end_array(w);
}

static void write_change_json(pyro_json_writer *w, const pyro_history_change *change)
{
    static const char *const detectors[] = {"edivisive", "bayesian", "ranks"};
    const pyro_history_line *line = change->line;
    const pyro_history_point *points = line->points;
    char time[PYRO_TIME_TEXT];

    pyro_json_begin_object(w);
    pyro_json_member_string(w, "id", change->id);
    pyro_json_member_string(w, "project", line->project);
    pyro_json_member_string(w, "benchmark", line->benchmark);
    pyro_json_member_string(w, "metric", line->metric);
    pyro_json_member_string(w, "unit", line->unit);
    pyro_json_member_string(w, "machine_class", line->machine_class);
    pyro_json_member_string(w, "class", pyro_change_class_name(change->kind));
    pyro_json_member_integer(w, "index", (int64_t)change->index);
    pyro_json_member_string(w, "commit", points[change->index].commit);
    pyro_json_member_string(w, "commit_before", points[change->low - 1].commit);
    pyro_json_member_string(w, "commit_last", points[change->high].commit);
    pyro_json_member_string(w, "time", pyro_format_time_exact(time, points[change->index].time_ns));
    pyro_json_member_number(w, "before", change->before);
    pyro_json_member_number(w, "after", change->after);
    pyro_json_member_number(w, "change", change->change);
    write_interval(w, &change->interval);
    pyro_json_member_number(w, "p", change->p);
    pyro_json_key(w, "detectors");
    pyro_json_begin_array_inline(w);
    for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++)
        if (change->votes >> i & 1)
            pyro_json_string(w, detectors[i]);
    pyro_json_end_array(w);
    pyro_json_member_boolean(w, "acknowledged", change->acknowledged);
    pyro_json_member_string(w, "note", change->note);
    pyro_json_end_object(w);
}

void pyro_write_changes_json(pyro_json_writer *w, const pyro_history_changes *changes)
{
    pyro_json_key(w, "changes");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < changes->change_count; i++)
        write_change_json(w, &changes->changes[i]);
    pyro_json_end_array(w);
}

void pyro_write_changes_csv(pyro_buf *buf, const pyro_history_changes *changes)
{
    char time[PYRO_TIME_TEXT];

    pyro_csv_header(buf, "id,project,benchmark,metric,unit,machine_class,class,commit,"
                         "commit_before,commit_last,time,before,after,change,low,high,p,votes,"
                         "acknowledged");
    for (size_t i = 0; i < changes->change_count; i++) {
        const pyro_history_change *change = &changes->changes[i];
        const pyro_history_line *line = change->line;
        const pyro_history_point *points = line->points;

        pyro_csv_text(buf, change->id, false);
        pyro_csv_text(buf, line->project, false);
        pyro_csv_text(buf, line->benchmark, false);
        pyro_csv_text(buf, line->metric, false);
        pyro_csv_text(buf, line->unit, false);
        pyro_csv_text(buf, line->machine_class, false);
        pyro_csv_text(buf, pyro_change_class_name(change->kind), false);
        pyro_csv_text(buf, points[change->index].commit, false);
        pyro_csv_text(buf, points[change->low - 1].commit, false);
        pyro_csv_text(buf, points[change->high].commit, false);
        pyro_csv_text(buf, pyro_format_time_exact(time, points[change->index].time_ns), false);
        pyro_csv_number(buf, change->before, false);
        pyro_csv_number(buf, change->after, false);
        pyro_csv_number(buf, change->change, false);
        pyro_csv_number(buf, change->interval.low, false);
        pyro_csv_number(buf, change->interval.high, false);
        pyro_csv_number(buf, change->p, false);
        pyro_csv_integer(buf, count_votes(change), false);
        pyro_csv_text(buf, change->acknowledged ? "yes" : "no", true);
    }
}
