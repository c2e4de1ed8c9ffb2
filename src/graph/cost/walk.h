/* The walk over a graph: what its files share. walk.c prices the nodes. */
#ifndef PYRO_GRAPH_WALK_H
#define PYRO_GRAPH_WALK_H

#include "graph/cost/cost.h"
#include "graph/exported.h"

typedef struct pyro_walker pyro_walker;

enum { PYRO_LAST_RANK = 8 };

struct pyro_walker {
    pyro_cost *cost;
    const pyro_model *model;
    pyro_error *error;
    /* walks a graph that runs `times` times; a pointer, because control flow calls the walk back */
    int (*walk_graph)(pyro_walker *w, const pyro_graph *graph, int64_t times);
    pyro_op_index index;
    pyro_map op_of_target; /* address of an interned target -> row + 1; 0: none */
    /* scratch of the current node, reused */
    pyro_arena arena;
    pyro_call_arg *args;
    size_t arg_capacity;
    pyro_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    int64_t *integers;
    size_t integer_count, integer_capacity;
    const char *open_size; /* text of a size that depends on data */
    const char *shapeless; /* name of a value whose shape is unknown */
    uint32_t origin;       /* node of the main graph that is being walked */
    const char *last_shape; /* text of the shape that was written last; NULL: none */
    size_t last_rank;
    int64_t last_dims[PYRO_LAST_RANK];
    bool noted_cond, noted_vmap, noted_exported;
    pyro_call call;        /* of the node priced last, and its price */
    pyro_price price;
    bool priced;
    bool measuring;        /* only summing, to compare branches */
    int64_t measured_flops;
    pyro_map measured_of_graph; /* graphs that were measured -> index into `measured` */
    int64_t *measured;
    size_t measured_count, measured_capacity;
};

enum { PYRO_MAX_VMAP_DEPTH = 16 };

/* Facts about the values of one graph during the walk. */
typedef struct pyro_frame {
    const pyro_graph *graph;
    bool *strided;
    uint32_t *orders; /* of axes in memory, of strided values (rules/views.c) */
    pyro_exported exported;
    int64_t times;
    int64_t vmap_batches[PYRO_MAX_VMAP_DEPTH];
    size_t vmap_depth;
} pyro_frame;

/* The row of an operator, or NULL (walk_call.c). */
const pyro_op *pyro_walk_op(pyro_walker *w, const char *target);
/* Fails because the numbers of a node do not fit. */
int pyro_walk_too_large(pyro_walker *w, const pyro_node *node);
/* Appends the value of an integer argument to the scratch. */
int pyro_walk_integer(pyro_walker *w, const pyro_frame *frame, const pyro_arg_integer *integer);
/* Turns a node into a call, whose arrays are valid until the next one. */
int pyro_walk_call(pyro_walker *w, const pyro_frame *frame, const pyro_node *node, pyro_call *call);

/* "aten.foo.default" without its overload; NULL without memory (walk_record.c). */
const char *pyro_walk_base_name(pyro_walker *w, const char *target);
int pyro_walk_count_uncounted(pyro_walker *w, const char *target, const char *reason);
/* Makes room for that many nodes of the cost, which a populator (NULL: none) prepares; false if
 * memory runs out. */
bool pyro_walk_make_room(pyro_cost *cost, size_t count, pyro_populator *populator);
/* Records a node, with its work multiplied by how often it runs. */
int pyro_walk_record(pyro_walker *w, const pyro_frame *frame, const pyro_node *node,
                     const pyro_call *call, const char *label, pyro_category category,
                     pyro_work work);
/* Shapes give the bytes even if the work is unknown; `price` NULL: both are unknown. */
int pyro_walk_record_uncounted(pyro_walker *w, const pyro_frame *frame, const pyro_node *node,
                               const pyro_call *call, const pyro_price *price, const char *reason);

/* Shows the node that was priced last to the hooks. */
int pyro_walk_visit(pyro_walker *w, const pyro_frame *frame, const pyro_node *node,
                    bool is_control);

/* Sets the flags of a node's call as in training, and off where a dropout drops nothing. */
void pyro_walk_set_switches(pyro_walker *w, const pyro_node *node);

/* True if a node calls graphs of its own (walk_control.c). */
bool pyro_walk_has_subgraph(const pyro_node *node);
/* A higher-order operator: its subgraphs, as often as they run. */
int pyro_walk_control(pyro_walker *w, const pyro_frame *frame, const pyro_node *node);
/* Between the two marks of vmap, values are those of one sample of the batch. */
int pyro_walk_vmap_mark(pyro_walker *w, pyro_frame *frame, const pyro_node *node);

#endif
