/* Writes the counters as families of metrics. docs/reference/metrics.md lists them. */
#include "metrics/counters.h"

#include "graph/dtype.h"

#include <math.h>
#include <pyrometer/capture.h>
#include <pyrometer/version.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct writer {
    pyro_buf *buf;
    pyro_exposition format;
    const pyro_counters *counters;
} writer;

/* Values of GPUs by NVML, in base units. */
static const struct {
    pyro_gpu_value value;
    const char *name, *unit, *help;
    pyro_metric_type type;
    double scale;
} gpu_families[] = {
    {PYRO_GPU_VALUE_POWER, "pyrometer_gpu_power_watts", "watts", "Power that a GPU draws.",
     PYRO_METRIC_GAUGE, 1},
    {PYRO_GPU_VALUE_ENERGY, "pyrometer_gpu_energy_joules", "joules",
     "Energy that a GPU has used since its driver was loaded.", PYRO_METRIC_COUNTER, 1},
    {PYRO_GPU_VALUE_TEMPERATURE, "pyrometer_gpu_temperature_celsius", "celsius",
     "Temperature of a GPU.", PYRO_METRIC_GAUGE, 1},
    {PYRO_GPU_VALUE_BUSY, "pyrometer_gpu_busy_ratio", "ratio",
     "Share of the time in which a kernel ran, over the driver's interval.", PYRO_METRIC_GAUGE,
     0.01},
    {PYRO_GPU_VALUE_MEMORY_USED, "pyrometer_gpu_memory_used_bytes", "bytes",
     "Memory of a GPU that all processes use.", PYRO_METRIC_GAUGE, 1},
    {PYRO_GPU_VALUE_SM_CLOCK, "pyrometer_gpu_clock_hertz", "hertz",
     "Clock of the multiprocessors of a GPU.", PYRO_METRIC_GAUGE, 1e6},
    {PYRO_GPU_VALUE_UNIT_SM, "pyrometer_gpu_sm_active_ratio", "ratio",
     "Share of the multiprocessors that were active.", PYRO_METRIC_GAUGE, 0.01},
    {PYRO_GPU_VALUE_UNIT_TENSOR, "pyrometer_gpu_tensor_active_ratio", "ratio",
     "Share of the time in which the tensor cores were active.", PYRO_METRIC_GAUGE, 0.01},
    {PYRO_GPU_VALUE_UNIT_DRAM, "pyrometer_gpu_dram_active_ratio", "ratio",
     "Share of the time in which the memory was active.", PYRO_METRIC_GAUGE, 0.01},
};

static void name_device(char *text, size_t size, int type, int index)
{
    static const char *const names[] = {[0] = "cpu",  [1] = "cuda",  [12] = "xpu",
                                        [13] = "mps", [14] = "meta", [15] = "hpu"};
    bool is_named = type >= 0 && (size_t)type < sizeof names / sizeof *names && names[type];
    char name[24], number[16] = "";
    if (is_named)
        snprintf(name, sizeof name, "%s", names[type]);
    else
        snprintf(name, sizeof name, "type%d", type);
    if (index >= 0)
        snprintf(number, sizeof number, ":%d", index);
    snprintf(text, size, "%s%s", name, number);
}

static void begin(const writer *w, const char *name, pyro_metric_type type, const char *unit,
                  const char *help)
{
    pyro_exposition_family(w->buf, w->format, name, type, unit, help);
}

static void add_value(const writer *w, double value)
{
    pyro_buf_addc(w->buf, ' ');
    pyro_exposition_number(w->buf, value);
    pyro_buf_addc(w->buf, '\n');
}

/* A sample with up to two labels. */
static void add_sample(const writer *w, const char *name, const char *const labels[4], double value)
{
    pyro_buf_adds(w->buf, name);
    if (labels[0]) {
        pyro_buf_addc(w->buf, '{');
        pyro_exposition_label(w->buf, labels[0], labels[1]);
        if (labels[2]) {
            pyro_buf_addc(w->buf, ',');
            pyro_exposition_label(w->buf, labels[2], labels[3]);
        }
        pyro_buf_addc(w->buf, '}');
    }
    add_value(w, value);
}

static void write_step_series(const writer *w, const pyro_step_counts *steps, int mark,
                              const char *kind)
{
    pyro_buf bound = PYRO_BUF_INIT;
    uint64_t below = 0;
    for (int i = 0; i <= PYRO_STEP_BOUNDS; i++) {
        below += steps->buckets[mark][i];
        pyro_buf_reset(&bound);
        pyro_exposition_number(&bound, i < PYRO_STEP_BOUNDS ? (double)pyro_step_bounds_ns[i] / 1e9
                                                            : INFINITY);
        /* OpenMetrics writes whole bounds as "1.0". */
        if (i < PYRO_STEP_BOUNDS && pyro_step_bounds_ns[i] % 1000000000 == 0)
            pyro_buf_adds(&bound, ".0");
        add_sample(w, "pyrometer_step_seconds_bucket",
                   (const char *const[]){"kind", kind, "le", bound.failed ? "" : bound.data},
                   (double)below);
    }
    pyro_buf_free(&bound);
    const char *const labels[4] = {"kind", kind};
    add_sample(w, "pyrometer_step_seconds_sum", labels, steps->seconds[mark]);
    add_sample(w, "pyrometer_step_seconds_count", labels, (double)below);
}

