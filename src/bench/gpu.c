/* GPUs by NVML, which is loaded only here and only where the driver is installed. No header of
 * NVIDIA is used: functions are found by name, and what a driver does not have is not known. */
#include "bench/gpu.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 96, CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, DEVICES_MAX = 64 };

#define THROTTLED_MASK \
    (PYRO_GPU_HARDWARE_SLOWDOWN | PYRO_GPU_THERMAL_SOFTWARE | PYRO_GPU_THERMAL_HARDWARE | \
     PYRO_GPU_POWER_BRAKE)

typedef struct utilization {
    unsigned gpu, memory; /* percent */
} utilization;

/* The functions of NVML that are used; each returns 0 when it succeeds. NULL: not there. */
typedef struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned length);
    int (*count)(unsigned *count);
    int (*by_index)(unsigned index, void **device);
    int (*by_uuid)(const char *uuid, void **device);
    int (*name)(void *device, char *text, unsigned length);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*max_clock)(void *device, int type, unsigned *mhz);
    int (*reasons)(void *device, unsigned long long *mask);
    int (*power)(void *device, unsigned *milliwatts);
    int (*power_cap)(void *device, unsigned *milliwatts);
    int (*power_default)(void *device, unsigned *milliwatts);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*busy)(void *device, utilization *share);
} nvml;

struct pyro_gpu {
    nvml functions;
    void *device;
};

static void find(const nvml *functions, void *target, const char *name)
{
    void *symbol = dlsym(functions->library, name);

    if (symbol != NULL)
        memcpy(target, &symbol, sizeof symbol);
}

