/* The writers, one file each; report.c chooses among them. All append to a buffer. */
#ifndef PYRO_REPORT_WRITERS_H
#define PYRO_REPORT_WRITERS_H

#include "base/containers/buf.h"
#include "base/json/write.h"

#include <pyrometer/report.h>
#include <pyrometer/tables.h>

/* Each returns PYRO_OK or a status with `error` filled; a failed buffer is found by the caller. */
int pyro_write_cost_text(pyro_buf *buf, const pyro_cost *cost, const pyro_report_options *options,
                         pyro_error *error);
int pyro_write_cost_json(pyro_buf *buf, const pyro_cost *cost, pyro_error *error);
int pyro_write_cost_csv(pyro_buf *buf, const pyro_cost *cost, bool nodes);

int pyro_write_compare_text(pyro_buf *buf, const pyro_cost *const *costs, size_t count,
                            const pyro_report_options *options, pyro_error *error);
int pyro_write_compare_json(pyro_buf *buf, const pyro_cost *const *costs, size_t count,
                            pyro_error *error);
int pyro_write_compare_csv(pyro_buf *buf, const pyro_cost *const *costs, size_t count);

int pyro_write_models(pyro_buf *buf, const pyro_catalog *catalog, const pyro_models_query *query,
                      const pyro_report_options *options, pyro_error *error);

int pyro_write_diff(pyro_buf *buf, const pyro_cost *before, const pyro_cost *after,
                    const pyro_report_options *options, pyro_error *error);

int pyro_write_trace_text(pyro_buf *buf, const pyro_trace *trace, const pyro_analysis *analysis,
                          const pyro_trace_report_options *options, pyro_error *error);
int pyro_write_trace_json(pyro_buf *buf, const pyro_trace *trace, const pyro_analysis *analysis,
                          const pyro_trace_report_options *options);
int pyro_write_trace_csv(pyro_buf *buf, const pyro_trace *trace, const pyro_analysis *analysis,
                         const pyro_trace_report_options *options);
void pyro_write_trace_folded(pyro_buf *buf, const pyro_analysis *analysis);

/* One row of a described table: its members, or its record. */
void pyro_write_json_row(pyro_json_writer *writer, const pyro_trace_table *table, const void *row);
void pyro_write_csv_header(pyro_buf *buf, const pyro_trace_table *table, bool with_file);
void pyro_write_csv_row(pyro_buf *buf, const pyro_trace_table *table, const void *row);

/* The module tree and what else only --verbose shows. */
void pyro_write_module_tree(pyro_buf *buf, const pyro_cost *cost,
                            const pyro_report_options *options);

/* The layers: the largest ones, or all of them. */
int pyro_write_layer_table(pyro_buf *buf, const pyro_cost *cost, const pyro_report_options *options,
                           pyro_error *error);

/* Parts that several writers have. */

/* "x float32 [batch=1, 3, 224, 224], ...": what a model takes, on one line. */
int pyro_text_inputs(pyro_buf *buf, pyro_model *model, pyro_error *error);
/* "batch, height and width of x; ...": the sizes that may change; nothing where all are fixed. */
int pyro_text_open_sizes(pyro_buf *buf, pyro_model *model, pyro_error *error);
/* What was not priced, or that everything was. */
void pyro_write_coverage(pyro_buf *buf, const pyro_cost *cost, int width, bool color);
/* The keys that describe a model as a whole, without its rows. */
int pyro_json_summary(pyro_json_writer *writer, const pyro_cost *cost, pyro_error *error);

#endif
