/*
 * Sees what torch's CUDA allocator allocates and frees, on all threads and beside torch.profiler:
 * the function through which the allocator reports to profilers is replaced where the allocator
 * calls it. Reads torch's libraries only; needs no header of torch or CUDA.
 */
#ifndef PYRO_DEVICE_TORCH_MEMORY_H
#define PYRO_DEVICE_TORCH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pyro_torch_memory {
    uint64_t address;
    int64_t bytes; /* negative: a free */
    uint64_t total_allocated, total_reserved;
    int8_t device_type, device_index; /* c10's numbers */
    bool out_of_memory;               /* the allocation failed; address is 0 */
} pyro_torch_memory;

typedef void (*pyro_torch_memory_fn)(const pyro_torch_memory *event);

/*
 * Passes on all reports from now on; NULL passes none on. False if the allocator is not loaded, or
 * does not report in the known way. The replacement stays for the life of the process.
 */
bool pyro_torch_memory_watch(pyro_torch_memory_fn watcher);

/* Whether the watcher gets allocations and frees (as at first), or only failures: models allocate more
 * often than they launch. */
void pyro_torch_memory_want_usage(bool wanted);

#endif
