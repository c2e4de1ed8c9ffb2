/*
 * Replaces the functions through which torch's CUDA allocator reports to profilers, where the
 * allocator calls them: on all threads, and beside torch.profiler. Reads torch's libraries only;
 * needs no header of torch or CUDA.
 */
#ifndef PYRO_DEVICE_TORCH_MEMORY_H
#define PYRO_DEVICE_TORCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Like c10::Device, which is passed by value: c10's numbers. */
typedef struct pyro_torch_device {
    int8_t type, index;
} pyro_torch_device;

typedef struct pyro_torch_reports {
    /* An allocation or, with negative bytes, a free, and the totals after it. */
    void (*usage)(void *address, int64_t bytes, size_t allocated, size_t reserved,
                  pyro_torch_device device);
    /* An allocation that failed. */
    void (*failure)(int64_t bytes, size_t allocated, size_t reserved, pyro_torch_device device);
} pyro_torch_reports;

/*
 * Makes the allocator call our functions, for the life of the process; call it once. `torch` gets the
 * functions that they replace, which ours must call. False if the allocator is not loaded, or does
 * not report in the known way.
 */
bool pyro_torch_memory_replace(const pyro_torch_reports *ours, pyro_torch_reports *torch);

#endif
