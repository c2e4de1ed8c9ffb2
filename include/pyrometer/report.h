/* Writes results as text, JSON or CSV. */
#ifndef PYROMETER_REPORT_H
#define PYROMETER_REPORT_H

#include <pyrometer/catalog.h>
#include <pyrometer/bench.h>
#include <pyrometer/cost.h>
#include <pyrometer/history.h>
#include <pyrometer/trace.h>
#include <pyrometer/train_cost.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pyro_format { PYRO_FORMAT_TEXT, PYRO_FORMAT_JSON, PYRO_FORMAT_CSV } pyro_format;
typedef enum pyro_sort {
    PYRO_SORT_FLOPS,
    PYRO_SORT_MACS,
    PYRO_SORT_BYTES,
    PYRO_SORT_PARAMS,
    PYRO_SORT_AI
} pyro_sort;

typedef struct pyro_report_options {
    pyro_format format;
    pyro_sort sort;  /* of the layer table */
    int top;         /* rows of the layer table; 0 means 10, negative: all */
    bool verbose;    /* every layer, and every node in JSON and CSV */
    bool color;      /* ANSI colour in text */
    int width;       /* columns of the terminal; 0 means 80 */
    bool quiet;      /* text without notes and advice */
} pyro_report_options;

/* Each returns a NUL-terminated buffer that the caller frees with pyro_free(). */
PYRO_API int pyro_report_cost(char **out, size_t *size, const pyro_cost *cost,
                              const pyro_report_options *options, pyro_error *error);
/* A training step. */
PYRO_API int pyro_report_train(char **out, size_t *size, const pyro_train *train,
                               const pyro_report_options *options, pyro_error *error);
/* Several models side by side. */
PYRO_API int pyro_report_compare(char **out, size_t *size, const pyro_cost *const *costs,
                                 size_t count, const pyro_report_options *options,
                                 pyro_error *error);
/* What changed from `before` to `after`, layer by layer. */
PYRO_API int pyro_report_diff(char **out, size_t *size, const pyro_cost *before,
                              const pyro_cost *after, const pyro_report_options *options,
                              pyro_error *error);

typedef enum pyro_models_sort {
    PYRO_MODELS_BY_NAME,
    PYRO_MODELS_BY_PARAMS, /* params and MACs: largest first */
    PYRO_MODELS_BY_MACS
} pyro_models_sort;

/* Selects models (pyro_catalog_matches) and their order. */
typedef struct pyro_models_query {
    const char *pattern, *family, *task; /* NULL: any */
    pyro_models_sort sort;
} pyro_models_query;

/* Lists models. `query` NULL: all. If no model matches, the list is empty. */
PYRO_API int pyro_report_models(char **out, size_t *size, const pyro_catalog *catalog,
                                const pyro_models_query *query, const pyro_report_options *options,
                                pyro_error *error);

/* What a trace report shows: the overview, or one table (PYRO_TRACE_LAYERS, PYRO_TRACE_OPS, ...;
 * see tables.def). */
typedef enum pyro_trace_view {
    PYRO_TRACE_OVERVIEW,
#define PYRO_TABLE(id, number, ...) PYRO_TRACE_##id = number,
#include <pyrometer/tables.def>
} pyro_trace_view;

typedef struct pyro_trace_report_options {
    pyro_report_options report; /* ignores `sort`; `verbose` adds the stacks to JSON */
    pyro_trace_view view;       /* for text and CSV; JSON has all tables */
    int depth; /* deeper layers are rolled up into their ancestor; negative: no roll-up */
    int part; /* CSV of several traces: 1 for the first, then 2, 3, ...: every row names its file
                 and only part 1 has the header; 0: a single trace */
    size_t max_rows; /* of a table in JSON, whose key "cut" then lists the tables that have more;
                        0: all */
} pyro_trace_report_options;

/* `options` NULL: text, the overview, all layers. */
PYRO_API int pyro_report_trace(char **out, size_t *size, const pyro_trace *trace,
                               const pyro_analysis *analysis,
                               const pyro_trace_report_options *options, pyro_error *error);
/* One line "frame;frame;frame nanoseconds" per stack: device time if any, else host time. */
PYRO_API int pyro_report_trace_folded(char **out, size_t *size, const pyro_analysis *analysis,
                                      pyro_error *error);
/* The layer table of one forward pass: calls, own wall time, input shapes and time in ops per
 * layer, and a row TOTAL with the wall time of the pass. `with_flops` adds FLOPs. */
PYRO_API int pyro_report_layer_table(char **out, size_t *size, pyro_trace *trace, const char *title,
                                     bool with_flops, pyro_error *error);
