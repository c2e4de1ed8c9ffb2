/*
 * Fusion: which operators of a model can legally run as one kernel, and what that saves. Like the
 * cost, it depends on the graph alone, not on a compiler or a chip.
 */
#ifndef PYROMETER_FUSE_H
#define PYROMETER_FUSE_H

#include <pyrometer/cost.h>
#include <pyrometer/report.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pyro_fuse_strategy {
    PYRO_FUSE_NONE,       /* every operator is a kernel */
    PYRO_FUSE_VERTICAL,   /* an operator with the one that reads its result */
    PYRO_FUSE_HORIZONTAL, /* operators beside each other */
    PYRO_FUSE_MAX /* both; results that others read too are written once and fused as well */
} pyro_fuse_strategy;

PYRO_API const char *pyro_fuse_strategy_name(pyro_fuse_strategy strategy);
/* PYRO_ERROR_ARGUMENT, with the valid names, if it is unknown. */
PYRO_API int pyro_fuse_strategy_parse(pyro_fuse_strategy *out, const char *name, pyro_error *error);

typedef enum pyro_fused_kind {
    PYRO_FUSED_SINGLE, /* one operator */
    PYRO_FUSED_CONVOLUTION, /* a convolution with the batch norm and elementwise work behind it */
    PYRO_FUSED_PRODUCT, /* a matrix product with elementwise work behind it */
    PYRO_FUSED_ATTENTION, /* products and softmax of attention */
    PYRO_FUSED_PROJECTIONS, /* products of one input: query, key and value */
    PYRO_FUSED_PARALLEL, /* products of one size beside each other, such as those of experts */
    PYRO_FUSED_NORM, /* a norm, softmax or reduction with elementwise work around it */
    PYRO_FUSED_ELEMENTWISE,
    PYRO_FUSED_KIND_COUNT
} pyro_fused_kind;
PYRO_API const char *pyro_fused_kind_name(pyro_fused_kind kind);

/* Operators that run as one kernel. */
typedef struct pyro_fused_group {
    pyro_fused_kind kind;
    const char *layer; /* the innermost module that has all members; "" is the model */
    const uint32_t *members; /* indices of pyro_cost_nodes(), in order */
    size_t member_count;
    int64_t times; /* how often it runs */
    int64_t flops, bytes_before, bytes_after;
} pyro_fused_group;

/* What a program of kernels does. */
typedef struct pyro_fuse_totals {
    int64_t kernels, flops, bytes;
    double arithmetic_intensity;
} pyro_fuse_totals;

typedef struct pyro_fusion {
    const pyro_cost *cost;
    pyro_fuse_strategy strategy;
    pyro_fuse_totals before, after;
    pyro_fused_group *groups; /* in the order of their first members; every kernel is in one */
    size_t group_count;
    struct pyro_fusion_store *store; /* internal */
} pyro_fusion;

/* Groups the operators of a priced model, which must outlive the result. */
PYRO_API int pyro_fuse(pyro_fusion **out, const pyro_cost *cost, pyro_fuse_strategy strategy,
                       pyro_error *error);
PYRO_API void pyro_fusion_free(pyro_fusion *fusion);

/* Text, JSON or CSV by options->format; free *out with pyro_free(). */
PYRO_API int pyro_report_fusion(char **out, size_t *size, const pyro_fusion *fusion,
                                const pyro_report_options *options, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
