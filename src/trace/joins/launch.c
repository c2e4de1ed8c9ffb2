/*
 * Joins device work to the call that launched it, by correlation. Ids repeat if traces of several
 * processes were merged or counters wrapped: then launches of the device's own process count, and
 * of those the latest that began before the work.
 */
#include "trace/joins/internal.h"

#include "base/error.h"
#include "base/pages.h"
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

/* Correlation above event; entries of one correlation are in order of time. */
typedef struct entries {
    uint64_t *items, *spare;
    size_t count;
} entries;

#define NO_PROCESS UINT32_MAX

/* Processes, numbered from 0; needed only for traces with launches of several processes. */
typedef struct processes {
    uint32_t
        *of_track; /* of a host track: its process; of a device track: that whose work it does */
    bool *is_shared;    /* by device track: unambiguous ids point to several processes */
    uint32_t *nearest;  /* by process: its latest launch in the current group */
    size_t *met_in;     /* by process: the group that `nearest` belongs to */
    size_t count;
} processes;

static uint32_t correlation_of(uint64_t item)
{
    return (uint32_t)(item >> 32);
}

static uint32_t event_of(uint64_t item)
{
    return (uint32_t)item;
}

static bool is_launch(uint8_t category)
{
    return category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER;
}

static bool is_launched(uint8_t category)
{
    return pyro_event_is_device_work(category) || category == PYRO_EVENT_SYNC;
}

/* Launches and what they launch are neighbours among the categories. */
static bool is_linked(uint8_t category)
{
    return category >= PYRO_EVENT_RUNTIME && category <= PYRO_EVENT_SYNC;
}

static size_t next_linked(const pyro_trace *trace, size_t from)
{
    return pyro_trace_next_of(trace, from, PYRO_EVENT_RUNTIME, PYRO_EVENT_SYNC);
}

/* Collects all events with a correlation, in order of time. */
static bool gather(const pyro_trace *trace, const uint32_t *by_time, entries *all)
{
    size_t count = 0;
    for (size_t i = next_linked(trace, 0); i < trace->count; i = next_linked(trace, i + 1))
        count += trace->correlation[i] != 0;
    all->items = pyro_alloc_pages((count ? count : 1) * sizeof *all->items);
    all->spare = pyro_alloc_pages((count ? count : 1) * sizeof *all->spare);
    if (!all->items || !all->spare)
        return false;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = by_time[i];
        if (is_linked(trace->category[event]) && trace->correlation[event])
            all->items[all->count++] = (uint64_t)trace->correlation[event] << 32 | event;
    }
    return true;
}

/* A stable sort by correlation, which keeps the order of time within each. */
static void sort_by_correlation(entries *all)
{
    for (unsigned shift = 32; shift < 64; shift += DIGIT_BITS) {
        size_t starts[DIGITS + 1] = {0};
        for (size_t i = 0; i < all->count; i++)
            starts[(all->items[i] >> shift & (DIGITS - 1)) + 1]++;
        if (all->count && starts[(all->items[0] >> shift & (DIGITS - 1)) + 1] == all->count)
            continue;
        for (size_t i = 0; i < DIGITS; i++)
            starts[i + 1] += starts[i];
        for (size_t i = 0; i < all->count; i++)
            all->spare[starts[all->items[i] >> shift & (DIGITS - 1)]++] = all->items[i];
        uint64_t *swapped = all->items;
        all->items = all->spare;
        all->spare = swapped;
    }
}

static bool number_processes(const pyro_trace *trace, processes *all)
{
    pyro_map number_of_pid = PYRO_MAP_INIT;
    bool ok = true;
    for (size_t i = 0; ok && i < trace->track_count; i++) {
        all->of_track[i] = NO_PROCESS;
        if (trace->tracks[i].is_device)
            continue;
        uint32_t number = pyro_map_get(&number_of_pid, trace->tracks[i].pid);
        if (number == PYRO_MAP_NONE) {
            number = (uint32_t)all->count++;
            ok = pyro_map_put(&number_of_pid, trace->tracks[i].pid, number);
        }
        all->of_track[i] = number;
    }
    pyro_map_free(&number_of_pid);
    return ok;
}

static bool begin_processes(const pyro_trace *trace, processes *all)
{
    size_t room = trace->track_count + 1;
    all->of_track = calloc(room, sizeof *all->of_track);
    all->is_shared = calloc(room, sizeof *all->is_shared);
    all->nearest = calloc(room, sizeof *all->nearest);
    all->met_in = calloc(room, sizeof *all->met_in);
    return all->of_track && all->is_shared && all->nearest && all->met_in &&
           number_processes(trace, all);
}

