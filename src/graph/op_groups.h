/* Finds operators by their names in traces, and groups them for advice. */
#ifndef PYRO_GRAPH_OP_GROUPS_H
#define PYRO_GRAPH_OP_GROUPS_H

#include "graph/ops.h"

/* Bits, derived from an operator's row in ops.def. */
enum {
    PYRO_GROUP_CONTRACTION = 1, /* products, convolutions, attention: work of matrix units */
    PYRO_GROUP_PRODUCT = 2, /* matrix products, including linear layers */
    PYRO_GROUP_CONVOLUTION = 4,
    PYRO_GROUP_FUSIBLE = 8, /* elementwise operators, norms and softmax, which compilers fuse */
    PYRO_GROUP_BATCH_NORM = 16,
    PYRO_GROUP_SCORES = 32 /* products and softmax of unfused attention */
};

/* PYRO_GROUP_* of an operator; 0 for NULL. */
unsigned pyro_op_groups(const pyro_op *op);

/* Finds an operator by its name in traces ("aten::conv2d"), or returns NULL. */
const pyro_op *pyro_op_find_recorded(const pyro_op_index *index, const char *name);

#endif
