/*
 * The backward of a call, as gradients.def describes it: its cost, what the forward keeps for it,
 * and how gradients reach the inputs.
 */
#ifndef PYRO_GRAPH_GRADIENTS_GRADIENTS_H
#define PYRO_GRAPH_GRADIENTS_GRADIENTS_H

#include "graph/ops.h"

typedef enum pyro_flow {
    PYRO_FLOW_NONE,  /* no gradient reaches the inputs */
    PYRO_FLOW_ALIAS, /* the gradient of an input is a view of the output's */
    PYRO_FLOW_PASS,  /* it is the output's where the sizes are equal, else a new tensor: a sum */
    PYRO_FLOW_NEW    /* it is a new tensor */
} pyro_flow;

enum { PYRO_GRADIENT_SAVED_MAX = 16 };

typedef struct pyro_gradient {
    pyro_flow flow;
    int64_t macs;
    int64_t torch_macs;  /* MACs that torch's counter sees */
    int64_t other_flops;
    const pyro_tensor *saved[PYRO_GRADIENT_SAVED_MAX]; /* inputs and outputs of the call */
    size_t saved_count;
    int64_t extra_bytes; /* made by the forward for the backward only: masks, indices, statistics */
    int64_t scratch_bytes; /* held by the backward beside the gradients of the inputs */
    bool is_assumed; /* the operator has no row: every input is kept */
} pyro_gradient;

typedef void (*pyro_gradient_rule)(pyro_call *call, const pyro_price *price, int flops,
                                   pyro_gradient *out);

/*
 * Describes the backward of a call whose inputs are marked (pyro_tensor.needs_gradient). An input
 * without the mark gets no gradient. Overflows are marked in the call.
 */
void pyro_op_gradient(pyro_call *call, const pyro_price *price, pyro_gradient *out);

#endif
