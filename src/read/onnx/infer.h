/* Shape inference: the node that is looked at, and the functions that derive its outputs. */
#ifndef PYRO_READ_ONNX_INFER_H
#define PYRO_READ_ONNX_INFER_H

#include "read/onnx/onnx.h"

/* A size: 0 or more, ONNX_UNKNOWN, or another negative number: an expression that is open. */
typedef struct onnx_shape {
    bool is_known; /* its rank and type; sizes may still be open */
    uint8_t rank, dtype;
    const int64_t *dims;
    const onnx_values *values; /* NULL: unknown */
} onnx_shape;

typedef struct onnx_call onnx_call;

typedef struct onnx_inference {
    pyro_model *model;
    pyro_error *error;
    bool (*infer_body)(onnx_call *call, onnx_graph *body); /* whose inputs are set */
    pyro_arena values; /* known values, until all shapes are derived */
    pyro_arena scratch; /* of one node */
    pyro_map rule_of_target;
    int64_t nodes_left; /* before inference of nested loops is given up */
    size_t depth;
} onnx_inference;

struct onnx_call {
    onnx_inference *inference;
    onnx_graph *graph;
    const pyro_node *node;
    const onnx_shape *inputs;
    size_t input_count;
    int status; /* negative: inference fails */
};

/* Sets the outputs; returns false if it cannot: then the file's own description counts. */
typedef bool (*onnx_rule)(onnx_call *call);

typedef struct onnx_rule_row {
    const char *target;
    onnx_rule shape;
} onnx_rule_row;

/* Helpers (call.c) */
/* The shape of an input; NULL: omitted, or unknown. */
const onnx_shape *onnx_in(const onnx_call *call, size_t position);
bool onnx_has_input(const onnx_call *call, size_t position);
const onnx_values *onnx_in_values(const onnx_call *call, size_t position);
const pyro_arg *onnx_attribute(const onnx_call *call, const char *name);
int64_t onnx_integer(const onnx_call *call, const char *name, int64_t otherwise);
const char *onnx_word(const onnx_call *call, const char *name, const char *otherwise);
/* A list of integers: an attribute, or else an input; false if neither is known. */
bool onnx_list(const onnx_call *call, const char *name, size_t position, const int64_t **items,
               size_t *count);
bool onnx_out(onnx_call *call, size_t output, uint8_t dtype, size_t rank, const int64_t *dims);
bool onnx_out_like(onnx_call *call, size_t output, uint8_t dtype, const onnx_shape *like);
/* The axis of an integer that may count from the end; -1: invalid. */
int onnx_axis(int64_t axis, size_t rank);
/* ONNX_UNKNOWN if one is open, ONNX_INVALID if one is invalid or the result does not fit. */
int64_t onnx_times(int64_t a, int64_t b);
int64_t onnx_plus(int64_t a, int64_t b);
/* A number of the file as a size: unknown stays unknown, a negative one is invalid. */
int64_t onnx_size(int64_t number);
/* A real number as a size, rounded down; ONNX_UNKNOWN if it is not a number. */
int64_t onnx_real_size(double number);
/* An attribute that must be 1 or more; else fails inference. */
bool onnx_positive(onnx_call *call, const char *name, int64_t otherwise, int64_t *out);
/* Broadcasts two shapes; false if they do not match. */
bool onnx_broadcast(const onnx_shape *a, const onnx_shape *b, int64_t *dims, size_t *rank);
bool onnx_mismatch(onnx_call *call, const char *what); /* fails inference; returns false */

/* Writes a value's shape, as an input of a body. */
bool onnx_set_value(onnx_inference *inference, onnx_graph *graph, uint32_t index, uint8_t dtype,
                    size_t rank, const int64_t *dims);
void onnx_forget_value(onnx_graph *graph, uint32_t index);
bool onnx_get_value(onnx_inference *inference, const onnx_graph *graph, uint32_t index,
                    onnx_shape *out);

/* Computes the values of small outputs (propagate.c). */
void onnx_propagate(onnx_call *call);

/* The rules (rules_*.c) */
#define INFER(target, name) bool onnx_shape_##name(onnx_call *call);
#include "read/onnx/shapes.def"
#undef INFER

#endif
