/* Samples of work from traces: what each op computed, and how long that took. */
#ifndef PYRO_PREDICT_SAMPLES_H
#define PYRO_PREDICT_SAMPLES_H

#include "predict/efficiency.h"

#include <pyrometer/trace.h>

/* What was learnt from a trace. */
typedef struct pyro_learnt {
    char chip[PYRO_EFFICIENCY_TEXT], library[PYRO_EFFICIENCY_TEXT];
    bool on_device;   /* times are those of device work, else of ops on the host */
    int64_t samples;  /* distinct ops with shapes */
    int64_t calls;    /* of them */
    int64_t time_ns, all_ns; /* of these calls, and of all ops that ran there */
    int64_t
        impossible; /* ops that were faster than the chip can be: work is missing in the trace */
} pyro_learnt;

/*
 * Adds the samples of a trace to a table. The chip is that of the trace's device, or its processor
 * if nothing ran on a device; `chip` names it if not NULL. PYRO_ERROR_UNSUPPORTED, with the reason,
 * if the trace has no shapes or times, or names no chip that hardware.def has.
 */
int pyro_efficiency_learn(pyro_efficiency_table *table, pyro_trace *trace, const char *chip,
                          pyro_learnt *out, pyro_error *error);

#endif
