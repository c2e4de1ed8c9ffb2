/* The writers of all kinds of reports (writers.def): what they get, and how one is found. */
#ifndef PYRO_REPORT_WRITERS_H
#define PYRO_REPORT_WRITERS_H

#include "analyze/host/forward_table.h"
#include "base/containers/buf.h"
#include "base/json/write.h"
#include "graph/cost_changes.h"
#include "report/cost/check.h"
#include "report/kinds.h"

#include <pyrometer/graph.h>
#include <pyrometer/ranks.h>
#include <pyrometer/report.h>
#include <pyrometer/tables.h>

/* A format of graphs that only the tool has. */
enum { PYRO_GRAPH_SVG = PYRO_GRAPH_GRAPHML + 1 };

typedef struct pyro_ranking pyro_ranking; /* bench/ranking.h */
typedef struct pyro_picture pyro_picture; /* dataflow/picture.h */

/* What a writer gets: the result, of which the member of its kind is set, and how to show it. */
typedef struct pyro_report_request {
    pyro_report_kind kind;
    int format; /* a value of the public enum of the kind */
    const pyro_report_options *options;
    pyro_error *error; /* filled by a writer that fails; may be NULL */
    union {
        const pyro_cost *cost;
        struct {
            const pyro_cost *const *costs;
            size_t count;
        } side_by_side;
        struct {
            const pyro_cost *before, *after;
            const pyro_layer_changes *changes;
        } diff;
        struct {
            const pyro_catalog *catalog;
            const pyro_catalog_entry *const *entries; /* those to list, in order */
            size_t count;
        } models;
        const pyro_check *check;
        struct {
            const pyro_trace *trace;
            const pyro_analysis *analysis;
            const pyro_trace_report_options *options;
        } trace;
        const pyro_pass_summary *passes;
        const pyro_trace_diff *trace_diff;
        struct {
            const pyro_ranks *ranks;
            pyro_ranks_view view;
        } ranks;
        struct {
            const pyro_bench_report *report;
            const pyro_ranking *ranking; /* of its results that have a latency, fastest first */
            size_t ranking_count;
        } bench;
        const pyro_comparison *verdict;
        struct {
            const pyro_dataflow *graph;
            const pyro_graph_report *report;
            const pyro_picture *picture; /* of dot; NULL elsewhere */
        } graph;
    };
} pyro_report_request;

/* Appends the report. PYRO_OK, or a status with the error filled; a failed buffer is found by the
 * caller. */
typedef int pyro_write_report(pyro_buf *buf, const pyro_report_request *request);

typedef struct pyro_writer {
    pyro_report_kind kind;
    int format;
    const char *name, *extension; /* extension NULL: no option offers it by name */
    pyro_write_report *write;     /* NULL: the tool writes it */
} pyro_writer;

#define WRITER(kind, format, name, extension, write) pyro_write_report write;
#include "report/writers.def"

/* Every row, in order. */
const pyro_writer *pyro_writers(size_t *count);
/* NULL when the kind has no such format. */
const pyro_writer *pyro_writer_find(pyro_report_kind kind, int format);

/*
 * Finds the writer and gives what it wrote, a NUL-terminated buffer that the caller frees with
 * pyro_free(). PYRO_ERROR_ARGUMENT, with the formats that there are, where the kind has no such one.
 */
int pyro_report_write(char **out, size_t *size, const pyro_report_request *request);

/* Options with every 0 that means something else replaced; NULL: the defaults. */
pyro_report_options pyro_report_settle(const pyro_report_options *options);

void pyro_write_trace_folded(pyro_buf *buf, const pyro_analysis *analysis);
void pyro_write_pass_table(pyro_buf *buf, const pyro_forward_table *forward, const char *title,
                           bool with_flops);

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
