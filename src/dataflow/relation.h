/* Decides how a node's output relates to its first input: new, in its memory, or itself. */
#ifndef PYRO_DATAFLOW_RELATION_H
#define PYRO_DATAFLOW_RELATION_H

#include "dataflow/region.h"
#include "graph/model.h"

typedef enum pyro_relation {
    PYRO_RELATION_NEW,
    PYRO_RELATION_VIEW,
    PYRO_RELATION_SAME /* the operator returns its input tensor itself */
} pyro_relation;

/*
 * Relation of an output to the first tensor that the node uses. `is_view` and `moves` come from the
 * node's cost: it only makes views; it moves bytes.
 */
pyro_relation pyro_node_relation(const pyro_model *model, const pyro_node *node, uint32_t input,
                                 uint32_t output, bool is_view, bool moves);

/* The bytes of a value in its storage; unknown if the file has no strides. */
pyro_region pyro_value_region(const pyro_model *model, const pyro_value *value);

#endif
