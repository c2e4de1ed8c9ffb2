/*
 * GPU performance metrics (GPM) of NVML: shares of time in which the units of a GPU worked. Hopper
 * and later have them, without privileges. A metric is made of two samples and covers the time
 * between them.
 */
#ifndef PYRO_DEVICE_NVML_GPM_H
#define PYRO_DEVICE_NVML_GPM_H

#include "device/nvml.h"

/* The order of the values of a reading. */
enum {
    PYRO_GPM_SM,
    PYRO_GPM_OCCUPANCY,
    PYRO_GPM_TENSOR,
    PYRO_GPM_DRAM,
    PYRO_GPM_FP32,
    PYRO_GPM_PCIE_SENT,
    PYRO_GPM_PCIE_RECEIVED,
    PYRO_GPM_NVLINK_SENT,
    PYRO_GPM_NVLINK_RECEIVED,
    PYRO_GPM_COUNT
};

typedef struct pyro_gpm {
    void *device; /* NULL: not supported */
    void *before, *now; /* samples; the older one is in `before` */
    bool has_before;
    bool is_instance; /* of a MIG instance */
    unsigned instance_id;
} pyro_gpm;

/* Begins readings of a device, or of a MIG instance of it. Returns false if this GPU or driver has
 * no such metrics; then nothing has to be ended. */
bool pyro_gpm_begin(const pyro_nvml *nvml, pyro_gpm *gpm, void *device, bool is_instance,
                    unsigned instance_id);
/* Percent (of links MiB per second) since the last reading; NaN: unknown, as all of the first. */
void pyro_gpm_read(const pyro_nvml *nvml, pyro_gpm *gpm, double values[PYRO_GPM_COUNT]);
void pyro_gpm_end(const pyro_nvml *nvml, pyro_gpm *gpm);

#endif
