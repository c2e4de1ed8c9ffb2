/* What must hold of a graph before anything is computed from it. */
#ifndef PYRO_GRAPH_VALIDATE_H
#define PYRO_GRAPH_VALIDATE_H

#include "graph/model.h"

/*
 * Every value is made once, before it is used, and described; sizes get their values; the inputs of
 * subgraphs get the roles of what is passed in. PYRO_ERROR_FORMAT with the node's place otherwise.
 */
int pyro_model_validate(pyro_model *model, pyro_error *error);

#endif
