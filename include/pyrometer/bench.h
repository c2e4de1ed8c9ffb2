/*
 * Benchmarks: the sampling loop, its environment, results with every sample, thresholds, and the
 * comparison of two results.
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

/* Both ends are NaN if there is no interval; one end is NaN if that side is unbounded. */
typedef struct pyro_interval {
    double low, high, confidence;
} pyro_interval;

typedef struct pyro_loop_options {
    int64_t warmup_runs;     /* negative: detect, until two windows agree */
    int64_t warmup_window;   /* iterations per window; 0: 20 */
    int64_t warmup_runs_max; /* limit of a detected warm-up; 0: 300; reported when reached */
    int64_t min_runs;        /* 0: 10; the deepest percentile may need more */
    int64_t max_runs;        /* 0: limited by time only */
    int64_t min_time_ns;     /* 0: no minimum */
    int64_t max_time_ns;     /* 0: 10 s; if the interval is not narrow by then: noisy */
    bool max_time_wins;      /* over min_runs and warmup_runs; at least one sample is taken */
    bool wall_time;          /* time limits include the time between iterations */
    double target_width;     /* of the median's 95% interval, relative to it; 0: 0.02 */
    double deepest_percentile; /* 0.99 needs at least 299 runs; 0: none */
    double rate_per_s;       /* > 0: start by schedule, and measure from the intended start */
    bool poisson;            /* exponential gaps in the schedule instead of equal ones */
    uint64_t seed;           /* of the schedule */
} pyro_loop_options;

typedef enum pyro_loop_phase {
    PYRO_LOOP_WARMUP,
    PYRO_LOOP_MEASURE,
    PYRO_LOOP_DONE
} pyro_loop_phase;

typedef enum pyro_loop_end {
    PYRO_LOOP_RUNNING,
    PYRO_LOOP_NARROW,   /* the interval reached the target width */
    PYRO_LOOP_NOISY,    /* time or runs ran out before that */
    PYRO_LOOP_FIXED,    /* a fixed number of runs (min_runs = max_runs) is complete */
    PYRO_LOOP_STOPPED   /* the caller stopped it */
} pyro_loop_end;

typedef struct pyro_loop pyro_loop;

/* Why a GPU lowers its clocks, with NVML's numbers. */
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

/* A snapshot of a GPU; values that the driver does not report are NaN. */
typedef struct pyro_gpu_state {
    double clock_mhz; /* of the multiprocessors */
    double memory_clock_mhz, power_w, temperature_c;
    double busy; /* share of the driver's last period in which a kernel ran */
    uint64_t reasons; /* PYRO_GPU_*; 0: none or unknown */
} pyro_gpu_state;

/* Snapshots of a GPU over a loop. */
typedef struct pyro_gpu_record {
    double clock_mhz; /* median */
    double clock_min_mhz, clock_max_mhz; /* observed */
    double clock_limit_mhz; /* maximum clock of this GPU */
    double memory_clock_mhz; /* last value */
    double power_cap_w, power_default_cap_w;
    double power_w, temperature_c; /* highest observed */
    int64_t looks, throttled_looks; /* number of snapshots; 0: no GPU was watched */
    int64_t reasons; /* union of all observed reasons */
} pyro_gpu_record;

/*
 * Opens a GPU by UUID ("GPU-..."; NULL: the first) through NVML. PYRO_ERROR_UNSUPPORTED if the NVML
 * library is missing, PYRO_ERROR_ARGUMENT if the GPU is. The environment variable PYRO_NVML names
 * the library to load instead of libnvidia-ml.so.1.
 */
PYRO_API int pyro_gpu_open(pyro_gpu **out, const char *uuid, pyro_error *error);
PYRO_API void pyro_gpu_close(pyro_gpu *gpu);
PYRO_API pyro_gpu_state pyro_gpu_read(const pyro_gpu *gpu);
/* True if heat or a power brake lowers the clocks, so that measurements are not representative. */
PYRO_API bool pyro_gpu_is_throttled(const pyro_gpu_state *state);
/* Writes the reasons, except idle, into `text`: "power cap, thermal"; "" if no reason is set. */
PYRO_API const char *pyro_gpu_reasons(char *text, size_t size, uint64_t reasons);

