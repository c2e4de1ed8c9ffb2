/*
 * Measuring and judging: the sampling loop, the environment it ran in, results with every sample,
 * thresholds, and the verdict between two results.
 */
#ifndef PYROMETER_BENCH_H
#define PYROMETER_BENCH_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYRO_BENCH_SCHEMA "pyrometer.bench/1"

/* Both ends are NaN where there is no interval; one is where only that side is unbounded. */
typedef struct pyro_interval {
    double low, high, confidence;
} pyro_interval;

typedef struct pyro_loop_options {
    int64_t warmup_runs;     /* negative: until two windows look alike */
    int64_t warmup_window;   /* iterations of a window, 0: 20 */
    int64_t warmup_runs_max; /* of a detected warm-up, 0: 300; reaching it is said, not fatal */
    int64_t min_runs;        /* 0: 10; what the deepest percentile needs may be more */
    int64_t max_runs;        /* 0: no limit but the time */
    int64_t min_time_ns;     /* 0: none */
    int64_t max_time_ns;     /* 0: 10 s; reaching it before the interval is narrow: noisy */
    bool max_time_wins;      /* over min_runs and warmup_runs: one sample is taken at least */
    bool wall_time;          /* times count what lies between iterations too */
    double target_width;     /* of the median's 95% interval, a share of it; 0: 0.02 */
    double deepest_percentile; /* 0.99 asks for at least 299 runs; 0: none */
    double rate_per_s;       /* > 0: start by schedule, and time from the intended start */
    bool poisson;            /* gaps of the schedule are exponential rather than equal */
    uint64_t seed;           /* of the schedule */
} pyro_loop_options;

typedef enum pyro_loop_phase {
    PYRO_LOOP_WARMUP,
    PYRO_LOOP_MEASURE,
    PYRO_LOOP_DONE
} pyro_loop_phase;

typedef enum pyro_loop_end {
    PYRO_LOOP_RUNNING,
    PYRO_LOOP_NARROW,   /* the interval is as narrow as was asked */
    PYRO_LOOP_NOISY,    /* time or runs ran out before that */
    PYRO_LOOP_FIXED,    /* min_runs = max_runs were asked for and done */
    PYRO_LOOP_STOPPED   /* the caller had enough */
} pyro_loop_end;

typedef struct pyro_loop pyro_loop;

/* Why a GPU's clocks are held down, as NVML numbers the reasons. */
enum {
    PYRO_GPU_IDLE = 0x1,
    PYRO_GPU_CLOCK_SETTING = 0x2,
    PYRO_GPU_POWER_CAP = 0x4,
    PYRO_GPU_HARDWARE_SLOWDOWN = 0x8,
    PYRO_GPU_SYNC_BOOST = 0x10,
    PYRO_GPU_THERMAL_SOFTWARE = 0x20,
    PYRO_GPU_THERMAL_HARDWARE = 0x40,
    PYRO_GPU_POWER_BRAKE = 0x80,
    PYRO_GPU_DISPLAY_SETTING = 0x100
};

typedef struct pyro_gpu pyro_gpu;

/* A GPU at one moment; a number that the driver does not give is NaN. */
typedef struct pyro_gpu_state {
    double clock_mhz; /* of the multiprocessors */
    double memory_clock_mhz, power_w, temperature_c;
    double busy; /* share of the driver's last period in which a kernel ran */
    uint64_t reasons; /* PYRO_GPU_*; 0: not known, or none */
} pyro_gpu_state;

/* What a GPU did while a loop ran on it. */
typedef struct pyro_gpu_record {
    double clock_mhz; /* median of the looks */
    double clock_min_mhz, clock_max_mhz; /* seen */
    double clock_limit_mhz; /* the highest that this GPU has */
    double memory_clock_mhz; /* last seen */
    double power_cap_w, power_default_cap_w;
    double power_w, temperature_c; /* highest seen */
    int64_t looks, throttled_looks; /* looks 0: no GPU was watched */
    int64_t reasons; /* all that were seen */
} pyro_gpu_record;

/*
 * Opens a GPU by its UUID ("GPU-..."), NULL: the first, through the driver's own library.
 * PYRO_ERROR_UNSUPPORTED where there is no such library, and PYRO_ERROR_ARGUMENT no such GPU.
 * The environment variable PYRO_NVML names another library than libnvidia-ml.so.1.
 */
