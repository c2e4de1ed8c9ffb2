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
    int64_t m, n, k; /* of a product: rows, columns, summed elements; 0 for other kinds */
};

#endif
