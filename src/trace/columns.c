/* Makes room in the columns of a trace, and frees what is left of it when all rows are there. */
#include "trace/trace.h"

#include "base/containers/buf.h"
#include "base/pages.h"
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8 };

typedef struct column {
    void *place; /* of the pointer to its rows */
    size_t row_bytes;
} column;

static void list_columns(pyro_trace *trace, column columns[COLUMNS])
{
    const column all[COLUMNS] = {{&trace->start_ns, sizeof *trace->start_ns},
                                 {&trace->duration_ns, sizeof *trace->duration_ns},
                                 {&trace->name, sizeof *trace->name},
                                 {&trace->correlation, sizeof *trace->correlation},
                                 {&trace->external_id, sizeof *trace->external_id},
                                 {&trace->detail, sizeof *trace->detail},
                                 {&trace->track, sizeof *trace->track},
                                 {&trace->category, sizeof *trace->category}};
    memcpy(columns, all, sizeof all);
}

/* The type of the pointer is unknown here; copying its bytes is always allowed. */
static void *items_at(const void *place)
{
    void *items;
    memcpy(&items, place, sizeof items);
    return items;
}

static bool put_items(void *place, void *items)
{
    if (items)
        memcpy(place, &items, sizeof items);
    return items != NULL;
}

/* Above this size the last large page of each column is a small part of it. */
#define WHOLLY_LARGE_BYTES ((size_t)16 << 20)

/*
 * The first rows are reserved by an estimate that is often twice what comes. Half of that, to the
 * nearest large page, goes into large pages: a large page costs a third of the small ones that it
 * replaces. pyro_trace_trim() frees the rest of the last one.
 */
static bool grow_column(const column *column, size_t old_rows, size_t rows)
{
    size_t bytes = rows * column->row_bytes, filled_bytes = bytes;
    if (old_rows || items_at(column->place))
        return pyro_grow(column->place, &old_rows, rows, column->row_bytes);
    if (bytes < WHOLLY_LARGE_BYTES)
        filled_bytes = (bytes / 2 + PYRO_LARGE_PAGE_BYTES / 2) & ~(PYRO_LARGE_PAGE_BYTES - 1);
    return put_items(column->place, pyro_alloc_pages_partly(bytes, filled_bytes));
}

bool pyro_trace_reserve(pyro_trace *trace, size_t rows)
{
    size_t old = trace->capacity, capacity = old + old / 2 + 64;
    column columns[COLUMNS];
    if (rows <= old)
        return true;
    if (capacity < rows)
        capacity = rows;
    if (capacity >= PYRO_NO_EVENT)
        return false;
    list_columns(trace, columns);
    for (size_t i = 0; i < COLUMNS; i++)
        if (!grow_column(&columns[i], old, capacity))
            return false;
    trace->capacity = capacity;
    return true;
}

bool pyro_trace_reserve_ops(pyro_trace *trace, size_t ops)
{
    if (trace->ops)
        return true;
    trace->ops = pyro_alloc_pages(ops * sizeof *trace->ops);
    trace->op_capacity = trace->ops ? ops : 0;
    return trace->ops != NULL;
}

bool pyro_trace_add_op_extra(pyro_trace *trace, const pyro_op_extra *extra, uint32_t *index)
{
    const pyro_op_extra none = PYRO_NO_EXTRA;
    *index = PYRO_NO_ID;
    if (!memcmp(extra, &none, sizeof none))
        return true;
    size_t count = trace->op_extra_count;
    if (!count || memcmp(extra, &trace->op_extras[count - 1], sizeof *extra)) {
        if (!pyro_grow(&trace->op_extras, &trace->op_extra_capacity, count + 1,
                       sizeof *trace->op_extras))
            return false;
        trace->op_extras[trace->op_extra_count++] = *extra;
    }
    *index = (uint32_t)(trace->op_extra_count - 1);
    return true;
}

/* Frees the unused part of an array; false when memory is out. */
static bool trim(void *place, size_t *capacity, size_t count, size_t item_bytes)
{
    if (!count || count == *capacity)
        return true;
    if (!put_items(place, realloc(items_at(place), count * item_bytes)))
        return false;
    *capacity = count;
    return true;
}

static bool trim_columns(pyro_trace *trace)
{
    column columns[COLUMNS];
    size_t count = trace->count;
    list_columns(trace, columns);
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t rows = trace->capacity;
        if (!trim(columns[i].place, &rows, count, columns[i].row_bytes))
            return false;
    }
    trace->capacity = count ? count : trace->capacity;
    return true;
}

bool pyro_trace_trim(pyro_trace *trace)
{
    return trim_columns(trace) &&
           trim(&trace->ops, &trace->op_capacity, trace->op_count, sizeof *trace->ops) &&
           trim(&trace->op_extras, &trace->op_extra_capacity, trace->op_extra_count,
                sizeof *trace->op_extras) &&
           trim(&trace->kernels, &trace->kernel_capacity, trace->kernel_count,
                sizeof *trace->kernels) &&
           trim(&trace->memory, &trace->memory_capacity, trace->memory_count,
                sizeof *trace->memory) &&
           trim(&trace->flows, &trace->flow_capacity, trace->flow_count, sizeof *trace->flows);
}
