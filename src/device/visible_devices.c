/* Maps CUDA's device numbers to devices of NVML, by the driver or by environment variables. */
#include "device/visible_devices.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { UUID_BYTES = 16, TEXT_BYTES = 96 };

/* Functions of CUDA's driver; each returns 0 on success. */
typedef struct cuda_driver {
    int (*count)(int *count);
    int (*device)(int *device, int number);
    int (*uuid)(unsigned char uuid[UUID_BYTES], int device);
    int (*context_state)(int device, unsigned *flags, int *is_active);
} cuda_driver;

static void find(void *library, void *target, const char *name)
{
    void *symbol = dlsym(library, name);

    if (symbol)
        memcpy(target, &symbol, sizeof symbol);
}

/* Loads nothing: a program that does not use CUDA shall not begin to. */
static bool find_driver(cuda_driver *driver)
{
    const char *name = getenv("PYRO_CUDA");
    void *library = dlopen(name && name[0] != '\0' ? name : "libcuda.so.1",
                           RTLD_LAZY | RTLD_NOLOAD);

    *driver = (cuda_driver){0};
    if (!library)
        return false;
    find(library, &driver->count, "cuDeviceGetCount");
    find(library, &driver->device, "cuDeviceGet");
    find(library, &driver->uuid, "cuDeviceGetUuid");
    find(library, &driver->uuid, "cuDeviceGetUuid_v2"); /* of a MIG instance: its own */
    find(library, &driver->context_state, "cuDevicePrimaryCtxGetState");
    dlclose(library); /* the program keeps it */
    return driver->count && driver->device && driver->uuid;
}

static void set_device(const pyro_nvml *nvml, pyro_visible_device *out, void *found, bool is_mig)
{
    *out = (pyro_visible_device){.device = found};
    if (!is_mig)
        return;
    out->instance = found;
    if (!nvml->whole_of_instance || nvml->whole_of_instance(found, &out->device) != 0)
        out->device = NULL;
    if (nvml->instance_id)
        nvml->instance_id(found, &out->instance_id);
}

