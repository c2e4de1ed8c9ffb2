/* What the files that roll costs up share (rollup.c, module_rows.c). */
#ifndef PYRO_GRAPH_ROLLUP_H
#define PYRO_GRAPH_ROLLUP_H

#include "graph/cost/cost.h"

/* Adds amounts; false on overflow, which the cost records. */
bool pyro_cost_add_work(pyro_cost *cost, pyro_work *sum, const pyro_work *work);
/* Names the row of a module and computes the figures that follow from its sums; false: overflow. */
bool pyro_cost_name_row(pyro_cost *cost, pyro_cost_row *row, uint32_t module);
/* Compares leading types: by FLOPs, then by bytes. */
bool pyro_cost_is_heavier(const int64_t *leader, const int64_t *than);

#endif