PYRO_API int pyro_gpu_open(pyro_gpu **out, const char *uuid, pyro_error *error);
PYRO_API void pyro_gpu_close(pyro_gpu *gpu);
PYRO_API pyro_gpu_state pyro_gpu_read(const pyro_gpu *gpu);
/* Heat or a brake holds the clocks down: what is measured then is not the program. */
PYRO_API bool pyro_gpu_is_throttled(const pyro_gpu_state *state);
/* "power cap, thermal": the reasons but idle, into `text`; "" where there are none. */
PYRO_API const char *pyro_gpu_reasons(char *text, size_t size, uint64_t reasons);

/* What a loop has measured; the arrays belong to it. */
typedef struct pyro_loop_samples {
    const double *latency_ns; /* rate mode: from the intended start; else the same as service_ns */
    const double *service_ns; /* from the real start */
    size_t count;
    const double *warmup_ns;
    size_t warmup_count;
    bool warmup_settled; /* false: a detected warm-up gave up at its limit */
    size_t wanted_count; /* as many as were asked for, where that was a fixed number; else 0 */
    size_t discarded_count; /* samples that are not here: the GPU was throttled */
    size_t throttled_count; /* samples that are here although it was: there were no others */
    pyro_gpu_record gpu; /* looks 0: none was watched */
    double rate_per_s; /* 0: a closed loop */
    pyro_loop_end end;
} pyro_loop_samples;

/* `options` NULL means the defaults. */
PYRO_API int pyro_loop_new(pyro_loop **out, const pyro_loop_options *options, pyro_error *error);
PYRO_API void pyro_loop_free(pyro_loop *loop);
/*
 * One iteration, driven from outside:
 *     while (pyro_loop_next(loop) != PYRO_LOOP_DONE) { run(); pyro_loop_tick(loop, &error); }
 * next waits for the intended start in rate mode, then takes the time; tick takes it again. Where
 * the caller has measured by itself (device events, a child's times), record replaces tick.
 */
PYRO_API pyro_loop_phase pyro_loop_next(pyro_loop *loop);
PYRO_API int pyro_loop_tick(pyro_loop *loop, pyro_error *error);
PYRO_API int pyro_loop_record(pyro_loop *loop, int64_t duration_ns, pyro_error *error);
/*
 * Looks at a GPU between iterations, at most once a millisecond. Samples beside which it is
 * throttled (pyro_gpu_is_throttled, or a clock under 75% of the highest that was seen) are counted
 * and left out, and others taken in their place. Where hardly any would be left, they are kept and
 * counted apart. The GPU belongs to the caller and outlives the loop.
 */
PYRO_API int pyro_loop_watch(pyro_loop *loop, const pyro_gpu *gpu, pyro_error *error);
/* Ends the loop; what was measured stays. */
PYRO_API void pyro_loop_stop(pyro_loop *loop);
PYRO_API pyro_loop_samples pyro_loop_read(const pyro_loop *loop);
/* Returns 0 to go on, anything else ends the loop and is returned by pyro_loop_run. */
typedef int (*pyro_loop_callback)(void *user);
/* The whole loop; `synchronize` (may be NULL) waits for a device before each time is taken. */
PYRO_API int pyro_loop_run(pyro_loop *loop, pyro_loop_callback run, pyro_loop_callback synchronize,
                           void *user, pyro_error *error);

enum { PYRO_PERCENTILE_COUNT = 4 }; /* p50, p95, p99, p99.9 */

typedef struct pyro_percentile {
    double probability;
    const char *name; /* "p99" */
    double value; /* of the samples, however few they are */
    pyro_interval interval; /* order statistics, 95% */
    size_t needs; /* samples below which the value is not honest */
    bool enough;
} pyro_percentile;

typedef struct pyro_summary {
    size_t count;
    double mean, stddev, cv, min, max, mad;
    pyro_interval mean_interval; /* BCa bootstrap; by blocks where neighbours hang together */
    pyro_percentile percentiles[PYRO_PERCENTILE_COUNT];
    double q1, q3;
    size_t outliers, outliers_severe;
    double autocorrelation; /* lag 1 */
    bool autocorrelated;
} pyro_summary;