/* The samples of a loop, which owns the arrays. */
typedef struct pyro_loop_samples {
    const double *latency_ns; /* rate mode: from the intended start; else equal to service_ns */
    const double *service_ns; /* from the actual start */
    size_t count;
    const double *warmup_ns;
    size_t warmup_count;
    bool warmup_settled; /* false: a detected warm-up reached its limit */
    size_t wanted_count; /* the requested number if it was fixed; else 0 */
    size_t discarded_count; /* samples left out because the GPU was throttled */
    size_t throttled_count; /* throttled samples that were kept for lack of others */
    pyro_gpu_record gpu; /* looks 0: no GPU was watched */
    double rate_per_s; /* 0: a closed loop */
    pyro_loop_end end;
} pyro_loop_samples;

/* Creates a loop; free it with pyro_loop_free(). `options` NULL: the defaults. */
PYRO_API int pyro_loop_new(pyro_loop **out, const pyro_loop_options *options, pyro_error *error);
PYRO_API void pyro_loop_free(pyro_loop *loop);
/*
 * One iteration, driven by the caller:
 *     while (pyro_loop_next(loop) != PYRO_LOOP_DONE) { run(); pyro_loop_tick(loop, &error); }
 * next waits for the intended start in rate mode, then reads the clock; tick reads it again. A
 * caller that measures durations (device events, times of a child process) calls record, not tick.
 */
PYRO_API pyro_loop_phase pyro_loop_next(pyro_loop *loop);
PYRO_API int pyro_loop_tick(pyro_loop *loop, pyro_error *error);
PYRO_API int pyro_loop_record(pyro_loop *loop, int64_t duration_ns, pyro_error *error);
/*
 * Takes a snapshot of a GPU between iterations, at most once per millisecond. The loop counts and
 * discards throttled samples (pyro_gpu_is_throttled, or a clock under 75% of the highest observed)
 * and takes others instead. If hardly any would remain, it keeps them and counts them separately.
 * The caller owns the GPU, which must outlive the loop.
 */
PYRO_API int pyro_loop_watch(pyro_loop *loop, const pyro_gpu *gpu, pyro_error *error);
/* Ends the loop and keeps its samples. */
PYRO_API void pyro_loop_stop(pyro_loop *loop);
PYRO_API pyro_loop_samples pyro_loop_read(const pyro_loop *loop);
/* Returns 0 to continue; any other value ends the loop, and pyro_loop_run returns it. */
typedef int (*pyro_loop_callback)(void *user);
/* Runs the whole loop. `synchronize` (may be NULL) waits for a device before each clock reading. */
PYRO_API int pyro_loop_run(pyro_loop *loop, pyro_loop_callback run, pyro_loop_callback synchronize,
                           void *user, pyro_error *error);

enum { PYRO_PERCENTILE_COUNT = 4 }; /* p50, p95, p99, p99.9 */

typedef struct pyro_percentile {
    double probability;
    const char *name; /* "p99" */
    double value; /* of the samples, even if they are too few */
    pyro_interval interval; /* order statistics, 95% */
    size_t needs; /* minimum number of samples for a reliable value */
    bool enough;
} pyro_percentile;

typedef struct pyro_summary {
    size_t count;
    double mean, stddev, cv, min, max, mad;
    pyro_interval mean_interval; /* BCa bootstrap; by blocks if samples are autocorrelated */
    pyro_percentile percentiles[PYRO_PERCENTILE_COUNT];
    double q1, q3;
    size_t outliers, outliers_severe;
    double autocorrelation; /* lag 1 */
    bool autocorrelated;
} pyro_summary;

/* A metric: its samples, or one value. */
typedef struct pyro_metric {
    const char *name; /* "latency", "memory", "throughput", "user", "system", ... */
    const char *unit; /* of samples and value: "ms", "bytes", "samples/s", ... */
    bool higher_is_better;
    const double *samples; /* in the order of measurement; NULL if only `value` is known */
    size_t count;
    double value; /* a metric measured once; NaN if there are samples */
    pyro_summary summary;
} pyro_metric;

