/* Writes the plain text tables of a trace: ops, kernels, steps, gaps, copies, ... */
#include "report/trace/view.h"

#include "base/text/units.h"
#include "graph/dtype.h"
#include "report/cost/rows.h"
#include "report/text.h"

#include <stdio.h>
#include <string.h>

enum { WIDE = 110 };

#define COLUMNS(columns) columns, sizeof columns / sizeof *columns

static void cell_bytes(pyro_table *table, int64_t bytes)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, bytes < 0 ? "-" : pyro_format_bytes(text, bytes));
}

static void cell_decimal(pyro_table *table, double value)
{
    if (value < 0)
        pyro_table_cell(table, "-");
    else
        pyro_table_cellf(table, "%.1f", value);
}

/* "float32, bfloat16" as "fp32, bf16". */
static void cell_dtypes(pyro_table *table, const char *dtypes)
{
    pyro_buf text = PYRO_BUF_INIT;
    char name[32];

    while (*dtypes != '\0') {
        size_t length = strcspn(dtypes, ",");

        snprintf(name, sizeof name, "%.*s", (int)length, dtypes);
        pyro_buf_addf(&text, "%s%s", text.length > 0 ? ", " : "",
                      pyro_dtype_short_name(pyro_dtype_from_name(name)));
        dtypes += length + strspn(dtypes + length, ", ");
    }
    pyro_table_cell(table, text.length > 0 ? text.data : "-");
    table->failed = table->failed || text.failed;
    pyro_buf_free(&text);
}

/* Which columns the table of ops has: one row of it in three layouts. */
typedef enum op_layout { OPS_NARROW, OPS_WIDE, OPS_BY_SHAPE } op_layout;

static void add_op(const pyro_trace_writer *w, pyro_table *table, const pyro_op_row *row,
                   op_layout layout)
{
    int64_t self_ns = pyro_op_self_ns(row, w->on_host);
    int64_t total_ns = w->on_host ? row->host_total_ns : row->device_total_ns;

    pyro_table_cell(table, row->name);
    if (layout == OPS_BY_SHAPE)
        pyro_cell_shapes(table, row->shapes);
    pyro_cell_count(table, row->calls);
    pyro_cell_duration(table, self_ns);
    pyro_cell_share(table, self_ns, w->whole_ns);
    pyro_cell_rate(table, row->flops_per_s);
    cell_dtypes(table, row->dtype);
    if (layout == OPS_BY_SHAPE)
        return;
    pyro_cell_duration(table, w->on_host ? total_ns : row->host_self_ns);
    if (layout == OPS_WIDE) {
        pyro_cell_duration(table, total_ns);
        pyro_table_cell(table, pyro_phase_name(row->phase));
    }
}

static void write_ops(pyro_trace_writer *w, bool by_shape)
{
    static const pyro_table_column device_columns[] = {
        {"Op", false, true},        {"Calls", true, false},        {"Self", true, false},
        {"Share", true, false},     {"FLOP/s", true, false},       {"Type", false, false},
        {"Host self", true, false}, {"With callees", true, false}, {"Phase", false, false},
    };
    static const pyro_table_column host_columns[] = {
        {"Op", false, true},           {"Calls", true, false},  {"Self", true, false},
        {"Share", true, false},        {"FLOP/s", true, false}, {"Type", false, false},
        {"With callees", true, false},
    };
    static const pyro_table_column shape_columns[] = {
        {"Op", false, true},    {"Input shapes", false, true}, {"Calls", true, false},
        {"Self", true, false},  {"Share", true, false},        {"FLOP/s", true, false},
        {"Type", false, false},
    };
    const pyro_op_row *rows = by_shape ? w->analysis->ops_by_shape : w->analysis->ops;
    size_t count = by_shape ? w->analysis->op_by_shape_count : w->analysis->op_count;
    size_t shown = pyro_rows_shown(w->options, count);
    op_layout layout = by_shape                                   ? OPS_BY_SHAPE
                       : w->options->width >= WIDE && !w->on_host ? OPS_WIDE
                                                                  : OPS_NARROW;
    pyro_table table;

    pyro_trace_heading(w, by_shape ? "Ops by input shapes" : "Ops",
                       w->on_host ? "host time" : "device time", shown, count);
    if (by_shape)
        pyro_table_init(&table, COLUMNS(shape_columns));
    else if (w->on_host)
        pyro_table_init(&table, COLUMNS(host_columns));
    else
        pyro_table_init(&table, device_columns, layout == OPS_WIDE ? 9 : 7);
    for (size_t i = 0; i < shown; i++)
        add_op(w, &table, &rows[i], layout);
    pyro_trace_draw(w, &table);
}

