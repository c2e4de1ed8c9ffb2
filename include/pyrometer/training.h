/* Steps of training that were profiled: the summary for people, and numbers for TensorBoard. */
#ifndef PYROMETER_TRAINING_H
#define PYROMETER_TRAINING_H

#include <pyrometer/scalars.h>
#include <pyrometer/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory at the end of a step, as the program itself knew it; -1 where it did not. */
typedef struct pyro_step_memory {
    int64_t step;
    int64_t host_bytes, device_bytes, device_peak_bytes;
} pyro_step_memory;

typedef struct pyro_training_report {
    const char *title;
    int64_t first_step, last_step; /* others were not whole, and are left out */
    bool with_flops;
    int top; /* ops; 0 means 10 */
} pyro_training_report;

/*
 * The summary: ops by device time (by host time where no device worked), FLOP/s against the peak,
 * and what a step was spent on. The caller frees it with pyro_free().
 */
PYRO_API int pyro_report_training(char **out, size_t *size, const pyro_analysis *analysis,
                                  const pyro_training_report *report, pyro_error *error);

/* A record a step: time and its parts, work and rate (with_flops), share of the peak and memory,
 * each where it is known. */
PYRO_API int pyro_scalars_add_training(pyro_scalars *scalars, const pyro_trace *trace,
                                       const pyro_analysis *analysis,
                                       const pyro_training_report *report,
                                       const pyro_step_memory *memory, size_t memory_count,
                                       pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
