/* A gap in the work of a device, and the search for its cause on the host. */
#ifndef PYRO_ANALYZE_DEVICE_GAPS_H
#define PYRO_ANALYZE_DEVICE_GAPS_H

#include "analyze/analyze.h"

typedef struct pyro_gap {
    int64_t start_ns, end_ns;
    uint32_t next;   /* the work that ended it */
    uint32_t window; /* that holds its middle; PYRO_NO_EVENT */
    uint16_t device; /* number */
    pyro_gap_kind kind;
} pyro_gap;

/*
 * Fills op, layer, line and sync of a row ("" where nothing is known), looking at no more than
 * `most_events` in the gap.
 */
int pyro_gap_explain(pyro_gap_row *row, pyro_analysis_context *context, const pyro_gap *gap,
                     size_t most_events);

#endif
