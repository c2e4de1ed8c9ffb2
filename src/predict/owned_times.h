/* Times of the outermost ops that a caller is interested in: everything below such an op is its. */
#ifndef PYRO_PREDICT_OWNED_TIMES_H
#define PYRO_PREDICT_OWNED_TIMES_H

#include "analyze/analyze.h"

/* What the device work of an op was like. */
enum { PYRO_SEEN_TENSOR_CORES = 1, PYRO_SEEN_OTHER_MEMORY = 2 };

typedef struct pyro_owned_times {
    uint32_t *owner; /* by event, of ops: the outermost op that is wanted, at or around it */
    int64_t *time_ns; /* by event, of owners */
    uint8_t *seen; /* by event, of owners: PYRO_SEEN_* */
    int64_t all_ns; /* of all device work, or of all ops on the host */
} pyro_owned_times;

/* Whether an op can be an owner. */
typedef bool (*pyro_wants_op)(const pyro_analysis_context *context, uint32_t event);

/* Ops that predictions see: with work, and no fused block of several products, whose parts are
 * recorded inside it. */
bool pyro_wants_prediction(const pyro_analysis_context *context, uint32_t event);

/*
 * Finds the times: of device work that was launched in an op, without replays of graphs, or of the
 * op on the host, without what recording the ops inside it took. The context needs its trace, joins
 * and kinds of ops. False when memory is out.
 */
bool pyro_own_times(pyro_owned_times *out, const pyro_analysis_context *context, bool on_device,
                    pyro_wants_op wants);
void pyro_owned_times_free(pyro_owned_times *times);

/* True if a kernel is in the trace. */
bool pyro_trace_has_kernels(const pyro_trace *trace);

/* The median, which the call moves to the middle of the sorted times; `count` is at least 1. */
int64_t pyro_median_ns(int64_t *times, size_t count);

#endif
