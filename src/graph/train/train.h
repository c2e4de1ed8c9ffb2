/* Internal interface of the computation of a training step; one file per part. */
#ifndef PYRO_GRAPH_TRAIN_TRAIN_H
#define PYRO_GRAPH_TRAIN_TRAIN_H

#include "graph/cost/cost.h"
#include "graph/gradients/gradients.h"
#include "graph/memory/storages.h"
#include "graph/memory/lifetimes.h"
#include <pyrometer/train_cost.h>
#include <regex.h>

/* A parameter of the model, by its index there. */
typedef struct train_parameter {
    int64_t values;
    uint32_t owner; /* the parameter that it is tied to, or itself */
    pyro_dtype dtype;
    bool is_trainable, is_adapted;
    bool gets_gradient;
    int64_t bytes, gradient_bytes, state_bytes;
    int64_t adapter_values; /* of its LoRA matrices */
} train_parameter;

/* A node of the main graph. */
typedef struct train_step {
    uint8_t flow;      /* pyro_flow */
    bool needs;        /* an output needs a gradient */
    bool runs;         /* its backward runs: a gradient arrives */
    uint16_t saved_count;
    size_t first_saved; /* into pyro_train.saved */
    int64_t extra_bytes, scratch_bytes;
    uint32_t segment;  /* 1 + the index of its checkpointed segment; 0: none */
    bool is_recomputed;
} train_step;

/* Nodes that a checkpoint runs again, before the first of their backwards. */
typedef struct train_segment {
    size_t begin, end; /* nodes [begin, end) */
    size_t stop; /* torch stops when the last kept tensor is made again: [begin, stop) run */
} train_segment;

typedef struct pyro_train {
    pyro_arena arena;
    pyro_model *model;
    pyro_cost *cost;
    pyro_train_options options;
    const pyro_cost_options *cost_options; /* of the caller; NULL: the defaults */
    regex_t freeze, lora;
    bool has_freeze, has_lora;
    int64_t lora_rank;

    train_parameter *parameters;
    uint32_t *parameter_of; /* by value: 1 + index of the parameter; 0: none */
    uint8_t *dtypes; /* by value, for mixed precision; NULL: as in the file */
    bool *lowered; /* by node: autocast runs it in the low precision */

    bool *needs; /* by value: a trainable parameter reaches it */
    bool *arrives; /* by value: a gradient arrives */
    uint32_t *bases; /* by value: the value whose memory it was made from, if a view */
    pyro_map body_of; /* body of control flow -> index into bodies */
    bool **bodies;
    size_t body_count, body_capacity;
    train_step *steps;
    uint32_t *saved; /* values that backwards need */
    size_t saved_count, saved_capacity;
    train_segment *segments;
    size_t segment_count, segment_capacity;
    int64_t assumed; /* nodes without a row in gradients.def */

    pyro_storages storages;
    pyro_train_row *nodes; /* of the cost */
    size_t node_capacity, node_count;
    pyro_train_row *layers, *operators;
    pyro_train_total total;
    pyro_lifetimes lifetimes; /* kinds: train_piece; without what is held all the time */
    pyro_memory_step *curve;
    size_t curve_count, peak;
    pyro_memory_item *alive;
    size_t alive_count;
    const char **notes;
    size_t note_count, note_capacity;
} train;

/* What a piece of the lifetimes is. */
typedef enum train_piece {
    TRAIN_PIECE_ACTIVATION,
    TRAIN_PIECE_SAVED,
    TRAIN_PIECE_RECOMPUTED,
    TRAIN_PIECE_EXTRA, /* masks, indices and statistics that a backward needs */
    TRAIN_PIECE_GRADIENT, /* of an activation */
    TRAIN_PIECE_PARAMETER_GRADIENT,
    TRAIN_PIECE_SCRATCH
} train_piece;

/* Compiles --freeze and --lora (options.c). */
int pyro_train_read_options(pyro_train *train, const pyro_train_options *options,
                            pyro_error *error);
/* Sizes of the parameters, and which of them learn (parameters.c). */
int pyro_train_find_parameters(pyro_train *train, pyro_error *error);
/* The element types of all values under mixed precision (precision.c). */
int pyro_train_find_dtypes(pyro_train *train, pyro_error *error);
/* A visit of the cost's walk: describes the backward of one node (collect.c). */
int pyro_train_visit(void *user, const pyro_visit *visit, pyro_error *error);
/* Adds the adapter of a linear layer to its forward and backward (lora.c). */
int pyro_train_adapt(pyro_train *train, const pyro_visit *visit, pyro_gradient *gradient,
                     pyro_error *error);
/* Finds the nodes whose backward runs (flow.c). */
int pyro_train_find_flow(pyro_train *train, pyro_error *error);
/* Finds the segments that checkpointing runs again (segments.c). */
int pyro_train_find_segments(pyro_train *train, pyro_error *error);
/* Bytes and work of the optimizer (optimizer.c). */
int pyro_train_optimize(pyro_train *train, pyro_error *error);
/* The curve of memory and its peak (schedule.c). */
int pyro_train_schedule(pyro_train *train, pyro_error *error);
/* Sums rows up into layers, operator types and the total (totals.c). */
int pyro_train_sum(pyro_train *train, pyro_error *error);

bool pyro_train_note(pyro_train *train, const char *text);
/* Adds work; false if a sum does not fit. */
bool pyro_work_add(pyro_work *sum, const pyro_work *work);
/* The bytes of an optimizer's states for a parameter. */
bool pyro_optimizer_bytes(pyro_optimizer optimizer, pyro_dtype dtype, int64_t values, int64_t rows,
                          int64_t columns, int64_t *bytes);
int pyro_train_too_large(pyro_error *error);

#endif
