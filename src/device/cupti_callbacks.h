/*
 * CUPTI's callbacks, on the program's threads: they report calls and nodes of graphs to the sink. A
 * launch with nothing of interest inside takes a short path: between two launches the program evicts
 * code and data from the caches, so few cache lines matter more than instructions.
 */
#ifndef PYRO_DEVICE_CUPTI_CALLBACKS_H
#define PYRO_DEVICE_CUPTI_CALLBACKS_H

#include "device/cupti_calls.h"

typedef struct pyro_cupti_callbacks {
    const pyro_device_sink *sink;
    const pyro_cupti *cupti;
    pyro_cupti_calls calls;
    uint64_t
        last_node; /* recorder's clock: when a node was added to a graph; 0: none is captured */
    bool is_clock_proven; /* the collector's thread needs no more times of launches */
} pyro_cupti_callbacks;

/* Finds the wanted calls; once per process. */
void pyro_cupti_callbacks_begin(pyro_cupti_callbacks *callbacks, const pyro_cupti *cupti);
/* Forgets what was called so far. */
void pyro_cupti_callbacks_restart(pyro_cupti_callbacks *callbacks, const pyro_device_sink *sink);
/* Whether callbacks report anything; one switch per process. */
void pyro_cupti_callbacks_report(bool reports);
/* Switches the callbacks of all wanted calls and of nodes. */
void pyro_cupti_callbacks_enable(const pyro_cupti_callbacks *callbacks,
                                 const pyro_cupti_subscription *subscription, bool enable);
/* The times of the next launches are kept (pyro_cupti_launch_begun), or none. */
void pyro_cupti_callbacks_want_times(bool wants);

/* A pyro_cupti_callback; `user` is a pyro_cupti_callbacks. */
void pyro_cupti_on_callback(void *user, int domain, uint32_t id, const void *data);

#endif
