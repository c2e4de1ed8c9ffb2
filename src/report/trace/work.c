/* Writes predicted and measured cost of layers and ops: work from shapes, time and memory from the
 * run, and the shares of the hardware's peaks. */
#include "base/text/units.h"
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/trace/view.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE = 110, NAME_ROOM = 22 };

/* Shares of the peaks (Peak: FLOP/s; Bandwidth: bytes/s) and the time that the peaks allow come
 * first. They are left out where no peak is known; rates are left out where a narrow terminal
 * shows shares. */
enum { AMOUNTS = 2, SHARES = 4, RATES = 2, MOST_COLUMNS = 12 };

static const pyro_table_column amount_columns[AMOUNTS] = {
    {"FLOPs", true, false},
    {"Moved", true, false},
};
static const pyro_table_column share_columns[SHARES] = {
    {"Peak", true, false},
    {"Bandwidth", true, false},
    {"Least", true, false},
    {"Lost", true, false},
};
static const pyro_table_column rate_columns[RATES] = {
    {"FLOP/s", true, false},
    {"B/s", true, false},
};
static const pyro_table_column run_columns[] = {
    {"Time", true, false},
    {"Allocated", true, false},
    {"MACs", true, false},
};

typedef struct work_table {
    pyro_table table;
    pyro_table_column columns[MOST_COLUMNS];
    size_t count;
    bool has_shares, has_rates, is_wide;
} work_table;

static void add_columns(work_table *t, const pyro_table_column *columns, size_t count)
{
    memcpy(t->columns + t->count, columns, count * sizeof *columns);
    t->count += count;
}

static void begin_table(work_table *t, const pyro_trace_writer *w, const char *title, bool has_peak,
                        size_t run_column_count)
{
    *t = (work_table){.has_shares = has_peak, .is_wide = w->options->width >= WIDE};
    t->has_rates = t->is_wide || !has_peak;
    t->columns[t->count++] = (pyro_table_column){title, false, true};
    add_columns(t, amount_columns, AMOUNTS);
    if (t->has_shares)
        add_columns(t, share_columns, SHARES);
    if (t->has_rates)
        add_columns(t, rate_columns, RATES);
    if (t->is_wide)
        add_columns(t, run_columns, run_column_count);
    pyro_table_init(&t->table, t->columns, t->count);
}

static void cell_amount(pyro_table *table, int64_t amount,
                        char *(*format)(char text[PYRO_UNIT_TEXT], int64_t))
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, amount >= 0 ? format(text, amount) : "-");
}

static void cell_part(pyro_table *table, double share)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, share >= 0 ? pyro_format_share(text, share, 1) : "-");
}

/* Work, shares and rates of a layer or op, which have these members alike. */
#define ADD_WORK(t, row) \
    do { \
        cell_amount(&(t)->table, (row)->flops, pyro_format_count); \
        cell_amount(&(t)->table, (row)->bytes, pyro_format_bytes); \
        if ((t)->has_shares) { \
            cell_part(&(t)->table, (row)->peak_share); \
            cell_part(&(t)->table, (row)->bandwidth_share); \
            cell_amount(&(t)->table, (row)->least_ns, pyro_format_duration); \
            cell_amount(&(t)->table, (row)->lost_ns, pyro_format_duration); \
        } \
        if ((t)->has_rates) { \
            pyro_cell_rate(&(t)->table, (row)->flops_per_s); \
            pyro_cell_rate(&(t)->table, (row)->bytes_per_s); \
        } \
    } while (0)

static void add_layer(pyro_trace_writer *w, work_table *t, const pyro_layer_row *row)
{
    pyro_buf name = PYRO_BUF_INIT;

    pyro_text_path(&name, pyro_layer_label(row), NAME_ROOM);
    pyro_table_cell(&t->table, pyro_text_part(w->buf, &name));
    pyro_buf_free(&name);
    ADD_WORK(t, row);
    if (t->is_wide) {
        pyro_cell_duration(&t->table, pyro_layer_total_ns(row, w->on_host));
        cell_amount(&t->table, row->allocated_bytes, pyro_format_bytes);
        cell_amount(&t->table, row->macs, pyro_format_count);
    }
}

