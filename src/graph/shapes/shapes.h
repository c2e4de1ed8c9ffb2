/* Derives output shapes from input shapes, for calls whose outputs were not recorded. */
#ifndef PYRO_GRAPH_SHAPES_H
#define PYRO_GRAPH_SHAPES_H

#include "graph/ops.h"

struct pyro_output {
    pyro_tensor tensor;
    int64_t dims[PYRO_MAX_RANK];
};

/*
 * Derives the first output of a call and makes the call point to it; a call that moves nothing
 * keeps no outputs. Returns false if it cannot be derived.
 */
bool pyro_infer_output(pyro_call *call, pyro_output *output);

#endif
