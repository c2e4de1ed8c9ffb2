/* Text tables: columns as wide as their longest cell, numbers right-aligned, long names cut. */
#ifndef PYRO_BASE_TEXT_TABLE_H
#define PYRO_BASE_TEXT_TABLE_H

#include "base/containers/arena.h"
#include "base/containers/buf.h"

typedef struct pyro_table_column {
    const char *title;
    bool right;      /* align to the right */
    bool shrinkable; /* may be cut (in the middle) when the table is wider than the terminal */
} pyro_table_column;

typedef struct pyro_table {
    pyro_arena arena;
    const pyro_table_column *columns;
    size_t column_count;
    const char **cells;
    size_t cell_count, cell_capacity;
    bool failed;
} pyro_table;

/* Borrows the columns. */
void pyro_table_init(pyro_table *table, const pyro_table_column *columns, size_t count);
/* Cells in reading order; the text is copied. A NULL cell is empty. */
void pyro_table_cell(pyro_table *table, const char *text);
void pyro_table_cellf(pyro_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Draws a rule before the next row (for totals). */
void pyro_table_rule(pyro_table *table);
/*
 * Removes columns by their titles, in this order, until the table fits into `width`; returns how
 * many. Rows must be complete, and titles end with NULL.
 */
size_t pyro_table_fit(pyro_table *table, const char *const *titles, int indent, int width);
/* Writes titles, rule and rows, indented by `indent` spaces, at most `width` columns wide. */
void pyro_table_write(pyro_table *table, pyro_buf *buf, int indent, int width, bool color);
void pyro_table_free(pyro_table *table);

#endif
