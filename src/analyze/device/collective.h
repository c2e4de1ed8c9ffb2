/* Derives the kind, element type and bandwidth factor of a collective from its name. */
#ifndef PYRO_ANALYZE_DEVICE_COLLECTIVE_H
#define PYRO_ANALYZE_DEVICE_COLLECTIVE_H

#include "graph/dtype.h"

/* "allreduce" for "_allreduce_coalesced", "nccl:all_reduce",
 * "ncclDevKernel_AllReduce_Sum_f32(...)"; NULL when the text names no kind. */
const char *pyro_collective_kind(const char *text);

/* From torch's name of a type ("Float", "BFloat16"). */
pyro_dtype pyro_collective_dtype(const char *text);
/* From a kernel's name. */
pyro_dtype pyro_collective_kernel_dtype(const char *kernel);

/*
 * Bytes on the bus per byte of the message, as nccl-tests counts them, so that bandwidths of all
 * collectives compare with the hardware's; -1 when the group size is unknown.
 */
double pyro_collective_bus_factor(const char *kind, int64_t group_size);

#endif
