/* Writes the text tables of a trace: short in the overview, full with --by. */
#ifndef PYRO_REPORT_TRACE_VIEW_H
#define PYRO_REPORT_TRACE_VIEW_H

#include "base/containers/buf.h"
#include "base/text/table.h"
#include "report/trace/rows.h"

typedef struct pyro_trace_writer {
    pyro_buf *buf;
    const pyro_analysis *analysis;
    const pyro_report_options *options;
    bool on_host;     /* rows are ranked by host time: nothing ran on a device */
    int64_t whole_ns; /* base of the shares of ops, and of layers that ran on a device */
    int64_t least_gain_ns; /* findings that save less are left out; 0: none is */
    bool failed;      /* memory ran out outside the buffer */
} pyro_trace_writer;

/* Writes the table of a view, at most options->top rows (0 means 10, negative all). */
void pyro_write_trace_table(pyro_trace_writer *w, pyro_trace_view view);

/* Writes a table from its columns; the ends of their names give the units. */
void pyro_write_trace_columns(pyro_trace_writer *w, const pyro_trace_table *table);

/* Views whose tables are not plain rows. */
void pyro_write_trace_layers(pyro_trace_writer *w);
/* Below the layers: their work and their time. Nothing when no layer has known work. */
void pyro_write_trace_work(pyro_trace_writer *w);
/* The same below the ops. */
/* What the chip needs at least of the time of known work; nothing if that is unknown. */
void pyro_write_trace_least(pyro_trace_writer *w);
void pyro_write_trace_op_work(pyro_trace_writer *w);
void pyro_write_trace_stacks(pyro_trace_writer *w);
void pyro_write_trace_memory(pyro_trace_writer *w);
/* What held the memory of a device, at its peak or where an allocation failed. */
void pyro_write_trace_holders(pyro_trace_writer *w, const pyro_memory_device *device);
/* For the overview: why the flight recorder saved the file, and what was live when an allocation
 * failed. Nothing for other files. */
void pyro_write_trace_trigger(pyro_trace_writer *w, const pyro_trace *trace);
void pyro_write_trace_failures(pyro_trace_writer *w);
void pyro_write_trace_findings(pyro_trace_writer *w);
void pyro_write_trace_defects(pyro_trace_writer *w);
/* For the overview: the defects that make numbers wrong; nothing without any. */
void pyro_write_trace_defect_list(pyro_trace_writer *w);
void pyro_write_trace_training(pyro_trace_writer *w);
void pyro_write_trace_serving(pyro_trace_writer *w);
/* For the first screen: a row per kind of step. Nothing without serving steps. */
void pyro_write_trace_serving_kinds(pyro_trace_writer *w);

/* Below the steps: their power and energy. Nothing without samples of a GPU. */
void pyro_write_trace_power(pyro_trace_writer *w);
/* "431 W, at most 688 W; 12.3 J per step": for the first screen; false without samples. */
bool pyro_power_text(const pyro_analysis *analysis, pyro_buf *out);

/* Writes a part of the time as a line with its share. */
typedef void(pyro_part_writer)(pyro_trace_writer *w, const char *label, int64_t part_ns,
                               int64_t whole_ns);
/* The parts of the steps of a run without a device: phases, data loading, Python. */
void pyro_write_trace_host_parts(pyro_trace_writer *w, pyro_part_writer *write_part);
void pyro_write_trace_causes(pyro_trace_writer *w);

/* Causes for people: "host in Python code"; the time of all steps that has a cause. */
const char *pyro_cause_label(pyro_cause cause, bool on_host);
int64_t pyro_cause_total_ns(const pyro_analysis *analysis, pyro_cause cause);

/* "Kernels (top 10 of 53 by device time):", or without the numbers when all are shown. `order` may
 * be NULL. */
void pyro_trace_heading(pyro_trace_writer *w, const char *what, const char *order, size_t shown,
                        size_t count);
/* Draws the table and frees it. */
void pyro_trace_draw(pyro_trace_writer *w, pyro_table *table);

/* Cells. */
void pyro_cell_duration(pyro_table *table, int64_t duration_ns);
void pyro_cell_share(pyro_table *table, int64_t part, int64_t whole);
void pyro_cell_count(pyro_table *table, int64_t count);
/* A layer's path, cut when it is longer than a third of the line; "-" when missing. */
void pyro_cell_layer(const pyro_trace_writer *w, pyro_table *table, const char *path);
/* "12.30 T"; "-" when unknown. */
/* "[[8, 16], [], [16, 4]]" as "8x16, 16x4": arguments that are not tensors are omitted. */
void pyro_cell_shapes(pyro_table *table, const char *shapes);
void pyro_cell_rate(pyro_table *table, double per_s);

#endif