/* Kernels that differ in their template arguments only have one short name: the op that launches
 * them tells them apart, else a number. */
static void cell_kernel(pyro_table *table, const pyro_kernel_row *rows, size_t count, size_t index)
{
    const pyro_kernel_row *row = &rows[index];
    size_t same = 0, same_op = 0, number = 0;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].short_name, row->short_name) != 0)
            continue;
        same++;
        same_op += strcmp(rows[i].op, row->op) == 0;
        number += i <= index;
    }
    if (same == 1)
        pyro_table_cell(table, row->short_name);
    else if (same_op == 1 && row->op[0] != '\0')
        pyro_table_cellf(table, "%s in %s", row->short_name, row->op);
    else
        pyro_table_cellf(table, "%s (variant %zu)", row->short_name, number);
}

/* "model.py:23" of "/home/user/model.py:23". */
static const char *file_name(const char *source)
{
    const char *slash = strrchr(source, '/');
    return slash ? slash + 1 : source;
}

static void write_kernels(pyro_trace_writer *w)
{
    static const pyro_table_column narrow[] = {
        {"Kernel", false, true}, {"Calls", true, false},  {"Total", true, false},
        {"Share", true, false},  {"Median", true, false}, {"Tensor", false, false},
    };
    static const pyro_table_column wide[] = {
        {"Kernel", false, true}, {"Calls", true, false},  {"Total", true, false},
        {"Share", true, false},  {"Median", true, false}, {"Tensor", false, false},
        {"Max", true, false},    {"Occ. %", true, false}, {"Waves", true, false},
        {"Op", false, true},     {"Source", false, true},
    };
    size_t count = w->analysis->kernel_row_count, shown = pyro_rows_shown(w->options, count);
    bool is_wide = w->options->width >= WIDE, has_source = false;
    pyro_table table;

    for (size_t i = 0; i < shown; i++)
        has_source |= w->analysis->kernels[i].source[0] != '\0';
    pyro_trace_heading(w, "Kernels", "device time", shown, count);
    if (is_wide)
        pyro_table_init(&table, wide, sizeof wide / sizeof *wide - !has_source);
    else
        pyro_table_init(&table, COLUMNS(narrow));
    for (size_t i = 0; i < shown; i++) {
        const pyro_kernel_row *row = &w->analysis->kernels[i];

        cell_kernel(&table, w->analysis->kernels, shown, i);
        pyro_cell_count(&table, row->calls);
        pyro_cell_duration(&table, row->total_ns);
        pyro_cell_share(&table, row->total_ns, w->analysis->device_total_ns);
        pyro_cell_duration(&table, row->median_ns);
        pyro_table_cell(&table, row->tensor_core ? "yes" : "-");
        if (is_wide) {
            pyro_cell_duration(&table, row->max_ns);
            cell_decimal(&table, row->occupancy_percent);
            cell_decimal(&table, row->waves);
            pyro_table_cell(&table, row->op);
        }
        if (is_wide && has_source)
            pyro_table_cell(&table, file_name(row->source));
    }
    pyro_trace_draw(w, &table);
}