static void find_all(nvml *f)
{
    find(f, &f->init, "nvmlInit_v2");
    find(f, &f->shutdown, "nvmlShutdown");
    find(f, &f->driver, "nvmlSystemGetDriverVersion");
    find(f, &f->count, "nvmlDeviceGetCount_v2");
    find(f, &f->by_index, "nvmlDeviceGetHandleByIndex_v2");
    find(f, &f->by_uuid, "nvmlDeviceGetHandleByUUID");
    find(f, &f->name, "nvmlDeviceGetName");
    find(f, &f->clock, "nvmlDeviceGetClockInfo");
    find(f, &f->max_clock, "nvmlDeviceGetMaxClockInfo");
    find(f, &f->reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    /* The same under its newer name. */
    find(f, &f->reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    find(f, &f->power, "nvmlDeviceGetPowerUsage");
    find(f, &f->power_cap, "nvmlDeviceGetEnforcedPowerLimit");
    find(f, &f->power_default, "nvmlDeviceGetPowerManagementDefaultLimit");
    find(f, &f->temperature, "nvmlDeviceGetTemperature");
    find(f, &f->busy, "nvmlDeviceGetUtilizationRates");
}

/* Loads and starts NVML; false where there is none that works. */
static bool begin(nvml *functions)
{
    const char *name = getenv("PYRO_NVML");

    *functions = (nvml){0};
    functions->library = dlopen(name != NULL && name[0] != '\0' ? name : "libnvidia-ml.so.1",
                                RTLD_NOW | RTLD_LOCAL);
    if (functions->library == NULL)
        return false;
    find_all(functions);
    if (functions->init != NULL && functions->shutdown != NULL && functions->by_index != NULL &&
        functions->init() == 0)
        return true;
    dlclose(functions->library);
    return false;
}

static void end(const nvml *functions)
{
    functions->shutdown();
    dlclose(functions->library);
}

static double ask_clock(int (*function)(void *, int, unsigned *), void *device, int which)
{
    unsigned value = 0;

    return function != NULL && function(device, which, &value) == 0 ? (double)value : NAN;
}

static double ask_watts(int (*function)(void *, unsigned *), void *device)
{
    unsigned milliwatts = 0;

    return function != NULL && function(device, &milliwatts) == 0 ? milliwatts / 1000.0 : NAN;
}

static uint64_t ask_reasons(const nvml *functions, void *device)
{
    unsigned long long mask = 0;

    return functions->reasons != NULL && functions->reasons(device, &mask) == 0 ? mask : 0;
}

static void add_device(pyro_gpus *out, const nvml *functions, unsigned index, pyro_buf *names,
                       pyro_buf *clocks)
{
    char name[NAME_BYTES] = "unknown";
    void *device;

    if (functions->by_index(index, &device) != 0)
        return;
    if (functions->name != NULL)
        functions->name(device, name, sizeof name);
    name[sizeof name - 1] = '\0';
    out->slowed |= (ask_reasons(functions, device) & THROTTLED_MASK) != 0;
    double now = ask_clock(functions->clock, device, CLOCK_SM);
    double most = ask_clock(functions->max_clock, device, CLOCK_SM);
    pyro_buf_addf(names, "%s%s", names->length > 0 ? ", " : "", name);
    pyro_buf_addf(clocks, "%s%.0f of %.0f MHz", clocks->length > 0 ? ", " : "",
                  isnan(now) ? 0 : now, isnan(most) ? 0 : most);
}

static int describe_all(pyro_gpus *out, pyro_arena *arena, const nvml *functions, pyro_error *error)
{
    char driver[NAME_BYTES] = "";
    pyro_buf names = PYRO_BUF_INIT, clocks = PYRO_BUF_INIT;
    unsigned count = 0;
    int status = PYRO_OK;

    if (functions->driver != NULL)
        functions->driver(driver, sizeof driver);
    driver[sizeof driver - 1] = '\0';
    if (functions->count != NULL && functions->count(&count) == 0)
        for (unsigned i = 0; i < count && i < DEVICES_MAX; i++)
            add_device(out, functions, i, &names, &clocks);
    if (names.length > 0 && !names.failed && !clocks.failed) {
        out->names = pyro_arena_text(arena, names.data, names.length);
        out->clocks = pyro_arena_text(arena, clocks.data, clocks.length);
        out->driver = pyro_arena_text(arena, driver, strlen(driver));
        if (out->names == NULL || out->clocks == NULL || out->driver == NULL)
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
    nvml functions;

    *out = (pyro_gpus){NULL, NULL, NULL, false};
    if (!begin(&functions))
        return PYRO_OK;
    int status = describe_all(out, arena, &functions, error);
    end(&functions);
    return status;
}

int pyro_gpu_open(pyro_gpu **out, const char *uuid, pyro_error *error)
{
    pyro_gpu *gpu = calloc(1, sizeof *gpu);
    int code;

    *out = NULL;
    if (gpu == NULL)
        return pyro_fail_memory(error);
    if (!begin(&gpu->functions)) {
        free(gpu);
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "the library of the NVIDIA driver (libnvidia-ml.so.1) is missing or does "
                         "not start");
    }
    if (uuid == NULL)
        code = gpu->functions.by_index(0, &gpu->device);
    else
        code = gpu->functions.by_uuid != NULL ? gpu->functions.by_uuid(uuid, &gpu->device) : -1;
    if (code != 0) {
        end(&gpu->functions);
        free(gpu);
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the driver knows no GPU %.80s (code %d)",
                         uuid != NULL ? uuid : "0", code);
    }
    *out = gpu;
    return PYRO_OK;
}

void pyro_gpu_close(pyro_gpu *gpu)
{
    if (gpu == NULL)
        return;
    end(&gpu->functions);
    free(gpu);
}

pyro_gpu_state pyro_gpu_glance(const pyro_gpu *gpu)
{
    double clock_mhz = ask_clock(gpu->functions.clock, gpu->device, CLOCK_SM);

    return (pyro_gpu_state){
        .clock_mhz = clock_mhz,
        .memory_clock_mhz = NAN,
        .power_w = NAN,
        .temperature_c = NAN,
        .busy = NAN,
        .reasons = ask_reasons(&gpu->functions, gpu->device),
    };
}

pyro_gpu_state pyro_gpu_read(const pyro_gpu *gpu)
{
    const nvml *functions = &gpu->functions;
    pyro_gpu_state state = pyro_gpu_glance(gpu);
    utilization share = {0, 0};

    state.memory_clock_mhz = ask_clock(functions->clock, gpu->device, CLOCK_MEMORY);
    state.power_w = ask_watts(functions->power, gpu->device);
    state.temperature_c = ask_clock(functions->temperature, gpu->device, SENSOR_GPU);
    if (functions->busy != NULL && functions->busy(gpu->device, &share) == 0)
        state.busy = share.gpu / 100.0;
    return state;
}

pyro_gpu_record pyro_gpu_limits(const pyro_gpu *gpu)
{
    return (pyro_gpu_record){
        .clock_mhz = NAN,
        .clock_min_mhz = NAN,
        .clock_max_mhz = NAN,
        .clock_limit_mhz = ask_clock(gpu->functions.max_clock, gpu->device, CLOCK_SM),
        .memory_clock_mhz = NAN,
        .power_cap_w = ask_watts(gpu->functions.power_cap, gpu->device),
        .power_default_cap_w = ask_watts(gpu->functions.power_default, gpu->device),
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
