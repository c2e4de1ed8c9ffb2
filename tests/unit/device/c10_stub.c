/* Replaces libc10.so: the functions through which allocators report to profilers. */
#include <stdint.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

struct device {
    int8_t type, index;
};

EXPORT int64_t c10_reported_bytes;
EXPORT int c10_failures;

EXPORT void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *address, int64_t bytes,
                                                                  size_t allocated, size_t reserved,
                                                                  struct device device);
EXPORT void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, size_t allocated,
                                                                size_t reserved,
                                                                struct device device);

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *address, int64_t bytes,
                                                           size_t allocated, size_t reserved,
                                                           struct device device)
{
    (void)address;
    (void)allocated;
    (void)reserved;
    __atomic_fetch_add(&c10_reported_bytes, device.type == 1 ? bytes : 0, __ATOMIC_RELAXED);
}

void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, size_t allocated,
                                                         size_t reserved, struct device device)
{
    (void)bytes;
    (void)allocated;
    (void)reserved;
    (void)device;
    c10_failures++;
}
