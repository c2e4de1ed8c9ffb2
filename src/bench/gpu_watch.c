/* Watches a GPU while a loop runs: reads its state between iterations, and summarises it. */
#include "bench/gpu.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "bench/clock.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A clock below this share of the highest seen is throttled (as in nvbench). */
#define CLOCK_SHARE 0.75
#define LOOK_INTERVAL_NS INT64_C(1000000)
/* Looks take at most this share of the time, however slow the driver is. */
#define LOOK_SHARE 0.1
/* Power and heat are slow to query and slow to change. */
#define READ_INTERVAL_NS INT64_C(100000000)

void pyro_gpu_watch_begin(pyro_gpu_watch *watch, const pyro_gpu *gpu)
{
    *watch = (pyro_gpu_watch){.gpu = gpu, .record = pyro_gpu_limits(gpu)};
}

void pyro_gpu_watch_free(pyro_gpu_watch *watch)
{
    free(watch->clocks_mhz);
    *watch = (pyro_gpu_watch){0};
}

bool pyro_gpu_watch_is_due(const pyro_gpu_watch *watch, int64_t now_ns)
{
    return now_ns >= watch->next_look_ns;
}

/* fmin and fmax skip NaN, which is unknown. */
static void keep(pyro_gpu_record *record, const pyro_gpu_state *state)
{
    record->clock_min_mhz = fmin(record->clock_min_mhz, state->clock_mhz);
    record->clock_max_mhz = fmax(record->clock_max_mhz, state->clock_mhz);
    record->power_w = fmax(record->power_w, state->power_w);
    record->temperature_c = fmax(record->temperature_c, state->temperature_c);
    if (!isnan(state->memory_clock_mhz))
        record->memory_clock_mhz = state->memory_clock_mhz;
    record->reasons |= (int64_t)state->reasons;
    record->looks++;
}

int pyro_gpu_watch_look(pyro_gpu_watch *watch, int64_t now_ns, bool *throttled, pyro_error *error)
{
    bool whole = now_ns >= watch->next_read_ns;
    pyro_gpu_state state = whole ? pyro_gpu_read(watch->gpu) : pyro_gpu_glance(watch->gpu);
    int64_t after_ns = pyro_now_ns(), pause_ns;

    /* The fastest of several looks: others may have been interrupted. */
    if (watch->look_ns == 0 || after_ns - now_ns < watch->look_ns)
        watch->look_ns = after_ns - now_ns;
    pause_ns = watch->record.looks < 3 ? 0 : (int64_t)((double)watch->look_ns / LOOK_SHARE);
    if (whole)
        watch->next_read_ns = after_ns + READ_INTERVAL_NS;
    watch->next_look_ns = after_ns + (pause_ns > LOOK_INTERVAL_NS ? pause_ns : LOOK_INTERVAL_NS);
    keep(&watch->record, &state);
    /* Compared with the highest clock seen, not the chip's limit: clocks may be locked on
       purpose. */
    *throttled = pyro_gpu_is_throttled(&state) ||
                 state.clock_mhz < CLOCK_SHARE * watch->record.clock_max_mhz;
    watch->record.throttled_looks += *throttled;
    if (isnan(state.clock_mhz))
        return PYRO_OK;
    if (!pyro_grow(&watch->clocks_mhz, &watch->clock_capacity, watch->clock_count + 1,
                   sizeof *watch->clocks_mhz))
        return pyro_fail_memory(error);
    watch->clocks_mhz[watch->clock_count++] = state.clock_mhz;
    return PYRO_OK;
}

pyro_gpu_record pyro_gpu_watch_read(const pyro_gpu_watch *watch)
{
    pyro_gpu_record record = watch->record;

    if (watch->clock_count > 0)
        record.clock_mhz = pyro_select(watch->clocks_mhz, watch->clock_count,
                                       watch->clock_count / 2);
    return record;
}

void pyro_gpu_record_merge(pyro_gpu_record *into, const pyro_gpu_record *from)
{
    if (from->looks == 0)
        return;
    if (into->looks == 0) {
        *into = *from;
        return;
    }
    into->clock_mhz = fmin(into->clock_mhz, from->clock_mhz);
    into->clock_min_mhz = fmin(into->clock_min_mhz, from->clock_min_mhz);
    into->clock_max_mhz = fmax(into->clock_max_mhz, from->clock_max_mhz);
    into->power_w = fmax(into->power_w, from->power_w);
    into->temperature_c = fmax(into->temperature_c, from->temperature_c);
    into->looks += from->looks;
    into->throttled_looks += from->throttled_looks;
    into->reasons |= from->reasons;
}
