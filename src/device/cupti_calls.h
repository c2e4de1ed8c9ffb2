/*
 * The host calls that CUPTI reports to us: which ones are wanted, by name, and how many launches
 * still wait for their work. There is no table of launches: correlations are so far apart that each
 * launch would miss the cache. Code that runs at every launch is here, inlined: between two
 * launches the program evicts it from the cache, so few cache lines matter more than instructions.
 */
#ifndef PYRO_DEVICE_CUPTI_CALLS_H
#define PYRO_DEVICE_CUPTI_CALLS_H

#include "device/collector.h"
#include "device/cupti_subscription.h"

#define PYRO_MOST_CALL_IDS 1536
#define PYRO_CALL_TIMES 4096
#define PYRO_SEEN_GRAPHS 4096

#define PYRO_LONGEST_CALL_NAME 40

/* When a launch began; the oldest are overwritten. */
typedef struct pyro_call_time {
    uint64_t begun; /* recorder's clock */
    uint32_t correlation;
} pyro_call_time;

/* What every launch uses comes first. */
typedef struct pyro_cupti_calls {
    uint64_t launches;    /* of kernels and graphs */
    uint32_t first;       /* correlation of the first of them; 0: none yet */
    uint32_t wants_times; /* of launches, in `times` */
    /* By domain and id; without a name: not wanted. */
    pyro_device_call known[3][PYRO_MOST_CALL_IDS];
    uint16_t name_count;                          /* different names */
    char names[PYRO_MOST_CALL_NUMBERS][PYRO_LONGEST_CALL_NAME]; /* by number */
    pyro_call_time times[PYRO_CALL_TIMES];
    uint32_t seen_graphs[PYRO_SEEN_GRAPHS]; /* launches whose first work has arrived */
    uint64_t done; /* launches whose work arrived or never will; other threads count them */
} pyro_cupti_calls;

/* Finds the ids of the wanted calls by their names. */
void pyro_cupti_calls_begin(pyro_cupti_calls *calls, const pyro_cupti *cupti);
/* Forgets the launches so far. */
void pyro_cupti_calls_restart(pyro_cupti_calls *calls);
/* Switches the callbacks of all wanted calls. Returns the number of calls. */
size_t pyro_cupti_calls_enable(const pyro_cupti_calls *calls,
                               const pyro_cupti_subscription *subscription, bool enable);
/* A launch failed, or was added to a graph: no work will arrive. */
void pyro_cupti_launch_ended(pyro_cupti_calls *calls);
/* Work of a launch has arrived; a launch of a graph (`graph`) has several. */
void pyro_cupti_launch_worked(pyro_cupti_calls *calls, uint32_t correlation, uint32_t graph);
void pyro_cupti_launch_keep_time(pyro_cupti_calls *calls, uint32_t correlation, uint64_t now);
/* When a launch began; 0: it is unknown. */
uint64_t pyro_cupti_launch_begun(const pyro_cupti_calls *calls, uint32_t correlation);

/* The wanted call with an id, or NULL. */
static inline const pyro_device_call *pyro_cupti_calls_find(const pyro_cupti_calls *calls,
                                                            int domain, uint32_t id)
{
    if ((domain != PYRO_CUPTI_DRIVER && domain != PYRO_CUPTI_RUNTIME) || id >= PYRO_MOST_CALL_IDS ||
        !calls->known[domain][id].name)
        return NULL;
    return &calls->known[domain][id];
}

/* Returns whether the launch's time is wanted. */
static inline bool pyro_cupti_launch_begins(pyro_cupti_calls *calls, uint32_t correlation)
{
    __atomic_fetch_add(&calls->launches, 1, __ATOMIC_RELAXED);
    if (__builtin_expect(!__atomic_load_n(&calls->first, __ATOMIC_RELAXED), 0))
        __atomic_store_n(&calls->first, correlation, __ATOMIC_RELAXED);
    return __atomic_load_n(&calls->wants_times, __ATOMIC_RELAXED);
}

#endif
