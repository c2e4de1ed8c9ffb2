/* What a model should cost, independent of hardware: MACs, FLOPs, bytes and parameters. */
#ifndef PYROMETER_COST_H
#define PYROMETER_COST_H

#include <pyrometer/error.h>
#include <pyrometer/model.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How work becomes the number called FLOPs; MACs never depend on it
 * (docs/reference/conventions.md).
 */
typedef enum pyro_convention {
    PYRO_CONVENTION_FULL,        /* 2 x MACs + elementwise, norm, pooling and activation work */
    PYRO_CONVENTION_TORCH,       /* as torch.utils.flop_counter counts */
    PYRO_CONVENTION_FVCORE,      /* as fvcore counts: MACs, and its own rules for norms */
    PYRO_CONVENTION_TORCHVISION, /* as torchvision publishes: MACs of convolutions and matmuls */
    PYRO_CONVENTION_COUNT
} pyro_convention;

PYRO_API const char *pyro_convention_name(pyro_convention convention);
/* One line that says what its FLOPs are. */
PYRO_API const char *pyro_convention_summary(pyro_convention convention);
/* PYRO_ERROR_ARGUMENT, with the names that exist, for an unknown name. */
PYRO_API int pyro_convention_parse(pyro_convention *out, const char *name, pyro_error *error);

/* The amounts that add up. */
typedef struct pyro_work {
    int64_t macs;
    int64_t flops;                 /* in the convention that was asked for */
    int64_t activation_read_bytes;
    int64_t weight_read_bytes;     /* parameters, buffers and constants */
    int64_t written_bytes;
    int64_t params;                /* parameter values owned; tied ones once */
} pyro_work;

/* Which side of the ridge an arithmetic intensity lies on; NONE where nothing is moved. */
typedef enum pyro_bound { PYRO_BOUND_NONE, PYRO_BOUND_MEMORY, PYRO_BOUND_COMPUTE } pyro_bound;
PYRO_API const char *
pyro_bound_name(pyro_bound bound); /* "compute-bound", "memory-bound", "none" */

/* The bands at 10, 50 and 100 FLOPs a byte. */
PYRO_API const char *pyro_band_name(double arithmetic_intensity);

/* A layer, a module, an operator type or the whole model. */
typedef struct pyro_cost_row {
    const char *name;        /* dotted path, operator type ("Conv2D"), or the model's name */
    const char *type;        /* operator type that does most of the work, lower case ("conv2d") */
    const char *class_name;  /* "Conv2d"; "" where the file does not say */
    size_t depth;            /* of a module in its tree; the model itself is 0 */
    int64_t operators;       /* nodes of the graph that were rolled up */
    pyro_work work;
    int64_t memory_bytes;    /* read + written */
    double arithmetic_intensity; /* flops / memory_bytes */
    pyro_bound bound;
} pyro_cost_row;

/* One node of the graph. */
typedef struct pyro_cost_node {
    const char *name;      /* of its first output */
    const char *op;        /* "aten.conv2d.default" */
    const char *type;      /* "Conv2D" */
    const char *category;  /* "convolution", "elementwise", "view", "uncounted", ... */
    const char *layer;     /* dotted path; "" is the model itself */
    const char *shape;     /* of its first output: "1x64x112x112"; "" where it is no tensor */
    int64_t times;         /* how often it runs: more than 1 inside a scanned subgraph */
    pyro_work work;        /* params is 0: parameters belong to layers */
} pyro_cost_node;

/* An operator that could not be priced, and why. */
typedef struct pyro_uncounted {
    const char *op;
    const char *reason; /* "no rule", "size depends on data: u0", ... */
    int64_t count;
} pyro_uncounted;

/* What a rule sees of an operator; shapes are as the model's sizes in force make them. */
typedef struct pyro_op_tensor {
    const char *name;  /* of the argument, or of the output's position: "0" */
    const char *dtype;
    size_t rank;
    const int64_t *dims;
    bool is_weight;
} pyro_op_tensor;

typedef struct pyro_op_view {
    const char *op; /* "aten.conv2d.default" */
    size_t input_count, output_count;
    const pyro_op_tensor *inputs, *outputs;
} pyro_op_view;

/*
 * Prices an operator that the table does not know, or prices one otherwise: returns 1 with `macs`
 * and `other_flops` set, 0 to leave it to the table, negative to fail the whole computation (with
 * the reason in `error`). FLOPs follow by the convention; bytes are those of its tensors.
 */
