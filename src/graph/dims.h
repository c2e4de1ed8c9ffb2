/* Which sizes of a model may change, as its file says, and how a wrong wish is answered. */
#ifndef PYRO_GRAPH_DIMS_H
#define PYRO_GRAPH_DIMS_H

#include "graph/model.h"

#define PYRO_FACTS_NONE {"", "", "", "", -1, -1, "", "", "", "", NULL, 0, NULL, 0, ""}

/* What the file says of one dim of an input; NULL: nothing. */
const pyro_dim *pyro_model_dim(const pyro_model *model, const pyro_value *value, size_t axis);
/* PYRO_ERROR_ARGUMENT, with the sizes that the input may have, where the file allows no such one. */
int pyro_dim_check(const pyro_model *model, const pyro_value *value, size_t axis, int64_t wanted,
                   pyro_error *error);
/* The same for a size that the file fixes. Only for models whose file says what may change. */
int pyro_dim_fixed(const pyro_model *model, const pyro_value *value, size_t axis, int64_t wanted,
                   int64_t fixed, pyro_error *error);

#endif
