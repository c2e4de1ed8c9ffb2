/* Writes text tables. Counts widths in code points, and makes text from files printable. */
#include "base/text/table.h"

#include "base/text/printable.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2
#define SMALLEST_WIDTH 3
#define READABLE_WIDTH 12 /* of a name that is cut, before other columns are removed for it */
#define ELLIPSIS "\xe2\x80\xa6"
#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

/* Marks a rule among the cells; only its address matters. */
static const char rule_mark[] = "-";

void pyro_table_init(pyro_table *table, const pyro_table_column *columns, size_t count)
{
    *table = (pyro_table){.columns = columns, .column_count = count};
    pyro_arena_init(&table->arena);
}

void pyro_table_free(pyro_table *table)
{
    pyro_arena_free(&table->arena);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = table->cell_capacity = 0;
}

static void add(pyro_table *table, const char *cell)
{
    if (!cell || table->failed ||
        !pyro_grow(&table->cells, &table->cell_capacity, table->cell_count + 1,
                   sizeof *table->cells)) {
        table->failed = true;
        return;
    }
    table->cells[table->cell_count++] = cell;
}

void pyro_table_cell(pyro_table *table, const char *text)
{
    char *copy = pyro_arena_text(&table->arena, text ? text : "", text ? strlen(text) : 0);
    if (copy)
        pyro_make_printable(copy);
    add(table, copy);
}

void pyro_table_cellf(pyro_table *table, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : pyro_arena_alloc(&table->arena, (size_t)length + 1);
    if (text) {
        vsnprintf(text, (size_t)length + 1, format, again);
        pyro_make_printable(text);
    }
    add(table, text);
    va_end(again);
    va_end(arguments);
}

/* Number of cells in the current row. */
static size_t cells_in_row(const pyro_table *table)
{
    size_t count = 0;
    for (size_t i = table->cell_count; i > 0 && table->cells[i - 1] != rule_mark; i--)
        count++;
    return table->column_count ? count % table->column_count : 0;
}

void pyro_table_rule(pyro_table *table)
{
    size_t filled = cells_in_row(table);
    if (filled > 0)
        for (; filled < table->column_count; filled++)
            add(table, "");
    add(table, rule_mark);
}

static size_t text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Offset of the code point with this index. */
static size_t byte_of(const char *text, size_t index)
{
    size_t at = 0;
    for (; text[at]; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && index-- == 0)
            break;
    return at;
}

static size_t table_width(const pyro_table *table, const size_t *widths, size_t cap)
{
    size_t total = table->column_count ? GAP * (table->column_count - 1) : 0;
    for (size_t i = 0; i < table->column_count; i++)
        total += table->columns[i].shrinkable && widths[i] > cap ? cap : widths[i];
    return total;
}

static void measure(const pyro_table *table, size_t *widths)
{
    size_t column = 0;
    for (size_t i = 0; i < table->column_count; i++)
        widths[i] = text_width(table->columns[i].title);
    for (size_t i = 0; i < table->cell_count; i++) {
        if (table->cells[i] == rule_mark)
            continue;
        size_t width = text_width(table->cells[i]);
        if (width > widths[column])
            widths[column] = width;
        column = (column + 1) % table->column_count;
    }
}

/* Cuts the shrinkable columns to the largest common width with which the table fits. */
static void shrink(const pyro_table *table, size_t *widths, size_t room)
{
    size_t low = SMALLEST_WIDTH, high = SMALLEST_WIDTH;
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].shrinkable && widths[i] > high)
            high = widths[i];
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (table_width(table, widths, middle) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].shrinkable && widths[i] > low)
            widths[i] = low;
}

/* Removes a column and its cells. */
static bool remove_column(pyro_table *table, size_t removed)
{
    size_t kept = 0, column = 0, left = table->column_count - 1;
    pyro_table_column *columns = pyro_arena_array(&table->arena, left + 1, sizeof *columns);
    if (!columns)
        return false;
    for (size_t i = 0, to = 0; i < table->column_count; i++)
        if (i != removed)
            columns[to++] = table->columns[i];
    for (size_t i = 0; i < table->cell_count; i++) {
        bool is_rule = table->cells[i] == rule_mark;
        if (is_rule || column != removed)
            table->cells[kept++] = table->cells[i];
        column = is_rule ? 0 : (column + 1) % table->column_count;
    }
    table->cell_count = kept;
    table->columns = columns;
    table->column_count = left;
    return true;
}

