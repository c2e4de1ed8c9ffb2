/* Names, order and views that the writers of traces share. */
#ifndef PYRO_REPORT_TRACE_ROWS_H
#define PYRO_REPORT_TRACE_ROWS_H

#include "analyze/totals.h"

#include <pyrometer/report.h>
#include <pyrometer/tables.h>

/* "(model)" for the model itself. */
const char *pyro_layer_label(const pyro_layer_row *row);

/*
 * Pointers to the layers with own time, most first; the caller frees the array. NULL when memory is
 * out or no layer has time.
 */
const pyro_layer_row **pyro_layers_sorted(const pyro_analysis *analysis, size_t *count);

/* A view of tables.def. */
typedef struct pyro_trace_view_row {
    const char *table; /* pyro_trace_table_find() has it by this name */
    const char *none, *none_captured; /* texts for an empty table; none_captured may be NULL */
} pyro_trace_view_row;

/* The overview shows layers, or ops when the trace has no layers. */
const pyro_trace_view_row *pyro_trace_view_find(pyro_trace_view view,
                                                const pyro_analysis *analysis);

#endif
