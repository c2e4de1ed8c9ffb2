/* Chips: published peak rates and sizes (hardware.def), and rows of the user's own. */
#ifndef PYROMETER_HARDWARE_H
#define PYROMETER_HARDWARE_H

#include <pyrometer/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Peaks are dense (no sparsity), and 0 if the chip has no such units or none is published. For
 * packages that appear as several devices (MI250X, GB200) all figures are per device. */
typedef struct pyro_chip {
    const char *name;          /* "H100 SXM" */
    const char *words;         /* words in the device's name, in order */
    double least_memory_gib;   /* 0: any; distinguishes variants of one name */
    double fp64_tflops;        /* plain cores */
    double fp32_tflops;        /* plain cores */
    double tf32_tflops;        /* tensor or matrix cores, from here on */
    double fp16_tflops;        /* plain cores for P100, which has no tensor cores */
    double bf16_tflops;
    double fp8_tflops;
    double fp4_tflops;
    double int8_tops;
    double bandwidth_gb_per_s; /* of device memory */
    int64_t memory_bytes;      /* 0: unknown, as for the figures that follow */
    int64_t cache_bytes;       /* the last cache that all cores share */
    double link_bytes_per_s;   /* to other devices, in one direction */
    double power_watts;        /* of the device at most */
    const char *source;        /* the publication */
} pyro_chip;

PYRO_API size_t pyro_chip_rows(const pyro_chip **out);
/*
 * Finds a built-in chip by a name as users write it: "H100 SXM", "h100", "a100-80gb",
 * "NVIDIA H100 80GB HBM3". NULL if not found; a name without its memory is the smallest variant.
 */
PYRO_API const pyro_chip *pyro_chip_by_name(const char *name);

/* FLOPs per byte at which work in a type is bound by both; float32 on plain cores. 0: unknown. */
PYRO_API double pyro_chip_ridge(const pyro_chip *chip, const char *dtype);

/* The user's own rows and the built-in ones. */
typedef struct pyro_chip_list pyro_chip_list;

/*
 * Reads the user's rows from `path`; NULL: $XDG_CONFIG_HOME/pyrometer/hardware.json, which need not
 * exist. PYRO_ERROR_FORMAT, with the byte, if the file is damaged (docs/reference/hardware.md).
 */
PYRO_API int pyro_chip_list_load(pyro_chip_list **out, const char *path, pyro_error *error);
PYRO_API void pyro_chip_list_free(pyro_chip_list *list); /* accepts NULL */
/* Own rows come first. */
PYRO_API const pyro_chip *pyro_chip_list_get(const pyro_chip_list *list, size_t index);
PYRO_API size_t pyro_chip_list_count(const pyro_chip_list *list, size_t *own_count);
/* An own row of that name, else as pyro_chip_by_name(). */
PYRO_API const pyro_chip *pyro_chip_list_find(const pyro_chip_list *list, const char *name);

#ifdef __cplusplus
}
#endif
#endif
