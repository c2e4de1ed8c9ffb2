/* Whether a model can be traced and priced. */
#ifndef PYRO_REPORT_COST_TRACEABLE_H
#define PYRO_REPORT_COST_TRACEABLE_H

#include <pyrometer/cost.h>
#include <stdint.h>

/* Where and why a model could not be traced; unknown texts are NULL or "". */
typedef struct pyro_trace_break {
    char *stage; /* "import", "build", "forward" or "trace" */
    char *type, *message, *hint, *file, *function, *code;
    int64_t line; /* 0: unknown */
} pyro_trace_break;

typedef struct pyro_traceable {
    const char *model;
    const pyro_cost *cost; /* NULL: it cannot be traced */
    const pyro_trace_break *broken;
} pyro_traceable;

#endif
