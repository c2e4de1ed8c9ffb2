/* Rows for replayed graphs whose kernels have no layers of their own. */
#ifndef PYRO_ANALYZE_DEVICE_GRAPH_ROWS_H
#define PYRO_ANALYZE_DEVICE_GRAPH_ROWS_H

#include "analyze/analyze.h"

/* Adds layers and calls to the joins, and moves such kernels there. Needs the joins alone. */
int pyro_make_graph_rows(pyro_analysis_context *context, pyro_joins *joins);

#endif
