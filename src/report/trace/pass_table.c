/* Writes the table of one forward pass: every called layer, children before parents, with calls,
 * own wall time, input shapes, and time spent in ops. */
#include "base/containers/buf.h"
#include "base/text/units.h"
#include "report/text.h"
#include "report/writers.h"

#include <pyrometer/report.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHAPES = 3, SMALLEST_NAME = 25, SMALLEST_SHAPES = 18 };

typedef struct table_row {
    const pyro_forward_row *row;
    pyro_buf name, shapes;
} table_row;

typedef struct layer_table {
    table_row *rows;
    size_t count;
    bool with_device, with_flops;
    int name_width, shapes_width;
} layer_table;

/* Number of characters; in UTF-8 one may take several bytes. */
static int width_of(const pyro_buf *text)
{
    int width = 0;

    for (size_t i = 0; i < text->length; i++)
        width += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return width;
}

static void add_padded(pyro_buf *buf, const pyro_buf *text, int width)
{
    int used = width_of(text);

    pyro_buf_add(buf, text->length ? text->data : "", text->length);
    pyro_buf_fill(buf, ' ', used < width ? (size_t)(width - used) : 0);
}

/* "[[32, 100], [64]]" -> "(32, 100), (64,)", as Python writes shapes. */
static void add_shapes(pyro_buf *out, const char *shapes)
{
    const char *at = shapes[0] == '[' ? shapes + 1 : "";
    size_t count = 0;

    for (; (at = strchr(at, '[')); at += strcspn(at, "]")) {
        size_t length = strcspn(at + 1, "[]");

        pyro_buf_adds(out, count ? ", " : "");
        if (count++ == MOST_SHAPES) {
            pyro_buf_adds(out, "...");
            return;
        }
        pyro_buf_addc(out, '(');
        pyro_buf_add(out, at + 1, length);
        pyro_buf_adds(out, length && !memchr(at + 1, ',', length) ? ",)" : ")");
    }
}

static void put_shapes(pyro_buf *out, const char *shapes)
{
    pyro_buf text = PYRO_BUF_INIT;

    add_shapes(&text, shapes);
    if (text.length)
        pyro_text_clean(out, text.data);
    out->failed |= text.failed;
    pyro_buf_free(&text);
}

static bool fill_rows(layer_table *table, const pyro_forward_table *forward)
{
    bool ok = true;

    for (size_t i = 0; i < forward->count && ok; i++) {
        const pyro_layer_time_row *time = forward->rows[i].time;
        table_row *row = &table->rows[table->count++];

        row->row = &forward->rows[i];
        pyro_text_clean(&row->name, time->layer[0] ? time->layer : "(model)");
        put_shapes(&row->shapes, time->shapes);
        ok = !row->name.failed && !row->shapes.failed;
    }
    return ok;
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

/* Cells that layers and the total have in common. */
static void add_line(pyro_buf *buf, const layer_table *table, const table_row *line)
{
    const pyro_forward_row *row = line->row;
    const pyro_layer_time_row *time = row->time;

    add_padded(buf, &line->name, table->name_width);
    pyro_buf_addf(buf, "%-8lld%-18.3f%-16.3f", (long long)time->calls, to_ms(time->wall_ns),
                  time->calls > 0 ? to_ms(time->wall_ns) / (double)time->calls : 0.0);
    add_padded(buf, &line->shapes, table->shapes_width);
    pyro_buf_addf(buf, "%-13.3f", to_ms(time->op_ns));
    if (table->with_device)
        pyro_buf_addf(buf, "%-18.3f", to_ms(row->device_ns));
    if (table->with_flops) {
        char text[PYRO_UNIT_TEXT];

        pyro_buf_addf(buf, "%s", row->flops >= 0 ? pyro_format_count(text, row->flops) : "-");
    }
    while (buf->length > 0 && buf->data[buf->length - 1] == ' ')
        buf->data[--buf->length] = '\0';
    pyro_buf_addc(buf, '\n');
}

static void write_head(pyro_buf *buf, const layer_table *table, const char *title)
{
    int width = table->name_width + 8 + 18 + 16 + table->shapes_width + 11 +
                (table->with_device ? 18 : 0) + (table->with_flops ? 12 : 0);

    pyro_buf_addf(buf, "\U0001F4CA Layer Analysis for %s\n", title);
    add_rule(buf, width);
    pyro_buf_addf(buf, "%-*s%-8s%-18s%-16s%-*s%s%s%s\n", table->name_width, "Layer", "Calls",
                  "Total Time (ms)", "Avg Time (ms)", table->shapes_width, "Shapes", "In Ops (ms)",
                  table->with_device ? "  Device Time (ms)" : "",
                  table->with_flops ? "  FLOPs" : "");
    add_rule(buf, width);
}

static void write_total(pyro_buf *buf, const layer_table *table, const pyro_forward_table *forward)
{
    table_row total = {.row = &forward->total};

    pyro_buf_adds(&total.name, "TOTAL");
    buf->failed |= total.name.failed;
    add_line(buf, table, &total);
    pyro_buf_free(&total.name);
    if (forward->overlap_ns > 0)
        pyro_buf_addf(buf, "%.3f ms of the rows overlap in time on several threads\n",
                      to_ms(forward->overlap_ns));
}

static void write_table(pyro_buf *buf, layer_table *table, const pyro_forward_table *forward,
                        const char *title)
{
    table->name_width = SMALLEST_NAME - 1;
    table->shapes_width = SMALLEST_SHAPES - 2;
    for (size_t i = 0; i < table->count; i++) {
        int name = width_of(&table->rows[i].name), shapes = width_of(&table->rows[i].shapes);

        table->name_width = name > table->name_width ? name : table->name_width;
        table->shapes_width = shapes > table->shapes_width ? shapes : table->shapes_width;
    }
    table->name_width += 2;
    table->shapes_width += 2;
    write_head(buf, table, title);
    for (size_t i = 0; i < table->count; i++)
        add_line(buf, table, &table->rows[i]);
    write_total(buf, table, forward);
}

void pyro_write_pass_table(pyro_buf *buf, const pyro_forward_table *forward, const char *title,
                           bool with_flops)
{
    layer_table table = {.with_flops = with_flops, .with_device = forward->on_device};

    table.rows = calloc(forward->count + 1, sizeof *table.rows);
    if (table.rows && fill_rows(&table, forward))
        write_table(buf, &table, forward, title);
    else
        buf->failed = true;
    for (size_t i = 0; i < table.count; i++) {
        pyro_buf_free(&table.rows[i].name);
        pyro_buf_free(&table.rows[i].shapes);
    }
    free(table.rows);
}
