/*
 * The sampler: a thread that asks NVML about the program's GPUs at an interval. It loads NVML itself,
 * because starting NVML takes up to a second, and keeps it for later sessions of the process.
 */
#include "device/gpu_sampler.h"

#include "base/thread.h"
#include "device/nvml_gpm.h"
#include "device/visible_devices.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <pyrometer/bench.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS INT64_C(100000000)
#define COST_SHARE 20 /* of the interval, one part may be spent on a sample */

typedef struct sampled_device {
    bool is_used; /* the program works on it; its metrics have begun */
    pyro_gpm gpm;
} sampled_device;

typedef struct sampler {
    pthread_mutex_t control;  /* guards start and stop */
    pthread_mutex_t lock;     /* guards the members up to the sink */
    pthread_mutex_t querying; /* held while NVML is called: a child must not inherit its locks */
    pthread_cond_t wakes, ended;
    bool is_prepared, has_thread, is_stopping, has_ended;
    bool is_held; /* by a fork: `querying` */
    bool is_left; /* a thread that hung in the driver is still there */
    pthread_t thread;
    pyro_sampler_status status;

    /* Used by the sampler's thread while it runs. */
    const pyro_gpu_sample_sink *sink;
    bool is_open;
    bool has_units, is_instance, power_is_mean; /* as in the status */
    pyro_nvml nvml;
    pyro_visible_devices visible;
    sampled_device devices[PYRO_MOST_VISIBLE];
} sampler;

static sampler the = {.control = PTHREAD_MUTEX_INITIALIZER,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .querying = PTHREAD_MUTEX_INITIALIZER};

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct timespec to_time(int64_t ns)
{
    return (struct timespec){ns / 1000000000, ns % 1000000000};
}

static void read_reasons(void *device, double *values)
{
    if (!the.nvml.reasons)
        return;
    uint64_t mask = pyro_nvml_throttle_reasons(&the.nvml, device);
    values[PYRO_GPU_VALUE_HEAT] = (mask &
                                   (PYRO_GPU_THERMAL_SOFTWARE | PYRO_GPU_THERMAL_HARDWARE)) != 0;
    values[PYRO_GPU_VALUE_HARDWARE] = (mask &
                                       (PYRO_GPU_HARDWARE_SLOWDOWN | PYRO_GPU_POWER_BRAKE)) != 0;
    values[PYRO_GPU_VALUE_POWER_CAP_HIT] = (mask & PYRO_GPU_POWER_CAP) != 0;
    values[PYRO_GPU_VALUE_SETTING] = (mask & (PYRO_GPU_CLOCK_SETTING | PYRO_GPU_SYNC_BOOST |
                                              PYRO_GPU_DISPLAY_SETTING)) != 0;
}

static void read_use(void *device, double *values)
{
    pyro_nvml_utilization share = {0, 0};
    if (!the.nvml.utilization || the.nvml.utilization(device, &share) != 0)
        return;
    values[PYRO_GPU_VALUE_BUSY] = share.gpu;
    values[PYRO_GPU_VALUE_MEMORY_BUSY] = share.memory;
}

static void read_units(sampled_device *device, double *values)
{
    double units[PYRO_GPM_COUNT];
    pyro_gpm_read(&the.nvml, &device->gpm, units);
    values[PYRO_GPU_VALUE_UNIT_SM] = units[PYRO_GPM_SM];
    values[PYRO_GPU_VALUE_UNIT_OCCUPANCY] = units[PYRO_GPM_OCCUPANCY];
    values[PYRO_GPU_VALUE_UNIT_TENSOR] = units[PYRO_GPM_TENSOR];
    values[PYRO_GPU_VALUE_UNIT_DRAM] = units[PYRO_GPM_DRAM];
    values[PYRO_GPU_VALUE_UNIT_FP32] = units[PYRO_GPM_FP32];
    values[PYRO_GPU_VALUE_PCIE_SENT] = units[PYRO_GPM_PCIE_SENT];
    values[PYRO_GPU_VALUE_PCIE_RECEIVED] = units[PYRO_GPM_PCIE_RECEIVED];
    values[PYRO_GPU_VALUE_NVLINK_SENT] = units[PYRO_GPM_NVLINK_SENT];
    values[PYRO_GPU_VALUE_NVLINK_RECEIVED] = units[PYRO_GPM_NVLINK_RECEIVED];
}