static void write_steps(const writer *w, const pyro_step_counts *steps)
{
    static const char *const kinds[] = {[PYRO_MARK_FORWARD] = "forward",
                                        [PYRO_MARK_OPTIMIZER] = "optimizer",
                                        [PYRO_MARK_PROFILER] = "profiler"};
    begin(
        w, "pyrometer_step_seconds", PYRO_METRIC_HISTOGRAM, "seconds",
        "Time of a step, by what ends it: the optimizer, the profiler's step(), or else the return "
        "of a model's forward pass.");
    for (int mark = PYRO_MARK_FORWARD; mark <= PYRO_MARK_PROFILER; mark++)
        write_step_series(w, steps, mark, kinds[mark]);
}

static void write_work_of(const writer *w, const pyro_work_count *work, int which)
{
    static const char *const names[] = {"pyrometer_flops_total", "pyrometer_bytes_total",
                                        "pyrometer_ops_total"};
    char device[32];
    name_device(device, sizeof device, work->device_type, -1);
    double value = which == 0   ? (double)work->flops
                   : which == 1 ? (double)work->bytes
                                : (double)work->ops;
    add_sample(w, names[which],
               (const char *const[]){"device", device, "dtype",
                                     pyro_dtype_short_name((pyro_dtype)work->dtype)},
               value);
}

static void write_work(const writer *w)
{
    static const struct {
        const char *name, *unit, *help;
    } families[] = {
        {"pyrometer_flops", "", "Floating-point operations of ops, from their shapes."},
        {"pyrometer_bytes", "bytes", "Bytes that ops read and write, from their shapes."},
        {"pyrometer_ops", "", "Outermost ops whose work is known."},
    };
    for (int which = 0; which < 3; which++) {
        begin(w, families[which].name, PYRO_METRIC_COUNTER, families[which].unit,
              families[which].help);
        for (size_t i = 0; i < w->counters->work_count; i++)
            write_work_of(w, &w->counters->work[i], which);
    }
    begin(w, "pyrometer_ops_unpriced", PYRO_METRIC_COUNTER, "",
          "Outermost ops whose work is unknown.");
    add_sample(w, "pyrometer_ops_unpriced_total", (const char *const[4]){0},
               (double)w->counters->unpriced_ops);
}

/* Of the processor no total is reported: the sum of blocks that are live. */
static double live_bytes(const pyro_counters *counters, const pyro_device_count *device)
{
    double sum = 0;
    if (device->total_allocated >= 0)
        return (double)device->total_allocated;
    for (size_t i = 0; i < counters->blocks.count; i++) {
        const pyro_live_block *block = &counters->blocks.items[i];
        if (block->device_type == device->type && block->device_index == device->index)
            sum += (double)block->bytes;
    }
    return sum;
}

static void write_memory(const writer *w)
{
    begin(w, "pyrometer_memory_bytes", PYRO_METRIC_GAUGE, "bytes",
          "Memory of tensors that are live, and what the allocator holds.");
    for (size_t i = 0; i < w->counters->device_count; i++) {
        const pyro_device_count *device = &w->counters->devices[i];
        char name[32];
        if (!device->allocations && device->total_allocated < 0)
            continue;
        name_device(name, sizeof name, device->type, device->index);
        add_sample(w, "pyrometer_memory_bytes",
                   (const char *const[]){"device", name, "state", "allocated"},
                   live_bytes(w->counters, device));
        if (device->total_reserved >= 0)
            add_sample(w, "pyrometer_memory_bytes",
                       (const char *const[]){"device", name, "state", "reserved"},
                       (double)device->total_reserved);
    }
}

/* One counter of all devices. */
typedef double device_value(const pyro_device_count *device);

static double allocated_bytes(const pyro_device_count *device)
{
    return (double)device->allocated_bytes;
}

static double allocations(const pyro_device_count *device)
{
    return (double)device->allocations;
}

static double failed_allocations(const pyro_device_count *device)
{
    return (double)device->failed_allocations;
}

static double busy_seconds(const pyro_device_count *device)
{
    return device->type ? device->busy_seconds : NAN;
}

static double kernels(const pyro_device_count *device)
{
    return device->type ? (double)device->kernels : NAN;
}

