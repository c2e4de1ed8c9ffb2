/* Writes one table of a trace as CSV. Unknown values are empty. */
#include "report/csv.h"
#include "report/trace/rows.h"
#include "report/writers.h"

void pyro_write_csv_header(pyro_buf *buf, const pyro_trace_table *table, bool with_file)
{
    if (with_file)
        pyro_csv_text(buf, "file", false);
    for (size_t i = 0; i < table->column_count; i++)
        pyro_csv_text(buf, table->columns[i].name, i + 1 == table->column_count);
}

static void write_value(pyro_buf *buf, const pyro_trace_column *column, const void *row, bool last)
{
    int64_t integer;
    double number;

    if (column->kind == PYRO_COLUMN_NUMBER && pyro_column_number(column, row, &number))
        pyro_csv_number(buf, number, last);
    else if (column->kind != PYRO_COLUMN_NUMBER && pyro_column_integer(column, row, &integer))
        pyro_csv_integer(buf, integer, last);
    else
        pyro_csv_text(buf, pyro_column_text(column, row), last);
}

void pyro_write_csv_row(pyro_buf *buf, const pyro_trace_table *table, const void *row)
{
    for (size_t i = 0; i < table->column_count; i++)
        write_value(buf, &table->columns[i], row, i + 1 == table->column_count);
}

int pyro_write_trace_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_analysis *analysis = request->trace.analysis;
    const pyro_trace_report_options *options = request->trace.options;
    const pyro_trace_view_row *view = pyro_trace_view_find(options->view, analysis);
    const pyro_trace_table *table = pyro_trace_table_find(view->table);
    size_t count;
    const char *rows = pyro_trace_table_rows(table, analysis, &count);

    if (options->part <= 1)
        pyro_write_csv_header(buf, table, options->part > 0);
    for (size_t i = 0; i < count; i++) {
        if (options->part > 0)
            pyro_csv_text(buf, pyro_trace_file(request->trace.trace), false);
        pyro_write_csv_row(buf, table, rows + i * table->row_size);
    }
    return PYRO_OK;
}
