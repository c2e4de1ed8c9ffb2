/* A simple model of kernels: what learnt rows are compared with, and what data sheets are used by. */
#ifndef PYRO_PREDICT_KERNEL_MODEL_H
#define PYRO_PREDICT_KERNEL_MODEL_H

#include "predict/describe.h"

typedef struct pyro_chip pyro_chip; /* hardware/hardware.h */

/*
 * Nanoseconds of one wave of a product on a GPU: every multiprocessor computes a tile of the result,
 * in a loop over the depth, however few rows and columns there are. 0 for other kinds of work, and
 * without a peak for the type.
 */
double pyro_wave_ns(const pyro_chip *chip, pyro_work_kind kind, int dtype, double depth);

/* Nanoseconds of a kernel at the shares of peaks that kernels usually reach; NULL: a processor. */
double pyro_kernel_model_ns(const pyro_chip *chip, pyro_work_kind kind, int dtype, double flops,
                            double bytes, double depth);

#endif
