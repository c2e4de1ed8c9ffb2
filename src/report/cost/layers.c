/* Writes the table of layers, sorted or in graph order, to fit narrow terminals. */
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/writers.h"

#include "base/error.h"
#include "base/text/table.h"
#include "base/text/units.h"

#include <stdlib.h>
#include <string.h>

/* Widest indent, gaps and columns other than the layer and its class. */
enum { OTHER_COLUMNS = 50, CLASS_GAP = 2 };

/* The shown rows, and the space left for their names. */
typedef struct cost_layer_table {
    const pyro_cost_row **rows;
    size_t count;
    size_t name_room;
    bool with_class; /* dropped first where space is short */
} cost_layer_table;

static void fit(cost_layer_table *layers, int width)
{
    size_t longest_name = 0, longest_class = 0;
    size_t room = width > OTHER_COLUMNS + 10 ? (size_t)width - OTHER_COLUMNS : 10;

    for (size_t i = 0; i < layers->count; i++) {
        size_t name = strlen(layers->rows[i]->name), class = strlen(layers->rows[i]->class_name);
        longest_name = name > longest_name ? name : longest_name;
        longest_class = class > longest_class ? class : longest_class;
    }
    layers->with_class = longest_name + CLASS_GAP + longest_class <= room;
    layers->name_room = room;
}

static void add_layer(pyro_table *table, const cost_layer_table *layers, const pyro_cost_row *row)
{
    pyro_buf name = PYRO_BUF_INIT;
    char text[PYRO_UNIT_TEXT];

    pyro_text_path(&name, row->name, layers->name_room);
    pyro_table_cell(table, name.data);
    table->failed = table->failed || name.failed;
    pyro_buf_free(&name);
    if (layers->with_class)
        pyro_table_cell(table, row->class_name[0] != '\0' ? row->class_name : row->type);
    pyro_table_cell(table, pyro_format_count(text, row->work.flops));
    pyro_table_cell(table, pyro_format_count(text, row->work.macs));
    pyro_table_cell(table, pyro_format_bytes(text, row->memory_bytes));
    pyro_table_cellf(table, "%.1f", row->arithmetic_intensity);
    pyro_table_cell(table, pyro_bound_short(row->bound));
}

static void write_rows(pyro_buf *buf, const cost_layer_table *layers,
                       const pyro_report_options *options)
{
    static const pyro_table_column full[] = {
        {"Layer", false, true},  {"Class", false, true},   {"FLOPs", true, false},
        {"MACs", true, false},   {"Traffic", true, false}, {"AI", true, false},
        {"Bound", false, false},
    };
    static const pyro_table_column narrow[] = {
        {"Layer", false, true},   {"FLOPs", true, false}, {"MACs", true, false},
        {"Traffic", true, false}, {"AI", true, false},    {"Bound", false, false},
    };
    pyro_table table;

    if (layers->with_class)
        pyro_table_init(&table, full, sizeof full / sizeof full[0]);
    else
        pyro_table_init(&table, narrow, sizeof narrow / sizeof narrow[0]);
    for (size_t i = 0; i < layers->count; i++)
        add_layer(&table, layers, layers->rows[i]);
    pyro_table_write(&table, buf, 2, options->width, options->color);
    pyro_table_free(&table);
}

static void write_heading(pyro_buf *buf, size_t shown, size_t count, bool graph_order,
                          const pyro_report_options *options)
{
    const char *key = pyro_sort_title(options->sort);
    pyro_buf heading = PYRO_BUF_INIT;

    if (count <= 1)
        pyro_buf_adds(&heading, "\nLayer Details:");
    else if (graph_order)
        pyro_buf_addf(&heading, "\nLayer Details (all %zu, in the order of the graph):", count);
    else if (shown < count)
        pyro_buf_addf(&heading, "\nLayer Details (Top %zu of %zu by %s):", shown, count, key);
    else
        pyro_buf_addf(&heading, "\nLayer Details (all %zu by %s):", count, key);
    pyro_text_heading(buf, pyro_text_part(buf, &heading), options->color);
    pyro_buf_free(&heading);
}

int pyro_write_layer_table(pyro_buf *buf, const pyro_cost *cost, const pyro_report_options *options,
                           pyro_error *error)
{
    size_t count;
    const pyro_cost_row *rows = pyro_cost_layers(cost, &count);
    bool graph_order = options->verbose && options->top == 0;
    cost_layer_table layers = {0};

    layers.count = graph_order ? count : pyro_rows_shown(options, count);
    layers.rows = graph_order ? pyro_rows_in_order(rows, count)
                              : pyro_rows_sorted(rows, count, layers.count, options->sort);
    if (!layers.rows && count > 0)
        return pyro_fail_memory(error);
    fit(&layers, options->width);
    write_heading(buf, layers.count, count, graph_order, options);
    write_rows(buf, &layers, options);
    free(layers.rows);
    return PYRO_OK;
}
