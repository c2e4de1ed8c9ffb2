/* Turns the mangled names of kernels into readable ones, once per kernel. */
#ifndef PYRO_DEVICE_KERNEL_NAMES_H
#define PYRO_DEVICE_KERNEL_NAMES_H

#include <stddef.h>

#define PYRO_KERNEL_NAME_SLOTS 2048

typedef struct pyro_kernel_name {
    const char *address; /* of the mangled name in the library */
    char *mangled, *readable;
} pyro_kernel_name;

typedef struct pyro_kernel_names {
    pyro_kernel_name slots[PYRO_KERNEL_NAME_SLOTS];
    char *(*demangle)(const char *name, char *buffer, size_t *length, int *status); /* or NULL */
} pyro_kernel_names;

void pyro_kernel_names_begin(pyro_kernel_names *names);
void pyro_kernel_names_end(pyro_kernel_names *names);
/* Valid until the next call with another name; the mangled name itself if it is not C++. */
const char *pyro_kernel_names_get(pyro_kernel_names *names, const char *mangled);

#endif
