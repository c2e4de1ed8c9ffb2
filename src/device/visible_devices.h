/*
 * The NVML device of each CUDA device of this process. CUDA numbers only visible devices
 * (CUDA_VISIBLE_DEVICES) and may sort them by speed (CUDA_DEVICE_ORDER); NVML knows all, by bus.
 */
#ifndef PYRO_DEVICE_VISIBLE_DEVICES_H
#define PYRO_DEVICE_VISIBLE_DEVICES_H

#include "device/nvml.h"

#include <stddef.h>

#define PYRO_MOST_VISIBLE 64

typedef struct pyro_visible_device {
    void *device; /* of NVML: the whole GPU; NULL: NVML does not know it */
    void *instance; /* of NVML: the MIG instance of the program; NULL: it has the whole GPU */
    unsigned instance_id; /* GPU instance that it belongs to */
} pyro_visible_device;

typedef struct pyro_visible_devices {
    pyro_visible_device items[PYRO_MOST_VISIBLE]; /* by CUDA's number */
    size_t count;
    bool from_driver; /* CUDA's driver told; else they follow from environment variables */
} pyro_visible_devices;

/* Asks CUDA's driver if this process uses it already (PYRO_CUDA names another library). Otherwise
 * the variables decide, as CUDA reads them; without CUDA the order by speed is an estimate. */
void pyro_visible_devices_find(const pyro_nvml *nvml, pyro_visible_devices *out);

/* Whether this process has work or memory on the device; true where nobody can tell. */
bool pyro_visible_device_is_used(const pyro_visible_devices *devices, size_t number);

#endif
