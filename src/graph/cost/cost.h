/* Inside the cost engine: what its files share. */
#ifndef PYRO_GRAPH_COST_H
#define PYRO_GRAPH_COST_H

#include "graph/ops.h"
#include <pyrometer/cost.h>

/* The unrolled result; the public accessors hand out its arrays. */
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
    uint32_t *node_origins; /* of each node: the one of the main graph that it is, or is inside */
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
    bool overflow; /* some sum did not fit */
};

/* Turns a price into FLOPs (convention.c). False on overflow. */
bool pyro_convention_flops(pyro_convention convention, const pyro_price *price, int64_t *flops);

/* Rolls nodes and parameters up into layers, modules, operator types and the total (rollup.c). */
int pyro_cost_roll_up(pyro_cost *cost, pyro_error *error);
/* What the shares suggest (advice.c). */
int pyro_cost_advise(pyro_cost *cost, pyro_error *error);
/* Prices every node, those of subgraphs as often as they run (walk.c). */
int pyro_cost_walk(pyro_cost *cost, pyro_error *error);
/* Remembers a note. */
bool pyro_cost_note(pyro_cost *cost, const char *text);

/* The axis along which an input holds past keys or values; -1: it is no cache (decode.c). */
int pyro_cache_axis(const pyro_model *model, const pyro_value *value);

/* The element type that a tensor is priced at. */
pyro_dtype pyro_cost_price_dtype(const pyro_cost *cost, pyro_dtype dtype);

#endif
