/* Internal interface of the cost engine. */
#ifndef PYRO_GRAPH_COST_H
#define PYRO_GRAPH_COST_H

#include "base/pages.h"
#include "graph/ops.h"
#include <pthread.h>
#include <pyrometer/cost.h>

/*
 * Sums of nodes and parameters: one row per module that has any, with what the module itself does, in
 * the order of their first node. Everything is in the cost's arena.
 */
typedef struct pyro_cost_sums {
    pyro_cost_row *rows; /* without a depth these are the layers */
    uint32_t *owners;    /* of the rows: their modules */
    size_t count;
    uint32_t *row_of;     /* by module: 1 + its row; 0: none */
    int64_t (*leader)[2]; /* by row: FLOPs and bytes of its leading type */
} pyro_cost_sums;

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

    pyro_cost_sums sums;
    pyro_cost_row *layers, *operators;
    size_t layer_count, operator_count;
    pyro_cost_row *modules; /* made on the first request, under the lock; NULL before */
    size_t module_count;
    pthread_mutex_t modules_lock;
    const uint32_t *layer_rows; /* by module that has a layer: 1 + its index; else 0 */

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
    const struct pyro_cost_hooks *hooks; /* during the walk; NULL: none */
    uint8_t *value_dtypes; /* of the hooks, in the arena */
};

/* A node of the graph, just priced, for computations that need more than its price. */
typedef struct pyro_visit {
    pyro_cost *cost;
    const pyro_graph *graph; /* the main graph, or the body of a node */
    const pyro_node *node;
    uint32_t origin; /* the node of the main graph */
    size_t index;    /* into the nodes of the cost */
    int64_t times;   /* how often it runs */
    bool is_control; /* its body follows */
    bool is_priced;
    pyro_call *call; /* its tensors are in the array below */
    pyro_tensor *tensors;
    size_t tensor_count;
    const pyro_price *price;
} pyro_visit;

typedef int (*pyro_visit_fn)(void *user, const pyro_visit *visit, pyro_error *error);

/* What training asks of the walk. */
typedef struct pyro_cost_hooks {
    bool training; /* batch norms use the batch, dropouts drop */
    const uint8_t *value_dtypes; /* of the main graph's values; NULL: as in the file */
    pyro_visit_fn visit;
    void *user;
} pyro_cost_hooks;

/* pyro_cost_compute with hooks, which may be NULL. */
int pyro_cost_compute_with(pyro_cost **out, pyro_model *model, const pyro_cost_options *options,
                           const pyro_cost_hooks *hooks, pyro_error *error);

/* Turns the cost of a call into FLOPs (convention.c). Returns false on overflow. */
bool pyro_convention_flops(pyro_convention convention, const pyro_price *price, int64_t *flops);

/* Allocates the sums before the walk, so that a populator (NULL: none) has time (rollup.c). */
bool pyro_cost_make_room(pyro_cost *cost, pyro_populator *populator);
/* Rolls nodes and parameters up into layers, operator types and the total. */
int pyro_cost_roll_up(pyro_cost *cost, pyro_error *error);
/* The layer that gets a module's work; NULL: the module has none. */
const pyro_cost_row *pyro_cost_layer_of(const pyro_cost *cost, uint32_t module);
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
/* The same of a value. */
pyro_dtype pyro_cost_value_dtype(const pyro_cost *cost, const pyro_graph *graph, uint32_t value);

#endif
