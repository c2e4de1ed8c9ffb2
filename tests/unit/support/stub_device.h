/* The functions of cupti_stub.c that tests call. */
#ifndef PYRO_TEST_STUB_DEVICE_H
#define PYRO_TEST_STUB_DEVICE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct stub_device {
    uint32_t (*launch)(const char *name, uint64_t duration_ns, uint32_t stream);
    uint32_t (*copy)(uint64_t bytes, uint64_t duration_ns);
    uint32_t (*set)(uint64_t bytes, uint64_t duration_ns);
    uint32_t (*wait)(void);
    void (*capture)(bool begin);
    uint32_t (*replay)(uint64_t duration_ns);
    void (*strange)(void);
    void (*fail_launches)(bool fail);
    void (*drop)(size_t count);
    void (*advance)(uint64_t ns);
    void (*leave_clock)(uint64_t (*clock)(void));
    bool (*records_queries)(void);
    size_t (*flushes)(void);
} stub_device;

static inline void stub_find(void *library, void *target, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(target, &symbol, sizeof symbol);
}

/* The name that a kernel has in a recording: mangled where no C++ runtime is installed, as under an
 * emulator. */
static inline const char *stub_kernel_name(const char *mangled, const char *readable)
{
    bool can_demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle") ||
                        dlopen("libstdc++.so.6", RTLD_LAZY);
    return can_demangle ? readable : mangled;
}

/* Makes the stub the library that the collector loads; false if it cannot be loaded. */
static inline bool stub_device_open(stub_device *device)
{
    void *library = dlopen(UNIT_CUPTI_STUB, RTLD_NOW);
    if (!library)
        return false;
    setenv("PYRO_CUPTI", UNIT_CUPTI_STUB, 1);
    stub_find(library, &device->launch, "stub_launch");
    stub_find(library, &device->copy, "stub_copy");
    stub_find(library, &device->set, "stub_set");
    stub_find(library, &device->wait, "stub_wait");
    stub_find(library, &device->capture, "stub_capture");
    stub_find(library, &device->replay, "stub_replay");
    stub_find(library, &device->strange, "stub_strange");
    stub_find(library, &device->fail_launches, "stub_fail_launches");
    stub_find(library, &device->drop, "stub_drop");
    stub_find(library, &device->advance, "stub_advance");
    stub_find(library, &device->leave_clock, "stub_leave_clock");
    stub_find(library, &device->records_queries, "stub_records_queries");
    stub_find(library, &device->flushes, "stub_flushes");
    return device->launch && device->drop;
}

#endif
