/* The kinds of backward in gradients.def, and the helpers that describe them. */
#ifndef PYRO_GRAPH_GRADIENTS_KINDS_H
#define PYRO_GRAPH_GRADIENTS_KINDS_H

#include "graph/call.h"
#include "graph/gradients/gradients.h"

#define KIND(name) \
    void pyro_gradient_##name(pyro_call *call, const pyro_price *price, int flops, \
                              pyro_gradient *out)

/* products.c */
KIND(product);
KIND(attention);
KIND(recurrent);
KIND(recurrent_cell);
KIND(fused_block);

/* einsum.c */
KIND(einsum);

/* elements.c */
KIND(none);
KIND(alias);
KIND(pass);
KIND(map);
KIND(from_inputs);
KIND(from_output);
KIND(from_inputs_and_output);
KIND(factors);
KIND(quotient);
KIND(power);
KIND(condition);
KIND(dropout);
KIND(copy);
KIND(cut);

/* layers.c */
KIND(batch_norm);
KIND(norm);
KIND(pool);
KIND(max_pool);
KIND(lookup);
KIND(scatter);
KIND(from_indices);
KIND(cross_entropy);

/* Keeps a tensor for the backward; once, and only if it is one. */
void pyro_gradient_save(pyro_gradient *out, const pyro_tensor *tensor);
/* Keeps all floating point inputs, or all others: indices and masks. */
void pyro_gradient_save_inputs(pyro_call *call, pyro_gradient *out, bool floating);
/* Number of inputs that need a gradient. */
int64_t pyro_gradient_wanted(const pyro_call *call);
/* A new gradient for each input, `flops` FLOPs for each value of the largest tensor. */
void pyro_gradient_elements(pyro_call *call, int flops, pyro_gradient *out);

#endif
