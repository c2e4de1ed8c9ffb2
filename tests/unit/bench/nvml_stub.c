/*
 * Replaces libnvidia-ml.so.1, and the functions of libcuda.so.1 that say which device is which.
 * A GPU whose clocks and throttle reasons come from
 * the environment variable PYRO_STUB_GPU, "3*1980:0,2*1980:0x40,1980:0". An entry is a count, a
 * clock in MHz and a mask of reasons; each query of the reasons uses one up. The last one repeats.
 * Other variables, lists by GPU where they can be:
 *   PYRO_STUB_GPUS   number of GPUs; GPU n has the UUID GPU-0000000n-0000-...
 *   PYRO_STUB_BUS    numbers of their buses
 *   PYRO_STUB_CORES  numbers of their cores
 *   PYRO_STUB_MIG    number of the GPU that has the instance MIG-5a000000-0000-...
 *   PYRO_STUB_GPM    performance metrics are supported
 *   PYRO_STUB_LACKS  "energy", "instant": what is not supported
 *   PYRO_STUB_HANG   milliseconds that a query of the energy takes
 *   PYRO_STUB_CUDA   CUDA's driver is in use: the GPU of each of its devices, 9 for the instance
 *   PYRO_STUB_IDLE   CUDA's device that has no context
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, CLOCK_SM = 1 };

typedef struct utilization {
    unsigned gpu, memory;
} utilization;

static unsigned long looks, users;

enum { MOST_GPUS = 8, INSTANCE = 9, INSTANCE_ID = 7, DEVICES = 10 };
/* A handle is the address of its number. */
static const int numbers[DEVICES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const char instance_uuid[] = "MIG-5a000000-0000-0000-0000-000000000000";

/* The nth number of a list in the environment. */
static long listed(const char *name, int n, long otherwise)
{
    const char *at = getenv(name);

    for (; at && n > 0; n--) {
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return at && *at != '\0' ? strtol(at, NULL, 10) : otherwise;
}

static int number_of(void *device)
{
    return *(const int *)device;
}

static void *handle_of(int number)
{
    return (void *)&numbers[number];
}

static bool lacks(const char *what)
{
    const char *list = getenv("PYRO_STUB_LACKS");

    return list && strstr(list, what);
}

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
    *count = (unsigned)listed("PYRO_STUB_GPUS", 0, 1);
    return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    unsigned count;

    nvmlDeviceGetCount_v2(&count);
    if (index >= count || index >= MOST_GPUS)
        return NOT_FOUND;
    *device = handle_of((int)index);
    return 0;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned length)
{
    snprintf(text, length, "GPU-%08d-0000-0000-0000-000000000000", number_of(device));
    return 0;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    int number, end = 0; /* end: of a stub's own UUID; any other name is GPU 0 */

    if (strncmp(uuid, "MIG", 3) == 0) {
        *device = handle_of(INSTANCE);
        return getenv("PYRO_STUB_MIG") && strcmp(uuid, instance_uuid) == 0 ? 0 : NOT_FOUND;
    }
    if (sscanf(uuid, "GPU-%8d-0000-%n", &number, &end) == 1 && end > 0)
        return number >= 0 ? nvmlDeviceGetHandleByIndex_v2((unsigned)number, device) : NOT_FOUND;
    *device = handle_of(0);
    bool is_instance = strcmp(uuid + strlen("GPU"), instance_uuid + strlen("MIG")) == 0;
    return strcmp(uuid, "GPU-other") != 0 && !is_instance ? 0 : NOT_FOUND;
}

typedef struct pci_place {
    char short_bus[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} pci_place;

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, pci_place *place)
{
    *place = (pci_place){
        .bus = (unsigned)listed("PYRO_STUB_BUS", number_of(device), number_of(device))};
    return 0;
}

EXPORT int nvmlDeviceGetNumGpuCores(void *device, unsigned *count)
{
    *count = (unsigned)listed("PYRO_STUB_CORES", number_of(device), 100);
    return 0;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *instance, void **device)
{
    if (number_of(instance) != INSTANCE)
        return NOT_SUPPORTED;
    *device = handle_of((int)listed("PYRO_STUB_MIG", 0, 0));
    return 0;
}

EXPORT int nvmlDeviceGetGpuInstanceId(void *instance, unsigned *id)
{
    *id = INSTANCE_ID;
    return number_of(instance) == INSTANCE ? 0 : NOT_SUPPORTED;
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

typedef struct memory_info {
    unsigned long long total, free, used;
} memory_info;

EXPORT int nvmlDeviceGetMemoryInfo(void *device, memory_info *bytes)
{
    *bytes = (memory_info){1000, 600, 400 + (unsigned)number_of(device)};
    return 0;
}

/* 431.5 W since the machine started. */
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    struct timespec now, pause = {0, listed("PYRO_STUB_HANG", 0, 0) * 1000000};

    (void)device;
    if (lacks("energy"))
        return NOT_SUPPORTED;
    if (pause.tv_nsec > 0)
        nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = (unsigned long long)(((double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6) *
                                        431.5);
    return 0;
}

typedef struct field_value {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    int type, result;
    unsigned long long value;
} field_value;

EXPORT int nvmlDeviceGetFieldValues(void *device, int count, field_value *fields)
{
    (void)device;
    for (int i = 0; i < count; i++) {
        bool is_known = fields[i].field == 186 && fields[i].scope == 0 && !lacks("instant");

        fields[i].type = 1;
        fields[i].result = is_known ? 0 : NOT_SUPPORTED;
        fields[i].value = 450250;
    }
    return 0;
}

typedef struct gpm_support {
    unsigned version, is_supported;
} gpm_support;

EXPORT int nvmlGpmQueryDeviceSupport(void *device, gpm_support *support)
{
    (void)device;
    if (support->version != 1)
        return NOT_SUPPORTED;
    support->is_supported = getenv("PYRO_STUB_GPM") != NULL;
    return 0;
}

/* A sample counts how often it was taken, from a start that says from where. */
EXPORT int nvmlGpmSampleAlloc(double **sample)
{
    *sample = calloc(1, sizeof **sample);
    return *sample ? 0 : NOT_FOUND;
}

EXPORT int nvmlGpmSampleFree(double *sample)
{
    free(sample);
    return 0;
}

static double taken;

EXPORT int nvmlGpmSampleGet(void *device, double *sample)
{
    *sample = ++taken;
    return number_of(device) == INSTANCE ? NOT_SUPPORTED : 0;
}

EXPORT int nvmlGpmMigSampleGet(void *device, unsigned instance_id, double *sample)
{
    *sample = ++taken;
    return number_of(device) != INSTANCE && instance_id == INSTANCE_ID ? 0 : NOT_SUPPORTED;
}

typedef struct gpm_metric {
    unsigned id;
    int result;
    double value;
    const char *short_name, *long_name, *unit;
} gpm_metric;

typedef struct gpm_request {
    unsigned version, count;
    double *before, *now;
    gpm_metric metrics[];
} gpm_request;

/* A metric's value is its id times the samples between; NVLink is not supported. */
EXPORT int nvmlGpmMetricsGet(gpm_request *request)
{
    if (request->version != 1)
        return NOT_SUPPORTED;
    for (unsigned i = 0; i < request->count; i++) {
        request->metrics[i].result = request->metrics[i].id >= 60 ? NOT_SUPPORTED : 0;
        request->metrics[i].value = request->metrics[i].id * (*request->now - *request->before);
    }
    return 0;
}

/* nvmlDeviceGetTemperature is missing on purpose: no driver has all functions. */

EXPORT int cuDeviceGetCount(int *count)
{
    const char *list = getenv("PYRO_STUB_CUDA");

    *count = list != NULL;
    for (; list && *list != '\0'; list++)
        *count += *list == ',';
    return list ? 0 : 3; /* not initialised */
}

EXPORT int cuDeviceGet(int *device, int number)
{
    *device = number;
    return 0;
}

EXPORT int cuDeviceGetUuid_v2(unsigned char uuid[16], int device)
{
    long number = listed("PYRO_STUB_CUDA", device, 0);

    memset(uuid, 0, 16);
    uuid[number == INSTANCE ? 0 : 3] = number == INSTANCE ? 0x5a : (unsigned char)number;
    return 0;
}

EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)
{
    *flags = 0;
    *is_active = device != listed("PYRO_STUB_IDLE", 0, -1);
    return 0;
}
