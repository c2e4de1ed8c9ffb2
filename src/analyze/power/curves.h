/* Samples of GPUs as curves over time, per device and value (gpu_counters.h). */
#ifndef PYRO_ANALYZE_POWER_CURVES_H
#define PYRO_ANALYZE_POWER_CURVES_H

#include "trace/trace.h"
#include <pyrometer/gpu_counters.h>

typedef struct pyro_curve_point {
    int64_t time_ns;
    double value;
} pyro_curve_point;

typedef struct pyro_curve {
    pyro_curve_point *points; /* in order of time */
    size_t count, capacity;
} pyro_curve;

typedef struct pyro_gpu_curves {
    int64_t device;
    pyro_curve values[PYRO_GPU_VALUE_COUNT];
} pyro_gpu_curves;

typedef struct pyro_all_curves {
    pyro_gpu_curves *items; /* by device */
    size_t count, capacity;
} pyro_all_curves;

/* Reads the counters of a trace that have our names; false when memory is out. */
bool pyro_curves_read(pyro_all_curves *all, const pyro_trace *trace);
void pyro_curves_free(pyro_all_curves *all);

/* Mean time between samples; 0 with fewer than two. */
int64_t pyro_curve_interval_ns(const pyro_curve *curve);
/* Mean time between changes of the value; 0 if it changes less than twice. */
int64_t pyro_curve_update_ns(const pyro_curve *curve);
/* The value at a time, by a straight line between samples; up to one interval before the first and
 * after the last sample their line is continued. NaN elsewhere. */
double pyro_curve_at(const pyro_curve *curve, int64_t time_ns);
/* The area below that line, in value x seconds; NaN if a part of it is unknown. */
double pyro_curve_area(const pyro_curve *curve, int64_t start_ns, int64_t end_ns);
/* Index of the first sample at or after a time. */
size_t pyro_curve_find(const pyro_curve *curve, int64_t time_ns);

#endif
