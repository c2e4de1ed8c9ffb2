/*
 * Many ranks of one training run answered together: step times, communication and who is waited for.
 * Each rank's trace becomes a summary that does not need the trace any more; summaries are merged in
 * any order and any tree, and the whole is analysed once.
 */
#ifndef PYROMETER_RANKS_H
#define PYROMETER_RANKS_H

#include <pyrometer/report.h>
#include <pyrometer/tables.h>
#include <pyrometer/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of one rank, or of several that were merged. */
typedef struct pyro_rank_summary pyro_rank_summary;

/* One without any rank, to merge into; NULL when memory is out. */
PYRO_API pyro_rank_summary *pyro_rank_summary_new(void);
/*
 * What is kept of a trace: nothing of it is needed afterwards. The rank is that of the trace, else
 * that of its file's name; `options` may be NULL, its filter and phase are not used.
 */
PYRO_API int pyro_rank_summary_make(pyro_rank_summary **out, pyro_trace *trace,
                                    const pyro_analysis_options *options, pyro_error *error);
/*
 * Adds what `other` holds, which stays as it is. Associative and commutative, and a part that is
 * there already is not added again: every order and tree of merges gives the same bytes and reports.
 */
PYRO_API int pyro_rank_summary_merge(pyro_rank_summary *summary, const pyro_rank_summary *other,
                                     pyro_error *error);
/* As JSON, for another process; the buffer is freed with pyro_free(). */
PYRO_API int pyro_rank_summary_write(char **out, size_t *size, const pyro_rank_summary *summary,
                                     pyro_error *error);
PYRO_API int pyro_rank_summary_read(pyro_rank_summary **out, const void *data, size_t size,
                                    pyro_error *error);
PYRO_API size_t pyro_rank_summary_count(const pyro_rank_summary *summary); /* of files */
PYRO_API void pyro_rank_summary_free(pyro_rank_summary *summary);

/*
 * What a file's name says: "rank_3", "trace_rank_3.json" and "run-rank3.json.gz" are of rank 3,
 * "trace_rank_3_1.json" is its second cycle (1). *rank is -1 where it says nothing.
 */
PYRO_API void pyro_rank_of_name(const char *path, int64_t *rank, int64_t *cycle);

/* A file that gave nothing. */
typedef struct pyro_rank_failure {
    const char *file, *message;
    bool from_folder; /* it only lay in a folder that was given: perhaps no trace at all */
} pyro_rank_failure;

typedef struct pyro_rank_files {
    char **files;
    bool *from_folder;
    size_t count, capacity;
} pyro_rank_files;

/*
 * The files that a path stands for: itself, or the traces in a folder (.json, .json.gz, .json.zst,
 * .pyro), in its own subfolders where it has none itself.
 */
PYRO_API int pyro_rank_files_add(pyro_rank_files *files, const char *path, pyro_error *error);
PYRO_API void pyro_rank_files_free(pyro_rank_files *files);

typedef struct pyro_rank_reading {
    const pyro_analysis_options *analysis; /* may be NULL */
    int threads;               /* 0: one a core; each has at most one trace in memory */
    pyro_progress_fn progress; /* bytes of all files; may be NULL */
    void *progress_user;
} pyro_rank_reading;

/* Reads files and merges their summaries; `failures` (malloc'd with their texts) may be NULL. */
PYRO_API int pyro_rank_files_read(pyro_rank_summary **out, const pyro_rank_files *files,
                                  const pyro_rank_reading *reading, pyro_rank_failure **failures,
                                  size_t *failure_count, pyro_error *error);
PYRO_API void pyro_rank_failures_free(pyro_rank_failure *failures, size_t count);

/* One rank; times are medians over its steps. */
typedef struct pyro_rank_row {
    int64_t rank; /* -1: not known */
    const char *file, *device;
    int64_t steps;
    int64_t step_ns, step_min_ns, step_max_ns;
    int64_t compute_ns;
    int64_t communication_ns, communication_exposed_ns;
    int64_t idle_ns, data_loading_ns;
    int64_t memory_peak_bytes; /* -1 unknown, as FLOP/s */
    double flops_per_s;
    int64_t collectives, matched_collectives;
    int64_t late_ns; /* a step: collectives waited for this rank and most others were there */
    int64_t late_total_ns, late_collectives; /* in all steps */
    int64_t wait_ns; /* a step: this rank was in collectives and others were not yet */
    int64_t clock_offset_ns; /* added to its clock to give that of the reference */
    int64_t clock_residual_ns; /* median distance that is left; -1: there was nothing to align by */
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
    int64_t last_rank, late_ns; /* who was waited for most, and for how long; -1, 0: nobody */
} pyro_rank_step_row;

/* Collectives of a kind in a process group; times are of a rank and step, in the mean. */
typedef struct pyro_rank_group_row {
    const char *group, *kind; /* group "" where it is not known */
    int64_t group_size; /* -1 unknown */
    int64_t ranks; /* that have it */
    int64_t calls; /* of all ranks, in all steps, as bytes */
    int64_t bytes; /* -1 unknown */
    double calls_per_step;
    int64_t time_ns, exposed_ns;
    double exposed_share;
    int64_t wait_ns; /* of time: until the last rank had arrived */
    int64_t matched; /* instances found on all ranks that have it */
    int64_t arrival_skew_ns; /* from the first to the last arrival, median; -1 none matched */
    int64_t last_rank; /* that arrived last most often; -1 */
    double last_share;
    double bus_gb_per_s; /* by the rank that waited least; -1 unknown */
} pyro_rank_group_row;

/* A rank that the others wait for. */
typedef struct pyro_straggler_row {
    int64_t rank;
    int64_t late_ns; /* a step, median */
    double late_share; /* of the step */
    int64_t late_steps, steps;
    const char *layer, *class_name; /* with the largest excess; "" when none explains it */
    pyro_phase phase;
    const char *op; /* in it; "" when none stands out */
    const char *where; /* "host" or "device": which time it is; "" */
    int64_t layer_ns, others_ns; /* own time a step, of it and in the median of the others */
    int64_t excess_ns;
    double explained; /* excess / late_ns */
} pyro_straggler_row;

typedef struct pyro_ranks {
    const pyro_rank_row *ranks; /* by rank */
    size_t rank_count;
    const pyro_rank_step_row *steps;
    size_t step_count;
    const pyro_rank_group_row *groups; /* most exposed time first */
    size_t group_count;
    const pyro_straggler_row *stragglers; /* most late first */
    size_t straggler_count;
    int64_t world_size; /* -1 unknown */
    int64_t missing; /* ranks of the world that have no file */
    int64_t step_ns; /* median of the ranks' medians */
    int64_t step_skew_ns; /* slowest median - fastest median */
    bool on_device; /* compute and communication are the devices', else the host's */
    int64_t collectives, matched_collectives; /* instances */
    int64_t clock_residual_ns; /* the largest of the ranks'; -1: nothing to align by */
    const char *const *notes;
    size_t note_count;
} pyro_ranks;

/* The answer; the summary may go away. `least_late_share`: of a step, 0 means 0.05. */
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

/* Text, JSON (all tables, schema pyrometer.ranks/1) or CSV (the view's table). */
PYRO_API int pyro_report_ranks(char **out, size_t *size, const pyro_ranks *ranks,
                               pyro_ranks_view view, const pyro_report_options *options,
                               pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
