/* Internal interface of the cost engine. */
#ifndef PYRO_GRAPH_COST_H
#define PYRO_GRAPH_COST_H

#include "graph/ops.h"
#include <pyrometer/cost.h>

/* The complete result; the public accessors return its arrays. */
struct pyro_cost {
    pyro_arena arena;
    pyro_model *model;
    pyro_cost_options options;
    const char *dtype;
    pyro_cost_row total;

    pyro_cost_node *nodes;
    size_t node_count, node_capacity;
    uint32_t *node_modules; /* of each node */
    size_t module_capacity;
    uint32_t *node_types; /* of each node: index into `types` */
    size_t type_capacity;
    uint32_t *node_origins; /* of each node: itself or its enclosing node in the main graph */
    size_t origin_capacity;

    pyro_intern types; /* labels of operator types */

    pyro_cost_row *layers, *modules, *operators;
    size_t layer_count, module_count, operator_count;

    pyro_uncounted *uncounted;
    size_t uncounted_count, uncounted_capacity;
    pyro_map uncounted_of_key;
    pyro_intern reasons;
    int64_t uncounted_nodes;

    const char **notes;
    size_t note_count, note_capacity;
    const char **advice;
    size_t advice_count;
    int64_t param_bytes, buffer_values;
    bool overflow; /* a sum did not fit */
};

/* Turns the cost of a call into FLOPs (convention.c). Returns false on overflow. */
bool pyro_convention_flops(pyro_convention convention, const pyro_price *price, int64_t *flops);

/* Rolls nodes and parameters up into layers, modules, operator types and the total (rollup.c). */
int pyro_cost_roll_up(pyro_cost *cost, pyro_error *error);
/* Adds the hardware advice (advice.c). */
int pyro_cost_advise(pyro_cost *cost, pyro_error *error);
/* Computes the cost of every node; nodes of subgraphs count as often as they run (walk.c). */
int pyro_cost_walk(pyro_cost *cost, pyro_error *error);
/* Adds a note. */
bool pyro_cost_note(pyro_cost *cost, const char *text);

/* The axis of past tokens if an input is a cache of keys or values; else -1 (decode.c). */
int pyro_cache_axis(const pyro_model *model, const pyro_value *value);

/* The element type that a tensor counts as. */
pyro_dtype pyro_cost_price_dtype(const pyro_cost *cost, pyro_dtype dtype);

#endif
