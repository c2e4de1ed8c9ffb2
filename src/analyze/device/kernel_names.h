/* Derives short names and families of kernels from their names. */
#ifndef PYRO_ANALYZE_DEVICE_KERNEL_NAMES_H
#define PYRO_ANALYZE_DEVICE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { PYRO_KERNEL_SHORT_NAME = 96 };

/*
 * A name that people can read: without namespaces, parameters, plumbing and sizes, with the functor
 * and the element type. Names that are no C++ are kept, only cut where they are too long.
 */
void pyro_kernel_short_name(const char *name, char out[PYRO_KERNEL_SHORT_NAME]);

/* True when the name says that the kernel multiplies on tensor (matrix) cores. */
bool pyro_kernel_uses_tensor_cores(const char *name);
/* Families are found in the short name, because namespaces mislead. Matrix products and
 * convolutions: */
bool pyro_kernel_is_contraction(const char *short_name);
/* Of these, convolutions that their names show. */
bool pyro_kernel_is_convolution(const char *short_name);
/* True when the kernel does nothing but change the order of dims (NCHW, NHWC). */
bool pyro_kernel_is_layout_change(const char *short_name);
/* True for maps over elements, and norms and softmax: what a compiler fuses. */
bool pyro_kernel_is_elementwise(const char *short_name);

#endif
