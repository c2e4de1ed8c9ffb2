/*
 * The kernels of a model and the values between them. Views are transparent: a value that is read
 * through a view is read from the kernel that made it.
 */
#ifndef PYRO_FUSE_NODES_H
#define PYRO_FUSE_NODES_H

#include "base/containers/arena.h"
#include "graph/cost/cost.h"
#include <pyrometer/fuse.h>

#define PYRO_NO_KERNEL UINT32_MAX

/* What a kernel may be fused with depends on how it walks its values. */
typedef enum pyro_kernel_kind {
    PYRO_KERNEL_POINTWISE,   /* each output value from the input values at its place */
    PYRO_KERNEL_SCALE,       /* batch norm with fixed statistics: pointwise, and foldable */
    PYRO_KERNEL_SOFTMAX,     /* a reduction over rows and back */
    PYRO_KERNEL_NORM,        /* the same */
    PYRO_KERNEL_REDUCTION,   /* its output is smaller than its input */
    PYRO_KERNEL_CONVOLUTION,
    PYRO_KERNEL_PRODUCT,
    PYRO_KERNEL_ATTENTION,
    PYRO_KERNEL_WINDOW, /* pooling, resampling: reads a value several times */
    PYRO_KERNEL_OPAQUE  /* recurrent layers, sorting, bodies of control flow, unknown operators */
} pyro_kernel_kind;

/* A value that a kernel reads. */
typedef struct pyro_kernel_use {
    uint32_t value;    /* of the main graph */
    uint32_t source;   /* kernel that made it; PYRO_NO_KERNEL: an input or a weight */
    uint32_t origin;   /* the value that it is a view of, or itself */
    int64_t bytes, elements;
    bool is_weight;
    bool is_in_place; /* each value is read where it was made: no slice, no shift, no lookup */
} pyro_kernel_use;

typedef struct pyro_kernel {
    uint32_t cost_node; /* its first */
    uint32_t cost_node_count; /* above 1: the body of control flow */
    uint32_t graph_node;
    pyro_kernel_kind kind;
    uint32_t first_use, use_count;
    int64_t elements; /* that it walks: of its output, or of the input that it reduces */
    int64_t rows;     /* of a reduction: values of its output; else 0 */
    const int64_t *dims; /* of its first output */
    size_t rank;
    int64_t read_bytes, written_bytes, flops, times;
    uint32_t first_reader, reader_count; /* kernels, each once */
    bool escapes; /* a value of it is a result of the model */
} pyro_kernel;

typedef struct pyro_kernels {
    pyro_arena arena;
    pyro_kernel *items;
    size_t count, capacity;
    pyro_kernel_use *uses;
    size_t use_count, use_capacity;
    uint32_t *readers;
    size_t reader_count;
    int64_t body_kernels; /* further kernels inside of opaque ones */
} pyro_kernels;

int pyro_kernels_find(pyro_kernels *out, const pyro_cost *cost, pyro_error *error);
void pyro_kernels_free(pyro_kernels *kernels);

#endif
