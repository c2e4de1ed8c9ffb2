/*
 * Recommends changes to a model from measured evidence. Also finds the knee of a batch sweep, and
 * judges the gain of a variant.
 */
#ifndef PYROMETER_RECOMMEND_H
#define PYROMETER_RECOMMEND_H

#include <pyrometer/error.h>
#include <pyrometer/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A larger batch is past the knee if it raises throughput by less than this share. */
#define PYRO_KNEE_GAIN 0.10

typedef struct pyro_batch_time {
    int64_t batch_size;
    double call_ms;
} pyro_batch_time;

typedef struct pyro_op_share {
    const char *name; /* "aten::addmm" */
    double share;     /* of the own time of all operators */
    int64_t calls;
} pyro_op_share;

/*
 * Measurements of a model. Unknown numbers are NaN, unknown amounts 0 and unknown texts NULL, as
 * pyro_model_evidence_init sets them. Later versions may add members at the end.
 */
typedef struct pyro_model_evidence {
    const char *kind;      /* "module", "huggingface", "torchscript", "pt2", "onnx", "callable" */
    const char *precision; /* "fp32", "fp16", "bf16", "int8" */
    bool on_gpu;
    bool channels_last;  /* weights or inputs already have that layout */
    int64_t batch_size;
    double call_ms;
    const pyro_batch_time *batches; /* of a batch sweep, including the current batch size */
    size_t batch_count;
    const char *half_type, *half_type_reason; /* a 16-bit type that is fast here, and why */
    const pyro_op_share *ops;
    size_t op_count;
    double outside_share; /* of a call, spent outside operators */
    const char *const *layer_classes; /* "Conv2d" */
    size_t layer_class_count;
    int64_t flops;
    int64_t moved_bytes; /* read and written by all operators */
    int64_t weight_bytes, activation_bytes, device_bytes;
    double zero_share; /* of weights that are exactly 0 */
    int64_t allocations, allocated_bytes; /* per call */
    double fragmentation; /* unused share of reserved memory */
    int64_t peak_bytes; /* GPU: peak of allocated memory; CPU: of resident memory */
    int64_t threads, usable_cpus;
    double cpu_percent; /* 100: one processor */
    double waiting_share; /* of a call, while none of its threads could compute */
    double gpu_percent;
    int64_t disk_read_bytes, timed_calls; /* bytes read during all timed calls */
    double end_to_end_ms, preprocess_ms, postprocess_ms;
    double first_token_ms, token_ms;
    int uses_cache; /* of keys and values: 1, 0; -1 unknown */
    int64_t cache_bytes; /* of keys and values at the measured length */
    const char *attention; /* how transformers computes it: "eager", "sdpa" */
    const pyro_finding *findings; /* of the recording */
    size_t finding_count;
} pyro_model_evidence;

PYRO_API void pyro_model_evidence_init(pyro_model_evidence *evidence);

/* Totals of a recording of a model's calls that are in no table. */
typedef struct pyro_recorded_call {
    int64_t host_ns; /* of outermost layers; of operators where no layer was recorded */
    double outside_share; /* of layer time, outside operators: Python, dispatch, waiting */
    int64_t activation_bytes; /* peak of the tensors that the call made; -1 unknown */
    int64_t allocations, allocated_bytes; /* 0 if none were recorded */
} pyro_recorded_call;

/* `on_gpu`: count GPU memory, else host memory. */
PYRO_API pyro_recorded_call pyro_analysis_recorded_call(const pyro_analysis *analysis, bool on_gpu);
/* Shares of own time (device time if there is any), largest first. `out` has room for
 * analysis->op_count rows; the analysis owns the names. */
PYRO_API void pyro_analysis_op_shares(const pyro_analysis *analysis, pyro_op_share *out);

/*
 * Finds layers whose path or class contains `name`, in any case. "attention", "mlp", "embedding" and
 * "norm" also find the usual abbreviations of these parts. Writes indices in increasing order into
 * `out`, which has room for analysis->layer_count, and returns their number.
 */