/* The energy counter comes first, between two readings of the clock: it moves all the time. */
static void query(size_t number, pyro_gpu_sample *sample)
{
    const pyro_visible_device *visible = &the.visible.items[number];
    void *device = visible->device;
    double *values = sample->values;
    for (int i = 0; i < PYRO_GPU_VALUE_COUNT; i++)
        values[i] = NAN;
    sample->device = (unsigned)number;
    uint64_t begun = the.sink->now();
    values[PYRO_GPU_VALUE_ENERGY] = pyro_nvml_energy_j(&the.nvml, device);
    sample->time = begun + (the.sink->now() - begun) / 2;
    if (!the.power_is_mean)
        values[PYRO_GPU_VALUE_POWER] = pyro_nvml_instant_power_w(&the.nvml, device);
    if (isnan(values[PYRO_GPU_VALUE_POWER])) {
        values[PYRO_GPU_VALUE_POWER] = pyro_nvml_power_w(&the.nvml, device);
        the.power_is_mean = true;
    }
    values[PYRO_GPU_VALUE_SM_CLOCK] = pyro_nvml_clock_mhz(&the.nvml, device, PYRO_NVML_CLOCK_SM);
    values[PYRO_GPU_VALUE_MEMORY_CLOCK] = pyro_nvml_clock_mhz(&the.nvml, device,
                                                              PYRO_NVML_CLOCK_MEMORY);
    values[PYRO_GPU_VALUE_TEMPERATURE] = pyro_nvml_temperature_c(&the.nvml, device);
    values[PYRO_GPU_VALUE_MEMORY_USED] = pyro_nvml_memory_used_bytes(
        &the.nvml, visible->instance ? visible->instance : device);
    read_use(device, values);
    read_reasons(device, values);
    read_units(&the.devices[number], values);
}

/* "GPU energy, GPU temperature": what the first sample lacks, each counter once. */
static void note_missing(const pyro_gpu_sample *sample)
{
    static const char *const counters[] = {
#define VALUE(id, counter, series) counter,
        PYRO_GPU_VALUES(VALUE)
#undef VALUE
    };
    size_t length = 0;
    char *text = the.status.missing;
    for (int i = 0; i < PYRO_GPU_VALUE_UNIT_SM; i++) {
        if (!isnan(sample->values[i]) || strstr(text, counters[i]) ||
            length >= sizeof the.status.missing)
            continue;
        length += (size_t)snprintf(text + length, sizeof the.status.missing - length, "%s%s",
                                   length > 0 ? ", " : "", counters[i]);
    }
    the.status.has_energy = !isnan(sample->values[PYRO_GPU_VALUE_ENERGY]);
}

/* The program may begin to use a device at any time. */
static bool is_wanted(size_t number)
{
    sampled_device *device = &the.devices[number];
    const pyro_visible_device *visible = &the.visible.items[number];
    if (!visible->device)
        return false;
    if (!device->is_used && pyro_visible_device_is_used(&the.visible, number)) {
        device->is_used = true;
        the.has_units |= pyro_gpm_begin(&the.nvml, &device->gpm, visible->device,
                                        visible->instance != NULL, visible->instance_id);
        the.is_instance |= visible->instance != NULL;
    }
    return device->is_used;
}

