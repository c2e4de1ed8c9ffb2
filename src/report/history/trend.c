/* Draws a line of results over commits in the terminal, with its change points, and lists them. */
#include "report/history/history.h"

#include "base/error.h"
#include "base/text/table.h"
#include "bench/statistics/statistics.h"
#include "report/bench/bench.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLOT_ROWS = 10, PLOT_COLUMNS_MAX = 200, LABEL_COLUMNS = 12, TABLE_ROWS = 10 };

typedef struct plot {
    double values[PLOT_COLUMNS_MAX]; /* the median of the points of a column */
    char marks[PLOT_COLUMNS_MAX]; /* 'a', 'b', ... where the level changes; else ' ' */
    size_t columns;
    double low, high;
} plot;

/* The column of a point. */
static size_t column_of(size_t index, size_t points, size_t columns)
{
    return points <= columns ? index : index * columns / points;
}

static bool fill_columns(plot *p, const pyro_history_line *line)
{
    size_t count = line->point_count;
    double *values = malloc(count * sizeof *values);

    if (!values)
        return false;
    for (size_t first = 0, end; first < count; first = end) {
        size_t column = column_of(first, count, p->columns);

        for (end = first; end < count && column_of(end, count, p->columns) == column; end++)
            values[end - first] = line->points[end].value;
        pyro_sort_samples(values, end - first);
        p->values[column] = pyro_sample_quantile(values, end - first, 0.5);
    }
    free(values);
    p->low = p->high = p->values[0];
    for (size_t i = 1; i < p->columns; i++) {
        p->low = fmin(p->low, p->values[i]);
        p->high = fmax(p->high, p->values[i]);
    }
    return true;
}

static char mark_of(size_t number)
{
    return number < 26 ? (char)('a' + number) : '*';
}

static void mark_changes(plot *p, const pyro_history_line *line,
                         const pyro_history_changes *changes)
{
    size_t number = 0;

    memset(p->marks, ' ', sizeof p->marks);
    for (size_t i = 0; i < changes->change_count; i++)
        if (changes->changes[i].line == line) {
            size_t column = column_of(changes->changes[i].index, line->point_count, p->columns);

            p->marks[column] = p->marks[column] == ' ' ? mark_of(number) : '*';
            number++;
        }
}

static void draw(pyro_buf *buf, const plot *p, const char *unit)
{
    char amount[PYRO_UNIT_TEXT];
    double step = (p->high - p->low) / (PLOT_ROWS - 1);

    for (int row = PLOT_ROWS - 1; row >= 0; row--) {
        bool is_labelled = row == 0 || row == PLOT_ROWS - 1;

        pyro_format_safe_amount(amount, row == 0 ? p->low : p->high, unit);
        pyro_buf_addf(buf, "  %*.*s |", LABEL_COLUMNS, LABEL_COLUMNS, is_labelled ? amount : "");
        size_t start = buf->length;
        for (size_t i = 0; i < p->columns; i++) {
            int at = step > 0 ? (int)lround((p->values[i] - p->low) / step) : PLOT_ROWS / 2;

            pyro_buf_addc(buf, at == row ? 'o' : p->marks[i] != ' ' ? ':' : ' ');
        }
        while (!buf->failed && buf->length > start && buf->data[buf->length - 1] == ' ')
            buf->length--;
        pyro_buf_addc(buf, '\n');
    }
    pyro_buf_addf(buf, "  %*s +", LABEL_COLUMNS, "");
    for (size_t i = 0; i < p->columns; i++)
        pyro_buf_addc(buf, p->marks[i] != ' ' ? p->marks[i] : '-');
    pyro_buf_addc(buf, '\n');
}

static void add_row(pyro_table *table, const pyro_history_line *line, size_t index,
                    const pyro_history_changes *changes)
{
    const pyro_history_point *point = &line->points[index];
    char time[PYRO_TIME_TEXT], commit[PYRO_COMMIT_TEXT], amount[PYRO_UNIT_TEXT];
    const char *mark = point->is_vanished ? "commit is gone" : "";
    pyro_buf clean = PYRO_BUF_INIT;

    for (size_t i = 0; i < changes->change_count; i++)
        if (changes->changes[i].line == line && changes->changes[i].index == index)
            mark = pyro_change_class_name(changes->changes[i].kind);
    pyro_table_cell(table, pyro_format_time(time, point->time_ns));
    pyro_text_clean(&clean, pyro_format_commit(commit, point->commit));
    pyro_table_cell(table, clean.data);
    pyro_table_cell(table, pyro_format_safe_amount(amount, point->value, line->unit));
    pyro_table_cellf(table, "%zu", point->count > 0 ? point->count : 1);
    pyro_table_cell(table, mark);
    table->failed = table->failed || clean.failed;
    pyro_buf_free(&clean);
}

