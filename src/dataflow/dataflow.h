/* Internals of a graph, shared by its files. */
#ifndef PYRO_DATAFLOW_DATAFLOW_H
#define PYRO_DATAFLOW_DATAFLOW_H

#include "base/containers/map.h"
#include "dataflow/program.h"

struct pyro_dataflow {
    const pyro_program *program;
    pyro_dataflow_options options;
    pyro_arena arena;
    pyro_intern names;
    uint32_t *owner;        /* by call: the call that is its node */
    uint32_t *node_of_call; /* PYRO_NONE: none */
    uint32_t *node_of_step; /* PYRO_NONE: between nodes */
    uint32_t *node_of_value; /* of values from outside: their input node; else PYRO_NONE */

    pyro_graph_node *nodes;
    size_t node_count, node_capacity;
    size_t input_count; /* nodes that are inputs: the first ones */
    pyro_graph_edge *edges;
    size_t edge_count, edge_capacity;
    pyro_graph_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    pyro_graph_totals totals;
    const char **notes; /* the program's, and those of this graph */
    size_t note_count, note_capacity;
};

/* Makes the edges and their tensors; every step must have its node. */
int pyro_dataflow_connect(pyro_dataflow *graph, pyro_error *error);

#endif
