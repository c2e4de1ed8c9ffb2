/*
 * The history of results over commits: storing them, lines of one metric over time, change points,
 * alerts and capacity planning.
 */
#ifndef PYROMETER_HISTORY_H
#define PYROMETER_HISTORY_H

#include <pyrometer/bench.h>
#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYRO_HISTORY_SCHEMA "pyrometer.history/1"

/* Statistics of samples; NaN where they are unknown. */
typedef struct pyro_run_statistics {
    size_t count; /* of the samples */
    double mean, median, stddev, lowest, highest, p95, p99;
} pyro_run_statistics;

/* One metric of one benchmark in a run. */
typedef struct pyro_run_metric {
    const char *benchmark, *metric, *unit;
    const char *method; /* how it was measured: engine, loop, settings; never NULL */
    bool higher_is_better;
    const double *samples; /* in the order of measurement; NULL if only `value` is known */
    size_t count;
    double value; /* of a metric without samples */
    const pyro_run_statistics *statistics; /* of samples that were removed; NULL: none */
} pyro_run_metric;

/* What one measurement gave: a result of bench or of another tool, a trace, a cost. Owns all. */
typedef struct pyro_run {
    const char *kind; /* "bench", "trace", "cost", "hyperfine", ... */
    const char *project, *commit, *branch, *tool; /* "" if unknown */
    const char *tags; /* separated by commas */
    const char *machine_class; /* results are one line only if these are equal */
    const char *fingerprint; /* everything known about the machine, as a hash; "" if unknown */
    const char *machine; /* the same in words */
    int64_t time_ns; /* since 1970, UTC; 0: unknown */
    int64_t file_time_ns; /* stands for an unknown time; the same result may be in several files */
    const char *key; /* of an exported run: what it is stored by; "": by its content */
    pyro_run_metric *metrics;
    size_t metric_count;
    struct pyro_run_store *store; /* internal */
} pyro_run;

typedef struct pyro_runs {
    pyro_run **items;
    size_t count, capacity;
    const char *format; /* of the file: "pyrometer bench", "hyperfine", ... */
} pyro_runs;

PYRO_API int pyro_run_new(pyro_run **out, const char *kind, pyro_error *error);
PYRO_API void pyro_run_free(pyro_run *run);
/* Copies a text into a member of the run; NULL becomes "". */
PYRO_API int pyro_run_set(pyro_run *run, const char **member, const char *text, pyro_error *error);
/* Copies all members. Samples and values that are not finite are PYRO_ERROR_ARGUMENT. */
PYRO_API int pyro_run_add_metric(pyro_run *run, const pyro_run_metric *metric, pyro_error *error);

/*
 * Reads results from JSON: of pyrometer bench, trace, cost and history, of hyperfine,
 * pytest-benchmark, Google Benchmark, asv and github-action-benchmark. Recognizes them by their
 * content. PYRO_ERROR_UNSUPPORTED if it is none of them.
 */
PYRO_API int pyro_runs_parse(pyro_runs *out, const void *bytes, size_t size, pyro_error *error);
PYRO_API int pyro_runs_open(pyro_runs *out, const char *path, pyro_error *error);
PYRO_API void pyro_runs_free(pyro_runs *runs);

/* Labels for results; NULL: as in the file, else from the variables of CI, else from git. */
typedef struct pyro_run_labels {
    const char *project, *commit, *branch, *machine, *tags;
    int64_t time_ns; /* 0: as in the file */
    int64_t file_time_ns; /* for results without a time of their own; 0: now */
} pyro_run_labels;
PYRO_API int pyro_runs_label(pyro_runs *runs, const pyro_run_labels *labels, pyro_error *error);

typedef struct pyro_history pyro_history;

/*
 * Opens a history: a file, "postgresql://...", or NULL for $XDG_DATA_HOME/pyrometer/history.db.
 * With `read_only` a missing one is PYRO_ERROR_NOT_FOUND; else it is created. A history that a newer
 * program wrote is PYRO_ERROR_UNSUPPORTED.
 */
