/*
 * Analyses all ranks of a training run together: step times, communication and stragglers. Each
 * rank's trace becomes a self-contained summary. Summaries are merged in any order or tree, and the
 * result is analysed once.
 */
#ifndef PYROMETER_RANKS_H
#define PYROMETER_RANKS_H

#include <pyrometer/report.h>
#include <pyrometer/tables.h>
#include <pyrometer/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The summary of one rank, or of several merged ranks. */
typedef struct pyro_rank_summary pyro_rank_summary;

/* Creates an empty summary to merge into; NULL if memory runs out. */
PYRO_API pyro_rank_summary *pyro_rank_summary_new(void);
/*
 * Summarises a trace, which the caller may close afterwards. The rank comes from the trace, else
 * from its file name. `options` may be NULL; its filter and phase are ignored.
 */
PYRO_API int pyro_rank_summary_make(pyro_rank_summary **out, pyro_trace *trace,
                                    const pyro_analysis_options *options, pyro_error *error);
/*
 * Adds the contents of `other`, which stays unchanged. Associative, commutative and idempotent:
 * every order and tree of merges gives the same bytes and reports.
 */
PYRO_API int pyro_rank_summary_merge(pyro_rank_summary *summary, const pyro_rank_summary *other,
                                     pyro_error *error);
/* Writes a summary as JSON, for another process. The caller frees it with pyro_free(). */
PYRO_API int pyro_rank_summary_write(char **out, size_t *size, const pyro_rank_summary *summary,
                                     pyro_error *error);
PYRO_API int pyro_rank_summary_read(pyro_rank_summary **out, const void *data, size_t size,
                                    pyro_error *error);
PYRO_API size_t pyro_rank_summary_count(const pyro_rank_summary *summary); /* number of files */
PYRO_API void pyro_rank_summary_free(pyro_rank_summary *summary);

/*
 * Finds rank and cycle in a file name: "rank_3", "trace_rank_3.json" and "run-rank3.json.gz" are
 * rank 3, "trace_rank_3_1.json" is its second cycle (1). *rank is -1 if the name has no rank.
 */
PYRO_API void pyro_rank_of_name(const char *path, int64_t *rank, int64_t *cycle);

/* A file that could not be read. */
typedef struct pyro_rank_failure {
    const char *file, *message;
    bool from_folder; /* found in a given folder: it may not be a trace at all */
} pyro_rank_failure;

typedef struct pyro_rank_files {
    char **files;
    bool *from_folder;
    size_t count, capacity;
} pyro_rank_files;

/*
 * Adds the files of a path: the file itself, or the traces in a folder (.json, .json.gz, .json.zst,
 * .pyro). Looks into the folder's subfolders if it has no traces itself.
 */
PYRO_API int pyro_rank_files_add(pyro_rank_files *files, const char *path, pyro_error *error);
PYRO_API void pyro_rank_files_free(pyro_rank_files *files);

typedef struct pyro_rank_reading {
    const pyro_analysis_options *analysis; /* may be NULL */
    int threads;               /* 0: one per core; each holds at most one trace in memory */
    pyro_progress_fn progress; /* bytes of all files; may be NULL */
    void *progress_user;
} pyro_rank_reading;

/* Reads files and merges their summaries. `failures` may be NULL; the caller frees it with
 * pyro_rank_failures_free(). */
PYRO_API int pyro_rank_files_read(pyro_rank_summary **out, const pyro_rank_files *files,
                                  const pyro_rank_reading *reading, pyro_rank_failure **failures,
                                  size_t *failure_count, pyro_error *error);
PYRO_API void pyro_rank_failures_free(pyro_rank_failure *failures, size_t count);

/* One rank; times are medians over its steps. */
typedef struct pyro_rank_row {
    int64_t rank; /* -1 unknown */
    const char *file, *device; /* the first of its files */
    int64_t files; /* more than 1: cycles of recording, one after the other */
    int64_t steps;
    int64_t step_ns, step_min_ns, step_max_ns;
    int64_t compute_ns;
    int64_t communication_ns, communication_exposed_ns;
    int64_t idle_ns, data_loading_ns;
    int64_t memory_peak_bytes; /* -1 unknown */
    double flops_per_s; /* -1 unknown */
    int64_t collectives, matched_collectives;
    int64_t late_ns; /* per step: collectives waited for this rank while most others were there */
    int64_t late_total_ns, late_collectives; /* in all steps */
    int64_t wait_ns; /* per step: this rank waited in collectives for others */
    int64_t clock_offset_ns; /* add to its clock to get the reference clock */
    int64_t clock_residual_ns; /* median error after alignment; -1: nothing to align by */
    double clock_drift_ppm;
    int64_t warnings; /* of its file */
    bool straggler;
} pyro_rank_row;

