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

/* Forms of work: kernels of one kind that reach different shares of the peaks. */
typedef enum pyro_work_form {
    PYRO_FORM_PLAIN,
    PYRO_FORM_UNALIGNED, /* products: rows that do not begin at multiples of 16 bytes */
    PYRO_FORM_POINTWISE, /* convolutions with filters of one place: products */
    PYRO_FORM_GROUPED,   /* convolutions of groups of channels, such as depthwise ones */
    PYRO_FORM_GRADIENT,  /* of norms over rows */
    PYRO_FORM_STATISTICS, /* norms that need the mean of many places: of groups, of a batch */
    PYRO_FORM_STATISTICS_GRADIENT,
    PYRO_FORM_SCALE,   /* norms with a known mean: of a batch, in inference */
    PYRO_FORM_COLUMNS, /* reductions over the outer dims */
    PYRO_FORM_WINDOW,  /* pooling, resampling */
    PYRO_FORM_ORDER,   /* sorting, and running sums */
    PYRO_FORM_SCATTER, /* lookups that write to given rows */
    PYRO_FORM_FILL,    /* copies that read nothing */
    PYRO_FORM_ANY,     /* not known */
    PYRO_FORM_COUNT
} pyro_work_form;

const char *pyro_work_form_name(pyro_work_form form);
/* PYRO_FORM_COUNT: not a form. */
pyro_work_form pyro_work_form_from_name(const char *name);
/* The form of the gradients of work. */
pyro_work_form pyro_work_form_of_backward(pyro_work_kind kind, pyro_work_form form);
/* Sets the form, and the sizes of norms, softmax and reductions; the other sizes are known. */
void pyro_work_set_form(struct pyro_op_work *work, pyro_work_kind kind, const pyro_call *call);

/*
 * Describes a call whose outputs and price are known. Products have m rows and n columns of sums
 * over k; a convolution is the product that it equals, with the rows of all groups and the columns of
 * one; attention has m queries (over all heads), n keys and heads of k; their gradients have the
 * sizes of the forward; norms, softmax and reductions have m rows of n elements. Returns false if the call moves nothing, or
 * its element type or FLOPs are unknown. The texts are static.
 */
bool pyro_work_describe(struct pyro_op_work *out, const pyro_call *call, const pyro_price *price);

#endif
