/* Declares the writers of all reports (writers.def), their input, and how to find one. */
#ifndef PYRO_REPORT_WRITERS_H
#define PYRO_REPORT_WRITERS_H

#include "analyze/host/forward_table.h"
#include "base/containers/buf.h"
#include "base/json/write.h"
#include "graph/cost_changes.h"
#include "report/cost/check.h"
#include "report/cost/traceable.h"
#include "report/doctor.h"
#include "report/kinds.h"

#include <pyrometer/fit.h>
#include <pyrometer/fuse.h>
#include <pyrometer/graph.h>
#include <pyrometer/map.h>
#include <pyrometer/ranks.h>
#include <pyrometer/report.h>
#include <pyrometer/tables.h>

/* A format of graphs that only the tool supports. */
enum { PYRO_GRAPH_SVG = PYRO_GRAPH_GRAPHML + 1 };
/* A format of replays beside text, JSON and CSV. */
enum { PYRO_REPLAY_PYTHON = 200 };
/* A format of every kind that only the tool supports. */
enum { PYRO_PAGE = 100 };

typedef struct pyro_ranking pyro_ranking; /* bench/ranking.h */
typedef struct pyro_picture pyro_picture; /* dataflow/picture.h */
typedef struct pyro_learn_report pyro_learn_report; /* report/predict/learn.h */
typedef struct pyro_replay_report pyro_replay_report; /* report/predict/replay.h */
typedef struct pyro_hardware_report pyro_hardware_report; /* report/predict/hardware.h */

/* The input of a writer: the result, in the member of its kind, and the options. */
typedef struct pyro_report_request {
    pyro_report_kind kind;
    int format; /* a value of the public enum of the kind */
    const pyro_report_options *options;
    pyro_error *error; /* filled by a writer that fails; may be NULL */
    union {
        const pyro_cost *cost;
        const pyro_train *train;
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
            const pyro_catalog_entry *const *entries; /* the models to list, in order */
            size_t count;
        } models;
        const pyro_check *check;
        const pyro_traceable *traceable;
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
            const pyro_ranking *ranking; /* results with a latency, fastest first */
            size_t ranking_count;
        } bench;
        const pyro_comparison *verdict;
        struct {
            const pyro_dataflow *graph;
            const pyro_graph_report *report;
            const pyro_picture *picture; /* for dot; NULL otherwise */
        } graph;
        const pyro_doctor *doctor;
        const pyro_history_report *history;
        const pyro_learn_report *learn;
        const pyro_replay_report *replay;
        const pyro_fusion *fusion;
        const pyro_hardware_report *hardware;
        const pyro_fit *fit;
        struct {
            const pyro_mapping *const *maps;
            size_t count;
        } map;
    };
} pyro_report_request;

/* Appends the report. Returns PYRO_OK, or a status with the error filled; the caller checks for a
 * failed buffer. */
typedef int pyro_write_report(pyro_buf *buf, const pyro_report_request *request);

typedef struct pyro_writer {
    pyro_report_kind kind;
    int format;
    const char *name, *extension; /* extension NULL: no option offers it by name */
    pyro_write_report *write;     /* NULL: the tool writes it */
    bool ranked;                  /* it shows results in order of speed */
} pyro_writer;

#define WRITER(kind, format, name, extension, write) pyro_write_report write;
#include "report/writers.def"

/* Every row, in order. */
const pyro_writer *pyro_writers(size_t *count);
/* NULL when the kind has no such format. */
const pyro_writer *pyro_writer_find(pyro_report_kind kind, int format);

/*
 * Finds and runs the writer. Returns its text, NUL-terminated; the caller frees it with
 * pyro_free(). PYRO_ERROR_ARGUMENT, with the list of formats, when the kind does not support the
 * format.
 */
int pyro_report_write(char **out, size_t *size, const pyro_report_request *request);

/* Moves the text from the buffer to the caller, who frees it with pyro_free(). */
int pyro_report_hand_over(pyro_buf *buf, char **out, size_t *size, pyro_error *error);

/* The options, with the default width when it is 0; NULL: all defaults. */
pyro_report_options pyro_report_settle(const pyro_report_options *options);

void pyro_write_trace_folded(pyro_buf *buf, const pyro_analysis *analysis);
void pyro_write_pass_table(pyro_buf *buf, const pyro_forward_table *forward, const char *title,
                           bool with_flops);

/* One row of a described table: its members, or its record. */
void pyro_write_json_row(pyro_json_writer *writer, const pyro_trace_table *table, const void *row);
void pyro_write_csv_header(pyro_buf *buf, const pyro_trace_table *table, bool with_file);
void pyro_write_csv_row(pyro_buf *buf, const pyro_trace_table *table, const void *row);

/* The module tree and other parts that only --verbose shows. */
void pyro_write_module_tree(pyro_buf *buf, const pyro_cost *cost,
                            const pyro_report_options *options);

/* The layers: the largest ones, or all of them. */
int pyro_write_layer_table(pyro_buf *buf, const pyro_cost *cost, const pyro_report_options *options,
                           pyro_error *error);

/* Parts that several writers share. */

/* "x float32 [batch=1, 3, 224, 224], ...": the inputs of a model, on one line. */
int pyro_text_inputs(pyro_buf *buf, pyro_model *model, pyro_error *error);
/* "batch, height and width of x; ...": the sizes that may change; nothing where all are fixed. */
int pyro_text_open_sizes(pyro_buf *buf, pyro_model *model, pyro_error *error);
/* The operators without a price, or a note that all have one. */
void pyro_write_coverage(pyro_buf *buf, const pyro_cost *cost, int width, bool color);
/* The keys that name a model and its sizes, and how its cost is counted. */
int pyro_json_subject(pyro_json_writer *writer, const pyro_cost *cost, pyro_error *error);
/* The key "coverage": the operators without a price. */
void pyro_json_coverage(pyro_json_writer *writer, const pyro_cost *cost);
/* The keys that describe a model as a whole, without its rows. */
int pyro_json_summary(pyro_json_writer *writer, const pyro_cost *cost, pyro_error *error);

#endif