static bool take_sample(size_t number, pyro_gpu_sample *sample)
{
    pthread_mutex_lock(&the.querying);
    bool wanted = is_wanted(number);
    if (wanted)
        query(number, sample);
    pthread_mutex_unlock(&the.querying);
    if (!wanted)
        return false;
    pthread_mutex_lock(&the.lock);
    bool is_first = the.status.samples == 0, is_left = the.is_left;
    the.status.samples++;
    the.status.has_units = the.has_units;
    the.status.is_instance = the.is_instance;
    the.status.power_is_mean = the.power_is_mean;
    if (is_first)
        note_missing(sample);
    pthread_mutex_unlock(&the.lock);
    return !is_left;
}

/* One sample of each device in use; returns what it cost. */
static int64_t sample_all(void)
{
    int64_t begun_ns = monotonic_ns();
    for (size_t i = 0; i < the.visible.count; i++) {
        pyro_gpu_sample sample;
        if (take_sample(i, &sample))
            the.sink->sample(&sample);
    }
    return monotonic_ns() - begun_ns;
}

static bool fail(pyro_sampler_state state, const char *reason)
{
    pthread_mutex_lock(&the.lock);
    the.status.state = state;
    snprintf(the.status.reason, sizeof the.status.reason, "%s", reason);
    pthread_mutex_unlock(&the.lock);
    return false;
}

static bool open_devices(void)
{
    size_t known = 0;
    pthread_mutex_lock(&the.querying);
    the.has_units = the.is_instance = the.power_is_mean = false;
    the.is_open = the.is_open || pyro_nvml_open(&the.nvml);
    if (the.is_open)
        pyro_visible_devices_find(&the.nvml, &the.visible);
    for (size_t i = 0; the.is_open && i < the.visible.count; i++) {
        the.devices[i] = (sampled_device){0};
        known += the.visible.items[i].device != NULL;
    }
    pthread_mutex_unlock(&the.querying);
    if (!the.is_open)
        return fail(PYRO_SAMPLER_NO_LIBRARY,
                    "the library of the NVIDIA driver (libnvidia-ml.so.1) is missing or does not "
                    "start");
    if (known == 0)
        return fail(PYRO_SAMPLER_NO_DEVICE, "the NVIDIA driver knows none of the program's GPUs");
    pthread_mutex_lock(&the.lock);
    the.status.devices = known;
    the.status.from_driver = the.visible.from_driver;
    pthread_mutex_unlock(&the.lock);
    return true;
}

static void close_devices(void)
{
    pthread_mutex_lock(&the.querying);
    for (size_t i = 0; i < the.visible.count; i++)
        pyro_gpm_end(&the.nvml, &the.devices[i].gpm);
    the.visible.count = 0;
    pthread_mutex_unlock(&the.querying);
}

/* Waits until the next sample is due or the sampler stops; `lock` is held. */
static void wait_until(int64_t due_ns)
{
    struct timespec due = to_time(due_ns);
    while (!the.is_stopping && pthread_cond_timedwait(&the.wakes, &the.lock, &due) != ETIMEDOUT)
        ;
}

static void *run(void *unused)
{
    (void)unused;
    /* Lower priority than the measured program. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5);
    bool is_fine = open_devices(), is_last = false;
    while (is_fine && !is_last) {
        pthread_mutex_lock(&the.lock);
        is_last = the.is_stopping;
        pthread_mutex_unlock(&the.lock);
        int64_t begun_ns = monotonic_ns(), cost_ns = sample_all();
        pthread_mutex_lock(&the.lock);
        the.status.cost_ns += (uint64_t)cost_ns;
        int64_t interval_ns = (int64_t)the.status.interval_ns;
        if (interval_ns < COST_SHARE * cost_ns)
            interval_ns = COST_SHARE * cost_ns;
        if (!is_last)
            wait_until(begun_ns + interval_ns);
        pthread_mutex_unlock(&the.lock);
    }
    if (is_fine)
        close_devices();
    pthread_mutex_lock(&the.lock);
    the.has_ended = true;
    pthread_cond_broadcast(&the.ended);
    pthread_mutex_unlock(&the.lock);
    return NULL;
}

static void before_fork(void)
{
    struct timespec limit;
    /* A query takes less; a driver that hangs must not hang the program's fork. */
    clock_gettime(CLOCK_REALTIME, &limit);
    int64_t ns = (int64_t)limit.tv_sec * 1000000000 + limit.tv_nsec + PATIENCE_NS;
    limit = to_time(ns);
    the.is_held = pthread_mutex_timedlock(&the.querying, &limit) == 0;
}