/* The unit of every sample of a metric says what it is: "ms", "bytes", "samples/s", ... */
typedef struct pyro_metric {
    const char *name; /* "latency", "memory", "throughput", "user", "system", ... */
    const char *unit;
    bool higher_is_better;
    const double *samples; /* in the order they were taken; NULL where only `value` is known */
    size_t count;
    double value; /* a number that was measured as a whole; NaN where there are samples */
    pyro_summary summary;
} pyro_metric;

/* What a sample is a repetition of: only processes show the noise from one process to the next. */
typedef enum pyro_replicate { PYRO_REPLICATE_PROCESS, PYRO_REPLICATE_ITERATION } pyro_replicate;

typedef struct pyro_pair {
    const char *name, *value;
} pyro_pair;

/* What an engine found besides numbers: layers, recommendations. A cell that is NULL is empty. */
typedef struct pyro_bench_table {
    const char *title;
    const char **columns;
    size_t column_count;
    const char **cells; /* row by row */
    size_t row_count;
} pyro_bench_table;

typedef struct pyro_bench_result {
    const char *name;
    const char *engine; /* "command", "module", "onnx", ... */
    const char *command; /* what was run; NULL where that has no text */
    const char *status; /* "ok", "noisy", "failed", "interrupted" */
    const char *message; /* why, or NULL */
    const char *loop; /* "closed" (service time) or "rate" (from the intended start) */
    double rate_per_s;
    double items; /* samples an iteration handles: what throughput counts */
    pyro_replicate replicate;
    const int64_t *processes; /* iterations of each process, for PYRO_REPLICATE_ITERATION */
    size_t process_count;
    const double *warmup_ms;
    size_t warmup_count;
    bool warmup_settled;
    double shell_ms; /* taken off every latency; 0: none */
    pyro_pair *parameters; /* what distinguishes this configuration: batch_size=8 */
    size_t parameter_count;
    pyro_pair *facts; /* what is only told: inputs, precision, why a number is not there */
    size_t fact_count;
    pyro_bench_table *tables;
    size_t table_count;
    pyro_metric *metrics; /* throughput follows latency by itself */
    size_t metric_count;
    size_t failures; /* runs that exited with another code than 0 and were kept */
    int64_t discarded; /* samples that were left out: the GPU was throttled */
    int64_t throttled; /* and those that were kept all the same */
    pyro_gpu_record gpu; /* looks 0: none was watched */
} pyro_bench_result;

typedef struct pyro_environment {
    /* The fingerprint: a result from a machine where one of these differs cannot be compared. */
    const char *architecture, *cpu_model, *governor, *threads, *gpu, *gpu_driver;
    int64_t cpu_count; /* of the machine */
    int64_t usable_cpus; /* of this process: affinity and containers */
    int64_t memory_bytes;
    /* What is only told. */
    const char *kernel, *system, *commit, *gpu_clocks;
    double load_1m_before, load_1m_after; /* NaN: not known */
    double other_cpus; /* processors that other programs used meanwhile; NaN: not known */
    int64_t swap_used_bytes, swapped_pages; /* in use before; moved meanwhile */
    int64_t throttled; /* thermal throttling meanwhile; -1: not known */
    double noise; /* A/A noise of the machine, a share; 0: never measured */
    pyro_pair *extra; /* what an engine adds: torch, onnxruntime; part of the fingerprint */
    size_t extra_count;
} pyro_environment;

/* A set of results: built by a run or read from a file. Everything in it is its own. */
typedef struct pyro_bench {
    const char *created; /* ISO 8601, UTC */
    const char *tool;
    uint64_t seed;
    const char *order; /* "interleaved" or "sequential" */
    const char
        *rounds; /* the same text in two results: they ran in turn, round by round; or NULL */
    bool interrupted;
    pyro_environment environment;
    pyro_bench_result *results;
    size_t result_count;
    const char **warnings;
    size_t warning_count;
    struct pyro_bench_store *store; /* internal */
} pyro_bench;

