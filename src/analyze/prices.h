/* FLOPs and bytes of a trace's ops, by the same table as those of a graph. */
#ifndef PYRO_ANALYZE_PRICES_H
#define PYRO_ANALYZE_PRICES_H

#include "analyze/analyze.h"

/*
 * Finds context->op_kinds and the kind of each op, in context->arena; needs the trace alone. A kind
 * has what an op of it does where ops.def has a row for it and the trace its shapes, -1 elsewhere.
 */
int pyro_price_kinds(pyro_analysis_context *context);

/* Of ops inside one another the outermost that does anything carries it: marks the others. */
int pyro_price_ops(pyro_analysis_context *context);

#endif
