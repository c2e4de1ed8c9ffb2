/* Chips by name: what they can do at most, as their makers publish it (hardware.def). */
#ifndef PYRO_HARDWARE_HARDWARE_H
#define PYRO_HARDWARE_HARDWARE_H

#include "graph/dtype.h"
#include <stddef.h>
#include <stdint.h>

/* Peaks are dense (no sparsity), 0 where the chip has no such units. Of packages that show up as
 * several devices (MI250X, GB200) the figures are those of one device. */
typedef struct pyro_chip {
    const char *name;           /* "H100 SXM" */
    const char *words;          /* words that a device's name holds, in order */
    double least_memory_gib;    /* 0: any; tells variants of one name apart */
    double fp64_tflops;         /* plain cores */
    double fp32_tflops;         /* plain cores */
    double tf32_tflops;         /* tensor or matrix cores, from here on */
    double fp16_tflops;         /* of P100, which has no tensor cores, the plain ones */
    double bf16_tflops;
    double fp8_tflops;
    double int8_tops;
    double bandwidth_gb_per_s;  /* of device memory */
} pyro_chip;

/* The chip of a device's name as torch prints it ("NVIDIA A100-SXM4-80GB"); NULL: not known. */
const pyro_chip *pyro_chip_find(const char *device_name, int64_t memory_bytes);

/* Operations a second at most for an element type, on the fastest units that take it. */
double pyro_chip_peak_flops_per_s(const pyro_chip *chip, pyro_dtype dtype);
double pyro_chip_bytes_per_s(const pyro_chip *chip);

extern const pyro_chip pyro_chips[];
extern const size_t pyro_chip_count;

#endif
