/* Measures forward time and input shapes of layers, for pyro_trace_layer_ops. */
#ifndef PYRO_ANALYZE_HOST_LAYER_TIMES_H
#define PYRO_ANALYZE_HOST_LAYER_TIMES_H

#include "analyze/enclosing.h"

/* True for an op that another op of the same call of a layer called; `ops` is of this test alone.
 * */
bool pyro_is_nested_op(pyro_enclosing *ops, const pyro_trace *trace, const pyro_joins *joins,
                       uint32_t event);

/* True for an op that ran in the forward of a layer. */
bool pyro_is_forward_op(const pyro_trace *trace, const pyro_joins *joins, uint32_t event);

/* True when some call of a layer has its input shapes; then ops are not used for them. */
bool pyro_has_layer_inputs(const pyro_trace *trace, const pyro_joins *joins);

/* Fills `layers`, `layer_count`, `wall_ns` and `shapes_from_ops`; rows and texts are the arena's.
 * */
int pyro_collect_layer_times(pyro_layer_ops *out, const pyro_trace *trace, const pyro_joins *joins,
                             pyro_arena *arena, pyro_error *error);

#endif
