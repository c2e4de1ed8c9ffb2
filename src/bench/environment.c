/* Describes the machine of a measurement: its fingerprint, and disturbances meanwhile. */
#include "bench/results/results.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/processors.h"
#include "bench/clock.h"
#include "bench/git_files.h"
#include "bench/gpu.h"
#include "bench/system_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { CPUS_MAX = 4096 };

/* The kernel counts in hundredths of a second: shorter times show nothing. */
#define USE_MIN_S 0.2

static void find_cpu_model(const char *cpuinfo, char *model, size_t size)
{
    char implementer[32] = "", part[32] = "";

    if (pyro_system_value(cpuinfo, "model name", model, size) ||
        pyro_system_value(cpuinfo, "Model", model, size))
        return;
    /* AArch64 reports numbers instead of names. */
    if (pyro_system_value(cpuinfo, "CPU implementer", implementer, sizeof implementer) &&
        pyro_system_value(cpuinfo, "CPU part", part, sizeof part))
        snprintf(model, size, "implementer %s part %s", implementer, part);
    else
        snprintf(model, size, "unknown");
}

static int64_t count_throttling(void)
{
    int64_t total = -1;
    char path[128], text[64];

    for (int i = 0; i < CPUS_MAX; i++) {
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", i);
        if (!pyro_system_line(path, text, sizeof text))
            break;
        total = (total < 0 ? 0 : total) + strtoll(text, NULL, 10);
    }
    return total;
}

static int64_t count_swapped_pages(void)
{
    static const char path[] = "/proc/vmstat";
    char *text = malloc(PYRO_SYSTEM_TEXT);
    int64_t pages = -1;

    if (text && pyro_system_text(path, text, PYRO_SYSTEM_TEXT))
        pages = pyro_system_number(text, "pswpin") + pyro_system_number(text, "pswpout");
    free(text);
    return pages;
}

static double load_now(void)
{
    double load;

    return getloadavg(&load, 1) == 1 ? load : NAN;
}

/* Processor seconds of all programs, with stolen time, and of this one with its children. */
static pyro_processor_use use_now(void)
{
    pyro_processor_use use = {NAN, NAN, pyro_now_ns()};
    long long user, nice, system, idle, waiting, interrupts, soft, stolen;
    struct rusage own, children;
    char text[512];

    if (!pyro_system_text("/proc/stat", text, sizeof text) ||
        sscanf(text, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &user, &nice, &system, &idle,
               &waiting, &interrupts, &soft, &stolen) != 8 ||
        getrusage(RUSAGE_SELF, &own) != 0 || getrusage(RUSAGE_CHILDREN, &children) != 0)
        return use;
    use.all_s = (double)(user + nice + system + interrupts + soft + stolen) /
                (double)sysconf(_SC_CLK_TCK);
    const struct timeval *parts[] = {&own.ru_utime, &own.ru_stime, &children.ru_utime,
                                     &children.ru_stime};
    use.own_s = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        use.own_s += (double)parts[i]->tv_sec + (double)parts[i]->tv_usec / 1e6;
    return use;
}

/* Number of processors that other programs kept busy since then; NaN: unknown. */
static double others_since(const pyro_processor_use *before)
{
    pyro_processor_use now = use_now();
    double elapsed_s = (double)(now.time_ns - before->time_ns) / 1e9;

    if (before->time_ns == 0 || elapsed_s < USE_MIN_S)
        return NAN;
    double all_s = now.all_s - before->all_s, own_s = now.own_s - before->own_s;
    /* Some containers report only zeros. */
    if (isnan(all_s) || (own_s > 0.1 && all_s < own_s / 2))
        return NAN;
    return fmax(0, (all_s - own_s) / elapsed_s);
}

/* OMP_NUM_THREADS and similar variables, which set how many threads a model uses. */
static void describe_threads(char *text, size_t size)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                        "OPENBLAS_NUM_THREADS"};
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);

        if (value && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%s=%.20s",
                                       length > 0 ? " " : "", names[i], value);
    }
}

static int set(pyro_bench *bench, const char **member, const char *text, pyro_error *error)
{
    return pyro_bench_set_text(bench, member, text && text[0] != '\0' ? text : NULL, error);
}

static int read_processor(pyro_bench *bench, char *text, pyro_error *error)
{
    pyro_environment *environment = &bench->environment;
    char value[256] = "";
    int status;

    pyro_system_text("/proc/cpuinfo", text, PYRO_SYSTEM_TEXT);
    find_cpu_model(text, value, sizeof value);
    status = set(bench, &environment->cpu_model, value, error);
    if (!pyro_system_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", value,
                          sizeof value))
        value[0] = '\0';
    if (status == PYRO_OK)
        status = set(bench, &environment->governor, value, error);
    describe_threads(value, sizeof value);
    if (status == PYRO_OK)
        status = set(bench, &environment->threads, value, error);
    environment->cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
    environment->usable_cpus = pyro_count_processors();
    return status;
}