PYRO_API int pyro_history_open(pyro_history **out, const char *location, bool read_only,
                               pyro_error *error);
PYRO_API void pyro_history_close(pyro_history *history); /* accepts NULL */
/* Where it is, without a password. */
PYRO_API const char *pyro_history_name(const pyro_history *history);

/* Stores a run in one transaction. *is_new is false if the same content is there already. */
PYRO_API int pyro_history_add(pyro_history *history, const pyro_run *run, bool *is_new,
                              pyro_error *error);
/* The same for many runs, in one transaction per thousand; counts the new ones. */
PYRO_API int pyro_history_add_all(pyro_history *history, const pyro_runs *runs, size_t *added,
                                  pyro_error *error);

typedef enum pyro_statistic_kind {
    PYRO_STATISTIC_MEDIAN,
    PYRO_STATISTIC_MEAN,
    PYRO_STATISTIC_MIN,
    PYRO_STATISTIC_P95,
    PYRO_STATISTIC_P99
} pyro_statistic_kind;

/* Which results to read. Names are glob patterns ("resnet*"); NULL: any. */
typedef struct pyro_history_query {
    const char *project, *benchmark, *metric, *machine, *branch, *commit;
    const char *const *tags; /* a result must have all of them */
    size_t tag_count;
    const char *model; /* a benchmark with any parameters, or a pattern; NULL: any */
    int64_t since_ns, until_ns; /* 0: no limit */
    int64_t run; /* a single run; 0: any */
    pyro_statistic_kind statistic;
    /*
     * Commits of the branch in question, oldest first, as git orders them. Points are then ordered
     * by commit, not by the clock; points of other commits are left out if `others` lists them, and
     * kept at their time if nobody knows them (a rebase removed them).
     */
    const char *const *commits;
    size_t commit_count;
    const char *const *others;
    size_t other_count;
    bool with_samples;
    bool across_machines; /* one line for all classes of machines */
} pyro_history_query;

/* The commits of a branch, and all others that git knows. */
typedef struct pyro_history_order pyro_history_order;
/*
 * Orders a query by the git repository in the current folder, at its branch or HEAD; the result must
 * live as long as the query. NULL, and the query stays in the order of time, without a repository.
 */
PYRO_API pyro_history_order *pyro_history_order_by_git(pyro_history_query *query);
PYRO_API void pyro_history_order_free(pyro_history_order *order); /* accepts NULL */

typedef struct pyro_history_point {
    int64_t run; /* number of the run */
    const char *commit, *branch, *tags, *tool, *kind, *method;
    const char *machine_class, *fingerprint, *machine;
    const char *key; /* of its run; NULL unless all metrics are read with their samples */
    int64_t time_ns, added_ns;
    size_t count; /* samples; 0: a single value */
    double mean, median, stddev, lowest, highest, p95, p99; /* NaN: unknown */
    double value; /* the requested statistic */
    const double *samples; /* NULL: not read, or removed by gc */
    size_t sample_count;
    bool is_vanished; /* its commit is not in the repository any more */
} pyro_history_point;

/* One metric of one benchmark over time. */
typedef struct pyro_history_line {
    int64_t series;
    const char *project, *benchmark, *metric, *unit, *machine_class;
    bool higher_is_better;
    pyro_history_point *points; /* in the order of commits, else of time */
    size_t point_count;
} pyro_history_line;

typedef struct pyro_history_lines {
    pyro_history_line *lines;
    size_t line_count;
    struct pyro_history_lines_store *store; /* internal */
} pyro_history_lines;

PYRO_API int pyro_history_read(pyro_history_lines **out, pyro_history *history,
                               const pyro_history_query *query, pyro_error *error);
PYRO_API void pyro_history_lines_free(pyro_history_lines *lines);