PYRO_API int pyro_bench_new(pyro_bench **out, pyro_error *error);
PYRO_API void pyro_bench_free(pyro_bench *bench);
/* Results may be added and filled until pyro_bench_finish; pointers to results change by adding. */
PYRO_API int pyro_bench_add(pyro_bench *bench, const char *name, const char *engine, size_t *index,
                            pyro_error *error);
PYRO_API int pyro_bench_set_text(pyro_bench *bench, const char **member, const char *text,
                                 pyro_error *error);
PYRO_API int pyro_bench_add_parameter(pyro_bench *bench, size_t result, const char *name,
                                      const char *value, pyro_error *error);
PYRO_API int pyro_bench_add_fact(pyro_bench *bench, size_t result, const char *name,
                                 const char *value, pyro_error *error);
PYRO_API int pyro_bench_add_table(pyro_bench *bench, size_t result, const char *title,
                                  const char *const *columns, size_t column_count,
                                  pyro_error *error);
/* One more row of the result's last table, with as many cells as that has columns. */
PYRO_API int pyro_bench_add_row(pyro_bench *bench, size_t result, const char *const *cells,
                                pyro_error *error);
/* Copies the samples; a sample that is not finite or is below 0 is PYRO_ERROR_ARGUMENT. */
PYRO_API int pyro_bench_add_metric(pyro_bench *bench, size_t result, const char *name,
                                   const char *unit, bool higher_is_better, const double *samples,
                                   size_t count, pyro_error *error);
/* A number that was measured as a whole (peak memory, FLOP/s). */
PYRO_API int pyro_bench_add_value(pyro_bench *bench, size_t result, const char *name,
                                  const char *unit, bool higher_is_better, double value,
                                  pyro_error *error);
/*
 * Amount per second (tokens, images, FLOPs), from the mean time of the metric `of`, which has samples
 * in ms. PYRO_ERROR_ARGUMENT where it has none.
 */
PYRO_API int pyro_bench_add_rate(pyro_bench *bench, size_t result, const char *of, const char *name,
                                 const char *unit, double amount, pyro_error *error);
/* The samples of a loop, as one more process of this result: latency, and service in rate mode. */
PYRO_API int pyro_bench_add_loop(pyro_bench *bench, size_t result, const pyro_loop *loop,
                                 pyro_error *error);
/*
 * Adds the samples of `from`, which measured the same benchmarks in another process; both are
 * finished, and `into` is again afterwards.
 */
