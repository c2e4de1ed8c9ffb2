/* Computes FLOPs and bytes of the ops of a trace, from the same table as for graphs. */
#ifndef PYRO_ANALYZE_PRICES_H
#define PYRO_ANALYZE_PRICES_H

#include "analyze/analyze.h"
#include "analyze/signature.h"

/* An op as the profiler writes it. */
typedef struct pyro_call_texts {
    const char *name, *dims, *types, *concrete;
} pyro_call_texts;

/* Sets amounts and type of an op; leaves them where no rule of ops.def applies. */
void pyro_price_call(pyro_op_kind *kind, const pyro_op_index *index, pyro_signature *signature,
                     const pyro_call_texts *texts);

/*
 * Finds context->op_kinds and the kind of each op, in context->arena; needs the trace alone. A kind
 * has FLOPs and bytes if ops.def has a row for it and the trace has its shapes, else -1.
 */
int pyro_price_kinds(pyro_analysis_context *context);

/* Of nested ops, the outermost one with work carries the price; marks the others. */
int pyro_price_ops(pyro_analysis_context *context);

#endif
