/* Writes steps by phase: the table, and on a run without a device where the time went. */
#include "report/trace/view.h"

#include "base/text/units.h"
#include "report/cost/rows.h"
#include "report/text.h"

#include <stddef.h>
#include <stdint.h>

static const char *name_of(const pyro_trace_writer *w, size_t row)
{
    return row < w->analysis->step_count ? w->analysis->steps[row].name : "-";
}

/* A part of a step: its title and its member, an int64_t. */
typedef struct part_column {
    const char *title;
    size_t offset;
} part_column;

#define PART(title, member) {title, offsetof(pyro_training_step, member)}

static int64_t part_of(const pyro_training_step *row, const part_column *column)
{
    return *(const int64_t *)(const void *)((const char *)row + column->offset);
}

/* Keeps the columns that some row has time in, so that the table fits the line. */
static size_t keep_used(const pyro_trace_writer *w, part_column *columns, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_used = false;

        for (size_t k = 0; k < w->analysis->training_count && !is_used; k++)
            is_used = part_of(&w->analysis->training[k], &columns[i]) > 0;
        if (is_used)
            columns[kept++] = columns[i];
    }
    return kept;
}

static void add_share_of_peak(pyro_table *table, const pyro_training_step *row)
{
    char share[PYRO_UNIT_TEXT];

    if (row->flops_per_s >= 0 && row->peak_flops_per_s > 0)
        pyro_table_cell(table, pyro_format_share(share, row->flops_per_s, row->peak_flops_per_s));
    else
        pyro_table_cell(table, "-");
}

static void write_parts(pyro_trace_writer *w, const part_column *columns, size_t count,
                        size_t shown)
{
    enum { MOST_COLUMNS = 12 };
    pyro_table_column titles[MOST_COLUMNS] = {{"Step", false, true}};
    pyro_table table;

    for (size_t i = 0; i < count; i++)
        titles[i + 1] = (pyro_table_column){columns[i].title, true, false};
    titles[count + 1] = (pyro_table_column){"Of peak", true, false};
    pyro_table_init(&table, titles, count + 1 + !w->on_host);
    for (size_t i = 0; i < shown; i++) {
        const pyro_training_step *row = &w->analysis->training[i];

        pyro_table_cell(&table, name_of(w, i));
        for (size_t k = 0; k < count; k++)
            pyro_cell_duration(&table, part_of(row, &columns[k]));
        if (!w->on_host)
            add_share_of_peak(&table, row);
    }
    pyro_trace_draw(w, &table);
}

void pyro_write_trace_training(pyro_trace_writer *w)
{
    part_column host[] = {PART("Span", span_ns),
                          PART("Forward", forward_op_ns),
                          PART("Backward", backward_op_ns),
                          PART("Optimizer", optimizer_op_ns),
                          PART("Data", data_ns),
                          PART("Comm.", communication_ns),
                          PART("Other ops", other_op_ns),
                          PART("Python", python_ns)};
    part_column device[] = {PART("Span", span_ns),         PART("Forward", forward_ns),
                            PART("Backward", backward_ns), PART("Optimizer", optimizer_ns),
                            PART("Data", data_ns),         PART("Comm.", communication_ns),
                            PART("Other", other_ns)};
    part_column *columns = w->on_host ? host : device;
    size_t columns_count = w->on_host ? sizeof host / sizeof *host : sizeof device / sizeof *device;
    size_t count = w->analysis->training_count, shown = pyro_rows_shown(w->options, count);
    pyro_buf heading = PYRO_BUF_INIT;

    pyro_buf_addf(&heading, "%s (%s)",
                  pyro_steps_are_inferred(w->analysis->step_source) ? "Inferred steps" : "Steps",
                  w->on_host ? "host time: ops by phase, Python outside ops"
                             : "device time by phase");
    pyro_trace_heading(w, pyro_text_part(w->buf, &heading), "time", shown, count);
    pyro_buf_free(&heading);
    write_parts(w, columns, keep_used(w, columns, columns_count), shown);
}

void pyro_write_trace_host_parts(pyro_trace_writer *w, pyro_part_writer *write_part)
{
    pyro_training_totals all = pyro_analysis_sum_training(w->analysis, INT64_MIN, INT64_MAX);
    const pyro_training_step *sum = &all.sum;
    bool has_phases = sum->forward_op_ns + sum->backward_op_ns + sum->optimizer_op_ns > 0;
    const struct {
        const char *label;
        int64_t part_ns;
    } parts[] = {{"Forward", sum->forward_op_ns},
                 {"Backward", sum->backward_op_ns},
                 {"Optimizer", sum->optimizer_op_ns},
                 {"Data loading", sum->data_ns},
                 {"Communication", sum->communication_ns},
                 {has_phases ? "Other ops" : "Ops", sum->other_op_ns},
                 {"Python outside ops", sum->python_ns}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].part_ns > 0)
            write_part(w, parts[i].label, parts[i].part_ns, sum->span_ns);
}
