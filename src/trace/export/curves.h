/* Counter curves of a trace: kernels that wait, copy bandwidth, memory in use, the file's own. */
#ifndef PYRO_TRACE_EXPORT_CURVES_H
#define PYRO_TRACE_EXPORT_CURVES_H

#include "trace/export/selection.h"

/* Each returns PYRO_OK, or a status that ends the visit. */
typedef struct pyro_curve_visitor {
    /* A new value of a curve that follows from events: "queue length of device 0", "kernels". */
    int (*value)(void *user, const char *name, const char *unit, uint16_t track, int64_t time_ns,
                 int64_t value);
    int (*memory)(void *user, uint32_t event); /* a MEMORY event with known totals */
    int (*sample)(void *user, const pyro_counter_sample *sample);
} pyro_curve_visitor;

/* Visits the curves one after another, for the time range of the selection. */
int pyro_curves_visit(const pyro_trace *trace, const pyro_joins *joins,
                      const pyro_selection *selection, const pyro_curve_visitor *visitor,
                      void *user, pyro_error *error);

#endif
