/* Rows that a graph looks up by position: whether its tables have that many. */
#ifndef PYRO_GRAPH_EMBEDDING_BOUNDS_H
#define PYRO_GRAPH_EMBEDDING_BOUNDS_H

#include "graph/model.h"

/*
 * PYRO_ERROR_ARGUMENT where an index that follows from the sizes in force alone (positions, 0 to
 * length - 1) is beyond the end of what it indexes: the model itself would raise. Values that depend
 * on data are not followed.
 */
int pyro_model_check_indices(const pyro_model *model, pyro_error *error);

#endif
