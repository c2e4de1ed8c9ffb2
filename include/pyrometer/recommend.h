/*
 * Recommendations about a model: evidence from measuring it goes in, advice worth following comes
 * out. Also the knee of a batch sweep, and the gain of a variant that was tried.
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

/* A larger batch that gains a smaller share of throughput than this is past the knee. */
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
 * What is known of a model after measuring it. Numbers that are not known are NaN, amounts 0 and
 * texts NULL, as pyro_model_evidence_init leaves them; members may be added at the end.
 */
typedef struct pyro_model_evidence {
    const char *kind;      /* "module", "huggingface", "torchscript", "pt2", "onnx", "callable" */
    const char *precision; /* "fp32", "fp16", "bf16", "int8" */
    bool on_gpu;
    bool channels_last;  /* weights or inputs have that layout already */
    int64_t batch_size;
    double call_ms;
    const pyro_batch_time *batches; /* that were run in turn, the present one among them */
    size_t batch_count;
    const char *half_type, *half_type_reason; /* a 16-bit type that is fast here, and why */
    const pyro_op_share *ops;
    size_t op_count;
    double outside_share; /* of a call that is in no operator */
    const char *const *layer_classes; /* "Conv2d" */
    size_t layer_class_count;
    int64_t flops;
    int64_t moved_bytes; /* read and written by all operators */
    int64_t weight_bytes, activation_bytes, device_bytes;
    double zero_share; /* of the weights that are exactly 0 */
    int64_t allocations, allocated_bytes; /* of one call */
    double fragmentation; /* share of held memory that is not used, */
    int64_t unused_bytes; /* and how much that is */
    int64_t threads, usable_cpus;
    double cpu_percent; /* 100: one processor */
    double waiting_share; /* of a call in which no thread of it could compute */
    double gpu_percent;
    int64_t disk_read_bytes, timed_calls; /* read in that many calls */
    double end_to_end_ms, preprocess_ms, postprocess_ms;
    double first_token_ms, token_ms;
    int uses_cache; /* of keys and values: 1, 0; -1 not known */
    int64_t cache_bytes; /* of keys and values at the length that was run */
    const char *attention; /* how transformers computes it: "eager", "sdpa" */
    const pyro_finding *findings; /* of the recording */
    size_t finding_count;
} pyro_model_evidence;

PYRO_API void pyro_model_evidence_init(pyro_model_evidence *evidence);

/* What a recording of a model's calls says beside its tables. */
typedef struct pyro_recorded_call {
    int64_t host_ns; /* of outermost layers; of operators where no layer was recorded */
    double
        outside_share; /* of the layers' time that is in no operator: Python, dispatch, waiting */
    int64_t activation_bytes; /* most that tensors made in it held at once; -1 not known */
    int64_t allocations, allocated_bytes; /* 0 where none was recorded */
} pyro_recorded_call;

/* `on_gpu`: memory is that of a GPU, else the host's. */
PYRO_API pyro_recorded_call pyro_analysis_recorded_call(const pyro_analysis *analysis, bool on_gpu);
/* Shares of own time, on the device where there is any; largest first. `out` has room for
 * analysis->op_count; names belong to the analysis. */
PYRO_API void pyro_analysis_op_shares(const pyro_analysis *analysis, pyro_op_share *out);

typedef struct pyro_recommendation {
    const char *id; /* of its rule, or of the finding that it repeats */
    const char *subject, *advice;
    const char *evidence; /* the measured numbers */
    const char *gain; /* ends in "(measured)" or "(estimate)", or is "not estimated" */
    const char *variant; /* what to run to try it: "precision=bf16", "compile"; "" nothing */
} pyro_recommendation;

/* All texts live as long as the recommendations do; those of the evidence are not kept. */
typedef struct pyro_recommendations {
    const pyro_recommendation *rows; /* rules by rank, then findings that no rule has told */
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

/* Every rule, in no order; `index` from 0. False: there are no more. */
PYRO_API bool pyro_recommendation_rule_at(pyro_recommendation_rule *out, size_t index);

typedef struct pyro_batch_rate {
    int64_t batch_size;
    double samples_per_s;
} pyro_batch_rate;

typedef struct pyro_knee {
    int64_t batch_size; /* smallest whose doubling gains less than PYRO_KNEE_GAIN */
    bool reached; /* false: the largest batch that was run, which still gains */
    char text[64]; /* says so */
} pyro_knee;

/* Sorts the points by batch. False where there are fewer than two. */
PYRO_API bool pyro_find_knee(pyro_knee *out, pyro_batch_rate *points, size_t count);

typedef enum pyro_outcome {
    PYRO_OUTCOME_CONFIRMED,
    PYRO_OUTCOME_REFUTED,
    PYRO_OUTCOME_OPEN /* too noisy to tell */
} pyro_outcome;

/* "confirmed", "refuted", "not confirmed". */
PYRO_API const char *pyro_outcome_name(pyro_outcome outcome);

/* What a variant of a model gains in throughput, a share: of six rounds the smallest and the largest
 * hold the median with 97%. */
typedef struct pyro_variant_gain {
    double low, middle, high;
    double before_ms, after_ms; /* medians */
    pyro_outcome outcome;
    char text[192]; /* "+12% throughput (+9% to +14%; run here: ...)" */
} pyro_variant_gain;

/*
 * Compares rounds of the model with rounds of the variant, which ran in turn and handles `factor`
 * times the samples per call. A variant that frees processors is confirmed where it keeps the
 * throughput; others have to raise it. PYRO_ERROR_ARGUMENT without rounds.
 */
PYRO_API int pyro_variant_compare(pyro_variant_gain *out, const double *before_ms,
                                  const double *after_ms, size_t rounds, double factor,
                                  bool frees_processors, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