/* Layers over several passes. `options` NULL: text. */
PYRO_API int pyro_report_passes(char **out, size_t *size, const pyro_pass_summary *summary,
                                const pyro_report_options *options, pyro_error *error);
/* What changed between two runs: the layers, ops and kernels whose time changed most. */
PYRO_API int pyro_report_trace_diff(char **out, size_t *size, const pyro_trace_diff *diff,
                                    const pyro_report_options *options, pyro_error *error);

typedef enum pyro_bench_format {
    PYRO_BENCH_TEXT,
    PYRO_BENCH_JSON, /* for pyro_bench_open */
    PYRO_BENCH_CSV,  /* one row per metric */
    PYRO_BENCH_MARKDOWN,
    PYRO_BENCH_HTML,  /* one static file; pyro_report_bench_page writes the page */
    PYRO_BENCH_JUNIT,
    PYRO_BENCH_GITHUB /* for github-action-benchmark */
} pyro_bench_format;

/* Results with their gates and comparison. Only `bench` is required. */
typedef struct pyro_bench_report {
    const pyro_bench *bench;
    const pyro_gate_row *gates;
    size_t gate_count;
    const pyro_comparison *comparison; /* with an earlier result; may be NULL */
    bool cannot_tell_passes; /* JUnit: report "cannot tell" as skipped, not as an error */
    bool without_drawings, without_details; /* HTML: numbers only; no facts, tables, environment */
} pyro_bench_report;

/* `options` may be NULL; its format is ignored. */
PYRO_API int pyro_report_bench(char **out, size_t *size, const pyro_bench_report *report,
                               pyro_bench_format format, const pyro_report_options *options,
                               pyro_error *error);
/* The verdict between two results: text, JSON or CSV by options->format. */
PYRO_API int pyro_report_verdict(char **out, size_t *size, const pyro_comparison *comparison,
                                 const pyro_report_options *options, pyro_error *error);

/* What a report of the history shows; each view needs the members that its comment names. */
typedef enum pyro_history_view {
    PYRO_HISTORY_LIST, /* list */
    PYRO_HISTORY_SHOW, /* lines */
    PYRO_HISTORY_EXPORT, /* lines with samples; as JSON, pyro_runs_parse reads it */
    PYRO_HISTORY_COLLECT, /* collected */
    PYRO_HISTORY_TREND, /* lines, changes */
    PYRO_HISTORY_CHANGES, /* lines, changes */
    PYRO_HISTORY_ALERTS, /* alerts */
    PYRO_HISTORY_PLAN, /* plan, capacity */
    PYRO_HISTORY_BISECT /* bisected */
} pyro_history_view;

/* What a search for a slower commit found. */
typedef struct pyro_bisected {
    const char *good; /* the last commit that is not slower */
    const char *first, *subject; /* the first slower one */
    size_t steps; /* commits that were measured */
    double change; /* of its slowest metric; NaN: unknown */
    bool is_certain; /* false: a step had no verdict, and its estimate decided */
} pyro_bisected;

typedef struct pyro_history_report {
    pyro_history_view view;
    const pyro_history_list *list;
    const pyro_history_lines *lines;
    const pyro_history_changes *changes;
    const pyro_alerts *alerts;
    const pyro_capacity_rows *plan;
    const pyro_capacity_request *capacity;
    const pyro_capacity_chip *chips; /* with the plan: other chips; may be NULL */
    size_t chip_count;
    const pyro_bisected *bisected;
    const pyro_retention_result *collected;
    bool only_counted; /* the collection removed nothing */
} pyro_history_report;

/* Text, JSON or CSV by options->format. */
PYRO_API int pyro_report_history(char **out, size_t *size, const pyro_history_report *report,
                                 const pyro_report_options *options, pyro_error *error);
typedef enum pyro_alerts_format {
    PYRO_ALERTS_JUNIT,
    PYRO_ALERTS_MARKDOWN,
    PYRO_ALERTS_WEBHOOK /* JSON whose "text" chat programs show */
} pyro_alerts_format;
PYRO_API int pyro_report_alerts(char **out, size_t *size, const pyro_alerts *alerts,
                                pyro_alerts_format format, pyro_error *error);
/* The newest result of every line, for Prometheus' textfile collector (OpenMetrics). */
PYRO_API int pyro_report_prometheus(char **out, size_t *size, const pyro_history_lines *lines,
                                    const pyro_history_changes *changes, pyro_error *error);
/* The newest result of every line where lower is better, for github-action-benchmark. */
PYRO_API int pyro_report_github_entries(char **out, size_t *size, const pyro_history_lines *lines,
                                        pyro_error *error);
/* Frees a buffer that this library returned. */
PYRO_API void pyro_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
