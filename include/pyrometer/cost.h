/* The cost of a model, independent of hardware: MACs, FLOPs, bytes and parameters. */
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
 * How FLOPs are counted (docs/reference/conventions.md). MACs do not depend on the convention.
 */
typedef enum pyro_convention {
    PYRO_CONVENTION_FULL,        /* 2 x MACs + elementwise, norm, pooling and activation work */
    PYRO_CONVENTION_TORCH,       /* as torch.utils.flop_counter counts */
    PYRO_CONVENTION_FVCORE,      /* as fvcore counts: MACs, and its own rules for norms */
    PYRO_CONVENTION_TORCHVISION, /* as torchvision publishes: MACs of convolutions and matmuls */
    PYRO_CONVENTION_COUNT
} pyro_convention;

PYRO_API const char *pyro_convention_name(pyro_convention convention);
/* One line that describes what the convention counts. */
PYRO_API const char *pyro_convention_summary(pyro_convention convention);
/* Finds a convention by name. PYRO_ERROR_ARGUMENT, with the valid names, if it is unknown. */
PYRO_API int pyro_convention_parse(pyro_convention *out, const char *name, pyro_error *error);

/* The amounts that are summed over nodes. */
typedef struct pyro_work {
    int64_t macs;
    int64_t flops;                 /* in the requested convention */
    int64_t activation_read_bytes;
    int64_t weight_read_bytes;     /* parameters, buffers and constants */
    int64_t written_bytes;
    int64_t params;                /* own parameter values; tied ones count once */
} pyro_work;

/* The side of the ridge that an arithmetic intensity lies on; NONE if no bytes are moved. */
typedef enum pyro_bound { PYRO_BOUND_NONE, PYRO_BOUND_MEMORY, PYRO_BOUND_COMPUTE } pyro_bound;
PYRO_API const char *
pyro_bound_name(pyro_bound bound); /* "compute-bound", "memory-bound", "none" */

/* Name of the band of an arithmetic intensity; bands end at 10, 50 and 100 FLOPs per byte. */
PYRO_API const char *pyro_band_name(double arithmetic_intensity);

/* A layer, a module, an operator type or the whole model. */
typedef struct pyro_cost_row {
    const char *name;        /* dotted path, operator type ("Conv2D"), or the model's name */
    const char *type;        /* operator type with most of the work, lower case ("conv2d") */
    const char *class_name;  /* "Conv2d"; "" if unknown */
    size_t depth;            /* of a module in its tree; the model itself is 0 */
    int64_t operators;       /* number of graph nodes in this row */
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
    const char *shape;     /* of its first output: "1x64x112x112"; "" if that is not a tensor */
    int64_t times;         /* how often it runs: above 1 inside a scanned subgraph */
    pyro_work work;        /* params is 0: parameters belong to layers */
} pyro_cost_node;

/* An operator without a cost, and the reason. */
typedef struct pyro_uncounted {
    const char *op;
    const char *reason; /* "no rule", "size depends on data: u0", ... */
    int64_t count;
} pyro_uncounted;

