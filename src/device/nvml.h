/*
 * NVML, the management library of the NVIDIA driver, loaded at run time: building needs no NVIDIA
 * header, and without the driver only the GPU numbers are missing. No other code loads NVML.
 */
#ifndef PYRO_DEVICE_NVML_H
#define PYRO_DEVICE_NVML_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pyro_nvml_utilization {
    unsigned gpu, memory; /* percent */
} pyro_nvml_utilization;

typedef struct pyro_nvml_memory {
    unsigned long long total, free, used; /* bytes */
} pyro_nvml_memory;

/* A value that is asked for by its number. */
typedef struct pyro_nvml_field {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    int type, result; /* result 0: `value` is set */
    union {
        double real;
        unsigned integer;
        unsigned long long long_integer;
    } value;
} pyro_nvml_field;

typedef struct pyro_nvml_pci {
    char short_bus[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} pyro_nvml_pci;

typedef enum pyro_nvml_clock { PYRO_NVML_CLOCK_SM = 1, PYRO_NVML_CLOCK_MEMORY = 2 } pyro_nvml_clock;

/* The functions in use. Each returns 0 on success; NULL: this driver does not have it. */
typedef struct pyro_nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned length);
    int (*count)(unsigned *count);
    int (*by_index)(unsigned index, void **device);
    int (*by_uuid)(const char *uuid, void **device);
    int (*name)(void *device, char *text, unsigned length);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*max_clock)(void *device, int type, unsigned *mhz);
    int (*reasons)(void *device, unsigned long long *mask);
    int (*power)(void *device, unsigned *milliwatts);
    int (*power_cap)(void *device, unsigned *milliwatts);
    int (*power_default)(void *device, unsigned *milliwatts);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*utilization)(void *device, pyro_nvml_utilization *share);
    int (*memory)(void *device, pyro_nvml_memory *bytes);
    int (*energy)(void *device, unsigned long long *millijoules);
    int (*fields)(void *device, int count, pyro_nvml_field *fields);
    int (*uuid)(void *device, char *text, unsigned length);
    int (*pci)(void *device, pyro_nvml_pci *place);
    int (*cores)(void *device, unsigned *count);
    int (*whole_of_instance)(void *instance, void **device); /* a MIG instance's GPU */
    int (*instance_id)(void *instance, unsigned *id);
    /* Performance metrics (GPM): device/nvml_gpm.h */
    int (*gpm_support)(void *device, void *answer);
    int (*gpm_allocate)(void **sample);
    int (*gpm_free)(void *sample);
    int (*gpm_take)(void *device, void *sample);
    int (*gpm_take_of_instance)(void *device, unsigned instance_id, void *sample);
    int (*gpm_metrics)(void *request);
} pyro_nvml;

/*
 * Loads and initialises NVML; false if no working library was found, and then nothing has to be
 * closed. The environment variable PYRO_NVML names another library. It may be opened several times.
 */
bool pyro_nvml_open(pyro_nvml *nvml);
void pyro_nvml_close(const pyro_nvml *nvml);

/* A device by its UUID, or the first one for NULL; NVML's code, 0: *device is set. */
int pyro_nvml_find_device(const pyro_nvml *nvml, const char *uuid, void **device);

/* A device's current values; NaN: this driver does not report it. */
double pyro_nvml_clock_mhz(const pyro_nvml *nvml, void *device, pyro_nvml_clock which);
double pyro_nvml_max_clock_mhz(const pyro_nvml *nvml, void *device, pyro_nvml_clock which);
double pyro_nvml_power_w(const pyro_nvml *nvml, void *device);
/* Power at this moment; pyro_nvml_power_w is an average over a second on most GPUs. */
double pyro_nvml_instant_power_w(const pyro_nvml *nvml, void *device);
/* Energy since the driver was loaded. */
double pyro_nvml_energy_j(const pyro_nvml *nvml, void *device);
double pyro_nvml_memory_used_bytes(const pyro_nvml *nvml, void *device);
double pyro_nvml_power_cap_w(const pyro_nvml *nvml, void *device);
double pyro_nvml_default_power_cap_w(const pyro_nvml *nvml, void *device);
double pyro_nvml_temperature_c(const pyro_nvml *nvml, void *device);
double pyro_nvml_busy(const pyro_nvml *nvml,
                      void *device); /* share of the last moments in which it was busy */
/* Bits of the reasons for reduced clocks; 0: none, or unknown. */
uint64_t pyro_nvml_throttle_reasons(const pyro_nvml *nvml, void *device);

#endif