/* A run as `list` shows it. */
typedef struct pyro_history_run {
    int64_t run;
    const char *kind, *project, *commit, *branch, *tool, *tags, *machine_class, *machine;
    const char *fingerprint, *benchmarks; /* names, separated by commas */
    int64_t time_ns, added_ns;
    size_t metric_count;
} pyro_history_run;

typedef struct pyro_history_list {
    pyro_history_run *runs; /* newest first */
    size_t run_count;
    struct pyro_history_lines_store *store; /* internal */
} pyro_history_list;

/* `most` 0: all. Ignores the order of commits. */
PYRO_API int pyro_history_list_runs(pyro_history_list **out, pyro_history *history,
                                    const pyro_history_query *query, size_t most,
                                    pyro_error *error);
PYRO_API void pyro_history_list_free(pyro_history_list *list);

/* What to remove; 0 keeps everything of that kind. */
typedef struct pyro_retention {
    int64_t now_ns;
    int64_t samples_ns; /* samples older than this; their summaries stay */
    int64_t weekly_ns; /* results older than this: one per line and week stays, the median one */
    int64_t all_ns; /* results older than this */
    bool only_count; /* change nothing */
} pyro_retention;

typedef struct pyro_retention_result {
    int64_t samples, rolled_up, removed, runs; /* removed: samples, points, points, empty runs */
} pyro_retention_result;

/*
 * Reads durations ("90d", "1y"), "forever" or NULL for the defaults: samples 90 days, all results one
 * year, weekly ones forever. PYRO_ERROR_ARGUMENT names the one that is invalid, as the option
 * "keep-samples", "keep-all" or "keep-weekly".
 */
PYRO_API int pyro_retention_parse(pyro_retention *out, const char *keep_samples,
                                  const char *keep_all, const char *keep_weekly, pyro_error *error);
PYRO_API int pyro_history_collect(pyro_history *history, const pyro_retention *retention,
                                  pyro_retention_result *out, pyro_error *error);

/* Change points. */

typedef struct pyro_change_options {
    size_t window; /* of E-divisive; 0: 50 */
    double max_p; /* 0: 0.001 */
    double min_change; /* smallest relative change; 0: any */
} pyro_change_options;

/* The first point of a new level, and the levels on both sides. */
typedef struct pyro_change_point {
    size_t index;
    double p;
    double mean_before, mean_after, stddev_before, stddev_after; /* population statistics */
    unsigned votes; /* a bit per pyro_change_method that found it; 0 outside of a vote */
} pyro_change_point;

typedef enum pyro_change_method {
    PYRO_CHANGES_EDIVISIVE, /* equal to Apache Otava 0.8.0 */
    PYRO_CHANGES_BAYESIAN, /* online, by run lengths */
    PYRO_CHANGES_RANKS, /* by ranks, corrected for autocorrelation */
    PYRO_CHANGES_VOTE /* at least two of them */
} pyro_change_method;

/*
 * Finds the change points of a series; the caller frees *out with free(). NaN values take the
 * value before them. PYRO_ERROR_ARGUMENT if a value is infinite or all are NaN.
 */
PYRO_API int pyro_find_changes(pyro_change_point **out, size_t *count, const double *values,
                               size_t value_count, pyro_change_method method,
                               const pyro_change_options *options, pyro_error *error);

typedef enum pyro_change_class {
    PYRO_CHANGE_REGRESSION,
    PYRO_CHANGE_IMPROVEMENT,
    PYRO_CHANGE_METHOD, /* another version of the tool, or other settings */
    PYRO_CHANGE_MACHINE, /* another fingerprint: a new baseline */
    PYRO_CHANGE_NOISE /* the level is the same, but it scatters more */
} pyro_change_class;

