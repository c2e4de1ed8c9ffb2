/* Derives totals from a finished analysis, for its reports. */
#ifndef PYRO_ANALYZE_TOTALS_H
#define PYRO_ANALYZE_TOTALS_H

#include <pyrometer/trace.h>

/* An analysis whose layers were rolled up; everything else is borrowed. */
typedef struct pyro_shallow_analysis {
    pyro_analysis analysis;
    pyro_layer_row *layers;
} pyro_shallow_analysis;

/* Layers deeper than `depth` (negative: none) give their own time to the ancestor at that depth. */
int pyro_analysis_roll_up(pyro_shallow_analysis *out, const pyro_analysis *analysis, int depth,
                          pyro_error *error);
void pyro_shallow_analysis_free(pyro_shallow_analysis *shallow);

/* True when nothing ran on a device, so that host time is what rows are ranked by. */
bool pyro_trace_on_host(const pyro_analysis *analysis);

/* Forward and backward together, on the device or on the host. */
int64_t pyro_layer_self_ns(const pyro_layer_row *row, bool on_host);
int64_t pyro_layer_total_ns(const pyro_layer_row *row, bool on_host);
int64_t pyro_op_self_ns(const pyro_op_row *row, bool on_host);
/* Of every layer or op: what shares are of. */
int64_t pyro_trace_whole_ns(const pyro_analysis *analysis);
int64_t pyro_unattributed_ns(const pyro_unattributed *unattributed);

/* Times of all steps, added up; members that are not times are 0. */
pyro_step_row pyro_analysis_sum_steps(const pyro_analysis *analysis);

/* How long a step takes. A host that runs ahead makes steps that vary on the host though the device
 * works steadily: then the device's own boundaries count. */
typedef struct pyro_step_time {
    int64_t median_ns;
    bool on_device;
    int64_t lag_ns; /* how far the device is behind the host at the end of a step, at most */
} pyro_step_time;

/* False when memory is out. */
bool pyro_analysis_step_time(pyro_step_time *out, const pyro_analysis *analysis);

/* Steps of training, added up. */
typedef struct pyro_training_totals {
    int64_t count;
    pyro_training_step sum;
    const char *dtype; /* of the last one */
    double peak_flops_per_s;
} pyro_training_totals;

/* Those with numbers from `first_step` to `last_step`. */
pyro_training_totals pyro_analysis_sum_training(const pyro_analysis *analysis, int64_t first_step,
                                                int64_t last_step);

/* The device whose memory matters: the fullest one that is not the host, else the host; or NULL. */
const pyro_memory_device *pyro_main_memory(const pyro_analysis *analysis);

#endif
