/*
 * The reader of ONNX files: its functions for formats.c, and what its files share. Nodes become
 * nodes of the graph with the target "onnx.Conv"; functions are expanded where they are called;
 * bodies of If, Loop and Scan are graphs of their own. Shapes are derived before each computation
 * (infer.c), because a file lists few of them, and none for the user's sizes.
 */
#ifndef PYRO_READ_ONNX_H
#define PYRO_READ_ONNX_H

#include "graph/model.h"
#include "graph/ops.h"
#include "read/formats.h"
#include "read/onnx/wire.h"

/* Rows of formats.c (open.c). */
bool pyro_onnx_is(const pyro_opening *opening);
int pyro_onnx_open(const pyro_opening *opening, pyro_error *error);

enum {
    ONNX_MAX_NODES = 1 << 22,  /* after functions are expanded */
    ONNX_MAX_EXPANSIONS = 1 << 17, /* calls of functions */
    ONNX_MAX_DEPTH = 48,       /* bodies in bodies, functions in functions */
    ONNX_MAX_ELEMENTS = 1024,  /* of constants whose values are kept: shapes, axes, scales */
    ONNX_MAX_LIST = 1 << 20    /* items of an attribute */
};

/* An unknown integer. The smallest number itself is a bound of slices in real files. */
#define ONNX_UNKNOWN (INT64_MIN + 77)
/* A size that is negative or does not fit in 64 bits: an output of that size is an error. */
#define ONNX_INVALID (INT64_MIN + 78)

/* The values of a small tensor: one of both lists is set; unknown items are ONNX_UNKNOWN or NaN. */
typedef struct onnx_values {
    uint32_t count;
    int64_t *integers;
    double *reals;
} onnx_values;

/* What the file says of a value; beside the pyro_value of the same index. */
typedef struct onnx_value {
    const pyro_size *declared; /* sizes in the file; NULL: none */
    uint8_t declared_rank, declared_dtype;
    uint8_t role;              /* pyro_role in the exporter's signature; 0: not stated */
    bool is_stored;            /* an initializer or a constant */
    bool is_generated;         /* a Constant node: an exporter's number, seldom a weight */
    uint32_t captured_from;    /* value of the enclosing graph; PYRO_NO_VALUE: none */
    uint32_t maker;            /* node that makes it; PYRO_NO_VALUE: none */
    const char *location;      /* of external data; NULL: none */
    int64_t location_offset;
    const onnx_values *constant;
    const onnx_values *known;  /* during inference */
    pyro_size *inferred;       /* room for the sizes that inference finds */
    uint8_t inferred_room;
} onnx_value;

/* Beside a pyro_graph (its `reader_data`). */
typedef struct onnx_graph {
    pyro_graph *graph;
    size_t ordinal;
    struct onnx_graph *outer; /* the graph of the node whose body this is; NULL: none */
    onnx_value *values;
    size_t capacity;
    uint32_t *outputs;
    size_t output_count;
    uint32_t *captured; /* values that come from `outer` */
    size_t captured_count, captured_capacity;
    size_t open_note; /* of the main graph: 1 + the note about sizes that the file leaves open */
} onnx_graph;

typedef struct onnx_function {
    const char *name;
    int64_t begin, end;
} onnx_function;

/* A call of a function that is being expanded. */
typedef struct onnx_expansion {
    const struct onnx_expansion *caller;
    uint32_t function;
    const char *prefix; /* of the names of its values */
    uint32_t module;
    pyro_intern names; /* of its values; id is an index into `bound` */
    struct onnx_bound {
        uint32_t value; /* PYRO_NO_VALUE: an input that the call omits */
        bool is_pending; /* an output of the call, which no node has made yet */
    } *bound;
    size_t bound_count, bound_capacity;
    const pyro_arg *args; /* attributes of the call, then defaults */
    size_t arg_count;
} onnx_expansion;

/* Where names are looked up. */
typedef struct onnx_scope {
    onnx_graph *graph;
    const struct onnx_scope *outer;
    onnx_expansion *expansion; /* NULL: the graph itself */
} onnx_scope;

