/*
 * Computes unions, intersections and differences of intervals in one sorted pass. A sweep takes up
 * to eight classes of intervals, in order of their starts, and reports for each stretch of time
 * which classes cover it.
 */
#ifndef PYRO_ANALYZE_INTERVALS_H
#define PYRO_ANALYZE_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#define PYRO_SWEEP_CLASSES 8

/* A stretch of time, and the classes (bits) that cover all of it. */
typedef void (*pyro_segment_fn)(void *user, int64_t start_ns, int64_t end_ns, unsigned classes);

typedef struct pyro_sweep {
    pyro_segment_fn segment;
    void *user;
    unsigned class_count;
    int64_t now_ns;                       /* all time before it was reported */
    int64_t until_ns[PYRO_SWEEP_CLASSES]; /* a class covers [now, until) */
} pyro_sweep;

void pyro_sweep_init(pyro_sweep *sweep, unsigned class_count, int64_t start_ns,
                     pyro_segment_fn segment, void *user);
/* Reports everything up to a time. */
void pyro_sweep_to(pyro_sweep *sweep, int64_t time_ns);

/* Adds an interval. Starts of one class must not decrease; what lies before `now` is cut off. */
static inline void pyro_sweep_cover(pyro_sweep *sweep, unsigned class, int64_t start_ns,
                                    int64_t end_ns)
{
    if (end_ns <= sweep->until_ns[class] || end_ns <= start_ns)
        return;
    /* Only a hole in the class itself advances the sweep; else the interval extends the class. */
    if (start_ns > sweep->until_ns[class])
        pyro_sweep_to(sweep, start_ns);
    sweep->until_ns[class] = end_ns;
}

/* a + b of times that are not negative, kept at the largest number instead of overflowing. */
static inline int64_t pyro_add_ns(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

#endif
