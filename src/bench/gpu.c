/* Queries GPUs through their driver (device/nvml.h): all for the environment, and one to watch. */
#include "bench/gpu.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "device/nvml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 96, DEVICES_MAX = 64 };

#define THROTTLED_MASK \
    (PYRO_GPU_HARDWARE_SLOWDOWN | PYRO_GPU_THERMAL_SOFTWARE | PYRO_GPU_THERMAL_HARDWARE | \
     PYRO_GPU_POWER_BRAKE)

struct pyro_gpu {
    pyro_nvml nvml;
    void *device;
};

static void add_device(pyro_gpus *out, const pyro_nvml *nvml, unsigned index, pyro_buf *names,
                       pyro_buf *clocks)
{
    char name[NAME_BYTES] = "unknown";
    void *device;

    if (nvml->by_index(index, &device) != 0)
        return;
    if (nvml->name)
        nvml->name(device, name, sizeof name);
    name[sizeof name - 1] = '\0';
    out->slowed |= (pyro_nvml_throttle_reasons(nvml, device) & THROTTLED_MASK) != 0;
    double now = pyro_nvml_clock_mhz(nvml, device, PYRO_NVML_CLOCK_SM);
    double most = pyro_nvml_max_clock_mhz(nvml, device, PYRO_NVML_CLOCK_SM);
    pyro_buf_addf(names, "%s%s", names->length > 0 ? ", " : "", name);
    pyro_buf_addf(clocks, "%s%.0f of %.0f MHz", clocks->length > 0 ? ", " : "",
                  isnan(now) ? 0 : now, isnan(most) ? 0 : most);
}

static int describe_all(pyro_gpus *out, pyro_arena *arena, const pyro_nvml *nvml, pyro_error *error)
{
    char driver[NAME_BYTES] = "";
    pyro_buf names = PYRO_BUF_INIT, clocks = PYRO_BUF_INIT;
    unsigned count = 0;
    int status = PYRO_OK;

    if (nvml->driver)
        nvml->driver(driver, sizeof driver);
    driver[sizeof driver - 1] = '\0';
    if (nvml->count && nvml->count(&count) == 0)
        for (unsigned i = 0; i < count && i < DEVICES_MAX; i++)
            add_device(out, nvml, i, &names, &clocks);
    if (names.length > 0 && !names.failed && !clocks.failed) {
        out->names = pyro_arena_text(arena, names.data, names.length);
        out->clocks = pyro_arena_text(arena, clocks.data, clocks.length);
        out->driver = pyro_arena_text(arena, driver, strlen(driver));
        if (!out->names || !out->clocks || !out->driver)
            status = pyro_fail_memory(error);
    } else if (names.failed || clocks.failed) {
        status = pyro_fail_memory(error);
    }
    pyro_buf_free(&names);
    pyro_buf_free(&clocks);
    return status;
}

int pyro_gpus_read(pyro_gpus *out, pyro_arena *arena, pyro_error *error)
{
    pyro_nvml nvml;

    *out = (pyro_gpus){NULL, NULL, NULL, false};
    if (!pyro_nvml_open(&nvml))
        return PYRO_OK;
    int status = describe_all(out, arena, &nvml, error);
    pyro_nvml_close(&nvml);
    return status;
}

int pyro_gpu_open(pyro_gpu **out, const char *uuid, pyro_error *error)
{
    pyro_gpu *gpu = calloc(1, sizeof *gpu);
    *out = NULL;
    if (!gpu)
        return pyro_fail_memory(error);
    if (!pyro_nvml_open(&gpu->nvml)) {
        free(gpu);
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "the library of the NVIDIA driver (libnvidia-ml.so.1) is missing or does "
                         "not start");
    }
    int code = pyro_nvml_find_device(&gpu->nvml, uuid, &gpu->device);
    if (code != 0) {
        pyro_nvml_close(&gpu->nvml);
        free(gpu);
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "the NVIDIA driver found no GPU %.80s (NVML error %d)", uuid ? uuid : "0",
                         code);
    }
    *out = gpu;
    return PYRO_OK;
}

void pyro_gpu_close(pyro_gpu *gpu)
{
    if (!gpu)
        return;
    pyro_nvml_close(&gpu->nvml);
    free(gpu);
}

pyro_gpu_state pyro_gpu_glance(const pyro_gpu *gpu)
{
    return (pyro_gpu_state){
        .clock_mhz = pyro_nvml_clock_mhz(&gpu->nvml, gpu->device, PYRO_NVML_CLOCK_SM),
        .memory_clock_mhz = NAN,
        .power_w = NAN,
        .temperature_c = NAN,
        .busy = NAN,
        .reasons = pyro_nvml_throttle_reasons(&gpu->nvml, gpu->device),
    };
}

pyro_gpu_state pyro_gpu_read(const pyro_gpu *gpu)
{
    pyro_gpu_state state = pyro_gpu_glance(gpu);

    state.memory_clock_mhz = pyro_nvml_clock_mhz(&gpu->nvml, gpu->device, PYRO_NVML_CLOCK_MEMORY);
    state.power_w = pyro_nvml_power_w(&gpu->nvml, gpu->device);
    state.temperature_c = pyro_nvml_temperature_c(&gpu->nvml, gpu->device);
    state.busy = pyro_nvml_busy(&gpu->nvml, gpu->device);
    return state;
}

pyro_gpu_record pyro_gpu_limits(const pyro_gpu *gpu)
{
    return (pyro_gpu_record){
        .clock_mhz = NAN,
        .clock_min_mhz = NAN,
        .clock_max_mhz = NAN,
        .clock_limit_mhz = pyro_nvml_max_clock_mhz(&gpu->nvml, gpu->device, PYRO_NVML_CLOCK_SM),
        .memory_clock_mhz = NAN,
        .power_cap_w = pyro_nvml_power_cap_w(&gpu->nvml, gpu->device),
        .power_default_cap_w = pyro_nvml_default_power_cap_w(&gpu->nvml, gpu->device),
        .power_w = NAN,
        .temperature_c = NAN,
    };
}

bool pyro_gpu_is_throttled(const pyro_gpu_state *state)
{
    return (state->reasons & THROTTLED_MASK) != 0;
}

const char *pyro_gpu_reasons(char *text, size_t size, uint64_t reasons)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {
        {PYRO_GPU_CLOCK_SETTING, "clock setting"},
        {PYRO_GPU_POWER_CAP, "power cap"},
        {PYRO_GPU_HARDWARE_SLOWDOWN, "hardware slowdown"},
        {PYRO_GPU_SYNC_BOOST, "sync boost"},
        {PYRO_GPU_THERMAL_SOFTWARE, "heat (driver)"},
        {PYRO_GPU_THERMAL_HARDWARE, "heat (hardware)"},
        {PYRO_GPU_POWER_BRAKE, "power brake"},
        {PYRO_GPU_DISPLAY_SETTING, "display setting"},
    };
    size_t length = 0;

    if (size > 0)
        text[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((reasons & names[i].bit) != 0 && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "",
                                       names[i].name);
    return text;
}
