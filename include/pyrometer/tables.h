/*
 * Describes the tables of an analysis. Writers and other languages walk the rows by these columns
 * instead of naming every member.
 */
#ifndef PYROMETER_TABLES_H
#define PYROMETER_TABLES_H

#include <pyrometer/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pyro_column_kind {
    PYRO_COLUMN_TEXT,    /* const char * */
    PYRO_COLUMN_INTEGER, /* int64_t */
    PYRO_COLUMN_SMALL,   /* int */
    PYRO_COLUMN_INDEX,   /* uint32_t; PYRO_NO_EVENT: none */
    PYRO_COLUMN_NUMBER,  /* double */
    PYRO_COLUMN_BOOLEAN, /* bool */
    PYRO_COLUMN_PHASE,   /* the enums; pyro_column_text() has their names */
    PYRO_COLUMN_GAP_KIND,
    PYRO_COLUMN_SEVERITY,
    PYRO_COLUMN_CAUSE
} pyro_column_kind;

typedef struct pyro_trace_column {
    const char *name; /* as in JSON and CSV */
    pyro_column_kind kind;
    size_t offset; /* of the member in a row */
    bool optional; /* -1 means unknown */
} pyro_trace_column;

typedef struct pyro_trace_table {
    const char *name; /* as in JSON: "layers" */
    const pyro_trace_column *columns;
    size_t column_count;
    size_t row_size;
    size_t rows_offset, count_offset; /* of the pointer and the count in pyro_analysis */
} pyro_trace_table;

/* All tables, in JSON order. */
PYRO_API const pyro_trace_table *pyro_trace_tables(size_t *count);
/* Finds a table by name; returns NULL if the name is unknown. */
PYRO_API const pyro_trace_table *pyro_trace_table_find(const char *name);
PYRO_API const void *pyro_trace_table_rows(const pyro_trace_table *table,
                                           const pyro_analysis *analysis, size_t *count);

/* The text of a text or enum column, never NULL; "" for other kinds. */
PYRO_API const char *pyro_column_text(const pyro_trace_column *column, const void *row);
/* Reads any integer or boolean column; returns false if the value is unknown. */
PYRO_API bool pyro_column_integer(const pyro_trace_column *column, const void *row, int64_t *value);
/* The same for PYRO_COLUMN_NUMBER. */
PYRO_API bool pyro_column_number(const pyro_trace_column *column, const void *row, double *value);

#ifdef __cplusplus
}
#endif
#endif