static double copied_bytes(const pyro_device_count *device)
{
    return device->type ? (double)device->copied_bytes : NAN;
}

static void write_devices(const writer *w)
{
    static const struct {
        const char *name, *sample, *unit, *help;
        device_value *value;
    } families[] = {
        {"pyrometer_allocated_bytes", "pyrometer_allocated_bytes_total", "bytes",
         "Bytes of all allocations of tensors.", allocated_bytes},
        {"pyrometer_allocations", "pyrometer_allocations_total", "", "Allocations of tensors.",
         allocations},
        {"pyrometer_failed_allocations", "pyrometer_failed_allocations_total", "",
         "Allocations that failed for want of memory.", failed_allocations},
        {"pyrometer_device_busy_seconds", "pyrometer_device_busy_seconds_total", "seconds",
         "Time in which a kernel or copy of this program ran on a device.", busy_seconds},
        {"pyrometer_device_kernels", "pyrometer_device_kernels_total", "",
         "Kernels that ran on a device.", kernels},
        {"pyrometer_device_copied_bytes", "pyrometer_device_copied_bytes_total", "bytes",
         "Bytes of copies on a device.", copied_bytes},
    };
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        begin(w, families[f].name, PYRO_METRIC_COUNTER, families[f].unit, families[f].help);
        for (size_t i = 0; i < w->counters->device_count; i++) {
            const pyro_device_count *device = &w->counters->devices[i];
            double value = families[f].value(device);
            char name[32];
            name_device(name, sizeof name, device->type, device->index);
            if (!isnan(value))
                add_sample(w, families[f].sample, (const char *const[4]){"device", name}, value);
        }
    }
}

static void write_gpus(const writer *w)
{
    for (size_t f = 0; f < sizeof gpu_families / sizeof *gpu_families; f++) {
        bool begun = false;
        for (size_t i = 0; i < w->counters->device_count; i++) {
            const pyro_device_count *device = &w->counters->devices[i];
            double value = device->samples[gpu_families[f].value];
            char name[32], sample[80];
            if (isnan(value))
                continue;
            if (!begun)
                begin(w, gpu_families[f].name, gpu_families[f].type, gpu_families[f].unit,
                      gpu_families[f].help);
            begun = true;
            name_device(name, sizeof name, device->type, device->index);
            snprintf(sample, sizeof sample, "%s%s", gpu_families[f].name,
                     gpu_families[f].type == PYRO_METRIC_COUNTER ? "_total" : "");
            add_sample(w, sample, (const char *const[4]){"device", name},
                       value * gpu_families[f].scale);
        }
    }
}

/* Pages in memory, from /proc/self/statm; -1 where that is missing. */
static double resident_bytes(void)
{
    long long size, resident = -1;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%lld %lld", &size, &resident) != 2)
        resident = -1;
    if (file)
        fclose(file);
    return resident < 0 ? -1 : (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void write_process(const writer *w, const pyro_tail_losses *losses)
{
    const char *const none[4] = {0};
    struct rusage use = {0};
    double resident = resident_bytes();
    getrusage(RUSAGE_SELF, &use);
    begin(w, "pyrometer_process_cpu_seconds", PYRO_METRIC_COUNTER, "seconds",
          "Processor time of the program, user and system.");
    add_sample(w, "pyrometer_process_cpu_seconds_total", none,
               (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                   (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
    if (resident >= 0) {
        begin(w, "pyrometer_process_resident_bytes", PYRO_METRIC_GAUGE, "bytes",
              "Memory of the program that is in RAM.");
        add_sample(w, "pyrometer_process_resident_bytes", none, resident);
    }
    begin(w, "pyrometer_lost_records", PYRO_METRIC_COUNTER, "",
          "Records that could not be written; the other counters lack them.");
    add_sample(w, "pyrometer_lost_records_total", none, (double)losses->records);
    begin(w, "pyrometer_lost_chunks", PYRO_METRIC_COUNTER, "",
          "Chunks of 4095 records that were overwritten before they were counted.");
    add_sample(w, "pyrometer_lost_chunks_total", none, (double)losses->chunks);
    begin(w, "pyrometer_build", PYRO_METRIC_INFO, "", "The version of Pyrometer.");
    add_sample(w, "pyrometer_build_info", (const char *const[4]){"version", pyro_version()}, 1);
}

void pyro_counters_write(pyro_buf *buf, pyro_exposition format, const pyro_counters *counters,
                         const pyro_step_counts *steps, const pyro_tail_losses *losses)
{
    writer w = {buf, format, counters};
    write_steps(&w, steps);
    write_work(&w);
    write_memory(&w);
    write_devices(&w);
    write_gpus(&w);
    write_process(&w, losses);
    pyro_exposition_end(buf);
}