static int read_system(pyro_bench *bench, char *text, pyro_error *error)
{
    pyro_environment *environment = &bench->environment;
    struct utsname names;
    char value[256];
    int status = PYRO_OK;

    if (uname(&names) == 0) {
        snprintf(value, sizeof value, "%.100s %.100s", names.sysname, names.release);
        status = set(bench, &environment->kernel, value, error);
        if (status == PYRO_OK)
            status = set(bench, &environment->architecture, names.machine, error);
    }
    if (status == PYRO_OK && pyro_system_text("/etc/os-release", text, PYRO_SYSTEM_TEXT) &&
        pyro_system_value(text, "PRETTY_NAME", value, sizeof value))
        status = set(bench, &environment->system, value, error);
    if (status == PYRO_OK && pyro_git_commit(value, sizeof value))
        status = set(bench, &environment->commit, value, error);
    pyro_system_text("/proc/meminfo", text, PYRO_SYSTEM_TEXT);
    int64_t memory_kib = pyro_system_number(text, "MemTotal");
    int64_t swap_kib = pyro_system_number(text, "SwapTotal") - pyro_system_number(text, "SwapFree");
    environment->memory_bytes = memory_kib > 0 ? memory_kib * 1024 : 0;
    environment->swap_used_bytes = swap_kib > 0 ? swap_kib * 1024 : 0;
    return status;
}

static int read_gpus(pyro_bench *bench, pyro_error *error)
{
    pyro_gpus gpus;
    int status = pyro_gpus_read(&gpus, &bench->store->arena, error);

    bench->environment.gpu = gpus.names;
    bench->environment.gpu_driver = gpus.driver;
    bench->environment.gpu_clocks = gpus.clocks;
    if (status == PYRO_OK && gpus.slowed)
        status = pyro_bench_warn(bench, error, "a GPU is slowed down by heat or power");
    return status;
}

int pyro_environment_before(pyro_bench *bench, pyro_error *error)
{
    pyro_environment *environment = &bench->environment;
    char *text = malloc(PYRO_SYSTEM_TEXT);

    if (!text)
        return pyro_fail_memory(error);
    int status = read_processor(bench, text, error);
    if (status == PYRO_OK)
        status = read_system(bench, text, error);
    free(text);
    if (status == PYRO_OK)
        status = read_gpus(bench, error);
    environment->load_1m_before = load_now();
    bench->store->use_before = use_now();
    bench->store->throttled_before = count_throttling();
    bench->store->swapped_pages_before = count_swapped_pages();
    return status;
}

static int warn_of_load(pyro_bench *bench, pyro_error *error)
{
    const pyro_environment *environment = &bench->environment;
    double processors = (double)environment->cpu_count;

    if (environment->other_cpus > 0.25 * processors)
        return pyro_bench_warn(bench, error,
                               "other programs were running: load %.1f on %.0f processors, of "
                               "which they used %.1f",
                               environment->load_1m_before, processors, environment->other_cpus);
    if (environment->load_1m_before > 0.5 * processors)
        return pyro_bench_warn(bench, error,
                               "other programs were running: load %.1f on %.0f processors",
                               environment->load_1m_before, processors);
    return PYRO_OK;
}

int pyro_environment_after(pyro_bench *bench, pyro_error *error)
{
    pyro_environment *environment = &bench->environment;
    int64_t throttled = count_throttling(), swapped = count_swapped_pages();

    environment->load_1m_after = load_now();
    environment->other_cpus = others_since(&bench->store->use_before);
    int status = warn_of_load(bench, error);
    if (throttled >= 0 && bench->store->throttled_before >= 0)
        environment->throttled = throttled - bench->store->throttled_before;
    if (swapped >= 0 && bench->store->swapped_pages_before >= 0)
        environment->swapped_pages = swapped - bench->store->swapped_pages_before;
    if (status == PYRO_OK && environment->throttled > 0)
        status = pyro_bench_warn(bench, error, "the processor was throttled %lld times by heat",
                                 (long long)environment->throttled);
    if (status == PYRO_OK && environment->swapped_pages > 0)
        status = pyro_bench_warn(bench, error, "the machine swapped: %lld pages moved meanwhile",
                                 (long long)environment->swapped_pages);
    if (status == PYRO_OK && environment->governor &&
        strcmp(environment->governor, "performance") != 0)
        status = pyro_bench_warn(bench, error,
                                 "the frequency governor is %s; performance varies less",
                                 environment->governor);
    return status;
}
