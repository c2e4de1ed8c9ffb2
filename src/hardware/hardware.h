/* Published peak rates of chips, by name (hardware.def). */
#ifndef PYRO_HARDWARE_HARDWARE_H
#define PYRO_HARDWARE_HARDWARE_H

#include "graph/dtype.h"

#include <pyrometer/hardware.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the chip of a device by the name that torch prints ("NVIDIA A100-SXM4-80GB"), or NULL. */
const pyro_chip *pyro_chip_find(const char *device_name, int64_t memory_bytes);

/* Peak operations per second for an element type, on the fastest units that support it. */
double pyro_chip_peak_flops_per_s(const pyro_chip *chip, pyro_dtype dtype);
double pyro_chip_bytes_per_s(const pyro_chip *chip);

extern const pyro_chip pyro_chips[];
extern const size_t pyro_chip_count;

/* $XDG_DATA_HOME/pyrometer/peaks-HOST.json, which `pyrometer doctor --calibrate` writes; free() it.
 * NULL: no home folder. */
char *pyro_peaks_path(void);

#endif
