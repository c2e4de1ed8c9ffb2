/* Asks NVML for performance metrics (GPM). */
#include "device/nvml_gpm.h"

#include <math.h>
#include <stddef.h>

/* The library reads and writes `count` metrics; the array has the size of the newest header. */
enum { VERSION = 1, MOST_METRICS = 333 };

typedef struct gpm_support {
    unsigned version, is_supported;
} gpm_support;

typedef struct gpm_metric {
    unsigned id;
    int result; /* 0: `value` is set */
    double value;
    const char *short_name, *long_name, *unit;
} gpm_metric;

typedef struct gpm_request {
    unsigned version, count;
    void *before, *now;
    gpm_metric metrics[MOST_METRICS];
} gpm_request;

_Static_assert(sizeof(gpm_metric) == 40 && offsetof(gpm_request, metrics) == 24,
               "structures of the driver's library");

static const unsigned ids[PYRO_GPM_COUNT] = {
    [PYRO_GPM_SM] = 2,
    [PYRO_GPM_OCCUPANCY] = 3,
    [PYRO_GPM_TENSOR] = 5,
    [PYRO_GPM_DRAM] = 10,
    [PYRO_GPM_FP32] = 12,
    [PYRO_GPM_PCIE_SENT] = 20,
    [PYRO_GPM_PCIE_RECEIVED] = 21,
    [PYRO_GPM_NVLINK_RECEIVED] = 60,
    [PYRO_GPM_NVLINK_SENT] = 61,
};

static bool is_supported(const pyro_nvml *nvml, void *device)
{
    gpm_support support = {.version = VERSION};

    return nvml->gpm_support && nvml->gpm_allocate && nvml->gpm_free && nvml->gpm_take &&
           nvml->gpm_metrics && nvml->gpm_support(device, &support) == 0 &&
           support.is_supported != 0;
}

bool pyro_gpm_begin(const pyro_nvml *nvml, pyro_gpm *gpm, void *device, bool is_instance,
                    unsigned instance_id)
{
    *gpm = (pyro_gpm){.is_instance = is_instance, .instance_id = instance_id};
    if (!is_supported(nvml, device) || (is_instance && !nvml->gpm_take_of_instance))
        return false;
    if (nvml->gpm_allocate(&gpm->before) != 0)
        return false;
    if (nvml->gpm_allocate(&gpm->now) != 0) {
        nvml->gpm_free(gpm->before);
        return false;
    }
    gpm->device = device;
    return true;
}

static bool take(const pyro_nvml *nvml, const pyro_gpm *gpm)
{
    int result = gpm->is_instance
                     ? nvml->gpm_take_of_instance(gpm->device, gpm->instance_id, gpm->now)
                     : nvml->gpm_take(gpm->device, gpm->now);

    return result == 0;
}

void pyro_gpm_read(const pyro_nvml *nvml, pyro_gpm *gpm, double values[PYRO_GPM_COUNT])
{
    gpm_request request = {.version = VERSION, .count = PYRO_GPM_COUNT};

    for (int i = 0; i < PYRO_GPM_COUNT; i++)
        values[i] = NAN;
    if (!gpm->device || !take(nvml, gpm))
        return;
    request.before = gpm->before;
    request.now = gpm->now;
    for (int i = 0; i < PYRO_GPM_COUNT; i++)
        request.metrics[i].id = ids[i];
    if (gpm->has_before && nvml->gpm_metrics(&request) == 0)
        for (int i = 0; i < PYRO_GPM_COUNT; i++)
            if (request.metrics[i].result == 0)
                values[i] = request.metrics[i].value;
    gpm->now = request.before;
    gpm->before = request.now;
    gpm->has_before = true;
}

void pyro_gpm_end(const pyro_nvml *nvml, pyro_gpm *gpm)
{
    if (!gpm->device)
        return;
    nvml->gpm_free(gpm->before);
    nvml->gpm_free(gpm->now);
    *gpm = (pyro_gpm){0};
}