static void write_categories(pyro_trace_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Category", false, true},    {"Total", true, false},    {"Share", true, false},
        {"Forward", true, false},     {"Backward", true, false}, {"Optimizer", true, false},
        {"Other phase", true, false}, {"Calls", true, false},    {"Largest kernel", false, true},
    };
    size_t count = w->analysis->category_count, shown = pyro_rows_shown(w->options, count);
    bool is_wide = w->options->width >= WIDE;
    pyro_table table;

    pyro_trace_heading(w, "Categories of kernels", "device time", shown, count);
    pyro_table_init(&table, columns, is_wide ? 9 : 7);
    for (size_t i = 0; i < shown; i++) {
        const pyro_category_row *row = &w->analysis->categories[i];

        pyro_table_cell(&table, row->category);
        pyro_cell_duration(&table, row->total_ns);
        pyro_cell_share(&table, row->total_ns, w->analysis->device_total_ns);
        pyro_cell_duration(&table, row->forward_ns);
        pyro_cell_duration(&table, row->backward_ns);
        pyro_cell_duration(&table, row->optimizer_ns);
        pyro_cell_duration(&table, row->other_ns);
        if (is_wide) {
            pyro_cell_count(&table, row->calls);
            pyro_table_cell(&table, row->kernel);
        }
    }
    pyro_trace_draw(w, &table);
}

static void write_step_parts(pyro_trace_writer *w, size_t shown)
{
    static const pyro_table_column columns[] = {
        {"Step", false, true},   {"Span", true, false}, {"Compute", true, false},
        {"Comm.", true, false},  {"Copy", true, false}, {"Idle", true, false},
        {"Idle %", true, false},
    };
    pyro_table table;

    pyro_table_init(&table, COLUMNS(columns));
    for (size_t i = 0; i < shown; i++) {
        const pyro_step_row *row = &w->analysis->steps[i];

        pyro_table_cell(&table, row->name);
        pyro_cell_duration(&table, row->span_ns);
        pyro_cell_duration(&table, row->compute_ns);
        pyro_cell_duration(&table, row->communication_exposed_ns);
        pyro_cell_duration(&table, row->copy_exposed_ns);
        pyro_cell_duration(&table, row->idle_ns);
        pyro_cell_share(&table, row->idle_ns, row->span_ns);
    }
    pyro_trace_draw(w, &table);
}

static void write_step_phases(pyro_trace_writer *w, size_t shown)
{
    static const pyro_table_column columns[] = {
        {"Step", false, true},    {"Kernels", true, false},  {"Device", true, false},
        {"Forward", true, false}, {"Backward", true, false}, {"Optimizer", true, false},
        {"Other", true, false},
    };
    pyro_table table;

    pyro_text_heading(w->buf, "\nDevice time of the steps by phase:", w->options->color);
    pyro_table_init(&table, COLUMNS(columns));
    for (size_t i = 0; i < shown; i++) {
        const pyro_step_row *row = &w->analysis->steps[i];

        pyro_table_cell(&table, row->name);
        pyro_cell_count(&table, row->kernels);
        pyro_cell_duration(&table, row->device_total_ns);
        pyro_cell_duration(&table, row->forward_ns);
        pyro_cell_duration(&table, row->backward_ns);
        pyro_cell_duration(&table, row->optimizer_ns);
        pyro_cell_duration(&table, row->other_ns);
    }
    pyro_trace_draw(w, &table);
}

static void write_steps(pyro_trace_writer *w)
{
    size_t count = w->analysis->step_count, shown = pyro_rows_shown(w->options, count);

    if (w->on_host && w->analysis->training_count == count) {
        pyro_write_trace_training(w);
        pyro_write_trace_power(w);
        return;
    }
    pyro_trace_heading(w,
                       pyro_steps_are_inferred(w->analysis->step_source)
                           ? "Inferred steps (parts of the span that do not overlap)"
                           : "Steps (parts of the span that do not overlap)",
                       "time", shown, count);
    write_step_parts(w, shown);
    write_step_phases(w, shown);
    pyro_write_trace_power(w);
}

