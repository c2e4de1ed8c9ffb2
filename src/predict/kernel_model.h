/* A simple model of kernels: what learnt rows are compared with, and what data sheets are used by. */
#ifndef PYRO_PREDICT_KERNEL_MODEL_H
#define PYRO_PREDICT_KERNEL_MODEL_H

#include "predict/describe.h"

typedef struct pyro_chip pyro_chip; /* hardware/hardware.h */

/* The work of a kernel. */
typedef struct pyro_kernel_work {
    pyro_work_kind kind;
    pyro_work_form form;
    int dtype;
    double flops, bytes;
    double m, n, k, parts; /* 0: unknown */
} pyro_kernel_work;

pyro_kernel_work pyro_kernel_of_work(const struct pyro_op_work *work, pyro_work_kind kind,
                                     int dtype);

/*
 * Nanoseconds of the arithmetic on a GPU that reaches a share of its peak: products are cut into
 * tiles of the result, of which every multiprocessor computes one at a time, so a few tiles more
 * than multiprocessors take twice as long; attention into blocks of queries, norms into rows. 0
 * without a peak.
 */
double pyro_arithmetic_ns(const pyro_chip *chip, const pyro_kernel_work *work, double share);

/* Nanoseconds of a kernel at the shares of peaks that kernels usually reach; NULL: a processor. */
double pyro_kernel_model_ns(const pyro_chip *chip, const pyro_kernel_work *work);

#endif
