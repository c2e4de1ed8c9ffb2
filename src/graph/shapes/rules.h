/* The shape rules in ops.def and rules.def, and the helpers that build outputs. */
#ifndef PYRO_GRAPH_SHAPE_RULES_H
#define PYRO_GRAPH_SHAPE_RULES_H

#include "graph/shapes/shapes.h"

/* The tensor at a position, and the nth tensor; for a list its first. NULL: none. */
const pyro_tensor *pyro_call_tensor_at(const pyro_call *call, size_t position);
const pyro_tensor *pyro_call_nth_tensor(const pyro_call *call, size_t n);

/* Each returns false if the rank or a size is out of bounds. */
bool pyro_output_append(pyro_output *output, int64_t size);
bool pyro_output_append_dims(pyro_output *output, const pyro_tensor *tensor, size_t from,
                             size_t to);
bool pyro_output_like(pyro_output *output, const pyro_tensor *tensor);
/* Broadcasts the output with a tensor; returns false if their shapes do not match. */
bool pyro_output_broadcast(pyro_output *output, const pyro_tensor *tensor);

#define SHAPE_RULE(name) bool pyro_shape_##name(pyro_call *call, pyro_output *output)

/* elements.c */
SHAPE_RULE(nothing);
SHAPE_RULE(unknown);
SHAPE_RULE(first);
SHAPE_RULE(second);
SHAPE_RULE(scalar);
SHAPE_RULE(list);
SHAPE_RULE(broadcast);
SHAPE_RULE(compare);
SHAPE_RULE(outer);
SHAPE_RULE(reduce);
SHAPE_RULE(reduce_norm);
SHAPE_RULE(reduce_or_compare);
SHAPE_RULE(topk);
SHAPE_RULE(gather);
SHAPE_RULE(embedding);
SHAPE_RULE(index_select);
SHAPE_RULE(concatenate);
SHAPE_RULE(stack);
SHAPE_RULE(pad);
SHAPE_RULE(repeat);
SHAPE_RULE(convert);
SHAPE_RULE(convert_always);
SHAPE_RULE(sized_second);
SHAPE_RULE(sized_third);
SHAPE_RULE(created);
SHAPE_RULE(embedding_backward);

/* products.c */
SHAPE_RULE(convolution);
SHAPE_RULE(convolution_transposed);
SHAPE_RULE(convolution_by_flag);
SHAPE_RULE(pool);
SHAPE_RULE(adaptive_pool);
SHAPE_RULE(resample);
SHAPE_RULE(linear);
SHAPE_RULE(matmul);
SHAPE_RULE(matrix_product);
SHAPE_RULE(vector_product);
SHAPE_RULE(grouped_matmul);
SHAPE_RULE(attention);
SHAPE_RULE(recurrent);

#endif
