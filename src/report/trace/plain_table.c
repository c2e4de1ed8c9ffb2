/* Writes the text of a table without a dedicated writer, from its columns: "total_ns" is a duration
 * under "Total", "bytes" are bytes, "peak_share" is a share, other numbers are counts or
 * decimals. */
#include "report/trace/view.h"

#include "base/text/units.h"
#include "report/cost/rows.h"

#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 32, TITLE_ROOM = 48 };

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), end_length = strlen(end);

    return length >= end_length && strcmp(name + length - end_length, end) == 0;
}

/* "host_total_ns" as "Host total", whose cells show the unit, and "bus_gb_per_s" as "Bus GB/s". */
static void set_title(char title[TITLE_ROOM], const char *name)
{
    static const struct {
        const char *end, *shown;
    } units[] = {{"_ns", ""}, {"gb_per_s", "GB/s"}, {"_per_s", "/s"}, {"_percent", " %"}};
    int length = (int)strlen(name);
    const char *unit = "";

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ends_with(name, units[i].end)) {
            length -= (int)strlen(units[i].end);
            unit = units[i].shown;
            break;
        }
    snprintf(title, TITLE_ROOM, "%.*s%s", length, name, unit);
    for (char *at = title; (at = strchr(at, '_'));)
        *at = ' ';
    if (title[0] >= 'a' && title[0] <= 'z')
        title[0] = (char)(title[0] - 'a' + 'A');
}

static bool is_number(const pyro_trace_column *column)
{
    return column->kind == PYRO_COLUMN_INTEGER || column->kind == PYRO_COLUMN_SMALL ||
           column->kind == PYRO_COLUMN_INDEX || column->kind == PYRO_COLUMN_NUMBER;
}

static void add_integer(pyro_table *table, const char *name, int64_t value)
{
    char text[PYRO_UNIT_TEXT];

    if (ends_with(name, "_ns"))
        pyro_cell_duration(table, value);
    else if (ends_with(name, "bytes"))
        pyro_table_cell(table, pyro_format_bytes(text, value));
    else
        pyro_table_cell(table, pyro_format_exact(text, value));
}

static void add_cell(pyro_table *table, const pyro_trace_column *column, const void *row)
{
    const char *text = pyro_column_text(column, row);
    char share[PYRO_UNIT_TEXT];
    int64_t integer;
    double number;

    if (column->kind == PYRO_COLUMN_NUMBER) {
        if (!pyro_column_number(column, row, &number))
            pyro_table_cell(table, "-");
        else if (ends_with(column->name, "share"))
            pyro_table_cell(table, pyro_format_share(share, number, 1));
        else
            pyro_table_cellf(table, "%.1f", number);
    } else if (!pyro_column_integer(column, row, &integer)) {
        pyro_table_cell(table, text[0] != '\0' ? text : "-");
    } else if (column->kind == PYRO_COLUMN_BOOLEAN) {
        pyro_table_cell(table, integer ? "yes" : "-");
    } else {
        add_integer(table, column->name, integer);
    }
}

void pyro_write_trace_columns(pyro_trace_writer *w, const pyro_trace_table *described)
{
    size_t count, columns = described->column_count;
    const char *rows = pyro_trace_table_rows(described, w->analysis, &count);
    size_t shown = pyro_rows_shown(w->options, count);
    pyro_table_column shown_columns[MOST_COLUMNS];
    char titles[MOST_COLUMNS][TITLE_ROOM], title[TITLE_ROOM];
    pyro_table table;

    columns = columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
    for (size_t i = 0; i < columns; i++) {
        bool number = is_number(&described->columns[i]);

        set_title(titles[i], described->columns[i].name);
        shown_columns[i] = (pyro_table_column){titles[i], number, !number};
    }
    set_title(title, described->name);
    pyro_trace_heading(w, title, NULL, shown, count);
    pyro_table_init(&table, shown_columns, columns);
    for (size_t i = 0; i < shown; i++)
        for (size_t k = 0; k < columns; k++)
            add_cell(&table, &described->columns[k], rows + i * described->row_size);
    pyro_trace_draw(w, &table);
}
