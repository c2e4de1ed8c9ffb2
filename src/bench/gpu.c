/* The GPUs, asked of NVML, which is loaded only here and only where the driver is installed. */
#include "bench/results.h"

#include "base/buf.h"
#include "base/error.h"

#include <dlfcn.h>
#include <string.h>

enum { NAME_BYTES = 96, CLOCK_SM = 1, DEVICES_MAX = 64 };

/* Thermal and power brakes of nvmlDeviceGetCurrentClocksThrottleReasons. */
#define SLOWED_MASK UINT64_C(0xe8)

/* The functions of NVML that are used; each returns 0 when it succeeds. */
typedef struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned length);
    int (*count)(unsigned *count);
    int (*device)(unsigned index, void **device);
    int (*name)(void *device, char *text, unsigned length);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*max_clock)(void *device, int type, unsigned *mhz);
    int (*reasons)(void *device, unsigned long long *mask);
} nvml;

static bool load(nvml *functions, void *library)
{
    const struct {
        const char *name;
        void *target;
    } wanted[] = {
        {"nvmlInit_v2", &functions->init},
        {"nvmlShutdown", &functions->shutdown},
        {"nvmlSystemGetDriverVersion", &functions->driver},
        {"nvmlDeviceGetCount_v2", &functions->count},
        {"nvmlDeviceGetHandleByIndex_v2", &functions->device},
        {"nvmlDeviceGetName", &functions->name},
        {"nvmlDeviceGetClockInfo", &functions->clock},
        {"nvmlDeviceGetMaxClockInfo", &functions->max_clock},
        {"nvmlDeviceGetCurrentClocksThrottleReasons", &functions->reasons},
    };

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *symbol = dlsym(library, wanted[i].name);

        if (symbol == NULL)
            return false;
        memcpy(wanted[i].target, &symbol, sizeof symbol);
    }
    return true;
}

static void add_device(pyro_gpus *out, const nvml *functions, unsigned index, pyro_buf *names,
                       pyro_buf *clocks)
{
    char name[NAME_BYTES] = "unknown";
    unsigned mhz = 0, max_mhz = 0;
    unsigned long long reasons = 0;
    void *device;

    if (functions->device(index, &device) != 0)
        return;
    functions->name(device, name, sizeof name);
    name[sizeof name - 1] = '\0';
    functions->clock(device, CLOCK_SM, &mhz);
    functions->max_clock(device, CLOCK_SM, &max_mhz);
    if (functions->reasons(device, &reasons) == 0)
        out->slowed |= (reasons & SLOWED_MASK) != 0;
    pyro_buf_addf(names, "%s%s", names->length > 0 ? ", " : "", name);
    pyro_buf_addf(clocks, "%s%u of %u MHz", clocks->length > 0 ? ", " : "", mhz, max_mhz);
}

static int ask(pyro_gpus *out, pyro_arena *arena, const nvml *functions, pyro_error *error)
{
    char driver[NAME_BYTES] = "";
    pyro_buf names = PYRO_BUF_INIT, clocks = PYRO_BUF_INIT;
    unsigned count = 0;
    int status = PYRO_OK;

    functions->driver(driver, sizeof driver);
    driver[sizeof driver - 1] = '\0';
    if (functions->count(&count) == 0)
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
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    nvml functions;
    int status = PYRO_OK;

    *out = (pyro_gpus){NULL, NULL, NULL, false};
    if (library == NULL)
        return PYRO_OK;
    if (load(&functions, library) && functions.init() == 0) {
        status = ask(out, arena, &functions, error);
        functions.shutdown();
    }
    dlclose(library);
    return status;
}
