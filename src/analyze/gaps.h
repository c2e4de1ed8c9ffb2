/* A gap in a device's work, and the search for what the host did in it. */
#ifndef PYRO_ANALYZE_GAPS_H
#define PYRO_ANALYZE_GAPS_H

#include "analyze/analyze.h"

typedef struct pyro_gap {
    int64_t start_ns, end_ns;
    uint32_t next;   /* the work that ended it */
    uint32_t window; /* that holds its middle; PYRO_NO_EVENT */
    uint16_t device; /* number */
    pyro_gap_kind kind;
} pyro_gap;

/* How many events all searches together may look at, so that no trace makes them slow. */
int64_t pyro_gap_effort(const pyro_analysis_context *context);

/* Fills op, layer, line and sync of a row ("" where nothing is known) and lowers the effort left. */
int pyro_gap_explain(pyro_gap_row *row, pyro_analysis_context *context, const pyro_gap *gap,
                     int64_t *effort);

#endif
