/*
 * Finds the Python frames between an event and what encloses it, from the stack texts of ops. For
 * traces without frame events, such as our recordings.
 */
#ifndef PYRO_ANALYZE_HOST_OP_FRAMES_H
#define PYRO_ANALYZE_HOST_OP_FRAMES_H

#include "analyze/analyze.h"
#include "base/containers/map.h"

/* A stack, outermost frame first; parsed once. */
typedef struct pyro_parsed_stack {
    uint32_t first, count; /* its frames in `frames` */
} pyro_parsed_stack;

typedef struct pyro_op_frames {
    bool is_used;    /* the trace has stacks, and no frames as events */
    uint32_t *stack; /* by event: text of its stack, a layer's from its first op; PYRO_NO_ID */
    uint32_t *done;  /* by event: frames of the stack that stand above it */
    pyro_map parsed_index; /* text -> index of the parsed stack */
    pyro_parsed_stack *parsed;
    size_t parsed_count, parsed_capacity;
    uint32_t *frames; /* ids of the context's texts */
    size_t frame_count, frame_capacity;
} pyro_op_frames;

/* Uses the context's scratch memory, and memory that pyro_op_frames_free() frees. */
int pyro_op_frames_begin(pyro_op_frames *frames, const pyro_analysis_context *context);
/*
 * The frames between a host event and what encloses it, outermost first, as ids of the context's
 * texts; query parents before children. NULL when memory is out.
 */
const uint32_t *pyro_op_frames_above(pyro_op_frames *frames, pyro_analysis_context *context,
                                     uint32_t event, size_t *count);
void pyro_op_frames_free(pyro_op_frames *frames);

#endif