static void in_parent(void)
{
    if (the.is_held)
        pthread_mutex_unlock(&the.querying);
}

static void init_conditions(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&the.wakes, &monotonic);
    pthread_cond_init(&the.ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* The child has no sampler; it opens NVML again if it starts one. */
static void in_child(void)
{
    pthread_mutex_init(&the.control, NULL);
    pthread_mutex_init(&the.lock, NULL);
    pthread_mutex_init(&the.querying, NULL);
    init_conditions();
    the.has_thread = the.is_left = the.is_open = false;
    the.visible.count = 0;
    the.status = (pyro_sampler_status){0};
}

static bool begin(const pyro_gpu_sample_sink *sink, int64_t interval_ns)
{
    if (interval_ns < PYRO_SAMPLER_SHORTEST_NS)
        interval_ns = PYRO_SAMPLER_SHORTEST_NS;
    if (interval_ns > PYRO_SAMPLER_LONGEST_NS)
        interval_ns = PYRO_SAMPLER_LONGEST_NS;
    if (!the.is_prepared) {
        init_conditions();
        pthread_atfork(before_fork, in_parent, in_child);
        the.is_prepared = true;
    }
    the.status = (pyro_sampler_status){.state = PYRO_SAMPLER_ON,
                                       .interval_ns = (uint64_t)interval_ns};
    the.is_stopping = the.has_ended = false;
    the.sink = sink;
    the.has_thread = pyro_thread_start(&the.thread, "pyrometer-nvml", run, NULL) == 0;
    return the.has_thread || fail(PYRO_SAMPLER_FAILED, "cannot start the sampler's thread");
}

/* Whether a thread that hung in the driver has come back. */
static bool is_free(void)
{
    pthread_mutex_lock(&the.lock);
    the.is_left = the.is_left && !the.has_ended;
    bool is_free = !the.is_left;
    pthread_mutex_unlock(&the.lock);
    return is_free;
}

pyro_sampler_state pyro_sampler_start(const pyro_gpu_sample_sink *sink, int64_t interval_ns)
{
    pthread_mutex_lock(&the.control);
    bool is_on = is_free() ? the.has_thread || begin(sink, interval_ns)
                           : fail(PYRO_SAMPLER_FAILED,
                                  "an earlier query of the NVIDIA driver has not returned");
    pthread_mutex_unlock(&the.control);
    return is_on ? PYRO_SAMPLER_ON : PYRO_SAMPLER_FAILED;
}

void pyro_sampler_stop(void)
{
    pthread_mutex_lock(&the.control);
    if (the.has_thread) {
        struct timespec limit = to_time(monotonic_ns() + PATIENCE_NS);
        int result = 0;
        pthread_mutex_lock(&the.lock);
        the.is_stopping = true;
        pthread_cond_signal(&the.wakes);
        while (!the.has_ended && result != ETIMEDOUT)
            result = pthread_cond_timedwait(&the.ended, &the.lock, &limit);
        the.is_left = !the.has_ended;
        the.has_thread = false;
        if (the.status.state == PYRO_SAMPLER_ON)
            the.status.state = PYRO_SAMPLER_OFF;
        bool is_left = the.is_left;
        pthread_mutex_unlock(&the.lock);
        if (is_left)
            pthread_detach(the.thread);
        else
            pthread_join(the.thread, NULL);
    }
    pthread_mutex_unlock(&the.control);
}

void pyro_sampler_look(pyro_sampler_status *status)
{
    pthread_mutex_lock(&the.lock);
    *status = the.status;
    pthread_mutex_unlock(&the.lock);
}
