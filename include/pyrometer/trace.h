/*
 * Reads traces (Kineto or Chrome JSON, plain, gzip or zstd; recordings), compares them and writes them
 * as Chrome JSON or for Perfetto. analysis.h has what is found in one.
 */
#ifndef PYROMETER_TRACE_H
#define PYROMETER_TRACE_H

#include <pyrometer/analysis.h>
#include <pyrometer/error.h>
#include <pyrometer/model.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called from time to time while a file is read; `total_bytes` is -1 if unknown. */
typedef void (*pyro_progress_fn)(void *user, int64_t done_bytes, int64_t total_bytes);

typedef struct pyro_trace_options {
    int threads;               /* 0: one per core */
    pyro_progress_fn progress; /* may be NULL */
    void *progress_user;
    int64_t last_ns; /* of a recording, read only what began this long before its end; 0: all */
} pyro_trace_options;

/*
 * Reads a trace; "-" is standard input. The caller closes it with pyro_trace_close(). Damage
 * becomes warnings (pyro_trace_warnings) if at least one event could be read, else
 * PYRO_ERROR_FORMAT. `options` may be NULL.
 */
PYRO_API int pyro_trace_open(pyro_trace **out, const char *path, const pyro_trace_options *options,
                             pyro_error *error);
PYRO_API int pyro_trace_open_memory(pyro_trace **out, const void *data, size_t size,
                                    const char *label, const pyro_trace_options *options,
                                    pyro_error *error);
PYRO_API void pyro_trace_close(pyro_trace *trace);

/*
 * Adds the kernels, copies, launches and device memory of a torch.profiler trace of the same
 * period, converted to the clock of `trace`. Opening a recording also adds PATH.devices.json if
 * that exists.
 */
PYRO_API int pyro_trace_join_devices(pyro_trace *trace, const char *path, pyro_error *error);

PYRO_API const char *pyro_trace_file(const pyro_trace *trace);
PYRO_API int64_t pyro_trace_event_count(const pyro_trace *trace); /* all in the file, with flows */
PYRO_API const char *const *pyro_trace_warnings(const pyro_trace *trace, size_t *count);

/* An op of a layer's forward, per name and input shapes. */
typedef struct pyro_layer_op_row {
    const char *layer, *op, *shapes; /* shapes "" if unknown */
    int64_t calls;
    int64_t host_ns; /* of calls that are not inside another op of the same layer call */
    bool nested; /* all calls are inside another op */
} pyro_layer_op_row;

/* A layer's forward, summed over its calls. */
typedef struct pyro_layer_time_row {
    const char *layer;
    int64_t calls;
    int64_t wall_ns; /* on the host, without the layers that it called */
    int64_t op_ns; /* of that, spent inside ops */
    /* Of its first input tensor: "[[32, 100], [64, 100]]" if calls differ; "" unknown. */
    const char *shapes;
} pyro_layer_time_row;

typedef struct pyro_layer_ops {
    const pyro_layer_op_row *rows; /* in the order in which they first ran */
    size_t count;
    const pyro_layer_time_row *layers; /* by the end of their first call: children before parents */
    size_t layer_count;
    int64_t wall_ns; /* while any layer ran: the sum of the rows, unless threads overlap */
    /* The trace lacks the inputs of layers: `layers[].shapes` are those of the first op. */
    bool shapes_from_ops;
} pyro_layer_ops;

/* Lists the ops of each layer. The trace must outlive the result. */
PYRO_API int pyro_trace_layer_ops(pyro_layer_ops **out, pyro_trace *trace,
                                  const pyro_analysis_options *options, pyro_error *error);
PYRO_API void pyro_layer_ops_free(pyro_layer_ops *ops);

/* True if the file has the layers' dotted paths, as Pyrometer's recordings and passes do. */
PYRO_API bool pyro_trace_has_paths(const pyro_trace *trace);

/* Minimum number of passes for a 95th percentile. */
#define PYRO_PASSES_FOR_P95 20

/* A layer over several passes. Times are per pass, with all its calls and its children. */
typedef struct pyro_pass_row {
    const char *path, *class_name;
    int64_t passes; /* in which it was called */
    int64_t calls; /* in all of them */
    int64_t total_ns, median_ns, min_ns, max_ns;
    int64_t p95_ns; /* -1: too few passes */
    const char *shapes; /* its input in the first pass, as in pyro_layer_row */
    int64_t shape_sets, op_sets; /* distinct sets over the passes; above 1: it changed */
    const char *changed_in; /* the first file that differs; "": none */
} pyro_pass_row;

