/*
 * The table of operators (ops.def), and the input and result of a rule. pyro_op_price computes the
 * cost of every operator, from a file, a live run or a trace.
 */
#ifndef PYRO_GRAPH_OPS_H
#define PYRO_GRAPH_OPS_H

#include "base/containers/intern.h"
#include "base/containers/map.h"
#include "graph/dtype.h"
#include "graph/model.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pyro_category {
    PYRO_CATEGORY_CONVOLUTION,
    PYRO_CATEGORY_MATMUL,
    PYRO_CATEGORY_ATTENTION,
    PYRO_CATEGORY_RECURRENT,
    PYRO_CATEGORY_NORM,
    PYRO_CATEGORY_ACTIVATION,
    PYRO_CATEGORY_ELEMENTWISE,
    PYRO_CATEGORY_REDUCTION,
    PYRO_CATEGORY_POOLING,
    PYRO_CATEGORY_RESAMPLING,
    PYRO_CATEGORY_LOOKUP,
    PYRO_CATEGORY_MEMORY,
    PYRO_CATEGORY_VIEW,
    PYRO_CATEGORY_SCALAR,
    PYRO_CATEGORY_CONTROL,
    PYRO_CATEGORY_UNCOUNTED,
    PYRO_CATEGORY_COUNT
} pyro_category;

const char *pyro_category_name(pyro_category category);

/* A tensor as a rule sees it. */
typedef struct pyro_tensor {
    const int64_t *dims; /* NULL: None in a list of optional tensors */
    int64_t elements;
    uint64_t id; /* equal for the same value, which counts as read once */
    uint8_t rank, dtype;
    bool is_weight;
    bool is_strided; /* a transposed, expanded or sliced view: not one dense block in order */
    bool is_skipped; /* only an export makes it (exported.h) */
    bool needs_gradient; /* in training: a trainable parameter reaches it (gradients/) */
    uint8_t grows_along; /* 1 + the axis of past tokens if it is a cache; else 0 */
    uint32_t order; /* of its axes in memory if it is dense but permuted (rules/views.c) */
    uint32_t repeats; /* how often each value is repeated, though read once; 0: not repeated */
} pyro_tensor;

/* An argument as a rule sees it; `name` is "" if only its position is known. */
typedef struct pyro_call_arg {
    const char *name;
    uint8_t kind; /* pyro_arg_kind; integers are evaluated */
    uint32_t count;
    const pyro_tensor *tensors;
    const int64_t *integers;
    const char *text;
} pyro_call_arg;

typedef struct pyro_op pyro_op;

typedef struct pyro_call {
    const pyro_op *op;
    const pyro_call_arg *args;
    size_t arg_count;
    const pyro_tensor *outputs;
    size_t output_count;
    bool overflow; /* a product did not fit; checked after the rule */
} pyro_call;

/* The cost of a call. Bytes are preset: every tensor read once, every output written. */
typedef struct pyro_price {
    int64_t macs;
    int64_t other_flops;
    int64_t torch_macs; /* MACs that torch's counter sees; PYRO_SAME: all */
    int64_t fvcore_flops; /* fvcore's flops; PYRO_SAME: the MACs */
    int64_t activation_read_bytes, weight_read_bytes, written_bytes;
    bool is_free; /* nothing is moved: a view */
    bool is_strided; /* its outputs are strided views */
    uint32_t order; /* of their axes in memory; 0: unknown */
    bool is_skipped; /* a run does not call it: only an export does (exported.h) */
} pyro_price;

#define PYRO_SAME INT64_MIN

/* Returns false if the rule does not support the arguments. */
typedef bool (*pyro_rule)(pyro_call *call, pyro_price *price);

/* Derives the first output of a call (shapes/shapes.h); returns false if it cannot. */
typedef struct pyro_output pyro_output;
typedef bool (*pyro_shape_rule)(pyro_call *call, pyro_output *output);

struct pyro_op {
    const char *name; /* "aten.conv2d" */
    const char *label; /* "Conv2D" */
    pyro_category category;
    pyro_rule rule;
    int factor; /* of the rule: FLOPs per element, spatial dims, ... */
    pyro_shape_rule shape; /* NULL: the shape of its rule in rules.def */
    const char *arguments; /* their names, separated by spaces; NULL: the rules' default order */
};

extern const pyro_op pyro_ops[];
extern const size_t pyro_op_count;

/* Finds rows by name; made once per computation, so that nothing is global. */
typedef struct pyro_op_index {
    pyro_arena arena;
    pyro_intern names;
} pyro_op_index;

/* False when memory runs out; then the index is empty and need not be freed. */
bool pyro_op_index_init(pyro_op_index *index);
void pyro_op_index_free(pyro_op_index *index);
/*
 * Finds the row of "aten.add_.Tensor" by its full name, then without its overload, then without the
 * in-place underscore; returns NULL if the table has none of them.
 */
const pyro_op *pyro_op_find(const pyro_op_index *index, const char *target);

/* Sets the bytes from the shapes, then calls the rule. Returns false if the rule fails. */
bool pyro_op_price(pyro_call *call, pyro_price *price);

#endif
