/* How the output of a node of a file lies to its first input: new, in the same memory, or itself. */
#ifndef PYRO_DATAFLOW_RELATION_H
#define PYRO_DATAFLOW_RELATION_H

#include "dataflow/region.h"
#include "graph/model.h"

typedef enum pyro_relation {
    PYRO_RELATION_NEW,
    PYRO_RELATION_VIEW,
    PYRO_RELATION_SAME /* the operator returns the very tensor that it was given */
} pyro_relation;

/*
 * Of an output to the first tensor that the node takes. `is_view` and `moves` are what the node's
 * price says: it only makes views; it moves bytes.
 */
pyro_relation pyro_node_relation(const pyro_model *model, const pyro_node *node, uint32_t input,
                                 uint32_t output, bool is_view, bool moves);

/* The bytes of a value in its storage; not known where the file has no strides. */
pyro_region pyro_value_region(const pyro_model *model, const pyro_value *value);

#endif
