/*
 * Sweeps over classes of intervals and reports, for every window, how long each combination of
 * classes covered it. Windows may overlap.
 */
#ifndef PYRO_ANALYZE_WINDOW_SWEEP_H
#define PYRO_ANALYZE_WINDOW_SWEEP_H

#include "analyze/analyze.h"
#include "analyze/intervals.h"

/* A part of a window, which exactly these classes (bits) covered; it comes in several calls, some
 * of them with negative times, whose sum is what counts. */
typedef void (*pyro_window_part_fn)(void *user, uint32_t window, unsigned classes, int64_t part_ns);

typedef struct pyro_window_sweep {
    pyro_sweep sweep;
    const pyro_boundary *boundaries;
    size_t boundary_count, next_boundary;
    pyro_window_part_fn part;
    void *user;
    unsigned class_count;
    int64_t covered_ns[1u << PYRO_SWEEP_CLASSES]; /* so far, by exactly these classes */
} pyro_window_sweep;

/* The context's windows must be made; add intervals by pyro_sweep_cover(&sweep->sweep, ...). */
void pyro_window_sweep_init(pyro_window_sweep *sweep, const pyro_analysis_context *context,
                            unsigned class_count, pyro_window_part_fn part, void *user);
void pyro_window_sweep_finish(pyro_window_sweep *sweep);

#endif
