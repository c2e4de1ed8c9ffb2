/* The rules that ops.def names; each file of them has one subject. */
#ifndef PYRO_GRAPH_RULES_H
#define PYRO_GRAPH_RULES_H

#include "graph/ops.h"

#define RULE(name) bool pyro_rule_##name(pyro_call *call, pyro_price *price)

/* convolution.c */
RULE(convolution);
RULE(transposed_convolution);
RULE(any_convolution);
RULE(deformable_convolution);

/* matmul.c */
RULE(linear);
RULE(linear_packed);
RULE(matmul);
RULE(inner);
RULE(matrix_product);
RULE(vector_product);
RULE(tensordot);
RULE(bilinear);
RULE(grouped_matmul);
RULE(chain_matmul);
RULE(distances);
RULE(einsum); /* einsum.c */

/* attention.c */
RULE(attention);
RULE(attention_sequence_first);
RULE(native_multi_head);
RULE(encoder_layer);
RULE(recurrent);
RULE(recurrent_packed);
RULE(recurrent_cell);

/* elementwise.c */
RULE(elementwise);
RULE(elementwise_lists);
RULE(reduction);
RULE(softmax);
RULE(batch_norm);
RULE(norm);
RULE(pool);
RULE(adaptive_pool);
RULE(resample);
RULE(resample_counted);
RULE(roi);
RULE(sort);
RULE(search);
RULE(box_pairs);
RULE(fourier);
RULE(short_fourier);
RULE(loss);
RULE(dropout);

/* backward.c */
RULE(convolution_backward);
RULE(attention_backward);
RULE(attention_backward_sequence_first);
RULE(pool_backward);
RULE(gradient);
RULE(embedding_backward);

/* rules/views.c */
RULE(view);
RULE(strided_view);
RULE(reordered_view);
RULE(cut_view);
RULE(expanded_view);

/* memory.c */
RULE(maybe_copy);
RULE(convert);
RULE(copy);
RULE(concatenate);
RULE(overwrite);
RULE(create);
RULE(gather);
RULE(embedding_bag);
RULE(scatter);
RULE(scatter_copy);
RULE(scalar);
RULE(host);

#endif
