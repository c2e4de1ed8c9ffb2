/*
 * The tables of an analysis, described: the writers and other languages walk rows by these columns
 * instead of naming every member again.
 */
#ifndef PYROMETER_TABLES_H
#define PYROMETER_TABLES_H

#include <pyrometer/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pyro_field_kind {
    PYRO_FIELD_TEXT,    /* const char * */
    PYRO_FIELD_INTEGER, /* int64_t */
    PYRO_FIELD_SMALL,   /* int */
    PYRO_FIELD_INDEX,   /* uint32_t; PYRO_NO_EVENT: none */
    PYRO_FIELD_NUMBER,  /* double */
    PYRO_FIELD_BOOLEAN, /* bool */
    PYRO_FIELD_PHASE,   /* the enums; pyro_field_text() has their names */
    PYRO_FIELD_GAP_KIND,
    PYRO_FIELD_SEVERITY
} pyro_field_kind;

typedef struct pyro_field {
    const char *name; /* as in JSON and CSV */
    pyro_field_kind kind;
    size_t offset; /* of the member in a row */
    bool optional; /* -1 means that it is not known */
} pyro_field;

typedef struct pyro_trace_table {
    const char *name; /* as in JSON: "layers" */
    const pyro_field *fields;
    size_t field_count;
    size_t row_size;
    size_t rows_offset, count_offset; /* of the pointer and the count in pyro_analysis */
} pyro_trace_table;

/* Every table, in the order of the JSON. */
PYRO_API const pyro_trace_table *pyro_trace_tables(size_t *count);
/* NULL when there is none of that name. */
PYRO_API const pyro_trace_table *pyro_trace_table_find(const char *name);
PYRO_API const void *pyro_trace_table_rows(const pyro_trace_table *table,
                                           const pyro_analysis *analysis, size_t *count);

/* Text of a text or enum field, never NULL; "" for other kinds. */
PYRO_API const char *pyro_field_text(const pyro_field *field, const void *row);
/* False where the field of this row is not known; otherwise the value, for fields of integers. */
PYRO_API bool pyro_field_integer(const pyro_field *field, const void *row, int64_t *value);
/* The same for PYRO_FIELD_NUMBER. */
PYRO_API bool pyro_field_number(const pyro_field *field, const void *row, double *value);

#ifdef __cplusplus
}
#endif
#endif
