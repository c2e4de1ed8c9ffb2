/* Infers weights with several names from how the graph uses them. */
#ifndef PYRO_GRAPH_TIES_H
#define PYRO_GRAPH_TIES_H

#include "graph/model.h"

/*
 * For files that do not state which weights share storage. Export replaces every use of a shared
 * weight by its last name. So an unused parameter is tied if a node of its module uses another
 * module's parameter of the same shape and type. Adds a note.
 */
int pyro_model_tie_unused(pyro_model *model, pyro_error *error);

#endif
