/*
 * The host calls that CUPTI reports to us: which ones are wanted, by name, and the latest of them by
 * correlation, with the time at which they began and whether their work has arrived.
 */
#ifndef PYRO_DEVICE_CUPTI_CALLS_H
#define PYRO_DEVICE_CUPTI_CALLS_H

#include "device/cupti.h"

#define PYRO_MOST_CALL_IDS 1536
#define PYRO_CALL_SLOTS ((size_t)1 << 18)

typedef struct pyro_known_call {
    char name[40]; /* without suffixes; "": not wanted */
    bool starts_kernels;
} pyro_known_call;

/* A call that began; the oldest are overwritten. */
typedef struct pyro_call_slot {
    uint64_t begun; /* recorder's clock */
    uint32_t correlation;
    uint32_t state; /* pyro_call_state */
} pyro_call_slot;

enum { PYRO_CALL_FREE = 0, PYRO_CALL_WAITS = 1, PYRO_CALL_DONE = 2 };

typedef struct pyro_cupti_calls {
    pyro_known_call known[3][PYRO_MOST_CALL_IDS]; /* by domain and id */
    pyro_call_slot *slots;                        /* by the low bits of the correlation */
    uint64_t launches, done; /* launches of kernels; of those whose work arrived or never will */
} pyro_cupti_calls;

/* Finds the ids of the wanted calls by their names; false when memory is out. */
bool pyro_cupti_calls_begin(pyro_cupti_calls *calls, const pyro_cupti *cupti);
void pyro_cupti_calls_end(pyro_cupti_calls *calls);
/* Switches the callbacks of all wanted calls. Returns the number of calls. */
size_t pyro_cupti_calls_enable(const pyro_cupti_calls *calls, const pyro_cupti *cupti,
                               void *subscriber, bool enable);
/* The wanted call with an id, or NULL. */
const pyro_known_call *pyro_cupti_calls_find(const pyro_cupti_calls *calls, int domain,
                                             uint32_t id);

void pyro_cupti_call_begins(pyro_cupti_calls *calls, uint32_t correlation, uint64_t now,
                            bool starts_kernels);
/* Its work has arrived, or never will. */
void pyro_cupti_call_done(pyro_cupti_calls *calls, uint32_t correlation);
/* When a call began; 0: it is unknown. */
uint64_t pyro_cupti_call_begun(const pyro_cupti_calls *calls, uint32_t correlation);

#endif
