/* Loads NVML, finds its functions by name, and queries devices. */
#include "device/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SENSOR_GPU = 0 };

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