PYRO_API int pyro_bench_merge(pyro_bench *into, const pyro_bench *from, pyro_error *error);
PYRO_API int pyro_bench_warn(pyro_bench *bench, pyro_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
PYRO_API int pyro_bench_add_environment(pyro_bench *bench, const char *name, const char *value,
                                        pyro_error *error);
/* Reads this machine into bench->environment; call it before, and _after when all is measured. */
PYRO_API int pyro_environment_before(pyro_bench *bench, pyro_error *error);
PYRO_API int pyro_environment_after(pyro_bench *bench, pyro_error *error);
/* Computes every summary and throughput, and warns of what makes the numbers doubtful. */
PYRO_API int pyro_bench_finish(pyro_bench *bench, pyro_error *error);

/*
 * Reads results that were written as JSON; summaries are computed anew. PYRO_ERROR_FORMAT when it is
 * damaged, PYRO_ERROR_UNSUPPORTED when it is of another schema version.
 */
PYRO_API int pyro_bench_open(pyro_bench **out, const char *path, pyro_error *error);
PYRO_API int pyro_bench_parse(pyro_bench **out, const void *bytes, size_t size, pyro_error *error);
/* Whether a file looks like results: it begins as an object that says so. */
PYRO_API bool pyro_bench_recognise(const char *path);

/* NULL when there is none of that name. */
PYRO_API const pyro_metric *pyro_bench_metric(const pyro_bench_result *result, const char *name);

/* NaN without samples; the median also when memory is out. */
PYRO_API double pyro_samples_mean(const double *samples, size_t count);
PYRO_API double pyro_samples_median(const double *samples, size_t count);

/* How much faster `fast` is than `slow`: the ratio of their mean latencies and its 95% interval. */
typedef struct pyro_speed_ratio {
    double ratio;
    pyro_interval interval;
} pyro_speed_ratio;
PYRO_API int pyro_bench_speed_ratio(pyro_speed_ratio *out, const pyro_bench_result *fast,
                                    const pyro_bench_result *slow, uint64_t seed,
                                    pyro_error *error);

typedef enum pyro_gate { PYRO_GATE_PASSED, PYRO_GATE_FAILED, PYRO_GATE_CANNOT_TELL } pyro_gate;

typedef struct pyro_threshold {
    char text[64]; /* as it was given */
    int kind; /* internal: a row of the table of metrics */
    int unit; /* internal: a row of the table of units */
    double limit; /* in the unit of the metric's samples */
} pyro_threshold;

typedef struct pyro_gate_row {
    const pyro_threshold *threshold;
    const pyro_bench_result *result;
    const char *unit;
    double value;
    pyro_interval interval;
    pyro_gate gate;
    const char *reason; /* why it cannot be told, or NULL */
} pyro_gate_row;

/* "latency:100ms"; PYRO_ERROR_ARGUMENT names what is unknown. */
PYRO_API int pyro_threshold_parse(pyro_threshold *out, const char *text, pyro_error *error);
/*
 * Whether the result has a number in the threshold's unit: tokens/s only where tokens were counted.
 * PYRO_ERROR_ARGUMENT names the units that it has. A command needs no metrics to be asked.
 */
PYRO_API int pyro_threshold_verify(const pyro_threshold *threshold, const pyro_bench_result *result,
                                   pyro_error *error);
PYRO_API pyro_gate_row pyro_threshold_check(const pyro_threshold *threshold,
                                            const pyro_bench_result *result);

typedef enum pyro_verdict {
    PYRO_VERDICT_NO_CHANGE,
    PYRO_VERDICT_IMPROVED,
    PYRO_VERDICT_REGRESSED,
    PYRO_VERDICT_CANNOT_TELL
} pyro_verdict;

/* "no change", "improved", "regressed", "cannot tell". */
PYRO_API const char *pyro_verdict_name(pyro_verdict verdict);

typedef struct pyro_verdict_options {
    double delta; /* a change that matters, a share; 0: 0.02 */
    double floor_ms; /* and in time, an absolute one that never matters */
    double floor_bytes; /* the same in bytes; 0: 1 MiB, what loaders and libraries vary by */
    double noise; /* the machine's A/A noise, a share; the results' own where 0 */
    double confidence; /* 0: 0.95 */
    bool any_machine; /* compare although the fingerprints differ */
    uint64_t seed; /* of the bootstrap */
} pyro_verdict_options;

typedef struct pyro_verdict_row {
    const char *benchmark, *metric, *unit;
    double base, current; /* estimates of both: near the medians, and `change` apart */
    double change; /* current / base - 1 */
    pyro_interval interval; /* of the change */
    double delta; /* that was applied, a share */
    double p; /* of the alarm, after Holm's correction over all rows; NaN: none */
    size_t base_count, current_count; /* replicates */
    bool processes; /* replicates are processes; else blocks of iterations of one */
    bool interleaved; /* replicate i of both sides is of the same round; compared round by round */
    pyro_verdict verdict;
    const char *reason; /* of "cannot tell", or what to know of the others; NULL: nothing */
} pyro_verdict_row;

typedef struct pyro_comparison {
    pyro_verdict_row *rows;
    size_t row_count;
    const char **notes;
    size_t note_count;
    pyro_verdict overall; /* regressed before cannot tell before improved before no change */
    bool regressed, cannot_tell;
    struct pyro_comparison_store *store; /* internal */
} pyro_comparison;

PYRO_API int pyro_bench_compare(pyro_comparison **out, const pyro_bench *base,
                                const pyro_bench *current, const pyro_verdict_options *options,
                                pyro_error *error);
PYRO_API void pyro_comparison_free(pyro_comparison *comparison);
/*
 * One metric by itself, without fingerprints or correction: replicates in the order they were taken,
 * as row->processes and row->interleaved say.
 */
PYRO_API int pyro_verdict_of(pyro_verdict_row *row, const double *base, size_t base_count,
                             const double *current, size_t current_count, bool higher_is_better,
                             const pyro_verdict_options *options, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