/* What the host did in a gap, the most specific first. */
static const char *gap_cause(const pyro_gap_row *row)
{
    const char *texts[] = {row->sync, row->op, row->line};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i][0] != '\0')
            return texts[i];
    return "-";
}

static void write_gaps(pyro_trace_writer *w)
{
    static const pyro_table_column columns[] = {
        {"At", true, false},          {"Idle", true, false},  {"Kind", false, false},
        {"Host was in", false, true}, {"Layer", false, true}, {"Line", false, true},
    };
    static const char *const kinds[] = {"host wait", "kernel wait", "other"};
    size_t count = w->analysis->gap_count, shown = pyro_rows_shown(w->options, count);
    const int64_t *totals = w->analysis->gap_total_ns;
    char host[PYRO_UNIT_TEXT], kernel[PYRO_UNIT_TEXT], other[PYRO_UNIT_TEXT];
    pyro_table table;

    pyro_trace_heading(w, "Gaps, in which a device was idle", "length", shown, count);
    pyro_table_init(&table, columns, w->options->width >= WIDE ? 6 : 5);
    for (size_t i = 0; i < shown; i++) {
        const pyro_gap_row *row = &w->analysis->gaps[i];

        pyro_cell_duration(&table, row->start_ns - w->analysis->start_ns);
        pyro_cell_duration(&table, row->duration_ns);
        pyro_table_cell(&table, kinds[row->kind]);
        pyro_table_cell(&table, gap_cause(row));
        pyro_cell_layer(w, &table, row->layer);
        if (table.column_count == 6)
            pyro_table_cell(&table, row->line);
    }
    pyro_trace_draw(w, &table);
    pyro_buf_addf(w->buf, "  All gaps: host wait %s, kernel wait %s, other %s\n",
                  pyro_format_duration(host, totals[PYRO_GAP_HOST_WAIT]),
                  pyro_format_duration(kernel, totals[PYRO_GAP_KERNEL_WAIT]),
                  pyro_format_duration(other, totals[PYRO_GAP_OTHER]));
}

static void write_copies(pyro_trace_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Copy", false, true}, {"Calls", true, false}, {"Bytes", true, false},
        {"Time", true, false}, {"Share", true, false}, {"GB/s", true, false},
    };
    size_t count = w->analysis->copy_count, shown = pyro_rows_shown(w->options, count);
    pyro_table table;

    pyro_trace_heading(w, "Copies", "time", shown, count);
    pyro_table_init(&table, COLUMNS(columns));
    for (size_t i = 0; i < shown; i++) {
        const pyro_copy_row *row = &w->analysis->copies[i];

        pyro_table_cell(&table, row->kind);
        pyro_cell_count(&table, row->calls);
        cell_bytes(&table, row->bytes);
        pyro_cell_duration(&table, row->total_ns);
        pyro_cell_share(&table, row->total_ns, w->analysis->device_total_ns);
        cell_decimal(&table, row->gb_per_s);
    }
    pyro_trace_draw(w, &table);
}

static void write_collectives(pyro_trace_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Kind", false, true},  {"Group", false, true},   {"Type", false, false},
        {"Ranks", true, false}, {"Calls", true, false},   {"Bytes", true, false},
        {"Time", true, false},  {"Exposed", true, false}, {"Bus GB/s", true, false},
    };
    size_t count = w->analysis->collective_count, shown = pyro_rows_shown(w->options, count);
    pyro_table table;

    pyro_trace_heading(w, "Collectives", "time", shown, count);
    pyro_table_init(&table, COLUMNS(columns));
    for (size_t i = 0; i < shown; i++) {
        const pyro_collective_row *row = &w->analysis->collectives[i];

        pyro_table_cell(&table, row->kind);
        pyro_table_cell(&table, row->group);
        pyro_table_cell(&table, row->dtype);
        pyro_cell_count(&table, row->group_size);
        pyro_cell_count(&table, row->calls);
        cell_bytes(&table, row->bytes);
        pyro_cell_duration(&table, row->total_ns);
        pyro_cell_duration(&table, row->exposed_ns);
        cell_decimal(&table, row->bus_gb_per_s);
    }
    pyro_trace_draw(w, &table);
}