typedef struct onnx_reader {
    pyro_model *model;
    pyro_error *error;
    pyro_wire wire;
    onnx_graph *main;
    int64_t ir_version, opset;
    bool has_opset;
    const char *producer, *producer_version;
    int64_t graph_begin, graph_end;
    pyro_intern function_keys; /* id is an index into `functions` */
    onnx_function *functions;
    size_t function_count, function_capacity;
    pyro_op_index ops;
    size_t depth, expansions, graph_count;
    size_t unnamed; /* constants hoisted out of bodies so far */
    /* scratch, used as a stack by nested nodes */
    uint32_t *ids;
    size_t id_count, id_capacity;
    pyro_arg *args;
    size_t arg_count, arg_capacity;
    int64_t *integers;
    size_t integer_count, integer_capacity;
    double *reals;
    size_t real_count, real_capacity;
} onnx_reader;

/* A node before its outputs exist. */
typedef struct onnx_node {
    const char *name, *op, *domain, *overload;
    const char *scopes, *classes; /* metadata of torch's exporter; NULL: none */
    size_t first_input, input_count; /* in reader->ids */
    int64_t begin, end;
} onnx_node;

/* Values and names (values.c). Each returns PYRO_NO_VALUE or false after filling the error. */
onnx_graph *onnx_graph_new(onnx_reader *reader, onnx_graph *outer);
/* What the file says of a value, in the graph that defines it. */
onnx_value *onnx_value_of(onnx_graph *graph, uint32_t index);
/* The value that a name refers to; captured from an enclosing graph if need be. */
uint32_t onnx_use(onnx_reader *reader, const onnx_scope *scope, const char *name, size_t length,
                  int64_t offset);
/* A new value of that name. */
uint32_t onnx_make(onnx_reader *reader, const onnx_scope *scope, const char *name, size_t length,
                   int64_t offset);
/* The value of a name that the file describes before a node makes it. */
uint32_t onnx_declare(onnx_reader *reader, onnx_graph *graph, const char *name, size_t length);
/* A value with weights of any graph: it lives in the main graph, and bodies capture it. */
uint32_t onnx_store(onnx_reader *reader, const onnx_scope *scope, const char *name, size_t length,
                    int64_t offset);
/* Binds a name of an expanded function to a value of the graph. */
bool onnx_bind(onnx_reader *reader, onnx_expansion *expansion, const char *name, size_t length,
               uint32_t value, bool is_pending);
const char *onnx_text(onnx_reader *reader, const pyro_wire_field *field);
bool onnx_out_of_memory(onnx_reader *reader);

/* Tensors (tensor.c) */
typedef struct onnx_tensor_proto {
    int64_t dims[PYRO_MAX_RANK];
    uint8_t rank, dtype;
    int64_t elements;
    pyro_wire_field name;
    const char *location;
    int64_t location_offset;
    const onnx_values *values;
} onnx_tensor_proto;
bool onnx_read_tensor(onnx_reader *reader, int64_t begin, int64_t end, onnx_tensor_proto *out);
/* Describes a value by a tensor. */
bool onnx_describe(onnx_reader *reader, onnx_graph *graph, uint32_t index,
                   const onnx_tensor_proto *tensor);
uint8_t onnx_dtype(int64_t code);

/* Graphs (graph.c), nodes (node.c), functions (function.c) */
bool onnx_read_graph(onnx_reader *reader, const onnx_scope *scope, int64_t begin, int64_t end);
bool onnx_read_node(onnx_reader *reader, const onnx_scope *scope, int64_t begin, int64_t end);
bool onnx_read_attribute(onnx_reader *reader, const onnx_scope *scope, int64_t begin, int64_t end,
                         pyro_arg *out);
bool onnx_index_function(onnx_reader *reader, int64_t begin, int64_t end);
/* The function that a node calls; PYRO_NO_VALUE: none. */
uint32_t onnx_find_function(const onnx_reader *reader, const onnx_node *node);
/* Reads the body of a function in place of a node; its attributes are reader->args from `args`. */
bool onnx_expand(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node,
                 uint32_t function, size_t args);

/* The layer of a node (layers.c); PYRO_NO_VALUE: out of memory. */
uint32_t onnx_layer(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node);
/* Decides which stored values are parameters (roles.c). */
bool onnx_add_parameters(onnx_reader *reader);

/* Derives all shapes at the current sizes (infer.c): the model's `infer`. */
int onnx_infer(pyro_model *model, pyro_error *error);

/* Prices what lies between DequantizeLinear and QuantizeLinear in integers (quantized.c). */
void onnx_mark_quantized(pyro_model *model, onnx_graph *main);

#endif