/* What is repeated per sample. Only processes show the noise between processes. */
typedef enum pyro_replicate { PYRO_REPLICATE_PROCESS, PYRO_REPLICATE_ITERATION } pyro_replicate;

typedef struct pyro_pair {
    const char *name, *value;
} pyro_pair;

/* A table that an engine adds: layers, recommendations. NULL is an empty cell. */
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
    const char *command; /* the command line; NULL if there was no command */
    const char *status; /* "ok", "noisy", "failed", "interrupted" */
    const char *message; /* why, or NULL */
    const char *loop; /* "closed" (service time) or "rate" (from the intended start) */
    double rate_per_s;
    double items; /* items per iteration, for throughput */
    pyro_replicate replicate;
    const int64_t *processes; /* iterations per process, for PYRO_REPLICATE_ITERATION */
    size_t process_count;
    const double *warmup_ms;
    size_t warmup_count;
    bool warmup_settled;
    double shell_ms; /* shell start-up time subtracted from every latency; 0: none */
    pyro_pair *parameters; /* identify this configuration: batch_size=8 */
    size_t parameter_count;
    pyro_pair *facts; /* for information only: inputs, precision, why a number is missing */
    size_t fact_count;
    pyro_bench_table *tables;
    size_t table_count;
    pyro_metric *metrics; /* throughput is derived from latency */
    size_t metric_count;
    size_t failures; /* runs that exited with a nonzero code and were kept */
    int64_t discarded; /* samples left out because the GPU was throttled */
    int64_t throttled; /* throttled samples that were kept */
    pyro_gpu_record gpu; /* looks 0: no GPU was watched */
} pyro_bench_result;

typedef struct pyro_environment {
    /* The fingerprint: results are comparable only if all of these are equal. */
    const char *architecture, *cpu_model, *governor, *threads, *gpu, *gpu_driver;
    int64_t cpu_count; /* of the machine */
    int64_t usable_cpus; /* of this process, after affinity and container limits */
    int64_t memory_bytes;
    /* For information only. */
    const char *kernel, *system, *commit, *gpu_clocks;
    double load_1m_before, load_1m_after; /* NaN: unknown */
    double other_cpus; /* processors used by other programs during the run; NaN: unknown */
    int64_t swap_used_bytes, swapped_pages; /* in use before the run; moved during it */
    int64_t throttled; /* thermal throttling during the run; -1: unknown */
    double noise; /* A/A noise of the machine, a share; 0: never measured */
    pyro_pair *extra; /* added by an engine: torch, onnxruntime; part of the fingerprint */
    size_t extra_count;
} pyro_environment;

