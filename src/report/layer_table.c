/* The table of one forward pass: every layer that ran ops itself, in the order in which it first
 * did, with its calls, time and input shapes, and their sum. */
#include "base/buf.h"
#include "base/error.h"
#include "base/units.h"

#include <pyrometer/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHAPES = 3, SHAPE_TEXT = 96, SMALLEST_NAME = 25 };

typedef struct table_row {
    const pyro_layer_row *layer; /* NULL: not among the analysis's layers */
    const char *path;
    const char *first_op;
    int64_t calls, host_ns;
    char shapes[MOST_SHAPES][SHAPE_TEXT];
    size_t shape_count;
    bool more_shapes;
} table_row;

typedef struct layer_table {
    const pyro_analysis *analysis;
    table_row *rows;
    size_t count, capacity;
    bool with_device, with_flops;
} layer_table;

static const char *label_of(const table_row *row)
{
    return row->path[0] != '\0' ? row->path : "(model)";
}

static table_row *find_row(layer_table *table, const char *path)
{
    table_row *row;

    /* Ops come layer by layer, so that the one before is mostly the one. */
    for (size_t i = table->count; i-- > 0;)
        if (strcmp(table->rows[i].path, path) == 0)
            return &table->rows[i];
    if (!pyro_grow(&table->rows, &table->capacity, table->count + 1, sizeof *table->rows))
        return NULL;
    row = &table->rows[table->count++];
    *row = (table_row){.path = path};
    for (size_t i = 0; i < table->analysis->layer_count; i++)
        if (strcmp(table->analysis->layers[i].path, path) == 0)
            row->layer = &table->analysis->layers[i];
    row->calls = row->layer != NULL ? row->layer->calls : 0;
    return row;
}

/* "[[32, 100], [50]]" -> "(32, 100)": the first tensor's sizes, as Python writes them. */
static bool first_shape(char text[SHAPE_TEXT], const char *shapes)
{
    const char *start = strchr(shapes, '['), *end;
    size_t length;

    for (start = start != NULL ? strchr(start + 1, '[') : NULL; start != NULL;
         start = strchr(start + 1, '[')) {
        end = strchr(start, ']');
        length = end != NULL ? (size_t)(end - start) - 1 : 0;
        if (length == 0 || memchr(start + 1, '[', length) != NULL || length + 4 > SHAPE_TEXT)
            continue;
        snprintf(text, SHAPE_TEXT, "(%.*s%s)", (int)length, start + 1,
                 memchr(start, ',', length) != NULL ? "" : ",");
        return true;
    }
    return false;
}

static void add_shape(table_row *row, const pyro_layer_op_row *op)
{
    char text[SHAPE_TEXT];

    if (!first_shape(text, op->shapes))
        return;
    if (row->first_op == NULL)
        row->first_op = op->op;
    if (strcmp(row->first_op, op->op) != 0)
        return;
    for (size_t i = 0; i < row->shape_count; i++)
        if (strcmp(row->shapes[i], text) == 0)
            return;
    /* An op that one call runs several times tells the layer's input by the first of them. */
    if (row->shape_count > 0 && (int64_t)row->shape_count >= row->calls)
        return;
    if (row->shape_count == MOST_SHAPES)
        row->more_shapes = true;
    else
        memcpy(row->shapes[row->shape_count++], text, SHAPE_TEXT);
}

static bool collect_rows(layer_table *table, const pyro_layer_ops *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        const pyro_layer_op_row *op = &ops->rows[i];
        table_row *row = find_row(table, op->layer);

        if (row == NULL)
            return false;
        row->host_ns += op->host_ns;
        if (!op->nested)
            add_shape(row, op);
    }
    return true;
}

static double to_ms(int64_t duration_ns)
{
    return (double)duration_ns / 1e6;
}

static void add_rule(pyro_buf *buf, int width)
{
    for (int i = 0; i < width; i++)
        pyro_buf_adds(buf, "\u2500");
    pyro_buf_addc(buf, '\n');
}

