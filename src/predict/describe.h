/* Describes priced operator calls as work: the same way for graphs and for recorded ops. */
#ifndef PYRO_PREDICT_DESCRIBE_H
#define PYRO_PREDICT_DESCRIBE_H

#include "graph/ops.h"
#include "predict/work.h"

/* The kinds of work, in the order of their names in work.h. */
typedef enum pyro_work_kind {
    PYRO_WORK_GEMM,
    PYRO_WORK_GEMV,
    PYRO_WORK_CONV,
    PYRO_WORK_ATTENTION,
    PYRO_WORK_ELEMENTWISE,
    PYRO_WORK_REDUCTION,
    PYRO_WORK_NORM,
    PYRO_WORK_SOFTMAX,
    PYRO_WORK_EMBEDDING,
    PYRO_WORK_COPY,
    PYRO_WORK_OTHER,
    PYRO_WORK_CONV_BACKWARD, /* gradients of input and weight */
    PYRO_WORK_ATTENTION_BACKWARD,
    PYRO_WORK_KIND_COUNT
} pyro_work_kind;

const char *pyro_work_kind_name(pyro_work_kind kind);
/* PYRO_WORK_KIND_COUNT: not a kind. */
pyro_work_kind pyro_work_kind_from_name(const char *name);
/* The kind of its gradients, and the kind whose gradients it computes; else the same kind. */
pyro_work_kind pyro_work_kind_of_backward(pyro_work_kind kind);
pyro_work_kind pyro_work_kind_of_forward(pyro_work_kind kind);

/*
 * Describes a call whose outputs and price are known. Products have m rows and n columns of sums
 * over k; a convolution is the product that it equals, with the rows of all groups and the columns of
 * one; attention has m queries (over all heads), n keys and heads of k; their gradients have the
 * sizes of the forward; other kinds have none of these. Returns false if the call moves nothing, or
 * its element type or FLOPs are unknown. The texts are static.
 */
bool pyro_work_describe(struct pyro_op_work *out, const pyro_call *call, const pyro_price *price);

#endif
