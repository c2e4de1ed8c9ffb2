/* Inside the shapes: the rules that shapes.def names, and what they build outputs with. */
#ifndef PYRO_GRAPH_SHAPE_RULES_H
#define PYRO_GRAPH_SHAPE_RULES_H

#include "graph/shapes/shapes.h"

typedef bool (*pyro_shape_rule)(pyro_call *call, pyro_output *output);

/* The tensor at a position, and the nth of the tensors; of a list the first. NULL: none. */
const pyro_tensor *pyro_call_tensor_at(const pyro_call *call, size_t position);
const pyro_tensor *pyro_call_nth_tensor(const pyro_call *call, size_t n);

/* Each false when the rank or a size goes out of bounds. */
bool pyro_output_append(pyro_output *output, int64_t size);
bool pyro_output_append_dims(pyro_output *output, const pyro_tensor *tensor, size_t from,
                             size_t to);
bool pyro_output_like(pyro_output *output, const pyro_tensor *tensor);
/* Makes the output as large as it and a tensor together; false when they do not fit. */
bool pyro_output_broadcast(pyro_output *output, const pyro_tensor *tensor);

#define SHAPE_RULE(name) bool pyro_shape_##name(pyro_call *call, pyro_output *output)
#define SHAPE(cost, shape) SHAPE_RULE(shape);
#define SHAPE_OF(name, shape) SHAPE_RULE(shape);
#include "graph/shapes/shapes.def"
#undef SHAPE
#undef SHAPE_OF

#endif