/* The newest points, or all of them. */
static int list_points(pyro_buf *buf, const pyro_report_request *request,
                       const pyro_history_line *line)
{
    static const pyro_table_column columns[] = {{"When (UTC)", false, false},
                                                {"Commit", false, false},
                                                {"Value", true, false},
                                                {"n", true, false},
                                                {"", false, false}};
    size_t rows = request->options->verbose ? line->point_count : TABLE_ROWS;
    size_t first = line->point_count > rows ? line->point_count - rows : 0;
    pyro_table table;

    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = first; i < line->point_count; i++)
        add_row(&table, line, i, request->history->changes);
    bool failed = table.failed;
    pyro_table_write(&table, buf, 2, request->options->width, request->options->color);
    pyro_table_free(&table);
    if (first > 0 && !request->options->quiet)
        pyro_buf_addf(buf, "  %zu older results: --verbose lists them\n", first);
    return failed ? pyro_fail_memory(request->error) : PYRO_OK;
}

static void list_changes(pyro_buf *buf, const pyro_report_request *request,
                         const pyro_history_line *line)
{
    const pyro_history_changes *changes = request->history->changes;
    size_t number = 0;

    for (size_t i = 0; i < changes->change_count; i++) {
        pyro_buf text = PYRO_BUF_INIT;

        if (changes->changes[i].line != line)
            continue;
        pyro_buf_addf(&text, "%c  ", mark_of(number++));
        pyro_add_change_size(&text, &changes->changes[i]);
        pyro_buf_adds(&text, "; ");
        pyro_add_change_place(&text, &changes->changes[i]);
        if (changes->changes[i].acknowledged)
            pyro_buf_adds(&text, "; acknowledged");
        pyro_text_wrap(buf, pyro_text_part(buf, &text), 2, 5, request->options->width);
        pyro_buf_free(&text);
    }
    if (number > 0)
        pyro_buf_addc(buf, '\n');
}

static int write_line(pyro_buf *buf, const pyro_report_request *request,
                      const pyro_history_line *line)
{
    int width = request->options->width > 0 && request->options->width < 1000
                    ? request->options->width
                    : PYRO_TEXT_WIDTH;
    size_t room = width > LABEL_COLUMNS + 24 ? (size_t)(width - LABEL_COLUMNS - 4) : 20;
    pyro_buf title = PYRO_BUF_INIT;
    plot p;

    room = room < PLOT_COLUMNS_MAX ? room : PLOT_COLUMNS_MAX;
    p.columns = line->point_count < room ? line->point_count : room;
    if (!fill_columns(&p, line))
        return pyro_fail_memory(request->error);
    mark_changes(&p, line, request->history->changes);
    pyro_add_line_name(&title, line);
    pyro_buf_addf(&title, ", %zu results", line->point_count);
    pyro_text_heading(buf, pyro_text_part(buf, &title), request->options->color);
    pyro_buf_free(&title);
    draw(buf, &p, line->unit);
    pyro_buf_addc(buf, '\n');
    list_changes(buf, request, line);
    return list_points(buf, request, line);
}

int pyro_write_trend_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_history_lines *lines = request->history->lines;
    bool any = false;
    int status = PYRO_OK;

    for (size_t i = 0; i < lines->line_count && status == PYRO_OK; i++) {
        if (lines->lines[i].point_count == 0)
            continue;
        if (any)
            pyro_buf_addc(buf, '\n');
        any = true;
        status = write_line(buf, request, &lines->lines[i]);
    }
    if (!any)
        pyro_buf_adds(buf, "No results.\n");
    return status;
}

void pyro_write_trend_json(pyro_json_writer *w, const pyro_history_report *report)
{
    pyro_json_key(w, "lines");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < report->lines->line_count; i++) {
        const pyro_history_line *line = &report->lines->lines[i];
        char time[PYRO_TIME_TEXT];

        pyro_json_begin_object(w);
        pyro_json_member_string(w, "project", line->project);
        pyro_json_member_string(w, "benchmark", line->benchmark);
        pyro_json_member_string(w, "metric", line->metric);
        pyro_json_member_string(w, "unit", line->unit);
        pyro_json_member_string(w, "machine_class", line->machine_class);
        pyro_json_member_string(w, "better", line->higher_is_better ? "higher" : "lower");
        pyro_json_key(w, "points");
        pyro_json_begin_array(w);
        for (size_t j = 0; j < line->point_count; j++) {
            const pyro_history_point *point = &line->points[j];

            pyro_json_begin_object_inline(w);
            pyro_json_member_integer(w, "result", point->run);
            pyro_json_member_string(w, "time", pyro_format_time_exact(time, point->time_ns));
            pyro_json_member_string(w, "commit", point->commit);
            pyro_json_member_number(w, "value", point->value);
            pyro_json_member_integer(w, "n", (int64_t)point->count);
            pyro_json_member_boolean(w, "vanished", point->is_vanished);
            pyro_json_end_object(w);
        }
        pyro_json_end_array(w);
        pyro_json_end_object(w);
    }
    pyro_json_end_array(w);
}
