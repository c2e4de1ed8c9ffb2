/*
 * Output shapes from input shapes (shapes.def), for calls whose outputs nobody recorded, and names
 * for arguments that came by position (arguments.def).
 */
#ifndef PYRO_GRAPH_SHAPES_H
#define PYRO_GRAPH_SHAPES_H

#include "graph/ops.h"

typedef struct pyro_output {
    pyro_tensor tensor;
    int64_t dims[PYRO_MAX_RANK];
} pyro_output;

/*
 * Derives the first output of a call and makes the call point to it; a call that moves nothing is
 * left without outputs. False when it cannot be derived.
 */
bool pyro_infer_output(pyro_call *call, pyro_output *output);

/* Names of an operator's arguments, separated by spaces; NULL: the rules' positions hold. */
const char *pyro_argument_names(const char *op_name);

#endif
