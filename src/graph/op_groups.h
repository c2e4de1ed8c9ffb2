/* Operators by the names that traces have for them, and the groups that advice is about. */
#ifndef PYRO_GRAPH_OP_GROUPS_H
#define PYRO_GRAPH_OP_GROUPS_H

#include "graph/ops.h"

/* Bits; they follow from an operator's row in ops.def. */
enum {
    PYRO_GROUP_CONTRACTION = 1, /* products, convolutions, attention: what matrix units compute */
    PYRO_GROUP_PRODUCT = 2, /* matrix products, linear layers among them */
    PYRO_GROUP_CONVOLUTION = 4,
    PYRO_GROUP_FUSIBLE = 8, /* element by element, norms and softmax: what compilers fuse */
    PYRO_GROUP_BATCH_NORM = 16,
    PYRO_GROUP_SCORES = 32 /* products and softmax of attention that is not fused */
};

/* PYRO_GROUP_* of an operator; 0 for NULL. */
unsigned pyro_op_groups(const pyro_op *op);

/* The row of an operator as a trace names it ("aten::conv2d"); NULL: it has none. */
const pyro_op *pyro_op_find_recorded(const pyro_op_index *index, const char *name);

#endif