/* What the shares are shares of. */
static void write_source(pyro_trace_writer *w, bool has_peak)
{
    const pyro_analysis *analysis = w->analysis;
    pyro_buf text = PYRO_BUF_INIT;

    if (w->options->quiet)
        return;
    if (analysis->peaks_from && strcmp(analysis->peaks_from, "measured") == 0)
        pyro_buf_addf(&text, "Peak: of products of that type and of memory, measured on %s%s%s.",
                      w->on_host ? "this machine" : analysis->device_name,
                      analysis->peaks_measured[0] != '\0' ? " on " : "", analysis->peaks_measured);
    else if (w->on_host)
        pyro_buf_adds(&text,
                      "Peak: not measured on this machine; run pyrometer doctor --calibrate.");
    else if (has_peak)
        pyro_buf_adds(&text,
                      "Peak: of the chip's data sheet; pyrometer doctor --calibrate measures "
                      "what this device reaches.");
    else
        pyro_buf_adds(&text, "Peak: unknown for this device or these types.");
    pyro_text_wrap(w->buf, pyro_text_part(w->buf, &text), 2, 2, w->options->width);
    pyro_buf_free(&text);
}

void pyro_write_trace_work(pyro_trace_writer *w)
{
    size_t ranked, shown;
    const pyro_layer_row **rows = pyro_layers_sorted(w->analysis, &ranked);
    bool has_work = false, has_peak = false;
    work_table table;

    for (size_t i = 0; rows && i < ranked; i++) {
        has_work = has_work || rows[i]->flops > 0;
        has_peak = has_peak || rows[i]->peak_share >= 0;
    }
    if (has_work) {
        shown = pyro_rows_shown(w->options, ranked);
        pyro_text_heading(
            w->buf,
            "\nPredicted (from shapes) and measured cost, including sublayers:", w->options->color);
        begin_table(&table, w, "Layer", has_peak, sizeof run_columns / sizeof *run_columns);
        for (size_t i = 0; i < shown; i++)
            add_layer(w, &table, rows[i]);
        pyro_trace_draw(w, &table.table);
        write_source(w, has_peak);
    }
    free(rows);
}

void pyro_write_trace_op_work(pyro_trace_writer *w)
{
    const pyro_analysis *analysis = w->analysis;
    size_t shown = pyro_rows_shown(w->options, analysis->op_count), known = 0;
    bool has_peak = false;
    work_table table;

    for (size_t i = 0; i < shown; i++) {
        known += analysis->ops[i].flops_per_s >= 0 || analysis->ops[i].bytes_per_s >= 0;
        has_peak = has_peak || analysis->ops[i].peak_share >= 0;
    }
    if (known == 0)
        return;
    pyro_text_heading(w->buf,
                      "\nWork of these ops (from shapes) and its rates:", w->options->color);
    begin_table(&table, w, "Op", has_peak, 0);
    for (size_t i = 0; i < shown; i++) {
        const pyro_op_row *row = &analysis->ops[i];
        if (row->flops_per_s < 0 && row->bytes_per_s < 0)
            continue;
        pyro_table_cell(&table.table, row->name);
        ADD_WORK(&table, row);
    }
    pyro_trace_draw(w, &table.table);
    write_source(w, has_peak);
}

/* "Least time: 12.1 ms of 40.2 ms with known work (30.1%); 28.1 ms lost". */
void pyro_write_trace_least(pyro_trace_writer *w)
{
    const pyro_least_time *least = &w->analysis->least_time;
    char needed[PYRO_UNIT_TEXT], known[PYRO_UNIT_TEXT], lost[PYRO_UNIT_TEXT], share[PYRO_UNIT_TEXT];
    pyro_buf text = PYRO_BUF_INIT;

    if (least->known_ns <= 0)
        return;
    pyro_buf_addf(&text, "Least time: %s of %s with known work (%s); %s lost",
                  pyro_format_duration(needed, least->least_ns),
                  pyro_format_duration(known, least->known_ns),
                  pyro_format_share(share, (double)least->least_ns, (double)least->known_ns),
                  pyro_format_duration(lost, least->lost_ns));
    pyro_text_wrap(w->buf, pyro_text_part(w->buf, &text), 2, 14, w->options->width);
    pyro_buf_free(&text);
}