size_t pyro_table_fit(pyro_table *table, const char *const *titles, int indent, int width)
{
    size_t removed = 0, room = width > indent ? (size_t)(width - indent) : 0;
    size_t *widths = pyro_arena_array(&table->arena, table->column_count, sizeof *widths);
    if (!widths || table->failed)
        return 0;
    for (; *titles; titles++) {
        measure(table, widths);
        if (table_width(table, widths, READABLE_WIDTH) <= room)
            break;
        size_t column = 0;
        while (column < table->column_count && strcmp(table->columns[column].title, *titles) != 0)
            column++;
        if (column == table->column_count)
            continue;
        if (!remove_column(table, column))
            break;
        removed++;
    }
    return removed;
}

static void write_cut(pyro_buf *buf, const char *text, size_t length, size_t width)
{
    size_t head = (width - 1) / 2, tail = width - 1 - head;
    pyro_buf_add(buf, text, byte_of(text, head));
    pyro_buf_adds(buf, ELLIPSIS);
    pyro_buf_adds(buf, text + byte_of(text, length - tail));
}

/* Writes a row of titles or cells, without trailing blanks. */
static void write_row(const pyro_table *table, pyro_buf *buf, const size_t *widths,
                      const char *const *cells, size_t count, size_t indent)
{
    size_t blanks = indent;
    for (size_t i = 0; i < count; i++) {
        const char *text = cells ? cells[i] : table->columns[i].title;
        size_t length = text_width(text);
        size_t shown = length < widths[i] ? length : widths[i];
        size_t padding = widths[i] - shown;
        bool right = table->columns[i].right;
        blanks += i > 0 ? GAP : 0;
        blanks += right ? padding : 0;
        if (shown > 0) {
            pyro_buf_fill(buf, ' ', blanks);
            blanks = 0;
            if (length > shown)
                write_cut(buf, text, length, shown);
            else
                pyro_buf_adds(buf, text);
        }
        blanks += right ? 0 : padding;
    }
}

static void write_rule(pyro_buf *buf, size_t indent, size_t width, bool color)
{
    pyro_buf_fill(buf, ' ', indent);
    if (color)
        pyro_buf_adds(buf, DIM);
    pyro_buf_fill(buf, '-', width);
    if (color)
        pyro_buf_adds(buf, PLAIN);
    pyro_buf_addc(buf, '\n');
}

static void write_rows(const pyro_table *table, pyro_buf *buf, const size_t *widths, size_t indent,
                       size_t rule_width, bool color)
{
    for (size_t i = 0; i < table->cell_count;) {
        if (table->cells[i] == rule_mark) {
            write_rule(buf, indent, rule_width, color);
            i++;
            continue;
        }
        size_t left = table->cell_count - i;
        size_t count = left < table->column_count ? left : table->column_count;
        write_row(table, buf, widths, &table->cells[i], count, indent);
        pyro_buf_addc(buf, '\n');
        i += count;
    }
}

void pyro_table_write(pyro_table *table, pyro_buf *buf, int indent, int width, bool color)
{
    size_t left = indent > 0 ? (size_t)indent : 0;
    size_t room = width > indent ? (size_t)width - left : 0;
    size_t *widths = pyro_arena_array(&table->arena, table->column_count, sizeof *widths);
    if (!widths || table->failed) {
        buf->failed = true;
        return;
    }
    if (table->column_count == 0)
        return;
    measure(table, widths);
    shrink(table, widths, room);
    size_t total = table_width(table, widths, SIZE_MAX);
    if (color)
        pyro_buf_adds(buf, BOLD);
    write_row(table, buf, widths, NULL, table->column_count, left);
    if (color)
        pyro_buf_adds(buf, PLAIN);
    pyro_buf_addc(buf, '\n');
    write_rule(buf, left, total, color);
    write_rows(table, buf, widths, left, total, color);
}