typedef struct pyro_history_change {
    const pyro_history_line *line;
    size_t index; /* the most likely first point of the new level */
    size_t low, high; /* it is one of these points, with 95% confidence */
    pyro_change_class kind;
    double before, after; /* medians of both sides; of noise: relative scatter */
    double change; /* after / before - 1 */
    pyro_interval interval; /* of the change */
    double p;
    unsigned votes; /* a bit per pyro_change_method */
    bool acknowledged;
    const char *note; /* of the acknowledgement; or NULL */
    char id[17]; /* of this change, for acknowledging it */
} pyro_history_change;

typedef struct pyro_history_changes {
    pyro_history_change *changes; /* by line, then by index */
    size_t change_count;
    struct pyro_history_changes_store *store; /* internal */
} pyro_history_changes;

/* "regression", "improvement", "method changed", "machine changed", "noise grew". */
PYRO_API const char *pyro_change_class_name(pyro_change_class kind);
/* The lines must outlive the changes. */
PYRO_API int pyro_history_find_changes(pyro_history_changes **out, pyro_history *history,
                                       const pyro_history_lines *lines,
                                       const pyro_change_options *options, pyro_error *error);
PYRO_API void pyro_history_changes_free(pyro_history_changes *changes);
/* Keeps a change quiet from now on. */
PYRO_API int pyro_history_acknowledge(pyro_history *history, const pyro_history_change *change,
                                      const char *note, pyro_error *error);

/* Alerts. */

typedef enum pyro_alert_kind {
    PYRO_ALERT_LIMIT, /* "p99 > 120ms", "memory > 2GiB", "throughput < 100/s" */
    PYRO_ALERT_REGRESSION, /* "regression > 3%" */
    PYRO_ALERT_NO_DATA /* "no data for 7d" */
} pyro_alert_kind;

typedef struct pyro_alert_rule {
    char text[128]; /* as given */
    pyro_alert_kind kind;
    char metric[64];
    int statistic; /* internal */
    bool above; /* alert if the value is above the limit; else below */
    double limit; /* in `unit` */
    char unit[16]; /* of the limit: "ms", "bytes", "share", or "" for any */
    int64_t duration_ns;
} pyro_alert_rule;

/* PYRO_ERROR_ARGUMENT names the part that is invalid. */
PYRO_API int pyro_alert_parse(pyro_alert_rule *out, const char *text, pyro_error *error);

typedef enum pyro_alert_state {
    PYRO_ALERT_QUIET,
    PYRO_ALERT_FIRED,
    PYRO_ALERT_CANNOT_TELL
} pyro_alert_state;

typedef struct pyro_alert {
    const pyro_alert_rule *rule;
    const pyro_history_line *line; /* NULL: there is no line that the rule could look at */
    const pyro_history_change *change; /* of a regression; or NULL */
    pyro_alert_state state;
    double value; /* in the unit of the line; a share for a regression; NaN: none */
    const char *reason; /* of "cannot tell"; or NULL */
} pyro_alert;

typedef struct pyro_alerts {
    pyro_alert *alerts;
    size_t alert_count;
    bool fired, cannot_tell;
} pyro_alerts;

/*
 * Applies rules to lines and their changes, which must outlive the alerts. `now_ns` 0: now. Free
 * with pyro_alerts_free().
 */
PYRO_API int pyro_alerts_check(pyro_alerts *out, const pyro_alert_rule *rules, size_t rule_count,
                               const pyro_history_lines *lines, const pyro_history_changes *changes,
                               int64_t now_ns, pyro_error *error);
PYRO_API void pyro_alerts_free(pyro_alerts *alerts);

/* Capacity. */

/* Recorded times of one call with a batch of this size. */
typedef struct pyro_service {
    size_t batch;
    const double *samples_ms;
    size_t count;
} pyro_service;

/*
 * Requests arrive at random (Poisson) and wait in one queue. A free server takes up to `batch` of
 * those that wait, at once; its time is drawn from the samples of the smallest batch that holds them.
 */
