/*
 * The internal model, which readers fill and the cost engine reads: values, nodes with arguments,
 * the module tree, parameters and inputs. The model's arenas own everything.
 */
#ifndef PYRO_GRAPH_MODEL_H
#define PYRO_GRAPH_MODEL_H

#include "base/containers/arena.h"
#include "base/containers/buf.h"
#include "base/containers/intern.h"
#include "base/containers/map.h"
#include "graph/dtype.h"
#include "graph/expr/expr.h"
#include <pyrometer/model.h>

#define PYRO_NO_VALUE UINT32_MAX
#define PYRO_MAX_RANK 64

/* A size: itself when >= 0, else ~index of an expression. */
typedef int64_t pyro_size;

typedef enum pyro_role {
    PYRO_ROLE_ACTIVATION,
    PYRO_ROLE_INPUT,
    PYRO_ROLE_PARAMETER,
    PYRO_ROLE_BUFFER,
    PYRO_ROLE_CONSTANT
} pyro_role;

typedef enum pyro_graph_value_kind {
    PYRO_GRAPH_VALUE_UNDESCRIBED, /* named by a node, its shape not read yet */
    PYRO_GRAPH_VALUE_TENSOR,
    PYRO_GRAPH_VALUE_SYMBOLIC, /* a number: its one size is in `sizes` */
    PYRO_GRAPH_VALUE_OTHER     /* a token, a custom object */
} pyro_graph_value_kind;

typedef struct pyro_value {
    const char *name;
    const pyro_size *sizes;
    const pyro_size *strides; /* in elements; NULL if unknown */
    pyro_size offset;         /* of its first element in the storage; with strides */
    uint32_t device;          /* equal for equal devices; 0 if unknown */
    uint8_t kind, role, dtype, rank;
    bool made;          /* an input, or the output of a node that came earlier */
    bool used;          /* by some node */
    bool on_meta;       /* exported on torch's meta device */
    uint8_t cache_axis; /* 1 + the axis of past tokens, if its reader knows that it is a cache */
} pyro_value;

typedef struct pyro_graph pyro_graph;

typedef enum pyro_arg_kind {
    PYRO_ARG_NONE,
    PYRO_ARG_TENSOR,  /* items.values[0] */
    PYRO_ARG_TENSORS, /* PYRO_NO_VALUE stands for None */
    PYRO_ARG_INTEGER, /* items.integers[0] */
    PYRO_ARG_INTEGERS,
    PYRO_ARG_BOOLEAN, /* items.integers[0].literal */
    PYRO_ARG_NUMBER,
    PYRO_ARG_NUMBERS, /* items.numbers */
    PYRO_ARG_TEXT,
    PYRO_ARG_GRAPH,
    PYRO_ARG_OTHER
} pyro_arg_kind;

/* An integer argument: a literal, or the value of a symbolic number. */
typedef struct pyro_arg_integer {
    int64_t literal;
    uint32_t value; /* PYRO_NO_VALUE: use the literal */
} pyro_arg_integer;

typedef struct pyro_arg {
    const char *name; /* as in the operator's schema; "" without a name */
    uint8_t kind;
    uint32_t count;
    union {
        const uint32_t *values;
        const pyro_arg_integer *integers;
        const char *text;
        const pyro_graph *graph;
        const double *numbers;
        double number;
    } items;
} pyro_arg;

typedef struct pyro_node {
    const char *name;   /* of its first output, else of its target */
    const char *target; /* "aten.conv2d.default" */
    const pyro_arg *args;
    const uint32_t *outputs;
    uint32_t arg_count, output_count;
    uint32_t module; /* PYRO_NO_VALUE: validation sets that of the enclosing node, or the model */
    uint32_t call; /* of that module; PYRO_NO_VALUE if unknown */
    int64_t offset; /* in the file */
} pyro_node;

/* The main graph, or the body of a higher-order operator. */
struct pyro_graph {
    pyro_intern names; /* id of a name is the index of its value */
    pyro_intern_order name_order;
    pyro_value *values;
    size_t value_count, value_capacity;
    pyro_node *nodes;
    size_t node_count, node_capacity;
    const uint32_t *inputs; /* PYRO_NO_VALUE for an input that is not a value */
    size_t input_count;
    const uint32_t *outputs; /* likewise; NULL if the reader does not keep them */
    size_t output_count;
    void *reader_data; /* what its reader keeps beside it, in the model's arena; NULL: nothing */
    pyro_graph *next; /* all graphs of a model, to be freed */
};

/* A module of the tree; 0 is the model itself, with the path "". */
typedef struct pyro_module {
    const char *path;
    const char *class_name; /* "Conv2d"; "" if unknown */
    uint32_t parent;
    uint32_t depth;
    uint32_t plain_call; /* 1 + the call whose key is "L__self__" and the path; 0: none */
    bool is_called; /* some stack names it; a ModuleList is never called */
    bool drops_masks; /* from transformers, which makes some masks only for exports (exported.h) */
} pyro_module;

/* One call of a module, for files that distinguish calls. */
typedef struct pyro_module_call {
    uint32_t module;
    uint32_t parent; /* enclosing call; PYRO_NO_VALUE: none */
} pyro_module_call;

