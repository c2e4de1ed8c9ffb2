/* Ops of a trace that a script can run again, from what the trace has about their inputs. */
#ifndef PYRO_PREDICT_REPLAY_H
#define PYRO_PREDICT_REPLAY_H

#include "base/containers/buf.h"

#include <pyrometer/trace.h>

/* All calls of an op with the same shapes, strides, types and scalars. */
typedef struct pyro_replay_op {
    const char *name; /* "aten::conv2d" */
    /* JSON lists by argument, as in the trace; "" where it has none. */
    const char *dims, *types, *strides, *concrete, *outputs;
    bool has_gradient; /* autograd recorded it */
    int64_t calls, total_ns, median_ns; /* on the device if the trace has device work */
    const char *rejected; /* why it cannot be rebuilt; "": it can, as far as the trace shows */
} pyro_replay_op;

typedef struct pyro_replay {
    const pyro_replay_op *ops; /* most time first; outermost ops only, each with all below it */
    size_t count;
    bool on_device; /* the ops ran on a device */
} pyro_replay;

/* PYRO_ERROR_UNSUPPORTED if the trace has no shapes. The trace must outlive the result. */
int pyro_replay_gather(pyro_replay **out, pyro_trace *trace, pyro_error *error);
void pyro_replay_free(pyro_replay *replay); /* accepts NULL */

/* Appends a Python script that runs the ops `first` to `last` (from 0) that are not rejected. */
void pyro_replay_write(pyro_buf *buf, const pyro_replay *replay, size_t first, size_t last);

/* The script without ops; the build embeds it. */
extern const unsigned char pyro_replay_template[];
extern const size_t pyro_replay_template_size;

#endif
