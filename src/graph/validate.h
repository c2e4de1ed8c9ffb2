/* Validates a graph before anything is computed from it. */
#ifndef PYRO_GRAPH_VALIDATE_H
#define PYRO_GRAPH_VALIDATE_H

#include "graph/model.h"

/*
 * Checks that every value is described, and made once before its use. Evaluates sizes, and gives
 * the inputs of subgraphs their roles. PYRO_ERROR_FORMAT with the node's offset if a check fails.
 */
int pyro_model_validate(pyro_model *model, pyro_error *error);

#endif