static void end_processes(processes *all)
{
    free(all->of_track);
    free(all->is_shared);
    free(all->nearest);
    free(all->met_in);
}

static size_t group_size(const entries *all, size_t begin)
{
    size_t end = begin + 1;
    while (end < all->count && correlation_of(all->items[end]) == correlation_of(all->items[begin]))
        end++;
    return end - begin;
}

/* The only process with launches in the group; NO_PROCESS if several or none have launches. */
static uint32_t only_process(const pyro_trace *trace, const processes *all, const uint64_t *group,
                             size_t size)
{
    uint32_t only = NO_PROCESS;
    for (size_t i = 0; i < size; i++) {
        uint32_t event = event_of(group[i]);
        if (!is_launch(trace->category[event]))
            continue;
        uint32_t process = all->of_track[trace->track[event]];
        if (only != NO_PROCESS && process != only)
            return NO_PROCESS;
        only = process;
    }
    return only;
}

/* Learns the process of each device track from ids that only one process uses. */
static void learn_owners(const pyro_trace *trace, processes *all, const entries *entries)
{
    for (size_t i = 0, size; i < entries->count; i += size) {
        const uint64_t *group = entries->items + i;
        size = group_size(entries, i);
        uint32_t process = only_process(trace, all, group, size);
        for (size_t j = 0; process != NO_PROCESS && j < size; j++) {
            uint16_t track = trace->track[event_of(group[j])];
            if (!is_launched(trace->category[event_of(group[j])]))
                continue;
            if (all->of_track[track] == NO_PROCESS)
                all->of_track[track] = process;
            else if (all->of_track[track] != process)
                all->is_shared[track] = true;
        }
    }
}

/* Joins one entry of a group to launches of the same process. */
static void join_to_owner(pyro_join_state *state, processes *all, uint32_t event, size_t pass)
{
    const pyro_trace *trace = state->trace;
    uint16_t track = trace->track[event];
    uint32_t process = all->of_track[track];
    if (process == NO_PROCESS)
        return;
    if (is_launch(trace->category[event])) {
        all->nearest[process] = event;
        all->met_in[process] = pass;
    } else if (!all->is_shared[track] && all->met_in[process] == pass &&
               state->joins->launch[event] == PYRO_NO_EVENT) {
        state->joins->launch[event] = all->nearest[process];
    }
}

/* Joins the rest to the latest launch so far, or to the first if clocks differ. */
static void join_by_time(pyro_join_state *state, const uint64_t *group, size_t size)
{
    const pyro_trace *trace = state->trace;
    uint32_t nearest = PYRO_NO_EVENT;
    for (size_t i = 0; i < size && nearest == PYRO_NO_EVENT; i++)
        if (is_launch(trace->category[event_of(group[i])]))
            nearest = event_of(group[i]);
    for (size_t i = 0; i < size; i++) {
        uint32_t event = event_of(group[i]);
        if (is_launch(trace->category[event]))
            nearest = event;
        else if (state->joins->launch[event] == PYRO_NO_EVENT)
            state->joins->launch[event] = nearest;
    }
}

static void join_groups(pyro_join_state *state, processes *all, const entries *entries)
{
    size_t pass = 0;
    for (size_t i = 0, size; i < entries->count; i += size) {
        const uint64_t *group = entries->items + i;
        size = group_size(entries, i);
        if (all->count > 1 && size > 2) {
            pass++;
            for (size_t j = 0; j < size; j++)
                join_to_owner(state, all, event_of(group[j]), pass);
            pass++;
            for (size_t j = size; j-- > 0;)
                join_to_owner(state, all, event_of(group[j]), pass);
        }
        join_by_time(state, group, size);
    }
}

int pyro_join_launches(pyro_join_state *state)
{
    entries all = {0};
    processes processes = {0};
    int status = PYRO_OK;
    if (!gather(state->trace, state->joins->by_time, &all) ||
        !begin_processes(state->trace, &processes)) {
        status = pyro_fail_memory(state->error);
        goto done;
    }
    sort_by_correlation(&all);
    if (processes.count > 1)
        learn_owners(state->trace, &processes, &all);
    join_groups(state, &processes, &all);
done:
    free(all.items);
    free(all.spare);
    end_processes(&processes);
    return status;
}
