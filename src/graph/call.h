/* Helpers of rules: arguments of a call by name or position, and products that may overflow. */
#ifndef PYRO_GRAPH_CALL_H
#define PYRO_GRAPH_CALL_H

#include "graph/ops.h"

/* Finds an argument by name, or by position if names are unknown; NULL if it is not given. */
const pyro_call_arg *pyro_call_find(const pyro_call *call, const char *name, size_t position);
/* The tensor of an argument; NULL if it is not given, None, or not a tensor. */
const pyro_tensor *pyro_call_tensor(const pyro_call *call, const char *name, size_t position);
/* The same for the first of several names that is given; NULL ends the names. */
const pyro_tensor *pyro_call_tensor_of(const pyro_call *call, const char *const *names,
                                       size_t position);
/* The first tensor argument that is not a list, or NULL. */
const pyro_tensor *pyro_call_first_tensor(const pyro_call *call);
int64_t pyro_call_integer(const pyro_call *call, const char *name, size_t position,
                          int64_t otherwise);
/* The product of a list of integers; `otherwise` if it is not given or empty. */
int64_t pyro_call_integers_product(pyro_call *call, const char *name, size_t position,
                                   int64_t otherwise);

/* a * b; on overflow returns 0 and marks the call. */
int64_t pyro_times(pyro_call *call, int64_t a, int64_t b);
int64_t pyro_plus(pyro_call *call, int64_t a, int64_t b);
/* Product of dims [from, to) of a tensor. */
int64_t pyro_dims_product(pyro_call *call, const pyro_tensor *tensor, size_t from, size_t to);
/* Number of elements of the first output; 0 without outputs. */
int64_t pyro_output_elements(const pyro_call *call);
/* Sets the order, outermost first, of the output's axes in memory (rules/views.c). */
void pyro_price_order(pyro_price *price, const pyro_tensor *output, const uint8_t *axes);
int64_t pyro_tensor_bytes(pyro_call *call, const pyro_tensor *tensor);

#endif