/* One step over all ranks. */
typedef struct pyro_rank_step_row {
    int64_t number; /* -1: the whole trace */
    int64_t ranks;
    int64_t min_ns, median_ns, max_ns;
    int64_t slowest_rank;
    int64_t skew_ns; /* max - min */
    int64_t last_rank, late_ns; /* the latest rank, and its delay; -1 and 0: no rank was late */
} pyro_rank_step_row;

/* One step of one rank. */
typedef struct pyro_rank_cell_row {
    int64_t rank, number;
    int64_t step_ns, compute_ns, communication_exposed_ns, idle_ns, data_loading_ns;
    int64_t late_ns, wait_ns; /* in this step, as in pyro_rank_row */
} pyro_rank_cell_row;

/* Collectives of one kind in a process group; times are means per rank and step. */
typedef struct pyro_rank_group_row {
    const char *group, *kind; /* group "" if unknown */
    int64_t group_size; /* -1 unknown */
    int64_t ranks; /* number of ranks that call it */
    int64_t calls; /* of all ranks, in all steps */
    int64_t bytes; /* of all ranks, in all steps; -1 unknown */
    double calls_per_step;
    int64_t time_ns, exposed_ns;
    double exposed_share;
    int64_t wait_ns; /* part of time_ns: until the last rank arrived */
    int64_t matched; /* instances found on all of these ranks */
    int64_t arrival_skew_ns; /* from first to last arrival, median; -1: none matched */
    int64_t last_rank; /* most often the last to arrive; -1 unknown */
    double last_share;
    double bus_gb_per_s; /* of the rank that waited least; -1 unknown */
} pyro_rank_group_row;

/* A rank that the others wait for. */
typedef struct pyro_straggler_row {
    int64_t rank;
    int64_t late_ns; /* per step, median */
    double late_share; /* of the step */
    int64_t late_steps, steps;
    const char *layer, *class_name; /* layer with the largest excess; "" if none explains it */
    pyro_phase phase;
    const char *op; /* in that layer; "" if none stands out */
    const char *where; /* whose time it is: "host", "device" or "" */
    int64_t layer_ns, others_ns; /* own time per step: of this rank, and median of the others */
    int64_t excess_ns;
    double explained; /* excess / late_ns */
} pyro_straggler_row;

typedef struct pyro_ranks {
    const pyro_rank_row *ranks; /* by rank */
    size_t rank_count;
    const pyro_rank_step_row *steps;
    size_t step_count;
    const pyro_rank_cell_row *cells; /* by rank and step; of many, the first steps of each rank */
    size_t cell_count;
    const pyro_rank_group_row *groups; /* most exposed time first */
    size_t group_count;
    const pyro_straggler_row *stragglers; /* most late first */
    size_t straggler_count;
    int64_t world_size; /* -1 unknown */
    int64_t missing; /* ranks without a file */
    int64_t step_ns; /* median of the ranks' medians */
    int64_t step_skew_ns; /* slowest median - fastest median */
    bool on_device; /* compute and communication are device times, else host times */
    int64_t collectives, matched_collectives; /* instances */
    int64_t exact_collectives; /* of the matched ones, by the numbers that torch gave them */
    int64_t clock_residual_ns; /* largest of all ranks; -1: nothing to align by */
    int64_t host_count; /* machines whose ranks share a clock; -1: not known of all ranks */
    double least_late_share; /* of a step: a straggler is late by that much */
    const char *const *notes;
    size_t note_count;
} pyro_ranks;

/* Analyses a summary, which the caller may free afterwards. `least_late_share` is the share of a
 * step from which a late rank is a straggler; 0 means 0.05. */
PYRO_API int pyro_ranks_analyze(pyro_ranks **out, const pyro_rank_summary *summary,
                                double least_late_share, pyro_error *error);
PYRO_API void pyro_ranks_free(pyro_ranks *ranks);

typedef enum pyro_ranks_view {
    PYRO_RANKS_OVERVIEW,
    PYRO_RANKS_RANKS,
    PYRO_RANKS_STEPS,
    PYRO_RANKS_GROUPS,
    PYRO_RANKS_STRAGGLERS
} pyro_ranks_view;

/* Writes text, JSON (all tables, schema pyrometer.ranks/1) or CSV (the view's table). */
PYRO_API int pyro_report_ranks(char **out, size_t *size, const pyro_ranks *ranks,
                               pyro_ranks_view view, const pyro_report_options *options,
                               pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