static void write_synchronizations(pyro_trace_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Call", false, true}, {"Calls", true, false}, {"Host time", true, false},
        {"Op", false, true},   {"Line", false, true},  {"Layer", false, true},
    };
    size_t count = w->analysis->sync_count, shown = pyro_rows_shown(w->options, count);
    bool is_wide = w->options->width >= WIDE;
    pyro_table table;

    pyro_trace_heading(w, "Synchronising calls", "time", shown, count);
    pyro_table_init(&table, columns, is_wide ? 6 : 5);
    for (size_t i = 0; i < shown; i++) {
        const pyro_sync_row *row = &w->analysis->syncs[i];

        pyro_table_cell(&table, row->call);
        pyro_cell_count(&table, row->calls);
        pyro_cell_duration(&table, row->total_ns);
        pyro_table_cell(&table, row->op[0] != '\0' ? row->op : "-");
        pyro_table_cell(&table, row->line[0] != '\0' ? row->line : "-");
        if (is_wide)
            pyro_cell_layer(w, &table, row->layer);
    }
    pyro_trace_draw(w, &table);
}

static void write_ops_by_name(pyro_trace_writer *w)
{
    write_ops(w, false);
}

static void write_ops_by_shape(pyro_trace_writer *w)
{
    write_ops(w, true);
}

/* Tables whose text is more than their columns. */
static void (*const writers[])(pyro_trace_writer *w) = {
    [PYRO_TRACE_LAYERS] = pyro_write_trace_layers,
    [PYRO_TRACE_OPS] = write_ops_by_name,
    [PYRO_TRACE_KERNELS] = write_kernels,
    [PYRO_TRACE_CATEGORIES] = write_categories,
    [PYRO_TRACE_STEPS] = write_steps,
    [PYRO_TRACE_GAPS] = write_gaps,
    [PYRO_TRACE_COPIES] = write_copies,
    [PYRO_TRACE_COLLECTIVES] = write_collectives,
    [PYRO_TRACE_STACKS] = pyro_write_trace_stacks,
    [PYRO_TRACE_SHAPES] = write_ops_by_shape,
    [PYRO_TRACE_SYNCHRONIZATIONS] = write_synchronizations,
    [PYRO_TRACE_MEMORY] = pyro_write_trace_memory,
    [PYRO_TRACE_FINDINGS] = pyro_write_trace_findings,
    [PYRO_TRACE_DEFECTS] = pyro_write_trace_defects,
    [PYRO_TRACE_TRAINING] = pyro_write_trace_training,
    [PYRO_TRACE_SERVING] = pyro_write_trace_serving,
    [PYRO_TRACE_CAUSES] = pyro_write_trace_causes,
};

void pyro_write_trace_table(pyro_trace_writer *w, pyro_trace_view view)
{
    const pyro_trace_view_row *row = pyro_trace_view_find(view, w->analysis);
    const pyro_trace_table *table = pyro_trace_table_find(row->table);
    bool captured = w->analysis->is_captured && row->none_captured;
    size_t count;

    pyro_trace_table_rows(table, w->analysis, &count);
    if (count == 0) {
        pyro_buf_addc(w->buf, '\n');
        pyro_text_wrap(w->buf, captured ? row->none_captured : row->none, 2, 2, w->options->width);
    } else if ((size_t)view < sizeof writers / sizeof *writers && writers[view]) {
        writers[view](w);
    } else {
        pyro_write_trace_columns(w, table);
    }
}
