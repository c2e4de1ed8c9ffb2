/* Helpers that the writers of graphs share. */
#ifndef PYRO_REPORT_GRAPH_WRITERS_H
#define PYRO_REPORT_GRAPH_WRITERS_H

#include "base/containers/buf.h"
#include "report/writers.h"

#include <pyrometer/graph.h>

void pyro_write_graph_stats(pyro_buf *buf, const pyro_dataflow *graph);
void pyro_write_graph_cuts(pyro_buf *buf, const pyro_dataflow *graph, const pyro_cuts *cuts);

/* "1x64x56x56", "scalar"; "?" stands for a size that depends on data. */
void pyro_graph_add_shape(pyro_buf *buf, const pyro_graph_tensor *tensor);

#endif
