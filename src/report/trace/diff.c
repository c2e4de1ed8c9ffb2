/* Writes the comparison of two runs as text, JSON and CSV. */
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/json/write.h"
#include "base/text/table.h"
#include "base/text/units.h"
#include "report/csv.h"
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/writers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const table_names[] = {"layers", "ops", "kernels"};
static const char *const table_titles[] = {"Layers", "Ops", "Kernels"};

static const char *change_kind(const pyro_diff_row *row)
{
    return row->before_name         ? "renamed"
           : row->before_calls == 0 ? "added"
           : row->after_calls == 0  ? "removed"
                                    : "changed";
}

static void add_times(pyro_table *table, double before_ns, double after_ns)
{
    char text[PYRO_UNIT_TEXT];
    double change = after_ns - before_ns;

    pyro_table_cell(table, pyro_format_duration(text, llround(before_ns)));
    pyro_table_cell(table, pyro_format_duration(text, llround(after_ns)));
    pyro_format_duration(text, llround(fabs(change)));
    pyro_table_cellf(table, "%s%s", change > 0 ? "+" : change < 0 ? "-" : "", text);
    if (before_ns > 0 && after_ns > 0)
        pyro_table_cellf(table, "%.2fx", after_ns / before_ns);
    else
        pyro_table_cell(table, "");
}

static void write_totals(pyro_buf *buf, const pyro_trace_diff *diff,
                         const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {
        {"Total", false, false}, {"Before", true, false}, {"After", true, false},
        {"Change", true, false}, {"", true, false},
    };
    pyro_table table;

    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    pyro_table_cellf(&table, "Time per %s", diff->unit);
    add_times(&table, diff->before_span_ns, diff->after_span_ns);
    if (diff->device) {
        pyro_table_cell(&table, "Device busy");
        add_times(&table, diff->before_busy_ns, diff->after_busy_ns);
    }
    pyro_table_write(&table, buf, 2, options->width > 0 ? options->width : PYRO_TEXT_WIDTH,
                     options->color);
    pyro_table_free(&table);
}

static void write_table(pyro_buf *buf, const pyro_trace_diff *diff, pyro_diff_table which,
                        const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {
        {"Name", false, true},   {"Before", true, false}, {"After", true, false},
        {"Change", true, false}, {"", true, false},       {"Calls", true, false},
    };
    size_t shown = pyro_rows_shown(options, diff->counts[which]);
    char title[160];
    pyro_table table;

    if (diff->counts[which] == 0)
        return;
    snprintf(title, sizeof title,
             "%s whose %s time per %s changed most (%zu of %zu):", table_titles[which],
             diff->device || which == PYRO_DIFF_KERNELS ? "device" : "host", diff->unit, shown,
             diff->counts[which]);
    pyro_buf_addc(buf, '\n');
    pyro_text_heading(buf, title, options->color);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const pyro_diff_row *row = &diff->rows[which][i];

        if (row->before_name && strcmp(row->short_name, row->before_short_name) != 0)
            pyro_table_cellf(&table, "%s (was %s)", row->short_name, row->before_short_name);
        else
            pyro_table_cell(&table, row->short_name);
        add_times(&table, row->before_ns, row->after_ns);
        if (row->before_calls == row->after_calls)
            pyro_table_cellf(&table, "%.4g", row->after_calls);
        else
            pyro_table_cellf(&table, "%.4g -> %.4g", row->before_calls, row->after_calls);
    }
    pyro_table_write(&table, buf, 2, options->width > 0 ? options->width : PYRO_TEXT_WIDTH,
                     options->color);
    pyro_table_free(&table);
}

int pyro_write_trace_diff_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_trace_diff *diff = request->trace_diff;
    const pyro_report_options *options = request->options;

    write_totals(buf, diff, options);
    for (int which = 0; which < PYRO_DIFF_TABLE_COUNT; which++)
        write_table(buf, diff, (pyro_diff_table)which, options);
    if (!options->quiet)
        pyro_buf_adds(buf, "\nTimes exclude nested rows. Each side is one run, so changes include "
                           "run-to-run noise.\n");
    return PYRO_OK;
}

int pyro_write_trace_diff_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_trace_diff *diff = request->trace_diff;
    pyro_json_writer writer, *w = &writer;

    pyro_json_writer_init(w, buf, 2);
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "schema", "pyrometer.tracediff/1");
    pyro_json_member_string(w, "unit", diff->unit);
    pyro_json_member_number(w, "units_before", diff->before_units);
    pyro_json_member_number(w, "units_after", diff->after_units);
    pyro_json_member_string(w, "clock", diff->device ? "device" : "host");
    pyro_json_member_number(w, "span_ns_before", diff->before_span_ns);
    pyro_json_member_number(w, "span_ns_after", diff->after_span_ns);
    pyro_json_member_number(w, "device_busy_ns_before", diff->before_busy_ns);
    pyro_json_member_number(w, "device_busy_ns_after", diff->after_busy_ns);
    for (int which = 0; which < PYRO_DIFF_TABLE_COUNT; which++) {
        pyro_json_key(w, table_names[which]);
        pyro_json_begin_array(w);
        for (size_t i = 0; i < diff->counts[which]; i++) {
            const pyro_diff_row *row = &diff->rows[which][i];

            pyro_json_begin_object_inline(w);
            pyro_json_member_string(w, "name", row->name);
            pyro_json_member_string(w, "short_name", row->short_name);
            pyro_json_member_string(w, "before_name", row->before_name);
            pyro_json_member_string(w, "kind", change_kind(row));
            pyro_json_member_number(w, "before_ns", row->before_ns);
            pyro_json_member_number(w, "after_ns", row->after_ns);
            pyro_json_member_number(w, "change_ns", row->after_ns - row->before_ns);
            pyro_json_member_number(w, "before_calls", row->before_calls);
            pyro_json_member_number(w, "after_calls", row->after_calls);
            pyro_json_end_object(w);
        }
        pyro_json_end_array(w);
    }
    pyro_json_end_object(w);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_trace_diff_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_trace_diff *diff = request->trace_diff;

    pyro_csv_header(buf, "table,name,kind,before_ns,after_ns,change_ns,before_calls,after_calls,"
                         "before_name");
    for (int which = 0; which < PYRO_DIFF_TABLE_COUNT; which++) {
        for (size_t i = 0; i < diff->counts[which]; i++) {
            const pyro_diff_row *row = &diff->rows[which][i];

            pyro_csv_text(buf, table_names[which], false);
            pyro_csv_text(buf, row->name, false);
            pyro_csv_text(buf, change_kind(row), false);
            pyro_csv_number(buf, row->before_ns, false);
            pyro_csv_number(buf, row->after_ns, false);
            pyro_csv_number(buf, row->after_ns - row->before_ns, false);
            pyro_csv_number(buf, row->before_calls, false);
            pyro_csv_number(buf, row->after_calls, false);
            pyro_csv_text(buf, row->before_name ? row->before_name : "", true);
        }
    }
    return PYRO_OK;
}