PYRO_API size_t pyro_analysis_layers_named(const pyro_analysis *analysis, const char *name,
                                           size_t *out);

typedef struct pyro_layer_sum {
    int64_t calls;
    int64_t forward_ns; /* on the device if `on_device`, else on the host */
    double share; /* of all outermost layers; NaN: they took no time */
    bool on_device;
} pyro_layer_sum;

/* Sums layers, given by increasing index. A layer inside another one of them is not added again. */
PYRO_API pyro_layer_sum pyro_analysis_sum_layers(const pyro_analysis *analysis,
                                                 const size_t *layers, size_t count);

typedef struct pyro_layer_share {
    size_t layer; /* index */
    int64_t own_ns; /* forward, without the layers inside; of the device if there is any */
    double share; /* of the own time of all layers */
} pyro_layer_share;

/* Layers by own time, largest first, without those that only contain others. `out` has room for
 * analysis->layer_count rows; returns the number written. */
PYRO_API size_t pyro_analysis_layer_shares(const pyro_analysis *analysis, pyro_layer_share *out);

typedef struct pyro_recommendation {
    const char *id; /* of the rule, or of the finding that it repeats */
    const char *subject, *advice;
    const char *evidence; /* the measured numbers */
    const char *gain; /* ends in "(measured)" or "(estimate)", or is "not estimated" */
    const char *variant; /* variant that tests it: "precision=bf16", "compile"; "": none */
} pyro_recommendation;

/* Owns all its texts; the caller may free the evidence. */
typedef struct pyro_recommendations {
    const pyro_recommendation *rows; /* rules by rank, then findings that no rule covers */
    size_t count;
    struct pyro_recommendations_store *store; /* internal */
} pyro_recommendations;

PYRO_API int pyro_recommend(pyro_recommendations **out, const pyro_model_evidence *evidence,
                            pyro_error *error);
PYRO_API void pyro_recommendations_free(pyro_recommendations *recommendations);

typedef struct pyro_recommendation_rule {
    const char *id, *subject;
    double threshold;
} pyro_recommendation_rule;

/* Reads a rule by index, in no particular order; returns false past the end. */
PYRO_API bool pyro_recommendation_rule_at(pyro_recommendation_rule *out, size_t index);

typedef struct pyro_batch_rate {
    int64_t batch_size;
    double samples_per_s;
} pyro_batch_rate;

typedef struct pyro_knee {
    int64_t batch_size; /* smallest whose doubling gains less than PYRO_KNEE_GAIN */
    bool reached; /* false: throughput still rises at the largest measured batch */
    char text[64]; /* describes the knee */
} pyro_knee;

/* Finds the knee and sorts the points by batch size. Returns false for fewer than two points. */
PYRO_API bool pyro_find_knee(pyro_knee *out, pyro_batch_rate *points, size_t count);

typedef enum pyro_outcome {
    PYRO_OUTCOME_CONFIRMED,
    PYRO_OUTCOME_REFUTED,
    PYRO_OUTCOME_OPEN /* too noisy to tell */
} pyro_outcome;

/* "confirmed", "refuted", "not confirmed". */
PYRO_API const char *pyro_outcome_name(pyro_outcome outcome);

/* Throughput gain of a variant, a share. With six rounds, `low` and `high` (smallest and largest)
 * are a 97% interval for the median. */
typedef struct pyro_variant_gain {
    double low, middle, high;
    double before_ms, after_ms; /* medians */
    pyro_outcome outcome;
    char text[192]; /* "+12% throughput (+9% to +14%; run here: ...)" */
} pyro_variant_gain;

/*
 * Compares alternating rounds of a model and a variant that handles `factor` times the samples per
 * call. A variant that frees processors is confirmed if it keeps the throughput; others must raise
 * it. PYRO_ERROR_ARGUMENT if there are no rounds.
 */
PYRO_API int pyro_variant_compare(pyro_variant_gain *out, const double *before_ms,
                                  const double *after_ms, size_t rounds, double factor,
                                  bool frees_processors, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
