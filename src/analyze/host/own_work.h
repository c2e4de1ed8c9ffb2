/*
 * Shares the FLOPs and bytes of nested ops: each op gets what its own rule says, at most what the op
 * around it still has, and takes it from there. So aten::mm has the FLOPs of the aten::linear
 * around it, and all ops together have those of the outermost ones.
 */
#ifndef PYRO_ANALYZE_HOST_OWN_WORK_H
#define PYRO_ANALYZE_HOST_OWN_WORK_H

#include "analyze/analyze.h"

typedef struct pyro_open_ops pyro_open_ops;

/* Begins as zeros. */
typedef struct pyro_own_work {
    pyro_open_ops *tracks; /* the priced ops around the last event of each track */
    size_t track_count;
} pyro_own_work;

/* What an op takes; -1: nothing is known. */
typedef struct pyro_taken_work {
    int64_t flops, bytes;
    uint32_t donor; /* op around it that gave both; PYRO_NO_EVENT: they are new */
} pyro_taken_work;

/* True for an op that has FLOPs or bytes. */
bool pyro_has_work(const pyro_analysis_context *context, uint32_t event);
/* The innermost op with work at or around an op; PYRO_NO_EVENT. */
uint32_t pyro_op_with_work(const pyro_analysis_context *context, uint32_t op);

/* Takes the work of an op; ops come in order of time. False when memory is out. */
bool pyro_own_work_take(pyro_own_work *own, const pyro_analysis_context *context, uint32_t event,
                        pyro_taken_work *taken);
void pyro_own_work_free(pyro_own_work *own);

#endif