/* A set of results, built by a run or read from a file. Owns everything in it. */
typedef struct pyro_bench {
    const char *created; /* ISO 8601, UTC */
    const char *tool;
    uint64_t seed;
    const char *order; /* "interleaved" or "sequential" */
    const char *rounds; /* equal in two sets that ran interleaved, round by round; or NULL */
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
/* Results may be added and filled until pyro_bench_finish. Adding one invalidates pointers to
 * results. */
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
/* Adds a row to the result's last table; one cell per column. */
PYRO_API int pyro_bench_add_row(pyro_bench *bench, size_t result, const char *const *cells,
                                pyro_error *error);
/* Copies the samples. PYRO_ERROR_ARGUMENT if a sample is negative or not finite. */
PYRO_API int pyro_bench_add_metric(pyro_bench *bench, size_t result, const char *name,
                                   const char *unit, bool higher_is_better, const double *samples,
                                   size_t count, pyro_error *error);
/* Adds a metric that was measured once (peak memory, FLOP/s). */
PYRO_API int pyro_bench_add_value(pyro_bench *bench, size_t result, const char *name,
                                  const char *unit, bool higher_is_better, double value,
                                  pyro_error *error);
/*
 * Adds a rate per second (tokens, images, FLOPs): `amount` over the mean of the metric `of`, which
 * must have samples in ms; else PYRO_ERROR_ARGUMENT.
 */
PYRO_API int pyro_bench_add_rate(pyro_bench *bench, size_t result, const char *of, const char *name,
                                 const char *unit, double amount, pyro_error *error);
/* Adds the samples of a loop as another process of this result: latency, and service time in rate
 * mode. */
PYRO_API int pyro_bench_add_loop(pyro_bench *bench, size_t result, const pyro_loop *loop,
                                 pyro_error *error);
/*
 * Adds the samples of `from`, which measured the same benchmarks in another process. Both must be
 * finished; `into` is finished again afterwards.
 */
PYRO_API int pyro_bench_merge(pyro_bench *into, const pyro_bench *from, pyro_error *error);
PYRO_API int pyro_bench_warn(pyro_bench *bench, pyro_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
PYRO_API int pyro_bench_add_environment(pyro_bench *bench, const char *name, const char *value,
                                        pyro_error *error);
/* Fill bench->environment: call _before the first measurement, _after the last one. */
PYRO_API int pyro_environment_before(pyro_bench *bench, pyro_error *error);
PYRO_API int pyro_environment_after(pyro_bench *bench, pyro_error *error);
/*
 * Counters of this process, for its resource use between two readings. -1: unknown, as on systems
 * without /proc. The thread that reads them first should also read them last.
 */
typedef struct pyro_process_counters {
    int64_t time_ns; /* monotonic clock */
    int64_t cpu_ns; /* processor time of all threads */
    int64_t thread_delay_ns; /* the calling thread was runnable but had no processor */
    int64_t disk_read_bytes, disk_written_bytes;
    int64_t network_received_bytes, network_sent_bytes; /* of all programs in its network
                                                           namespace, without loopback */
} pyro_process_counters;

/* _begin reads the clocks last, _end reads them first: the reading itself is not counted. */
PYRO_API pyro_process_counters pyro_process_counters_begin(void);
PYRO_API pyro_process_counters pyro_process_counters_end(void);

/* NaN and -1: unknown. */
typedef struct pyro_process_use {
    double cpu_percent; /* 100: one processor */
    double waiting_share; /* of the time, while none of its threads could compute */
    int64_t disk_read_bytes, disk_written_bytes;
    int64_t network_received_bytes, network_sent_bytes;
} pyro_process_use;

PYRO_API pyro_process_use pyro_process_use_between(const pyro_process_counters *before,
                                                   const pyro_process_counters *after);

/* Resident memory of this process now, and its peak since the last reset; -1: unknown. */
PYRO_API int64_t pyro_resident_bytes(void);
PYRO_API int64_t pyro_peak_resident_bytes(void);
/* False if the kernel does not permit it: the peak is then that of the whole process. */
PYRO_API bool pyro_peak_resident_reset(void);
/* Share of the C heap that is free but held; NaN: unknown. */
PYRO_API double pyro_heap_unused_share(void);

/* Samples of the resident memory of this process. */
typedef struct pyro_memory_samples {
    int64_t count; /* 0: unknown */
    double mean_bytes; /* NaN: unknown */
    int64_t max_bytes; /* -1: unknown */
} pyro_memory_samples;

typedef struct pyro_memory_sampler pyro_memory_sampler;

/* Starts a thread that samples every `period_ns`; 0: 2 ms. _stop ends the thread and frees it. */
PYRO_API int pyro_memory_sampler_start(pyro_memory_sampler **out, int64_t period_ns,
                                       pyro_error *error);
PYRO_API pyro_memory_samples pyro_memory_sampler_stop(pyro_memory_sampler *sampler);

/* Processors that this process may use, after affinity. */
PYRO_API int64_t pyro_usable_cpus(void);
/* Model of the processor: "Neoverse-N1"; "unknown". */
#define PYRO_PROCESSOR_TEXT 80
PYRO_API void pyro_processor_model(char model[PYRO_PROCESSOR_TEXT]);
/* Memory of the machine; -1: unknown. */
PYRO_API int64_t pyro_machine_memory_bytes(void);
/* Size of one data cache of a level (1 to 4) of the first processor; -1: unknown. */
PYRO_API int64_t pyro_cache_bytes(int level);
/*
 * Size of a buffer that evicts the caches when `threads` threads write it: twice the last level or
 * all private second levels, whichever is larger. -1: unknown.
 */
PYRO_API int64_t pyro_cache_eviction_bytes(int64_t threads);
/* Instruction set extension that multiplies bfloat16 ("avx512_bf16"); NULL: none is known. */
PYRO_API const char *pyro_bfloat16_extension(void);

/* Computes all summaries and throughputs, and adds warnings about unreliable numbers. */
PYRO_API int pyro_bench_finish(pyro_bench *bench, pyro_error *error);

/*
 * Read results from JSON and compute the summaries again. PYRO_ERROR_FORMAT if the JSON is damaged,
 * PYRO_ERROR_UNSUPPORTED if it has another schema version.
 */
PYRO_API int pyro_bench_open(pyro_bench **out, const char *path, pyro_error *error);
PYRO_API int pyro_bench_parse(pyro_bench **out, const void *bytes, size_t size, pyro_error *error);
/* True if a file starts like the JSON of results. */
PYRO_API bool pyro_bench_recognise(const char *path);

/* Finds a metric by name, or returns NULL. */
PYRO_API const pyro_metric *pyro_bench_metric(const pyro_bench_result *result, const char *name);

/* Calls per second, of all items of a call together; NaN without throughput. */
PYRO_API double pyro_bench_calls_per_s(const pyro_bench_result *result);

/* NaN without samples; the median is also NaN if memory runs out. */
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
    char text[64]; /* as given */
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
    const char *reason; /* of "cannot tell"; else NULL */
} pyro_gate_row;

/* Parses "latency:100ms". PYRO_ERROR_ARGUMENT names the part that is invalid. */
PYRO_API int pyro_threshold_parse(pyro_threshold *out, const char *text, pyro_error *error);
/*
 * Checks that the result has a number in the threshold's unit: tokens/s needs counted tokens.
 * PYRO_ERROR_ARGUMENT lists the units that it has. Results of commands need no metrics yet.
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
    double delta; /* smallest relative change that matters; 0: 0.02 */
    double floor_ms; /* absolute change in time that never matters */
    double floor_bytes; /* the same in bytes; 0: 1 MiB, the variation of loaders and libraries */
    double noise; /* A/A noise of the machine, a share; 0: as recorded in the results */
    double confidence; /* 0: 0.95 */
    bool any_machine; /* compare even if the fingerprints differ */
    uint64_t seed; /* of the bootstrap */
} pyro_verdict_options;

