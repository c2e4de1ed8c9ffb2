/*
 * Finds the nearest enclosing event that passes a test. Caches distant results for all events on
 * the way, so that deep nesting does not cost quadratic time.
 */
#ifndef PYRO_ANALYZE_ENCLOSING_H
#define PYRO_ANALYZE_ENCLOSING_H

#include "trace/joins/joins.h"

/* Begins as zeros. One belongs to one test, whose result for an event must not change. */
typedef struct pyro_enclosing {
    uint32_t *known; /* by event: what was found around it, plus 2; 1: nothing; 0: not asked yet */
} pyro_enclosing;

typedef bool pyro_enclosing_test(const void *user, uint32_t event);

/* Goes on from `outer`, which is some levels around `event` and was not tested yet. */
uint32_t pyro_enclosing_find_far(pyro_enclosing *enclosing, const pyro_joins *joins,
                                 size_t event_count, uint32_t event, uint32_t outer,
                                 pyro_enclosing_test *test, const void *user);
void pyro_enclosing_free(pyro_enclosing *enclosing);

/* PYRO_NO_EVENT where no event around passes; the event itself is not tested. */
static inline uint32_t pyro_enclosing_find(pyro_enclosing *enclosing, const pyro_joins *joins,
                                           size_t event_count, uint32_t event,
                                           pyro_enclosing_test *test, const void *user)
{
    uint32_t outer = joins->parent[event];
    for (int i = 0; i < 32 && outer != PYRO_NO_EVENT; i++) {
        if (test(user, outer))
            return outer;
        outer = joins->parent[outer];
    }
    return outer == PYRO_NO_EVENT
               ? outer
               : pyro_enclosing_find_far(enclosing, joins, event_count, event, outer, test, user);
}

#endif
