/* FLOPs and bytes of a trace's ops, by the same table as those of a graph. */
#ifndef PYRO_ANALYZE_PRICES_H
#define PYRO_ANALYZE_PRICES_H

#include "analyze/analyze.h"

/* Makes the columns of prices in context->arena, all unknown; needs the trace alone. */
int pyro_price_room(pyro_analysis_context *context);

/*
 * Fills context->op_flops and its like, for which there is room: what an op does where ops.def has a
 * row for it and the trace its shapes, -1 elsewhere. Of ops inside one another the outermost that
 * does anything carries it.
 */
int pyro_price_ops(pyro_analysis_context *context);

#endif
