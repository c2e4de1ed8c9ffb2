/* Loads NVML, finds its functions by name, and queries devices. */
#include "device/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SENSOR_GPU = 0, FIELD_INSTANT_POWER = 186, SCOPE_GPU = 0 };

/* Types of a field's value. */
enum { TYPE_DOUBLE = 0, TYPE_UNSIGNED = 1, TYPE_LONG = 2, TYPE_LONG_LONG = 3 };

_Static_assert(sizeof(pyro_nvml_field) == 40 && sizeof(pyro_nvml_pci) == 68,
               "structures of the driver's library");

/* If the library has several of the names, the last one is used. */
static void find(const pyro_nvml *nvml, void *target, const char *name)
{
    void *symbol = dlsym(nvml->library, name);

    if (symbol)
        memcpy(target, &symbol, sizeof symbol);
}

static void find_all(pyro_nvml *nvml)
{
    find(nvml, &nvml->init, "nvmlInit_v2");
    find(nvml, &nvml->shutdown, "nvmlShutdown");
    find(nvml, &nvml->driver, "nvmlSystemGetDriverVersion");
    find(nvml, &nvml->count, "nvmlDeviceGetCount_v2");
    find(nvml, &nvml->by_index, "nvmlDeviceGetHandleByIndex_v2");
    find(nvml, &nvml->by_uuid, "nvmlDeviceGetHandleByUUID");
    find(nvml, &nvml->name, "nvmlDeviceGetName");
    find(nvml, &nvml->clock, "nvmlDeviceGetClockInfo");
    find(nvml, &nvml->max_clock, "nvmlDeviceGetMaxClockInfo");
    find(nvml, &nvml->reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(nvml, &nvml->reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    find(nvml, &nvml->power, "nvmlDeviceGetPowerUsage");
    find(nvml, &nvml->power_cap, "nvmlDeviceGetEnforcedPowerLimit");
    find(nvml, &nvml->power_default, "nvmlDeviceGetPowerManagementDefaultLimit");
    find(nvml, &nvml->temperature, "nvmlDeviceGetTemperature");
    find(nvml, &nvml->utilization, "nvmlDeviceGetUtilizationRates");
    find(nvml, &nvml->memory, "nvmlDeviceGetMemoryInfo");
    find(nvml, &nvml->energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(nvml, &nvml->fields, "nvmlDeviceGetFieldValues");
    find(nvml, &nvml->uuid, "nvmlDeviceGetUUID");
    find(nvml, &nvml->pci, "nvmlDeviceGetPciInfo_v3");
    find(nvml, &nvml->cores, "nvmlDeviceGetNumGpuCores");
    find(nvml, &nvml->whole_of_instance, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    find(nvml, &nvml->instance_id, "nvmlDeviceGetGpuInstanceId");
    find(nvml, &nvml->gpm_support, "nvmlGpmQueryDeviceSupport");
    find(nvml, &nvml->gpm_allocate, "nvmlGpmSampleAlloc");
    find(nvml, &nvml->gpm_free, "nvmlGpmSampleFree");
    find(nvml, &nvml->gpm_take, "nvmlGpmSampleGet");
    find(nvml, &nvml->gpm_take_of_instance, "nvmlGpmMigSampleGet");
    find(nvml, &nvml->gpm_metrics, "nvmlGpmMetricsGet");
}

bool pyro_nvml_open(pyro_nvml *nvml)
{
    const char *name = getenv("PYRO_NVML");

    *nvml = (pyro_nvml){0};
    nvml->library = dlopen(name && name[0] != '\0' ? name : "libnvidia-ml.so.1",
                           RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return false;
    find_all(nvml);
    if (nvml->init && nvml->shutdown && nvml->by_index && nvml->init() == 0)
        return true;
    dlclose(nvml->library);
    return false;
}

void pyro_nvml_close(const pyro_nvml *nvml)
{
    nvml->shutdown();
    dlclose(nvml->library);
}

int pyro_nvml_find_device(const pyro_nvml *nvml, const char *uuid, void **device)
{
    if (!uuid)
        return nvml->by_index(0, device);
    return nvml->by_uuid ? nvml->by_uuid(uuid, device) : -1;
}

static double ask_number(int (*function)(void *, int, unsigned *), void *device, int which)
{
    unsigned value = 0;

    return function && function(device, which, &value) == 0 ? (double)value : NAN;
}

static double ask_watts(int (*function)(void *, unsigned *), void *device)
{
    unsigned milliwatts = 0;

    return function && function(device, &milliwatts) == 0 ? milliwatts / 1000.0 : NAN;
}

double pyro_nvml_clock_mhz(const pyro_nvml *nvml, void *device, pyro_nvml_clock which)
{
    return ask_number(nvml->clock, device, (int)which);
}

double pyro_nvml_max_clock_mhz(const pyro_nvml *nvml, void *device, pyro_nvml_clock which)
{
    return ask_number(nvml->max_clock, device, (int)which);
}

double pyro_nvml_power_w(const pyro_nvml *nvml, void *device)
{
    return ask_watts(nvml->power, device);
}

double pyro_nvml_instant_power_w(const pyro_nvml *nvml, void *device)
{
    pyro_nvml_field field = {.field = FIELD_INSTANT_POWER, .scope = SCOPE_GPU};

    if (!nvml->fields || nvml->fields(device, 1, &field) != 0 || field.result != 0)
        return NAN;
    switch (field.type) {
    case TYPE_DOUBLE:
        return field.value.real / 1000;
    case TYPE_UNSIGNED:
        return field.value.integer / 1000.0;
    case TYPE_LONG:
    case TYPE_LONG_LONG:
        return (double)field.value.long_integer / 1000;
    default:
        return NAN;
    }
}

double pyro_nvml_energy_j(const pyro_nvml *nvml, void *device)
{
    unsigned long long millijoules = 0;

    return nvml->energy && nvml->energy(device, &millijoules) == 0 ? (double)millijoules / 1000
                                                                   : NAN;
}

double pyro_nvml_memory_used_bytes(const pyro_nvml *nvml, void *device)
{
    pyro_nvml_memory bytes = {0, 0, 0};

    return nvml->memory && nvml->memory(device, &bytes) == 0 ? (double)bytes.used : NAN;
}

double pyro_nvml_power_cap_w(const pyro_nvml *nvml, void *device)
{
    return ask_watts(nvml->power_cap, device);
}

double pyro_nvml_default_power_cap_w(const pyro_nvml *nvml, void *device)
{
    return ask_watts(nvml->power_default, device);
}

double pyro_nvml_temperature_c(const pyro_nvml *nvml, void *device)
{
    return ask_number(nvml->temperature, device, SENSOR_GPU);
}

double pyro_nvml_busy(const pyro_nvml *nvml, void *device)
{
    pyro_nvml_utilization share = {0, 0};

    return nvml->utilization && nvml->utilization(device, &share) == 0 ? share.gpu / 100.0 : NAN;
}

uint64_t pyro_nvml_throttle_reasons(const pyro_nvml *nvml, void *device)
{
    unsigned long long mask = 0;

    return nvml->reasons && nvml->reasons(device, &mask) == 0 ? mask : 0;
}