typedef struct pyro_pass_summary {
    const char *const *files;
    size_t file_count;
    bool on_device; /* times are device times, else host times */
    size_t passes_without_ops; /* passes without recorded ops, which are not compared */
    const pyro_pass_row *rows; /* in the order in which they first ran */
    size_t row_count;
} pyro_pass_summary;

/* Collects files of one pass each. The caller may close a trace after adding it. */
typedef struct pyro_passes pyro_passes;
PYRO_API pyro_passes *pyro_passes_new(void); /* NULL if memory runs out */
PYRO_API int pyro_passes_add(pyro_passes *passes, pyro_trace *trace, const pyro_analysis *analysis,
                             const pyro_analysis_options *options, pyro_error *error);
/* `passes` owns the result, which is valid until another pass is added. */
PYRO_API int pyro_passes_summarize(pyro_passes *passes, const pyro_pass_summary **out,
                                   pyro_error *error);
PYRO_API void pyro_passes_free(pyro_passes *passes);

/* Ops and labels as in torch.profiler's key_averages; totals include called ops. */
typedef struct pyro_average_row {
    const char *name, *shapes; /* shapes "" if not requested */
    const char *stack; /* its innermost frames, separated by ';'; "" if not requested */
    int64_t calls;
    int64_t host_total_ns, host_self_ns;
    int64_t device_ns_total, device_ns_self;
    int64_t host_bytes_total, host_bytes_self; /* allocated minus freed */
    int64_t device_bytes_total, device_bytes_self;
} pyro_average_row;

typedef struct pyro_averages {
    const pyro_average_row *rows; /* in the order in which they first ran */
    size_t count;
} pyro_averages;

/* Groups rows by name, by shapes if requested, and by `frames` innermost frames (0: none). The
 * trace must outlive the result. */
PYRO_API int pyro_trace_averages(pyro_averages **out, pyro_trace *trace, bool by_shapes,
                                 size_t frames, pyro_error *error);
PYRO_API void pyro_averages_free(pyro_averages *averages);

/* Which rows of two analyses are matched: layers by path, ops and kernels by name. */
typedef enum pyro_diff_table {
    PYRO_DIFF_LAYERS,
    PYRO_DIFF_OPS,
    PYRO_DIFF_KERNELS,
    PYRO_DIFF_TABLE_COUNT
} pyro_diff_table;

/* Times and calls are per step or pass (pyro_trace_diff.unit), and 0 where a run lacks the row. */
typedef struct pyro_diff_row {
    const char *name;
    const char *short_name; /* of kernels; else as name */
    const char *before_name, *before_short_name; /* of a kernel that another replaced; else NULL */
    double before_ns, after_ns; /* own time: shows a slow layer, not the blocks around it */
    double before_calls, after_calls;
} pyro_diff_row;

typedef struct pyro_trace_diff {
    const pyro_diff_row *rows[PYRO_DIFF_TABLE_COUNT]; /* largest change first */
    size_t counts[PYRO_DIFF_TABLE_COUNT];
    bool device; /* times are device times, else host times */
    const char *unit; /* "step", "pass" or "trace" */
    double before_units, after_units;
    double before_span_ns, after_span_ns, before_busy_ns, after_busy_ns; /* per unit */
} pyro_trace_diff;

/* Compares two runs. The analyses must outlive the result. */
PYRO_API int pyro_trace_compare(pyro_trace_diff **out, const pyro_analysis *before,
                                const pyro_analysis *after, pyro_error *error);
PYRO_API void pyro_trace_diff_free(pyro_trace_diff *diff);

/* Receives the next bytes of an output. Returns PYRO_OK, or a status after filling `error`. */
typedef int (*pyro_write_fn)(void *user, const char *bytes, size_t size, pyro_error *error);

/*
 * Writes the trace, or the part that `options` select (step, phase, filter), as Chrome JSON with
 * added counters for queue length, copy bandwidth and memory. Calls `write` with each piece.
 */
PYRO_API int pyro_trace_write_chrome(pyro_trace *trace, const pyro_analysis_options *options,
                                     pyro_write_fn write, void *user, pyro_error *error);

/*
 * Writes the same part as Perfetto's protobuf: threads, streams with overlapping kernels beside each
 * other, steps, layers as nested tracks, arrows from launches to their work, counters.
 */
PYRO_API int pyro_trace_write_perfetto(pyro_trace *trace, const pyro_analysis_options *options,
                                       pyro_write_fn write, void *user, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
