/* What the writers of traces share: layers rolled up, the clock that rows are ranked by, order. */
#ifndef PYRO_REPORT_TRACE_ROWS_H
#define PYRO_REPORT_TRACE_ROWS_H

#include <pyrometer/report.h>
#include <pyrometer/tables.h>

/* An analysis whose layers were rolled up; everything else is borrowed. */
typedef struct pyro_shallow_analysis {
    pyro_analysis analysis;
    pyro_layer_row *layers;
} pyro_shallow_analysis;

/* Layers deeper than `depth` (negative: none) give their own time to the ancestor at that depth. */
int pyro_analysis_roll_up(pyro_shallow_analysis *out, const pyro_analysis *analysis, int depth,
                          pyro_error *error);
void pyro_shallow_analysis_free(pyro_shallow_analysis *shallow);

/* True when nothing ran on a device, so that host time is what rows are ranked by. */
bool pyro_trace_on_host(const pyro_analysis *analysis);

/* Forward and backward together, on the device or on the host. */
int64_t pyro_layer_self_ns(const pyro_layer_row *row, bool on_host);
int64_t pyro_layer_total_ns(const pyro_layer_row *row, bool on_host);
int64_t pyro_op_self_ns(const pyro_op_row *row, bool on_host);
/* Of every layer or op: what shares are of. */
int64_t pyro_trace_whole_ns(const pyro_analysis *analysis);
int64_t pyro_unattributed_ns(const pyro_unattributed *unattributed);

/* "(model)" for the model itself. */
const char *pyro_layer_label(const pyro_layer_row *row);

/*
 * Pointers to the layers that have time of their own, most first; the caller frees the array. NULL
 * when memory is out or there are none.
 */
const pyro_layer_row **pyro_layers_sorted(const pyro_analysis *analysis, size_t *count);

/* The name of the table that a view shows; the overview has its most telling one. */
const char *pyro_trace_view_table(pyro_trace_view view, const pyro_analysis *analysis);

/* The device whose memory matters: the fullest one that is not the host, else the host; or NULL. */
const pyro_memory_device *pyro_main_memory(const pyro_analysis *analysis);

#endif
