/* The fast clock: decides whether the processor's counter is reliable, and relates it to time. */
#include "capture/session.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CALIBRATION_NS 1000000
#define READING_TRIES 5

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#if defined(__x86_64__)
/* Whether the counter has one rate on all cores and in all sleep states, as the kernel says. */
static bool counter_is_steady(void)
{
    unsigned a, b, c, d;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8))
        return true;
    char name[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file)
        return false;
    bool is_counter = fgets(name, sizeof name, file) && strcmp(name, "tsc\n") == 0;
    fclose(file);
    return is_counter;
}
#elif defined(__aarch64__)
static bool counter_is_steady(void)
{
    return true;
}
#else
static bool counter_is_steady(void)
{
    return false;
}
#endif

void pyro_clock_choose(pyro_recorder_api *api)
{
    api->uses_clock = !counter_is_steady();
}

/* Reads the counter before and after the time; keeps the closest pair of a few. */
pyro_recording_clock pyro_clock_read(const pyro_recorder_api *api)
{
    pyro_recording_clock best = {0, 0};
    uint64_t smallest = UINT64_MAX;
    for (int i = 0; i < READING_TRIES; i++) {
        uint64_t before = pyro_raw_time(api);
        int64_t now_ns = monotonic_ns();
        uint64_t width = pyro_raw_time(api) - before;
        if (width < smallest) {
            smallest = width;
            best = (pyro_recording_clock){before + width / 2, now_ns};
        }
    }
    return best;
}

double pyro_clock_rate(const pyro_recorder_api *api)
{
    static double known;
    if (api->uses_clock)
        return 1;
#if defined(__aarch64__)
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    if (frequency)
        return (double)frequency / 1e9;
#endif
    if (known > 0)
        return known;
    pyro_recording_clock first = pyro_clock_read(api), last;
    do
        last = pyro_clock_read(api);
    while (last.monotonic_ns - first.monotonic_ns < CALIBRATION_NS);
    known = (double)(last.raw - first.raw) / (double)(last.monotonic_ns - first.monotonic_ns);
    return known;
}

/* The rate is one word, so that neither a reader nor a killed process leaves half of a reading. */
void pyro_clock_renew(pyro_session *session)
{
    pyro_recording_header *header = session->header;
    pyro_recording_clock now = pyro_clock_read(&pyro_the_recorder_api);
    int64_t elapsed_ns = now.monotonic_ns - header->first.monotonic_ns;
    if (elapsed_ns < CALIBRATION_NS || now.raw <= header->first.raw)
        return;
    double rate = (double)(now.raw - header->first.raw) / (double)elapsed_ns;
    header->last = now;
    __atomic_store(&header->raw_per_ns, &rate, __ATOMIC_RELAXED);
}
