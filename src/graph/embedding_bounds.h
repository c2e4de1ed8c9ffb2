/* Checks that tables have all the rows that a graph looks up by position. */
#ifndef PYRO_GRAPH_EMBEDDING_BOUNDS_H
#define PYRO_GRAPH_EMBEDDING_BOUNDS_H

#include "graph/model.h"

/*
 * PYRO_ERROR_ARGUMENT if an index that depends only on the current sizes (positions) is out of
 * range: the model itself would raise. Ignores values that depend on data.
 */
int pyro_model_check_indices(const pyro_model *model, pyro_error *error);

#endif
