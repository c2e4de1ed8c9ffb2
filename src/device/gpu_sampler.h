/*
 * Samples power, clocks and use of the GPUs of this process with NVML, on a thread of its own. The
 * interface contains no type of CUDA. One sampler per process.
 */
#ifndef PYRO_DEVICE_GPU_SAMPLER_H
#define PYRO_DEVICE_GPU_SAMPLER_H

#include <pyrometer/gpu_counters.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pyro_gpu_sample {
    uint64_t time; /* of the energy, on the receiver's clock */
    unsigned device; /* number of the device in the program */
    double values[PYRO_GPU_VALUE_COUNT]; /* NaN: unknown */
} pyro_gpu_sample;

/* Who receives samples; called on the sampler's thread. */
typedef struct pyro_gpu_sample_sink {
    uint64_t (*now)(void);
    void (*sample)(const pyro_gpu_sample *sample);
} pyro_gpu_sample_sink;

typedef enum pyro_sampler_state {
    PYRO_SAMPLER_OFF = 0,
    PYRO_SAMPLER_ON = 1,
    PYRO_SAMPLER_NO_LIBRARY = 2, /* NVML is missing or does not start */
    PYRO_SAMPLER_NO_DEVICE = 3,  /* NVML knows none of the program's devices */
    PYRO_SAMPLER_FAILED = 4
} pyro_sampler_state;

typedef struct pyro_sampler_status {
    pyro_sampler_state state;
    char reason[256];    /* one line, unless the state is on or off */
    char missing[256];   /* values that the driver does not report, "" none */
    uint64_t devices;    /* that NVML knows */
    uint64_t samples;    /* of single devices, since the start */
    uint64_t interval_ns;
    uint64_t cost_ns;    /* of all samples */
    bool has_units;      /* performance metrics (GPM) */
    bool has_energy;     /* the energy counter */
    bool power_is_mean;  /* over about a second: no instant power */
    bool is_instance;    /* a MIG instance: power, energy and clocks are of its whole GPU */
    bool from_driver;    /* which device is which: CUDA told, else environment variables */
} pyro_sampler_status;

/* Intervals between samples. A sample may take at most a twentieth of the interval; otherwise the
 * interval grows. */
#define PYRO_SAMPLER_SHORTEST_NS INT64_C(1000000)
#define PYRO_SAMPLER_LONGEST_NS INT64_C(60000000000)

/* On, or failed. The sampler's thread loads NVML and takes a first sample; what fails there is in
 * the status. */
pyro_sampler_state pyro_sampler_start(const pyro_gpu_sample_sink *sink, int64_t interval_ns);
/* Takes a last sample and ends. Waits at most 100 ms: a thread that hangs in the driver is left
 * behind, and passes on nothing any more. */
void pyro_sampler_stop(void);
void pyro_sampler_look(pyro_sampler_status *status);

#endif
