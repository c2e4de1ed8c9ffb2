/*
 * Estimates how long a collective waited for another rank: by how much it took longer than the
 * fastest call with the same kind, group, type and size.
 */
#ifndef PYRO_ANALYZE_DEVICE_PEER_WAIT_H
#define PYRO_ANALYZE_DEVICE_PEER_WAIT_H

#include "analyze/device/collective_event.h"

typedef struct pyro_peer_waits {
    pyro_collective_finder finder;
    pyro_collective_set set;
    int64_t *fastest_ns; /* by row of the set */
    size_t capacity;
} pyro_peer_waits; /* begins as zeros */

int pyro_peer_waits_init(pyro_peer_waits *waits, pyro_analysis_context *context);
void pyro_peer_waits_free(pyro_peer_waits *waits);

/* The first part of a collective kernel, in which it waited. 0 where that cannot be decided: too few
 * calls, an unknown size, or a call that took less than twice as long as the fastest. */
int64_t pyro_peer_wait_ns(pyro_peer_waits *waits, const pyro_analysis_context *context,
                          uint32_t event);

#endif
