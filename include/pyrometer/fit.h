/*
 * Does a model fit into the memory of a GPU, or of several: bytes per GPU by what they hold, for a
 * layout of tensor, pipeline, data and expert parallelism. docs/reference/fit.md has the formulas.
 */
#ifndef PYROMETER_FIT_H
#define PYROMETER_FIT_H

#include <pyrometer/report.h>
#include <pyrometer/train_cost.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the ranks of data parallelism divide among them. */
typedef enum pyro_sharding {
    PYRO_SHARDING_NONE, /* every rank holds everything: DDP */
    PYRO_SHARDING_ZERO1, /* optimizer states and master weights are divided */
    PYRO_SHARDING_ZERO2, /* gradients too */
    PYRO_SHARDING_ZERO3, /* weights too: gathered for the block that runs */
    PYRO_SHARDING_FSDP, /* as ZERO3, by rows of each parameter (torch's fully_shard) */
    PYRO_SHARDING_COUNT
} pyro_sharding;
PYRO_API const char *pyro_sharding_name(pyro_sharding sharding); /* "none", "zero1", ..., "fsdp" */

/* GPUs = tensor x pipeline x data. Experts are divided among ranks of tensor x data. */
typedef struct pyro_layout {
    int64_t tensor, pipeline, data, expert;
    pyro_sharding sharding;
    bool sequence; /* sequence parallelism: activations between split products are split too */
} pyro_layout;

/* Reads "tp=8,pp=2,dp=4,ep=8,zero1,sp". PYRO_ERROR_ARGUMENT if it is invalid. `given_data` says
 * whether the text has dp. */
PYRO_API int pyro_layout_parse(pyro_layout *out, bool *given_data, const char *text,
                               pyro_error *error);
/* "tp=8 pp=2 dp=4 zero1"; "one GPU" if nothing is divided. */
#define PYRO_LAYOUT_TEXT 128
PYRO_API char *pyro_layout_format(char text[PYRO_LAYOUT_TEXT], const pyro_layout *layout);

typedef enum pyro_fit_part {
    PYRO_FIT_WEIGHTS, /* parameters, adapters and buffers, in the type that operators read */
    PYRO_FIT_MASTER_WEIGHTS, /* float32 parameters of mixed precision */
    PYRO_FIT_GRADIENTS,
    PYRO_FIT_OPTIMIZER_STATES,
    PYRO_FIT_OPTIMIZER_SCRATCH, /* temporary tensors of the optimizer's step */
    PYRO_FIT_ACTIVATIONS, /* and their gradients, and the inputs */
    PYRO_FIT_KV_CACHE,
    PYRO_FIT_BUFFERS, /* gathered weights, buckets of gradients, workspaces of kernels */
    PYRO_FIT_RESERVE, /* driver, CUDA context, NCCL, fragmentation */
    PYRO_FIT_PART_COUNT
} pyro_fit_part;
PYRO_API const char *pyro_fit_part_name(pyro_fit_part part); /* "weights" */
PYRO_API const char *pyro_fit_part_title(pyro_fit_part part); /* "Weights" */

/* Bytes that one GPU sends per step: a training step, or a forward pass. */
typedef struct pyro_fit_traffic {
    int64_t data_bytes, tensor_bytes, pipeline_bytes, expert_bytes, total_bytes;
    double seconds; /* total at the bandwidth of the link; 0: unknown */
} pyro_fit_traffic;

/* The memory of the GPU that holds most. */
typedef struct pyro_fit_rank {
    int64_t held_bytes[PYRO_FIT_PART_COUNT]; /* the most of each part */
    int64_t peak_bytes[PYRO_FIT_PART_COUNT]; /* what of it is there at the peak */
    int64_t total_bytes; /* at the peak */
    size_t peak_step; /* of the forward pass, or of the training step's curve */
    int64_t stage; /* of the pipeline, from 0 */
    pyro_fit_traffic traffic;
} pyro_fit_rank;

/* What one more measure would save on the GPU that holds most. */
typedef struct pyro_fit_lever {
    const char *name, *how; /* "checkpointing", "--checkpoint blocks" */
    int64_t saved_bytes;
    int64_t total_bytes; /* with it */
    bool fits;
} pyro_fit_lever;

/* The answer for one chip. */
typedef struct pyro_fit_answer {
    const char *chip; /* "H100 SXM" */
    int64_t memory_bytes;
    double link_bytes_per_s; /* 0: unknown */
    double driver_share; /* of the memory that programs do not get */
    int64_t gpus;
    pyro_layout layout;
    bool chosen; /* the layout was searched for */
    const char *peak; /* where the peak is: "backward of linear_21 (lm_head)"; "" if unknown */
    pyro_fit_rank rank;
    bool fits;
    int64_t margin_bytes; /* negative: missing */
    /* The largest that fit, each with the other sizes as they are; 0: none; -1: not variable. */
    int64_t largest_batch, largest_sequence, largest_concurrent;
    bool batch_is_limited, sequence_is_limited; /* the model allows no more */
    /* If it does not fit: the fewest GPUs that hold it, and how; 0: none of up to 1,024. */
    int64_t enough_gpus;
    pyro_layout enough;
    pyro_fit_lever *levers;
    size_t lever_count;
} pyro_fit_answer;

typedef struct pyro_fit_options {
    const char *const *chips; /* names, or sizes of memory: "h100", "24GB" */
    size_t chip_count;
    int64_t gpus; /* 0: as many as the layout has; for "auto" as few as fit */
    const char *parallel; /* a layout, or "auto"; NULL: "auto" if several GPUs are given */
    const pyro_cost_options *cost; /* may be NULL */
    const pyro_train_options *train; /* NULL: inference */
    int64_t concurrent; /* sequences with a cache; 0: the batch */
    int64_t micro_batches; /* per step; 0: one, or the stages of the pipeline in training */
    const char *cache_dtype; /* NULL: that of the activations */
    int64_t reserve_bytes; /* replaces driver, context and NCCL; -1: they are assumed */
    bool without_search; /* skips the largest sizes and the levers */
} pyro_fit_options;

#define PYRO_FIT_BLOCK_TOKENS 16 /* of the paged cache */
#define PYRO_FIT_VOCABULARY_MULTIPLE 128 /* rows per rank, for split tables */

typedef struct pyro_fit {
    const char *model; /* its name */
    const char *dtype; /* of most tensors */
    bool training;
    pyro_train_options train;
    int64_t batch, sequence; /* of one micro-batch; 0: unknown */
    int64_t concurrent, micro_batches;
    int64_t parameters;
    const char *cache_dtype; /* "" without a cache */
    int64_t cache_bytes_per_token; /* of all layers, on one GPU that holds everything */
    int64_t heads, cache_heads; /* of attention; 0: unknown */
    pyro_fit_answer *answers;
    size_t answer_count;
    const char **assumptions;
    size_t assumption_count;
    const char **notes;
    size_t note_count;
    struct pyro_fit_store *store; /* internal */
} pyro_fit;

/*
 * Computes whether a model fits at its current sizes. The model is as before afterwards.
 * PYRO_ERROR_ARGUMENT for unknown chips, layouts that do not add up, or a missing chip.
 */
PYRO_API int pyro_fit_compute(pyro_fit **out, pyro_model *model, const pyro_fit_options *options,
                              pyro_error *error);
PYRO_API void pyro_fit_free(pyro_fit *fit);

/* Text, JSON or CSV by options->format; free *out with pyro_free(). */
PYRO_API int pyro_report_fit(char **out, size_t *size, const pyro_fit *fit,
                             const pyro_report_options *options, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
