/* Derives short names of kernels, and whether they use tensor cores. kernel_category.h: what they do. */
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
/* The same with room for `capacity` bytes, at least 4. */
void pyro_kernel_shorten(const char *name, char *out, size_t capacity);

/* True when the name says that the kernel multiplies on tensor (matrix) cores. */
bool pyro_kernel_uses_tensor_cores(const char *name);
/* True when the name says that the kernel multiplies on plain cores. Many names say neither. */
bool pyro_kernel_uses_plain_cores(const char *name);
/* True for names that say that the kernel multiplies float32 numbers as TF32. */
bool pyro_kernel_uses_tf32(const char *name);

#endif
