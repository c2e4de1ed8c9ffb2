/* What a machine reached when it was calibrated: peak rates, and what recorders cost there. */
#ifndef PYROMETER_PEAKS_H
#define PYROMETER_PEAKS_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a recorder adds to the time of the host, in nanoseconds per event; 0 where not measured. */
typedef struct pyro_recorder_costs {
    double op_ns;
    double shapes_ns; /* per op, if it records shapes */
    double memory_ns; /* per allocation or free */
    double frame_ns; /* per Python function (torch.profiler) or call of a module (Pyrometer) */
} pyro_recorder_costs;

/* Measured peak rates of the host or of a device; 0 where not measured. */
typedef struct pyro_rates {
    /* Of matrix products, by element type; float8 is e4m3. */
    double float64_flops_per_s, float32_flops_per_s, tf32_flops_per_s, float16_flops_per_s;
    double bfloat16_flops_per_s, float8_flops_per_s, int8_ops_per_s;
    double attention_flops_per_s;
    double bytes_per_s; /* of a copy: read and written bytes */
    double gemv_bytes_per_s, elementwise_bytes_per_s, reduction_bytes_per_s;
    double launch_ns; /* between two launches of the smallest op */
} pyro_rates;

#define PYRO_MOST_PEAKS 8
#define PYRO_PEAKS_NAME 96

typedef struct pyro_device_peaks {
    char name[PYRO_PEAKS_NAME]; /* as torch prints it: "NVIDIA H200" */
    pyro_rates rates;
} pyro_device_peaks;

/* What `pyrometer doctor --calibrate` measured on a machine. */
typedef struct pyro_peaks {
    pyro_rates host;
    pyro_device_peaks devices[PYRO_MOST_PEAKS]; /* one per name */
    size_t device_count;
    pyro_recorder_costs torch_profiler, pyrometer;
    char measured[16]; /* date */
} pyro_peaks;

/* Loads the peaks of this machine; returns false if they are missing or unreadable. */
PYRO_API bool pyro_peaks_load(pyro_peaks *peaks);
/* Reads a file of peaks: pyrometer.peaks/1 or /2. */
PYRO_API int pyro_peaks_read(pyro_peaks *peaks, const char *path, pyro_error *error);
/* The rates of a device by its name; NULL: not measured. `peaks` may be NULL. */
PYRO_API const pyro_rates *pyro_peaks_find(const pyro_peaks *peaks, const char *device_name);

#ifdef __cplusplus
}
#endif

#endif