/* What both a layer and the sum have. */
static void add_cells(pyro_buf *buf, const layer_table *table, int name_width, const char *name,
                      const int64_t numbers[4])
{
    int64_t calls = numbers[0];

    pyro_buf_addf(buf, "%-*s %-7lld %-17.3f %-15.3f", name_width, name, (long long)calls,
                  to_ms(numbers[1]), calls > 0 ? to_ms(numbers[1]) / (double)calls : 0.0);
    if (table->with_device)
        pyro_buf_addf(buf, " %-17.3f", to_ms(numbers[2]));
    if (table->with_flops) {
        char text[PYRO_UNIT_TEXT];

        pyro_buf_addf(buf, " %-10s", numbers[3] >= 0 ? pyro_format_count(text, numbers[3]) : "-");
    }
}

static void add_row(pyro_buf *buf, const layer_table *table, const table_row *row, int name_width,
                    int64_t sums[4])
{
    int64_t numbers[4] = {row->calls, row->host_ns,
                          row->layer != NULL ? row->layer->forward_device_self_ns : 0,
                          row->layer != NULL ? row->layer->flops : -1};

    add_cells(buf, table, name_width, label_of(row), numbers);
    for (size_t i = 0; i < row->shape_count; i++)
        pyro_buf_addf(buf, "%s%s", i == 0 ? " " : ", ", row->shapes[i]);
    pyro_buf_adds(buf, row->more_shapes ? ", ...\n" : "\n");
    for (int i = 0; i < 3; i++)
        sums[i] += numbers[i];
}

static void write_table(pyro_buf *buf, const layer_table *table, const char *title)
{
    int64_t sums[4] = {0, 0, 0, -1};
    int name_width = SMALLEST_NAME, width;

    for (size_t i = 0; i < table->count; i++) {
        int length = (int)strlen(label_of(&table->rows[i]));

        name_width = length > name_width ? length : name_width;
    }
    width = name_width + 51 + (table->with_device ? 18 : 0) + (table->with_flops ? 11 : 0);
    pyro_buf_addf(buf, "\U0001F4CA Layer Analysis for %s\n", title);
    add_rule(buf, width);
    pyro_buf_addf(buf, "%-*s %-7s %-17s %-15s%s%s %s\n", name_width, "Layer", "Calls",
                  "Total Time (ms)", "Avg Time (ms)",
                  table->with_device ? " Device Time (ms) " : "",
                  table->with_flops ? " FLOPs     " : "", "Shapes");
    add_rule(buf, width);
    for (size_t i = 0; i < table->count; i++)
        add_row(buf, table, &table->rows[i], name_width, sums);
    /* FLOPs of a layer are with all that is below it: those of the roots are the whole. */
    for (size_t i = 0; i < table->analysis->layer_count; i++) {
        const pyro_layer_row *layer = &table->analysis->layers[i];

        if (layer->parent == PYRO_NO_EVENT && layer->flops >= 0)
            sums[3] = (sums[3] < 0 ? 0 : sums[3]) + layer->flops;
    }
    add_cells(buf, table, name_width, "TOTAL", sums);
    while (buf->length > 0 && buf->data[buf->length - 1] == ' ')
        buf->data[--buf->length] = '\0';
    pyro_buf_addc(buf, '\n');
}

int pyro_report_layer_table(char **out, size_t *size, pyro_trace *trace, const char *title,
                            bool with_flops, pyro_error *error)
{
    pyro_analysis_options options = {.step = -1, .threads = 1, .without_stacks = true};
    pyro_analysis *analysis = NULL;
    pyro_layer_ops *ops = NULL;
    layer_table table = {.with_flops = with_flops};
    pyro_buf buf = PYRO_BUF_INIT;
    int status = pyro_trace_analyze(&analysis, trace, &options, error);

    *out = NULL;
    *size = 0;
    if (status == PYRO_OK)
        status = pyro_trace_layer_ops(&ops, trace, &options, error);
    if (status == PYRO_OK) {
        table.analysis = analysis;
        table.with_device = analysis->device_total_ns > 0;
        if (collect_rows(&table, ops))
            write_table(&buf, &table, title);
        else
            buf.failed = true;
        *out = pyro_buf_detach(&buf, size);
        status = *out != NULL ? PYRO_OK : pyro_fail_memory(error);
    }
    pyro_buf_free(&buf);
    free(table.rows);
    pyro_layer_ops_free(ops);
    pyro_analysis_free(analysis);
    return status;
}
