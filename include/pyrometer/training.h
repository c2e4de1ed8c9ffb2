/* Reports on profiled training steps: a text summary, and scalars for TensorBoard. */
#ifndef PYROMETER_TRAINING_H
#define PYROMETER_TRAINING_H

#include <pyrometer/scalars.h>
#include <pyrometer/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory at the end of a step, as the program reported it; -1 unknown. */
typedef struct pyro_step_memory {
    int64_t step;
    int64_t host_bytes, device_bytes, device_peak_bytes;
} pyro_step_memory;

typedef struct pyro_training_report {
    const char *title;
    int64_t first_step, last_step; /* incomplete steps outside this range are left out */
    bool with_flops;
    int top; /* number of ops; 0 means 10 */
} pyro_training_report;

/*
 * The text summary: ops by device time (by host time if no device worked), FLOP/s against the peak,
 * and the breakdown of a step. The caller frees it with pyro_free().
 */
PYRO_API int pyro_report_training(char **out, size_t *size, const pyro_analysis *analysis,
                                  const pyro_training_report *report, pyro_error *error);

/* Adds one record per step with all known values: time and its parts, work and rate (with_flops),
 * share of the peak, and memory. */
PYRO_API int pyro_scalars_add_training(pyro_scalars *scalars, const pyro_trace *trace,
                                       const pyro_analysis *analysis,
                                       const pyro_training_report *report,
                                       const pyro_step_memory *memory, size_t memory_count,
                                       pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
