/* Pairs kernels of two runs that have different names and do the same work. */
#ifndef PYRO_ANALYZE_RENAMED_KERNELS_H
#define PYRO_ANALYZE_RENAMED_KERNELS_H

#include <pyrometer/trace.h>

/* A kernel of one run or of both, and the op that launches it. */
typedef struct pyro_kernel_change {
    pyro_diff_row row;
    const char *op, *shapes; /* "" unknown */
    bool is_paired;
} pyro_kernel_change;

/*
 * Pairs what only one run has. The row of a new kernel then has the times of the old one and its
 * name; the old row has is_paired set, and no calls after. False when memory is out.
 */
bool pyro_pair_renamed_kernels(pyro_kernel_change *changes, size_t count);

#endif
