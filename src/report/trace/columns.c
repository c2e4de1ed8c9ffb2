/* Describes the tables of an analysis from tables.def, and reads the members of their rows. */
#include "report/trace/rows.h"

#include <string.h>

#define COLUMN(key, kind, member, optional) \
    {key, PYRO_COLUMN_##kind, offsetof(ROW, member), optional}
#define TEXT(member) COLUMN(#member, TEXT, member, false)
#define INTEGER(member) COLUMN(#member, INTEGER, member, false)
#define OPTIONAL(member) COLUMN(#member, INTEGER, member, true)
#define NUMBER(member) COLUMN(#member, NUMBER, member, false)
#define OPTIONAL_NUMBER(member) COLUMN(#member, NUMBER, member, true)
#define BOOLEAN(member) COLUMN(#member, BOOLEAN, member, false)

#define PYRO_DATA_TABLE(key, rows, count, ...) \
    {key, \
     (const pyro_trace_column[]){__VA_ARGS__}, \
     sizeof((const pyro_trace_column[]){__VA_ARGS__}) / sizeof(pyro_trace_column), \
     sizeof(ROW), \
     offsetof(pyro_analysis, rows), \
     offsetof(pyro_analysis, count)},
#define PYRO_TABLE(id, number, by, key, rows, count, none, none_captured, ...) \
    PYRO_DATA_TABLE(key, rows, count, __VA_ARGS__)

static const pyro_trace_table tables[] = {
#include <pyrometer/tables.def>
};

static const pyro_trace_view_row views[] = {
#define PYRO_TABLE(id, number, by, key, rows, count, none, none_captured, ...) \
    [number] = {key, none, none_captured},
#include <pyrometer/tables.def>
};

const pyro_trace_table *pyro_trace_tables(size_t *count)
{
    *count = sizeof tables / sizeof *tables;
    return tables;
}

const pyro_trace_table *pyro_trace_table_find(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i].name, name) == 0)
            return &tables[i];
    return NULL;
}

const void *pyro_trace_table_rows(const pyro_trace_table *table, const pyro_analysis *analysis,
                                  size_t *count)
{
    const char *base = (const char *)analysis;
    const void *rows;

    memcpy(count, base + table->count_offset, sizeof *count);
    memcpy(&rows, base + table->rows_offset, sizeof rows);
    return rows;
}

const pyro_trace_view_row *pyro_trace_view_find(pyro_trace_view view, const pyro_analysis *analysis)
{
    if (view == PYRO_TRACE_OVERVIEW)
        view = analysis->layer_count > 0 ? PYRO_TRACE_LAYERS : PYRO_TRACE_OPS;
    return &views[view];
}

static const char *enum_name(const char *const *names, size_t count, size_t value)
{
    return value < count ? names[value] : "";
}

const char *pyro_column_text(const pyro_trace_column *column, const void *row)
{
    static const char *const gap_kinds[] = {"host_wait", "kernel_wait", "other"};
    static const char *const severities[] = {"info", "warning", "severe"};
    const char *member = (const char *)row + column->offset;
    const char *text;

    switch (column->kind) {
    case PYRO_COLUMN_TEXT:
        memcpy(&text, member, sizeof text);
        return text ? text : "";
    case PYRO_COLUMN_PHASE:
        return pyro_phase_name(*(const pyro_phase *)member);
    case PYRO_COLUMN_GAP_KIND:
        return enum_name(gap_kinds, 3, (size_t)*(const pyro_gap_kind *)member);
    case PYRO_COLUMN_SEVERITY:
        return enum_name(severities, 3, (size_t)*(const pyro_severity *)member);
    case PYRO_COLUMN_CAUSE:
        return pyro_cause_name(*(const pyro_cause *)member);
    default:
        return "";
    }
}

bool pyro_column_integer(const pyro_trace_column *column, const void *row, int64_t *value)
{
    const void *member = (const char *)row + column->offset;

    switch (column->kind) {
    case PYRO_COLUMN_INTEGER:
        *value = *(const int64_t *)member;
        break;
    case PYRO_COLUMN_SMALL:
        *value = *(const int *)member;
        break;
    case PYRO_COLUMN_INDEX:
        *value = *(const uint32_t *)member;
        return !column->optional || *value != PYRO_NO_EVENT;
    case PYRO_COLUMN_BOOLEAN:
        *value = *(const bool *)member;
        break;
    default:
        return false;
    }
    return !column->optional || *value != -1;
}

bool pyro_column_number(const pyro_trace_column *column, const void *row, double *value)
{
    *value = *(const double *)(const void *)((const char *)row + column->offset);
    return !column->optional || *value >= 0;
}