/* A tensor of an operator as a rule sees it, with the model's current sizes. */
typedef struct pyro_op_tensor {
    const char *name;  /* of the argument; for an output its position: "0" */
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
 * A custom cost rule for an operator. Returns 1 after setting `macs` and `other_flops`, 0 to use
 * the built-in table, or a negative status to fail the computation (with the reason in `error`).
 * FLOPs follow from the convention, bytes from the operator's tensors.
 */
typedef int (*pyro_rule_fn)(void *user, const pyro_op_view *op, int64_t *macs, int64_t *other_flops,
                            pyro_error *error);

typedef struct pyro_cost_options {
    pyro_convention convention;
    const char *dtype; /* type of floating point tensors: "float16", ...; NULL: as in the file */
    double ridge; /* FLOPs per byte from which a layer is compute-bound; 0 means 50 */
    int depth; /* deeper layers are rolled up into their ancestor; negative: no roll-up */
    pyro_rule_fn rule; /* may be NULL */
    void *rule_user;
} pyro_cost_options;

typedef struct pyro_cost pyro_cost;

/* Computes the cost of a model. The model must outlive the cost. `options` NULL: the defaults. */
PYRO_API int pyro_cost_compute(pyro_cost **out, pyro_model *model, const pyro_cost_options *options,
                               pyro_error *error);
PYRO_API void pyro_cost_free(pyro_cost *cost);

PYRO_API pyro_model *pyro_cost_model(const pyro_cost *cost);
PYRO_API pyro_convention pyro_cost_convention(const pyro_cost *cost);
PYRO_API double pyro_cost_ridge(const pyro_cost *cost);
/* Depth that layers were rolled up to; negative: no roll-up. */
PYRO_API int pyro_cost_depth(const pyro_cost *cost);
/* The requested dtype, else the type of most floating point tensors: "float32". */
PYRO_API const char *pyro_cost_dtype(const pyro_cost *cost);

PYRO_API const pyro_cost_row *pyro_cost_total(const pyro_cost *cost);
/* Disjoint rows in graph order that sum to the total. The model itself is "(model)". */
PYRO_API const pyro_cost_row *pyro_cost_layers(const pyro_cost *cost, size_t *count);
/*
 * Every module with its descendants' cost, parents before children. Computed on the first call; NULL
 * if memory runs out.
 */
PYRO_API const pyro_cost_row *pyro_cost_modules(const pyro_cost *cost, size_t *count);
/* By operator type, most FLOPs first. */
PYRO_API const pyro_cost_row *pyro_cost_operators(const pyro_cost *cost, size_t *count);
PYRO_API const pyro_cost_node *pyro_cost_nodes(const pyro_cost *cost, size_t *count);
PYRO_API const pyro_uncounted *pyro_cost_uncounted(const pyro_cost *cost, size_t *count);
/* Share of the nodes that have a cost, 0 to 1. */
PYRO_API double pyro_cost_coverage(const pyro_cost *cost);
PYRO_API int64_t pyro_cost_param_bytes(const pyro_cost *cost);
PYRO_API int64_t pyro_cost_buffer_values(const pyro_cost *cost);

/* What one decoding step reads from the cache of keys and values. */
typedef struct pyro_decode {
    int64_t past_tokens; /* in the cache, per sequence */
    int64_t sequences;   /* the batch size: one step makes one token per sequence */
    int64_t cache_inputs;
    int64_t cache_read_bytes; /* per step, all sequences */
    int64_t cache_read_bytes_per_token;
    int64_t cache_bytes; /* footprint of the cache after the step: all sequences, new tokens too */
    int64_t cache_bytes_per_past_token; /* growth of a sequence's cache per token */
} pyro_decode;

/* Returns false if the model has no cache input and so is not a decoding step. */
PYRO_API bool pyro_cost_decode(const pyro_cost *cost, pyro_decode *out);

/*
 * Memory that the model holds: the weights and, for a language model, the keys and values of all
 * sequences. Without activations.
 */
typedef struct pyro_footprint {
    int64_t total_bytes;
    int64_t weight_bytes;
    int64_t cache_bytes; /* -1: no cache, or unknown */
    int64_t cache_tokens, sequences; /* tokens per sequence in the cache */
} pyro_footprint;

PYRO_API void pyro_cost_footprint(const pyro_cost *cost, pyro_footprint *out);

/*
 * The peak of memory when the operators run one by one in the order of the file, and a tensor is
 * freed behind the last operator that reads it. Without the scratch memory of kernels.
 */
typedef struct pyro_peak {
    int64_t activation_bytes; /* of outputs of operators that are alive at once */
    int64_t input_bytes;
    int64_t total_bytes; /* with the weights and the inputs */
    const char *node, *layer; /* where the peak is; "" if nothing is made */
} pyro_peak;

PYRO_API int pyro_cost_peak(const pyro_cost *cost, pyro_peak *out, pyro_error *error);

/* A piece of memory that is alive at the peak. */
typedef struct pyro_memory_item {
    const char *what; /* "weights", "saved activation", "gradient of activation", ... */
    const char *name, *layer;
    int64_t bytes;
} pyro_memory_item;

/* Memory over the nodes of the graph: bytes of activations alive at each, without weights. */
typedef struct pyro_memory_curve {
    int64_t *bytes; /* by node of the graph, in its order */
    size_t count, peak; /* `peak`: index of the first maximum */
    pyro_memory_item *alive; /* at the peak, largest first */
    size_t alive_count;
} pyro_memory_curve;

PYRO_API int pyro_cost_curve(const pyro_cost *cost, pyro_memory_curve *out, pyro_error *error);
PYRO_API void pyro_memory_curve_free(pyro_memory_curve *curve);

/* Sentences about suitable hardware, each with the share of the work that it is based on. */
PYRO_API const char *const *pyro_cost_advice(const pyro_cost *cost, size_t *count);
/* What the numbers omit or assume ("cond: the costlier branch is counted"). */
PYRO_API const char *const *pyro_cost_notes(const pyro_cost *cost, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