typedef int (*pyro_rule_fn)(void *user, const pyro_op_view *op, int64_t *macs, int64_t *other_flops,
                            pyro_error *error);

typedef struct pyro_cost_options {
    pyro_convention convention;
    const char *dtype; /* re-price floating point tensors: "float16", ...; NULL: as in the file */
    double ridge; /* FLOPs a byte from which on a layer is compute-bound; 0 means 50 */
    int depth; /* layers deeper than this are rolled up into their ancestor; < 0: none */
    pyro_rule_fn rule; /* may be NULL */
    void *rule_user;
} pyro_cost_options;

typedef struct pyro_cost pyro_cost;

/* Prices a model; the model must outlive the cost. `options` NULL means the defaults. */
PYRO_API int pyro_cost_compute(pyro_cost **out, pyro_model *model, const pyro_cost_options *options,
                               pyro_error *error);
PYRO_API void pyro_cost_free(pyro_cost *cost);

PYRO_API pyro_model *pyro_cost_model(const pyro_cost *cost);
PYRO_API pyro_convention pyro_cost_convention(const pyro_cost *cost);
PYRO_API double pyro_cost_ridge(const pyro_cost *cost);
/* Depth that layers were rolled up to; negative: none were. */
PYRO_API int pyro_cost_depth(const pyro_cost *cost);
/* "float32" or what most floating point tensors are, or what was asked for */
PYRO_API const char *pyro_cost_dtype(const pyro_cost *cost);

PYRO_API const pyro_cost_row *pyro_cost_total(const pyro_cost *cost);
/* Disjoint rows in the order of the graph; they sum to the total. The model itself is "(model)". */
PYRO_API const pyro_cost_row *pyro_cost_layers(const pyro_cost *cost, size_t *count);
/* Every module, parents before children, each with all that is below it. */
PYRO_API const pyro_cost_row *pyro_cost_modules(const pyro_cost *cost, size_t *count);
/* By operator type, most FLOPs first. */
PYRO_API const pyro_cost_row *pyro_cost_operators(const pyro_cost *cost, size_t *count);
PYRO_API const pyro_cost_node *pyro_cost_nodes(const pyro_cost *cost, size_t *count);
PYRO_API const pyro_uncounted *pyro_cost_uncounted(const pyro_cost *cost, size_t *count);
/* Share of the nodes that a rule priced, 0 to 1. */
PYRO_API double pyro_cost_coverage(const pyro_cost *cost);
PYRO_API int64_t pyro_cost_param_bytes(const pyro_cost *cost);
PYRO_API int64_t pyro_cost_buffer_values(const pyro_cost *cost);

/* What one decoding step reads of the keys and values of earlier tokens. */
typedef struct pyro_decode {
    int64_t past_tokens; /* in the cache, of each sequence */
    int64_t sequences;   /* the batch: as many tokens does one step make */
    int64_t cache_inputs;
    int64_t cache_read_bytes; /* by one step for all sequences */
    int64_t cache_read_bytes_per_token;
    int64_t cache_bytes; /* the cache's footprint after the step: all sequences, new tokens too */
    int64_t cache_bytes_per_past_token; /* that each token adds to the cache of its sequence */
} pyro_decode;

/* False where the model is no decoding step: it takes no cache. */
PYRO_API bool pyro_cost_decode(const pyro_cost *cost, pyro_decode *out);

/*
 * What is held at once: the weights and, of a language model, the keys and values of all sequences.
 * Activations are no part of it.
 */
typedef struct pyro_footprint {
    int64_t total_bytes;
    int64_t weight_bytes;
    int64_t cache_bytes; /* -1: the model has no cache, or nothing is known of it */
    int64_t cache_tokens, sequences; /* that the cache is for: tokens of each sequence */
} pyro_footprint;

PYRO_API void pyro_cost_footprint(const pyro_cost *cost, pyro_footprint *out);

/* What the shares of the work suggest about hardware, each a sentence with its share. */
PYRO_API const char *const *pyro_cost_advice(const pyro_cost *cost, size_t *count);
/* What the numbers leave out or assume ("cond: the costlier branch is counted"). */
PYRO_API const char *const *pyro_cost_notes(const pyro_cost *cost, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