/* "GPU-5c5f2a0e-...", of a MIG instance "MIG-...": the driver's number does not say which. */
static void find_by_number(const pyro_nvml *nvml, pyro_visible_device *out,
                           const unsigned char uuid[UUID_BYTES])
{
    static const char *const kinds[] = {"GPU", "MIG"};
    char text[TEXT_BYTES];
    void *found;

    *out = (pyro_visible_device){0};
    for (int kind = 0; kind < 2 && nvml->by_uuid; kind++) {
        int length = snprintf(text, sizeof text, "%s", kinds[kind]);

        for (int i = 0; i < UUID_BYTES; i++)
            length += snprintf(text + length, sizeof text - (size_t)length, "%s%02x",
                               i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
        if (nvml->by_uuid(text, &found) == 0) {
            set_device(nvml, out, found, kind == 1);
            return;
        }
    }
}

static bool ask_driver(const pyro_nvml *nvml, pyro_visible_devices *out)
{
    cuda_driver driver;
    int count = 0;

    if (!find_driver(&driver) || driver.count(&count) != 0)
        return false;
    for (int i = 0; i < count && i < PYRO_MOST_VISIBLE; i++) {
        unsigned char uuid[UUID_BYTES];
        int device;

        out->items[out->count] = (pyro_visible_device){0};
        if (driver.device(&device, i) == 0 && driver.uuid(uuid, device) == 0)
            find_by_number(nvml, &out->items[out->count], uuid);
        out->count++;
    }
    out->from_driver = true;
    return true;
}

bool pyro_visible_device_is_used(const pyro_visible_devices *devices, size_t number)
{
    cuda_driver driver;
    int device, is_active = 0;
    unsigned flags;

    if (!devices->from_driver || !find_driver(&driver) || !driver.context_state ||
        driver.device(&device, (int)number) != 0 ||
        driver.context_state(device, &flags, &is_active) != 0)
        return true;
    return is_active != 0;
}

/* A GPU of this machine, for the order in which CUDA counts. */
typedef struct listed_gpu {
    void *device;
    char uuid[TEXT_BYTES];
    unsigned long long place; /* on the bus */
    double speed;
} listed_gpu;

/* 0 if unknown. */
static double speed_of(const pyro_nvml *nvml, void *device, unsigned cores)
{
    double mhz = pyro_nvml_max_clock_mhz(nvml, device, PYRO_NVML_CLOCK_SM);

    return isnan(mhz) ? 0 : cores * mhz;
}

static size_t list_gpus(const pyro_nvml *nvml, listed_gpu *gpus)
{
    unsigned present = 0;
    size_t count = 0;

    if (!nvml->count || nvml->count(&present) != 0)
        return 0;
    for (unsigned i = 0; i < present && i < PYRO_MOST_VISIBLE; i++) {
        listed_gpu *gpu = &gpus[count];
        pyro_nvml_pci pci;
        unsigned cores = 0;

        *gpu = (listed_gpu){.place = i};
        if (nvml->by_index(i, &gpu->device) != 0)
            continue;
        if (nvml->uuid && nvml->uuid(gpu->device, gpu->uuid, sizeof gpu->uuid - 1) != 0)
            gpu->uuid[0] = '\0';
        if (nvml->pci && nvml->pci(gpu->device, &pci) == 0)
            gpu->place = (unsigned long long)pci.domain << 32 | pci.bus << 8 | pci.device;
        if (nvml->cores && nvml->cores(gpu->device, &cores) == 0)
            gpu->speed = speed_of(nvml, gpu->device, cores);
        count++;
    }
    return count;
}

static int by_place(const void *left, const void *right)
{
    const listed_gpu *a = left, *b = right;

    return (a->place > b->place) - (a->place < b->place);
}

static int by_speed(const void *left, const void *right)
{
    const listed_gpu *a = left, *b = right;

    if (a->speed != b->speed)
        return a->speed < b->speed ? 1 : -1;
    return by_place(left, right);
}

/* The only GPU whose UUID begins with the text. */
static void *find_prefix(const listed_gpu *gpus, size_t count, const char *text)
{
    void *found = NULL;

    for (size_t i = 0; i < count; i++) {
        if (strncasecmp(gpus[i].uuid, text, strlen(text)) != 0)
            continue;
        if (found)
            return NULL;
        found = gpus[i].device;
    }
    return found;
}

/* An entry of CUDA_VISIBLE_DEVICES; false: it is invalid, and CUDA ignores the rest. */
static bool add_entry(const pyro_nvml *nvml, pyro_visible_devices *out, const listed_gpu *gpus,
                      size_t count, const char *entry)
{
    bool is_mig = strncasecmp(entry, "MIG", 3) == 0;
    void *found = NULL;
    char *end;

    if (is_mig) {
        if (!nvml->by_uuid || nvml->by_uuid(entry, &found) != 0)
            return false;
    } else if (strncasecmp(entry, "GPU-", 4) == 0) {
        found = find_prefix(gpus, count, entry);
    } else {
        long number = strtol(entry, &end, 10);
        found = end != entry && *end == '\0' && number >= 0 && (size_t)number < count
                    ? gpus[number].device
                    : NULL;
    }
    if (!found || out->count == PYRO_MOST_VISIBLE)
        return false;
    set_device(nvml, &out->items[out->count++], found, is_mig);
    return true;
}

static void read_variables(const pyro_nvml *nvml, pyro_visible_devices *out)
{
    const char *order = getenv("CUDA_DEVICE_ORDER"), *list = getenv("CUDA_VISIBLE_DEVICES");
    listed_gpu gpus[PYRO_MOST_VISIBLE];
    size_t count = list_gpus(nvml, gpus);
    bool is_by_bus = order && strcmp(order, "PCI_BUS_ID") == 0;
    char entry[TEXT_BYTES];

    qsort(gpus, count, sizeof *gpus, is_by_bus ? by_place : by_speed);
    if (!list) {
        for (size_t i = 0; i < count; i++)
            out->items[out->count++] = (pyro_visible_device){.device = gpus[i].device};
        return;
    }
    while (*list != '\0') {
        size_t length;

        list += strspn(list, " \t");
        length = strcspn(list, ", \t");
        if (length >= sizeof entry)
            return;
        memcpy(entry, list, length);
        entry[length] = '\0';
        if (!add_entry(nvml, out, gpus, count, entry))
            return;
        list += length;
        list += strspn(list, ", \t");
    }
}

void pyro_visible_devices_find(const pyro_nvml *nvml, pyro_visible_devices *out)
{
    out->count = 0;
    out->from_driver = false;
    if (!ask_driver(nvml, out)) {
        out->count = 0;
        read_variables(nvml, out);
    }
}
