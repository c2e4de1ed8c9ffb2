/* The variable sizes of a model, as stated in its file, and the errors for invalid sizes. */
#ifndef PYRO_GRAPH_DIMS_H
#define PYRO_GRAPH_DIMS_H

#include "graph/model.h"

#define PYRO_FACTS_NONE {"", "", "", "", -1, -1, "", "", "", "", NULL, 0, NULL, 0, ""}

/* What the file states about one dim of an input; NULL: nothing. */
const pyro_dim *pyro_model_dim(const pyro_model *model, const pyro_value *value, size_t axis);
/* PYRO_ERROR_ARGUMENT, with the valid sizes, if the file does not allow this size. */
int pyro_dim_check(const pyro_model *model, const pyro_value *value, size_t axis, int64_t wanted,
                   pyro_error *error);
/* The same for a size that the file fixes. Only for models whose file lists the variable sizes. */
int pyro_dim_fixed(const pyro_model *model, const pyro_value *value, size_t axis, int64_t wanted,
                   int64_t fixed, pyro_error *error);

#endif
