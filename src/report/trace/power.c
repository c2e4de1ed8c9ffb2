/* Writes power and energy of the steps: a table below them, and a line for the first screen. */
#include "report/trace/view.h"

#include "base/text/units.h"
#include "report/cost/rows.h"
#include "report/text.h"

enum { WIDE = 100 };

/* Three digits: "0.0123", "1.23", "123", "12300". */
static void cell_joules(pyro_table *table, double joules)
{
    if (joules < 0)
        pyro_table_cell(table, "-");
    else
        pyro_table_cellf(table, joules >= 100 ? "%.0f" : "%.3g", joules);
}

static void cell_whole(pyro_table *table, double value)
{
    if (value < 0)
        pyro_table_cell(table, "-");
    else
        pyro_table_cellf(table, "%.0f", value);
}

static void cell_part(pyro_table *table, double share)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, share < 0 ? "-" : pyro_format_share(text, share, 1));
}

static void add_row(pyro_table *table, const pyro_power_row *row, bool is_wide, bool with_tokens)
{
    if (row->step >= 0)
        pyro_table_cellf(table, "%lld", (long long)row->step);
    else
        pyro_table_cell(table, "all");
    pyro_table_cellf(table, "%d", row->device);
    cell_whole(table, row->mean_power_w);
    cell_whole(table, row->max_power_w);
    cell_joules(table, row->energy_j);
    cell_joules(table, row->energy_error_j);
    cell_part(table, row->throttled_share);
    cell_whole(table, row->clock_mhz);
    if (is_wide) {
        cell_part(table, row->power_cap_share);
        cell_whole(table, row->temperature_c);
        cell_whole(table, row->tensor_percent);
        cell_whole(table, row->dram_percent);
    }
    if (with_tokens)
        cell_joules(table, row->joules_per_token);
}

/* What limits the numbers: the sensor, and how often it was read. */
static void write_limits(pyro_trace_writer *w)
{
    const pyro_power_summary *summary = &w->analysis->power_summary;
    char interval[PYRO_UNIT_TEXT], update[PYRO_UNIT_TEXT];
    pyro_buf text = PYRO_BUF_INIT;

    pyro_buf_addf(&text, "Sampled every %s", pyro_format_duration(interval, summary->interval_ns));
    if (summary->update_ns > 0)
        pyro_buf_addf(&text, "; the sensor's values change every %s",
                      pyro_format_duration(update, summary->update_ns));
    pyro_buf_adds(&text, ". An energy is right within +/-: what the device uses in that time. "
                         "Steps that are shorter share a sample.");
    if (summary->sensor && summary->sensor[0] != '\0')
        pyro_buf_addf(&text, " Power: %s.", summary->sensor);
    pyro_text_wrap(w->buf, pyro_text_part(w->buf, &text), 2, 2, w->options->width);
    pyro_buf_free(&text);
}

void pyro_write_trace_power(pyro_trace_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Step", true, false},      {"GPU", true, false},      {"Power W", true, false},
        {"Max W", true, false},     {"Energy J", true, false}, {"+/- J", true, false},
        {"Throttled", true, false}, {"SM MHz", true, false},   {"Power cap", true, false},
        {"Heat C", true, false},    {"Tensor %", true, false}, {"DRAM %", true, false},
        {"J/token", true, false},
    };
    pyro_table_column shown_columns[sizeof columns / sizeof *columns];
    size_t count = w->analysis->power_count, shown = pyro_rows_shown(w->options, count), used = 0;
    bool is_wide = w->options->width >= WIDE;
    bool with_tokens = w->analysis->power_summary.joules_per_token >= 0;
    pyro_table table;

    if (count == 0)
        return;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (i < 8 || (i < 12 ? is_wide : with_tokens))
            shown_columns[used++] = columns[i];
    pyro_trace_heading(w, "Power and energy of the steps", "time", shown, count);
    pyro_table_init(&table, shown_columns, used);
    for (size_t i = 0; i < shown; i++)
        add_row(&table, &w->analysis->power[i], is_wide, with_tokens);
    pyro_trace_draw(w, &table);
    if (!w->options->quiet && w->analysis->power_summary.interval_ns > 0)
        write_limits(w);
}

bool pyro_power_text(const pyro_analysis *analysis, pyro_buf *out)
{
    const pyro_power_summary *summary = &analysis->power_summary;

    if (summary->samples == 0 || summary->mean_power_w < 0)
        return false;
    pyro_buf_addf(out, "%.0f W", summary->mean_power_w);
    if (summary->devices > 1)
        pyro_buf_addf(out, " on %lld GPUs", (long long)summary->devices);
    if (summary->max_power_w >= 0)
        pyro_buf_addf(out, ", at most %.0f W%s", summary->max_power_w,
                      summary->devices > 1 ? " on one" : "");
    if (analysis->step_count > 0 && analysis->steps[0].number >= 0)
        pyro_buf_addf(out, "; %.3g J per step (within %.2g J)", summary->energy_per_step_j,
                      summary->energy_error_j / (double)analysis->step_count);
    else
        pyro_buf_addf(out, "; %.3g J (within %.2g J)", summary->energy_j, summary->energy_error_j);
    if (summary->joules_per_token >= 0)
        pyro_buf_addf(out, ", %.3g J per token", summary->joules_per_token);
    return true;
}
