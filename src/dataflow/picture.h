/*
 * A graph as it is drawn: nodes grouped by modules, with equal blocks drawn once. Numbers of
 * drawn nodes, groups and edges are indices.
 */
#ifndef PYRO_DATAFLOW_PICTURE_H
#define PYRO_DATAFLOW_PICTURE_H

#include "dataflow/dataflow.h"

typedef struct pyro_drawn_node {
    uint32_t node;  /* of the graph: the first that it stands for */
    uint32_t last;  /* the last one */
    uint32_t times; /* how many */
    uint32_t group; /* PYRO_NONE: outside of all groups */
    int64_t cost;   /* of all of them */
} pyro_drawn_node;

typedef struct pyro_drawn_group {
    const char *path, *last_path; /* of the first and the last that it stands for */
    const char *class_name;       /* "" for several modules in a row */
    uint32_t times;
    uint32_t parent; /* group; PYRO_NONE: none */
    int64_t cost;    /* of everything in it, all repetitions */
} pyro_drawn_group;

typedef struct pyro_drawn_edge {
    uint32_t from, to;
    uint32_t edge;  /* of the graph: the first that it stands for */
    bool is_again;  /* from one repetition to a later one */
    bool assumed;   /* all edges that it stands for are */
} pyro_drawn_edge;

typedef struct pyro_picture {
    pyro_drawn_node *nodes;
    pyro_drawn_group *groups; /* parents first */
    pyro_drawn_edge *edges;
    size_t node_count, group_count, edge_count;
    bool timed;    /* costs are ns; else FLOPs */
    int64_t total; /* cost of everything */
} pyro_picture;

/* Draws equal blocks once, unless their paths have <= `depth` names. False when memory is out. */
bool pyro_picture_make(pyro_picture *out, const pyro_dataflow *graph, int64_t depth);
void pyro_picture_free(pyro_picture *picture);

#endif