typedef struct pyro_verdict_row {
    const char *benchmark, *metric, *unit;
    double base, current; /* estimates near the medians that differ by `change` */
    double change; /* current / base - 1 */
    pyro_interval interval; /* of the change */
    double delta; /* the applied threshold, a share */
    double p; /* p-value of the alarm after Holm's correction over all rows; NaN: none */
    size_t base_count, current_count; /* replicates */
    bool processes; /* replicates are processes; else blocks of iterations of one process */
    bool interleaved; /* replicate i of both sides ran in the same round; compared by round */
    pyro_verdict verdict;
    const char *reason; /* of "cannot tell", or a remark on other verdicts; may be NULL */
} pyro_verdict_row;

typedef struct pyro_comparison {
    pyro_verdict_row *rows;
    size_t row_count;
    const char **notes;
    size_t note_count;
    pyro_verdict overall; /* the first of: regressed, cannot tell, improved, no change */
    bool regressed, cannot_tell;
    struct pyro_comparison_store *store; /* internal */
} pyro_comparison;

/* Compares two sets of results. The caller frees the comparison. */
PYRO_API int pyro_bench_compare(pyro_comparison **out, const pyro_bench *base,
                                const pyro_bench *current, const pyro_verdict_options *options,
                                pyro_error *error);
PYRO_API void pyro_comparison_free(pyro_comparison *comparison);
/*
 * Compares one metric without fingerprints or correction. Replicates are in the order of
 * measurement; the caller sets row->processes and row->interleaved.
 */
PYRO_API int pyro_verdict_of(pyro_verdict_row *row, const double *base, size_t base_count,
                             const double *current, size_t current_count, bool higher_is_better,
                             const pyro_verdict_options *options, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
