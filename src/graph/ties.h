/* Weights that several names share, inferred from how the graph uses them. */
#ifndef PYRO_GRAPH_TIES_H
#define PYRO_GRAPH_TIES_H

#include "graph/model.h"

/*
 * For files that do not say which weights share storage. Export replaces every use of a shared
 * weight by its last name: a parameter that no node uses, while a node of the module that owns it
 * uses another module's parameter of the same shape and type, is that parameter. Noted.
 */
int pyro_model_tie_unused(pyro_model *model, pyro_error *error);

#endif
