/* Published peak rates of chips, by name (hardware.def). */
#ifndef PYRO_HARDWARE_HARDWARE_H
#define PYRO_HARDWARE_HARDWARE_H

#include "graph/dtype.h"
#include <stddef.h>
#include <stdint.h>

/* Peaks are dense (no sparsity), and 0 if the chip has no such units. For packages that appear as
 * several devices (MI250X, GB200) they are per device. */
typedef struct pyro_chip {
    const char *name;           /* "H100 SXM" */
    const char *words;          /* words in the device's name, in order */
    double least_memory_gib;    /* 0: any; distinguishes variants of one name */
    double fp64_tflops;         /* plain cores */
    double fp32_tflops;         /* plain cores */
    double tf32_tflops;         /* tensor or matrix cores, from here on */
    double fp16_tflops;         /* plain cores for P100, which has no tensor cores */
    double bf16_tflops;
    double fp8_tflops;
    double int8_tops;
    double bandwidth_gb_per_s;  /* of device memory */
} pyro_chip;

/* Finds the chip of a device by the name that torch prints ("NVIDIA A100-SXM4-80GB"), or NULL. */
const pyro_chip *pyro_chip_find(const char *device_name, int64_t memory_bytes);

/* Peak operations per second for an element type, on the fastest units that support it. */
double pyro_chip_peak_flops_per_s(const pyro_chip *chip, pyro_dtype dtype);
double pyro_chip_bytes_per_s(const pyro_chip *chip);

extern const pyro_chip pyro_chips[];
extern const size_t pyro_chip_count;

#endif
