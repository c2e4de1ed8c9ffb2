/*
 * The host calls that CUPTI reports to us: which ones are wanted, by name, and which launches wait
 * for their work, by correlation. Code that runs at every launch is here, inlined: between two
 * launches the program evicts it from the cache, so few cache lines matter more than instructions.
 */
#ifndef PYRO_DEVICE_CUPTI_CALLS_H
#define PYRO_DEVICE_CUPTI_CALLS_H

#include "device/cupti_subscription.h"

#define PYRO_MOST_CALL_IDS 1536
#define PYRO_CALL_SLOTS ((size_t)1 << 18)
#define PYRO_CALL_TIMES 4096

typedef struct pyro_known_call {
    bool is_wanted, starts_kernels;
    uint16_t number; /* of the name; 0: none left */
    char name[40];   /* without suffixes */
} pyro_known_call;

/* When a launch began; the oldest are overwritten. */
typedef struct pyro_call_time {
    uint64_t begun; /* recorder's clock */
    uint32_t correlation;
} pyro_call_time;

typedef struct pyro_cupti_calls {
    pyro_known_call known[3][PYRO_MOST_CALL_IDS]; /* by domain and id */
    uint16_t name_count;                          /* different names */
    uint32_t *waiting;    /* launches by the low bits of the correlation; 0: none */
    uint32_t wants_times; /* of launches, in `times` */
    pyro_call_time times[PYRO_CALL_TIMES];
    uint64_t launches, done; /* launches of kernels; of those whose work arrived or never will */
} pyro_cupti_calls;

/* Finds the ids of the wanted calls by their names; false when memory is out. */
bool pyro_cupti_calls_begin(pyro_cupti_calls *calls, const pyro_cupti *cupti);
void pyro_cupti_calls_end(pyro_cupti_calls *calls);
/* Switches the callbacks of all wanted calls. Returns the number of calls. */
size_t pyro_cupti_calls_enable(const pyro_cupti_calls *calls,
                               const pyro_cupti_subscription *subscription, bool enable);
/* The work of a launch has arrived, or never will. */
void pyro_cupti_launch_done(pyro_cupti_calls *calls, uint32_t correlation);
void pyro_cupti_launch_keep_time(pyro_cupti_calls *calls, uint32_t correlation, uint64_t now);
/* When a launch began; 0: it is unknown. */
uint64_t pyro_cupti_launch_begun(const pyro_cupti_calls *calls, uint32_t correlation);

/* The wanted call with an id, or NULL. */
static inline const pyro_known_call *pyro_cupti_calls_find(const pyro_cupti_calls *calls,
                                                           int domain, uint32_t id)
{
    if ((domain != PYRO_CUPTI_DRIVER && domain != PYRO_CUPTI_RUNTIME) || id >= PYRO_MOST_CALL_IDS ||
        !calls->known[domain][id].is_wanted)
        return NULL;
    return &calls->known[domain][id];
}

static inline void pyro_cupti_launch_begins(pyro_cupti_calls *calls, uint32_t correlation,
                                            uint64_t now)
{
    uint32_t *place = &calls->waiting[correlation & (PYRO_CALL_SLOTS - 1)];
    __atomic_store_n(place, correlation, __ATOMIC_RELEASE);
    __atomic_fetch_add(&calls->launches, 1, __ATOMIC_RELAXED);
    if (__builtin_expect(__atomic_load_n(&calls->wants_times, __ATOMIC_RELAXED), 0))
        pyro_cupti_launch_keep_time(calls, correlation, now);
}

#endif
