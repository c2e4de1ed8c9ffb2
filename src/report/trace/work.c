/* Writes predicted and measured cost of layers: work from shapes, time and memory from the run, and
 * the share of the hardware's peak. */
#include "base/text/units.h"
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/trace/view.h"

#include <stdlib.h>

static const pyro_table_column work_columns[] = {
    {"Layer", false, true},  {"MACs", true, false},      {"FLOPs", true, false},
    {"Moved", true, false},  {"Allocated", true, false}, {"Time", true, false},
    {"FLOP/s", true, false}, {"Peak", true, false},
};

static void cell_amount(pyro_table *table, int64_t amount,
                        char *(*format)(char text[PYRO_UNIT_TEXT], int64_t))
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, amount >= 0 ? format(text, amount) : "-");
}

static void add_row(pyro_trace_writer *w, pyro_table *table, const pyro_layer_row *row)
{
    enum { NAME_ROOM = 22 };
    char text[PYRO_UNIT_TEXT];
    pyro_buf name = PYRO_BUF_INIT;

    pyro_text_path(&name, pyro_layer_label(row), NAME_ROOM);
    pyro_table_cell(table, pyro_text_part(w->buf, &name));
    pyro_buf_free(&name);
    cell_amount(table, row->macs, pyro_format_count);
    cell_amount(table, row->flops, pyro_format_count);
    cell_amount(table, row->bytes, pyro_format_bytes);
    cell_amount(table, row->allocated_bytes, pyro_format_bytes);
    pyro_cell_duration(table, pyro_layer_total_ns(row, w->on_host));
    pyro_cell_rate(table, row->flops_per_s);
    pyro_table_cell(table,
                    row->peak_share >= 0 ? pyro_format_share(text, row->peak_share, 1) : "-");
}

void pyro_write_trace_work(pyro_trace_writer *w)
{
    size_t ranked, shown;
    const pyro_layer_row **rows = pyro_layers_sorted(w->analysis, &ranked);
    bool has_work = false, has_peak = false;
    pyro_table table;

    for (size_t i = 0; rows && i < ranked; i++) {
        has_work = has_work || rows[i]->flops > 0;
        has_peak = has_peak || rows[i]->peak_share >= 0;
    }
    if (has_work) {
        shown = pyro_rows_shown(w->options, ranked);
        pyro_text_heading(
            w->buf,
            "\nPredicted (from shapes) and measured cost, including sublayers:", w->options->color);
        pyro_table_init(&table, work_columns, sizeof work_columns / sizeof *work_columns);
        for (size_t i = 0; i < shown; i++)
            add_row(w, &table, rows[i]);
        pyro_trace_draw(w, &table);
        if (!has_peak && !w->options->quiet)
            pyro_text_wrap(w->buf,
                           w->on_host ? "Peak: not measured on this machine; run "
                                        "pyrometer doctor --calibrate."
                                      : "Peak: unknown for this device or these types.",
                           2, 2, w->options->width);
    }
    free(rows);
}
