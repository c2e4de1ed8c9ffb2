/*
 * The cost of one training step of a model, independent of hardware: forward, backward and
 * optimizer; gradients, optimizer states and master weights; memory over time.
 */
#ifndef PYROMETER_TRAIN_COST_H
#define PYROMETER_TRAIN_COST_H

#include <pyrometer/cost.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pyro_optimizer {
    PYRO_OPTIMIZER_SGD,
    PYRO_OPTIMIZER_ADAM,
    PYRO_OPTIMIZER_ADAMW,
    PYRO_OPTIMIZER_ADAFACTOR,
    PYRO_OPTIMIZER_LION,
    PYRO_OPTIMIZER_ADAM8BIT,
    PYRO_OPTIMIZER_COUNT
} pyro_optimizer;

typedef enum pyro_checkpoint {
    PYRO_CHECKPOINT_NONE,
    PYRO_CHECKPOINT_BLOCKS, /* each repeated block runs again before its backward */
    PYRO_CHECKPOINT_FULL,   /* so does what lies between the blocks */
    PYRO_CHECKPOINT_COUNT
} pyro_checkpoint;

typedef enum pyro_precision {
    PYRO_PRECISION_FILE, /* the types in the file, or the dtype of the cost options */
    PYRO_PRECISION_FP32,
    PYRO_PRECISION_BF16_MIXED, /* float32 parameters; products in bfloat16, as torch.autocast */
    PYRO_PRECISION_BF16,
    PYRO_PRECISION_FP8, /* as BF16_MIXED, with the operands of linear products in 8 bits */
    PYRO_PRECISION_COUNT
} pyro_precision;

PYRO_API const char *pyro_optimizer_name(pyro_optimizer optimizer);    /* "adamw" */
PYRO_API const char *pyro_checkpoint_name(pyro_checkpoint checkpoint); /* "blocks" */
PYRO_API const char *pyro_precision_name(pyro_precision precision);    /* "bf16-mixed"; "file" */
/* Find a name. PYRO_ERROR_ARGUMENT, with the valid names, if it is unknown. */
PYRO_API int pyro_optimizer_parse(pyro_optimizer *out, const char *name, pyro_error *error);
PYRO_API int pyro_checkpoint_parse(pyro_checkpoint *out, const char *name, pyro_error *error);
PYRO_API int pyro_precision_parse(pyro_precision *out, const char *name, pyro_error *error);

typedef struct pyro_train_options {
    pyro_optimizer optimizer;
    pyro_checkpoint checkpoint;
    pyro_precision precision;
    const char *freeze; /* parameters whose path matches get no gradient; NULL: none */
    const char *lora; /* "RANK:REGEX": adapters on linear layers whose path matches; NULL: none */
} pyro_train_options;

/* One training step of the whole model. All bytes are of one device that holds everything. */
typedef struct pyro_train_total {
    int64_t trainable_params, frozen_params; /* values; tied ones count once */
    int64_t lora_params; /* of the adapters; part of trainable_params */
    pyro_work forward, backward, recompute, optimizer;
    int64_t macs, flops, memory_bytes; /* of the step: the four together */
    int64_t weight_bytes; /* that the operators read: parameters, adapters and buffers */
    int64_t master_weight_bytes; /* float32 parameters of mixed precision; else 0 */
    int64_t gradient_bytes;
    int64_t optimizer_state_bytes;
    int64_t optimizer_scratch_bytes; /* temporary tensors of the optimizer's step */
    int64_t input_bytes;
    int64_t saved_activation_bytes; /* kept for the backward when the forward ends */
    int64_t peak_activation_bytes; /* activations and their gradients, at the peak */
    int64_t peak_bytes; /* without the scratch memory of kernels */
} pyro_train_total;

/* A layer, an operator type or a node. Of a node, params and bytes of states are 0. */
typedef struct pyro_train_row {
    const char *name, *type;
    pyro_work forward, backward, recompute, optimizer;
    int64_t trainable_params;
    int64_t saved_bytes; /* activations that it keeps for the backward */
    int64_t gradient_bytes; /* of its parameters */
    int64_t state_bytes; /* of the optimizer */
} pyro_train_row;

typedef enum pyro_train_phase {
    PYRO_TRAIN_FORWARD,
    PYRO_TRAIN_BACKWARD,
    PYRO_TRAIN_RECOMPUTE,
    PYRO_TRAIN_OPTIMIZER
} pyro_train_phase;
PYRO_API const char *pyro_train_phase_name(pyro_train_phase phase);

/* A point of the curve of memory: a node that runs, and the bytes alive then, weights included. */
typedef struct pyro_memory_step {
    pyro_train_phase phase;
    const char *node, *layer;
    int64_t bytes;
} pyro_memory_step;

typedef struct pyro_train pyro_train;

/*
 * Computes the cost of a training step of a model at its current sizes. The loss is taken to need
 * every floating point output. The model must outlive the result. NULL options: the defaults (sgd).
 */
PYRO_API int pyro_train_compute(pyro_train **out, pyro_model *model,
                                const pyro_cost_options *cost_options,
                                const pyro_train_options *options, pyro_error *error);
PYRO_API void pyro_train_free(pyro_train *train);

/* The forward's cost, as of training: batch norms use the batch, dropouts drop. */
PYRO_API const pyro_cost *pyro_train_cost(const pyro_train *train);
PYRO_API const pyro_train_options *pyro_train_get_options(const pyro_train *train);
PYRO_API const pyro_train_total *pyro_train_get_total(const pyro_train *train);
/* The layers of the cost, in their order. */
PYRO_API const pyro_train_row *pyro_train_layers(const pyro_train *train, size_t *count);
/* By operator type, in the order of the cost; the optimizer belongs to none. */
PYRO_API const pyro_train_row *pyro_train_operators(const pyro_train *train, size_t *count);
/* The nodes of the cost, in their order. */
PYRO_API const pyro_train_row *pyro_train_nodes(const pyro_train *train, size_t *count);
PYRO_API const pyro_memory_step *pyro_train_curve(const pyro_train *train, size_t *count);
/* Index of the peak in the curve. */
PYRO_API size_t pyro_train_peak(const pyro_train *train);
/* What is alive at the peak, largest first. */
PYRO_API const pyro_memory_item *pyro_train_alive(const pyro_train *train, size_t *count);
/* What the numbers assume. */
PYRO_API const char *const *pyro_train_notes(const pyro_train *train, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
