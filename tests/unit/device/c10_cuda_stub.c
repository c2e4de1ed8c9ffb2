/* Replaces libc10_cuda.so: an allocator that reports what it does through libc10.so. */
#include <stdint.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

struct device {
    int8_t type, index;
};

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *address, int64_t bytes,
                                                           size_t allocated, size_t reserved,
                                                           struct device device);
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, size_t allocated,
                                                         size_t reserved, struct device device);
EXPORT void stub_allocate(uintptr_t address, int64_t bytes);
EXPORT void stub_fail(int64_t bytes);

void stub_allocate(uintptr_t address, int64_t bytes)
{
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)address, bytes, 100, 200,
                                                          (struct device){1, 3});
}

void stub_fail(int64_t bytes)
{
    _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(bytes, 100, 200, (struct device){1, 3});
}
