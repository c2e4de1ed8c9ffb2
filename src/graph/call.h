/* What rules use to look at a call: arguments by name or position, and products that may overflow. */
#ifndef PYRO_GRAPH_CALL_H
#define PYRO_GRAPH_CALL_H

#include "graph/ops.h"

/* The argument of a name, or at a position where names are not known; NULL when it is not given. */
const pyro_call_arg *pyro_call_find(const pyro_call *call, const char *name, size_t position);
/* The tensor of an argument; NULL when it is not given, None, or no tensor. */
const pyro_tensor *pyro_call_tensor(const pyro_call *call, const char *name, size_t position);
/* The same by the first of several names, up to a NULL, that is given. */
const pyro_tensor *pyro_call_tensor_of(const pyro_call *call, const char *const *names,
                                       size_t position);
/* The first tensor among the arguments that is no list; NULL when there is none. */
const pyro_tensor *pyro_call_first_tensor(const pyro_call *call);
int64_t pyro_call_integer(const pyro_call *call, const char *name, size_t position,
                          int64_t otherwise);
/* The product of a list of integers; `otherwise` when it is not given or empty. */
int64_t pyro_call_integers_product(pyro_call *call, const char *name, size_t position,
                                   int64_t otherwise);

/* a * b; on overflow 0, and the call is marked. */
int64_t pyro_times(pyro_call *call, int64_t a, int64_t b);
int64_t pyro_plus(pyro_call *call, int64_t a, int64_t b);
/* Product of dims [from, to) of a tensor. */
int64_t pyro_dims_product(pyro_call *call, const pyro_tensor *tensor, size_t from, size_t to);
/* Elements of the first output; 0 when it has none. */
int64_t pyro_output_elements(const pyro_call *call);
/* Says in which order, outermost first, the axes of the output lie in memory (rules/views.c). */
void pyro_price_order(pyro_price *price, const pyro_tensor *output, const uint8_t *axes);
int64_t pyro_tensor_bytes(pyro_call *call, const pyro_tensor *tensor);

#endif
