/* The work of one operator, as predictions of its time and tables of measured efficiencies see it.
 * Neither names nor paths: two operators with the same work take the same time. */
#ifndef PYRO_PREDICT_WORK_H
#define PYRO_PREDICT_WORK_H

#include <stdint.h>

struct pyro_op_work {
    /* "gemm", "gemv", "conv", "attention", "elementwise", "reduction", "norm", "softmax",
     * "embedding", "copy", "other", "conv_backward", "attention_backward" */
    const char *kind;
    const char *dtype; /* "float32", "tf32", "bfloat16", ... */
    uint64_t flops;
    uint64_t bytes;  /* read and written, each tensor once */
    /* Of a product: rows, columns, summed elements. Of attention: queries over all heads, keys, width
     * of a head. Of norms, softmax and reductions: m rows of n elements that are summed. 0: unknown */
    int64_t m, n, k;
    int64_t parts; /* how many products or heads the m rows belong to; 0: one */
    uint8_t form; /* pyro_work_form of describe.h: what else decides about the time */
};

#endif
