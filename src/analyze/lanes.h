/*
 * Runs all analyses over the events. Independent analyses are in different lanes, and the workers
 * of a thread pool advance lanes in parallel.
 */
#ifndef PYRO_ANALYZE_LANES_H
#define PYRO_ANALYZE_LANES_H

#include "analyze/analyze.h"

#define PYRO_LANES 4
/* One per lane, and one per worker: there are never more workers than lanes. */
#define PYRO_LANE_ARENAS (2 * PYRO_LANES)

typedef struct pyro_lane_row {
    const pyro_analyzer *analyzer;
    unsigned lane; /* below PYRO_LANES; on one thread all lanes are one */
    unsigned after; /* the lane that must have begun before: its inits are then done */
} pyro_lane_row;

/*
 * Runs every analysis: all inits of a lane, one pass, all finishes, in the order of the rows. What
 * lanes leave in the result lives in `arenas`, which the caller has initialised and frees. Notes of
 * all are in `context` afterwards.
 */
int pyro_run_analyses(pyro_analysis_context *context, const pyro_lane_row *rows, size_t count,
                      pyro_arena arenas[PYRO_LANE_ARENAS]);

#endif
