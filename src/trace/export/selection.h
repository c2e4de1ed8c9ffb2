/*
 * The events of a trace that an output contains: those of a step, a phase, or with a matching name
 * or layer, and the launches of selected device work.
 */
#ifndef PYRO_TRACE_EXPORT_SELECTION_H
#define PYRO_TRACE_EXPORT_SELECTION_H

#include "trace/joins/joins.h"

typedef struct pyro_selection {
    uint8_t *keep;            /* by event: whether it is written */
    int64_t start_ns, end_ns; /* of the kept events */
} pyro_selection;

/* The caller frees the selection, also after a failure. */
int pyro_selection_make(pyro_selection *selection, const pyro_trace *trace, const pyro_joins *joins,
                        const pyro_analysis_options *options, pyro_error *error);
void pyro_selection_free(pyro_selection *selection);

#endif