typedef struct pyro_service_queue {
    const pyro_service *services; /* one of them has the size `batch` */
    size_t service_count;
    size_t batch, servers;
    double rate_per_s;
    size_t requests; /* 0: 100,000; the first tenth is not counted */
    uint64_t seed;
} pyro_service_queue;

/* Latency is waiting and service. */
typedef struct pyro_service_times {
    double mean_ms, p50_ms, p95_ms, p99_ms;
    double utilisation; /* share of the servers' time in which they work */
} pyro_service_times;

PYRO_API int pyro_service_simulate(pyro_service_times *out, const pyro_service_queue *queue,
                                   pyro_error *error);

typedef struct pyro_capacity_request {
    const pyro_service *services;
    size_t service_count;
    size_t batch;
    size_t concurrency; /* calls that one replica serves at the same time; 0: 1 */
    double rate_per_s, p99_ms;
    double utilisation; /* largest share of what full batches could serve; 0: 0.7 */
    double price_per_hour; /* of one replica */
    size_t requests; /* 0: 100,000 */
    uint64_t seed;
    /* For pyro_history_plan(), by line: its service times are multiplied by this, and 0 leaves the
     * line out. NULL: all are as measured. */
    const double *ratios;
} pyro_capacity_request;

/* Reads a rate ("500/s", "30000/min", "500" per second) and a limit of time ("120ms"). */
PYRO_API int pyro_capacity_parse(pyro_capacity_request *out, const char *rate, const char *p99,
                                 pyro_error *error);

typedef struct pyro_capacity {
    size_t replicas; /* 0: no number of replicas keeps the limit */
    pyro_service_times queue; /* with these replicas */
    double load; /* share of what these replicas could serve with full batches */
    double headroom; /* by how much the rate may grow until a limit is reached, up to 3; NaN */
    double price_per_hour;
} pyro_capacity;

/* The smallest number of replicas with which p99 and the utilisation are within their limits. */
PYRO_API int pyro_capacity_plan(pyro_capacity *out, const pyro_capacity_request *request,
                                pyro_error *error);

/* A stored line and what it needs. */
typedef struct pyro_capacity_row {
    const pyro_history_line *line;
    size_t batch, concurrency; /* from the parameters of the benchmark */
    size_t sample_count;
    pyro_capacity capacity;
    size_t next_batch; /* the row of the next larger batch on this machine; PYRO_NO_ROW: none */
    size_t
        other_machine; /* of the same batch on the machine that needs fewest replicas, if fewer */
} pyro_capacity_row;
#define PYRO_NO_ROW SIZE_MAX

typedef struct pyro_capacity_rows {
    pyro_capacity_row *rows;
    size_t row_count;
} pyro_capacity_rows;

/* What a row would need on another chip, if its service times were the measured ones times `ratio`,
 * which a caller predicts. */
typedef struct pyro_capacity_chip {
    size_t row;
    const char *chip, *measured_on; /* measured_on: the chip of the row; "" if it is unknown */
    const char *why_not; /* the reason why there is no prediction; NULL: there is one */
    double ratio, ratio_low, ratio_high; /* with the range of 80% of measurements */
    pyro_capacity capacity; /* at `ratio` */
    size_t replicas_low, replicas_high; /* at the ends of the range; 0: too slow */
} pyro_capacity_chip;

/*
 * Plans for every line of latencies with samples, from the results after its last change. Lines of
 * other batch sizes of the same benchmark serve smaller batches. `request` gives rate and limits.
 */
PYRO_API int pyro_history_plan(pyro_capacity_rows *out, const pyro_history_lines *lines,
                               const pyro_history_changes *changes,
                               const pyro_capacity_request *request, pyro_error *error);
PYRO_API void pyro_capacity_rows_free(pyro_capacity_rows *rows);

/* "90d", "12h", "2w", "30min", "1y" as nanoseconds; false if it is none. */
PYRO_API bool pyro_duration_parse(int64_t *out, const char *text);

#ifdef __cplusplus
}
#endif
#endif
