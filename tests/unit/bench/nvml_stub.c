/*
 * Replaces libnvidia-ml.so.1: one GPU whose clocks and throttle reasons come from
 * the environment variable PYRO_STUB_GPU, "3*1980:0,2*1980:0x40,1980:0". An entry is a count, a
 * clock in MHz and a mask of reasons; each query of the reasons uses one up. The last one repeats.
 */
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, CLOCK_SM = 1 };

typedef struct utilization {
    unsigned gpu, memory;
} utilization;

static unsigned long looks, users;

/* The current entry of the script. */
static void play(unsigned *mhz, unsigned long long *reasons)
{
    const char *at = getenv("PYRO_STUB_GPU");
    unsigned long passed = 0;

    *mhz = 1980;
    *reasons = 0;
    while (at && *at != '\0') {
        char *end;
        unsigned long times = strtoul(at, &end, 10);

        if (*end == '*')
            at = end + 1;
        else
            times = 1;
        *mhz = (unsigned)strtoul(at, &end, 10);
        *reasons = *end == ':' ? strtoull(end + 1, &end, 0) : 0;
        passed += times;
        at = *end == ',' ? end + 1 : NULL;
        if (looks < passed)
            return;
    }
}

EXPORT int nvmlInit_v2(void)
{
    if (!getenv("PYRO_STUB_GPU"))
        return NOT_FOUND;
    if (users++ == 0)
        looks = 0;
    return 0;
}

EXPORT int nvmlShutdown(void)
{
    users--;
    return 0;
}

static int put(char *text, unsigned length, const char *value)
{
    strncpy(text, value, length);
    return 0;
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned length)
{
    return put(text, length, "999.1");
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 1;
    return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &looks;
    return index == 0 ? 0 : NOT_FOUND;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    *device = &looks;
    return strcmp(uuid, "GPU-other") != 0 ? 0 : NOT_FOUND;
}

EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned length)
{
    (void)device;
    return put(text, length, "Stub GPU");
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
    unsigned long long reasons;

    (void)device;
    play(mhz, &reasons);
    if (type != CLOCK_SM)
        *mhz = 3201;
    return 0;
}

EXPORT int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz)
{
    (void)device;
    *mhz = type == CLOCK_SM ? 1980 : 3201;
    return 0;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *mask)
{
    unsigned mhz;

    (void)device;
    play(&mhz, mask);
    looks++;
    return 0;
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 500000;
    return 0;
}

EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 700000;
    return 0;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 431500;
    return 0;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, utilization *share)
{
    (void)device;
    *share = (utilization){87, 12};
    return 0;
}

/* nvmlDeviceGetTemperature is missing on purpose: no driver has all functions. */