/* Where a node is: its module, and the call of it; PYRO_NO_VALUE if that is unknown. */
typedef struct pyro_place {
    uint32_t module, call;
} pyro_place;

enum { PYRO_LAST_PLACES = 16 };

typedef struct pyro_parameter {
    const char *path; /* "layer1.0.conv1.weight" */
    uint32_t value;
    uint32_t module; /* its owner */
    uint8_t role;
    uint32_t tied_to; /* index of the parameter that is counted instead; PYRO_NO_VALUE: none */
    int64_t stored_bytes; /* in the file, for blocks of quantised values; 0: by its type */
} pyro_parameter;

struct pyro_model {
    pyro_arena arena;
    pyro_intern strings;
    pyro_exprs exprs;
    const char *name, *display_name, *source;
    const char *file; /* its path, or the caller's label */
    int64_t file_bytes; /* -1 if opened from memory */

    pyro_graph *graph;
    pyro_graph *all_graphs;
    size_t total_nodes;

    /* The modules have an arena of their own: a thread may add them while a reader uses the other. */
    pyro_arena module_arena;
    pyro_intern module_paths; /* id of a path is the index of its module */
    pyro_intern class_names;
    pyro_intern_order module_order;
    pyro_module *modules;
    size_t module_count, module_capacity;
    pyro_buf last_stack; /* text of the module stack of the last node that had one */
    pyro_place last_place; /* of that stack; PYRO_NO_VALUE: none was read */
    pyro_place
        last_places[PYRO_LAST_PLACES]; /* of the entries of the last stack, outermost first */
    size_t last_ends[PYRO_LAST_PLACES]; /* of these entries in its text */
    size_t last_count;
    uint32_t open_call; /* of the last node, if stacks have no keys; PYRO_NO_VALUE: none */
    pyro_intern call_keys; /* those that are not the plain one of a module: "L__self__act@1" */
    uint32_t *key_calls; /* by id of the key: its call */
    size_t key_call_capacity;
    pyro_module_call *calls;
    size_t call_count, call_capacity;

    pyro_intern parameter_paths; /* id of a path is the index of its parameter */
    pyro_parameter *parameters; /* buffers and constants too */
    size_t parameter_count, parameter_capacity;

    uint32_t *inputs; /* values of the user's input tensors */
    size_t input_count, input_capacity;

    uint32_t *guards; /* expressions that must hold for the graph to be valid */
    size_t guard_count, guard_capacity;

    const char **notes;
    size_t note_count, note_capacity;
    pyro_facts facts;
    pyro_origin origin;
    int64_t cache_values_per_token; /* of a language model's keys and values; 0: unknown */
    /* Derives all shapes at the current sizes, for files that omit them; NULL: the file has them. */
    int (*infer)(pyro_model *model, pyro_error *error);
};

pyro_model *pyro_model_new(void);
pyro_graph *pyro_model_add_graph(pyro_model *model);
/* Adds a note for the user about the numbers. Returns false if memory runs out. */
bool pyro_model_note(pyro_model *model, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The value of a name, added if new; PYRO_NO_VALUE if memory runs out. */
uint32_t pyro_graph_value(pyro_graph *graph, const char *name, size_t length);

/* The module of a dotted path, added with its ancestors if new; PYRO_NO_VALUE: out of memory. */
uint32_t pyro_model_module(pyro_model *model, const char *path, size_t length);
/*
 * The place of a stack as .pt2 files write it: "key,path,class;..." (modules.c). Its module is
 * PYRO_NO_VALUE if memory runs out.
 */
pyro_place pyro_model_place_of_stack(pyro_model *model, const char *stack, size_t length);
/*
 * The call of the next node of a module, if stacks have no keys: the open call, or a new one if
 * something outside the module ran since. PYRO_NO_VALUE for the model itself, or out of memory.
 */
uint32_t pyro_model_enter(pyro_model *model, uint32_t module);

/* Reads a current size; returns false if it depends on data or could not be computed. */
bool pyro_size_value(const pyro_model *model, pyro_size size, int64_t *out);
/* The expression of a size, or NULL if it is fixed. */
const pyro_expr *pyro_size_expr(const pyro_model *model, pyro_size size);

/* Finds an input by name, or by index if `name` is NULL; returns NULL if not found. */
const pyro_value *pyro_model_find_input(const pyro_model *model, const char *name);
/* Applies a default shape of the file: like set_shape, but later requests may override it. */
int pyro_model_default_shape(pyro_model *model, const char *input, const int64_t *dims, size_t rank,
                             pyro_error *error);
/* Copies all sizes, to try others; the caller frees them. NULL if memory runs out. */
pyro_symbol *pyro_model_save_sizes(const pyro_model *model);
/* Sets all sizes as they were. With `open` later requests may change those that users set. */
void pyro_model_restore_sizes(pyro_model *model, const pyro_symbol *saved, bool open);
/* Checks guards, assertions, negative sizes, and table bounds (embedding_bounds.h). */
int pyro_model_check_sizes(const pyro_model *model, pyro_error *error);

#endif
