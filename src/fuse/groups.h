/*
 * Groups of kernels that become one. A group stays convex: no path leaves it and comes back, so
 * that all groups can run one after the other.
 */
#ifndef PYRO_FUSE_GROUPS_H
#define PYRO_FUSE_GROUPS_H

#include "fuse/nodes.h"

typedef enum pyro_group_core {
    PYRO_CORE_POINTWISE,
    PYRO_CORE_ROWS,        /* norms and reductions over rows */
    PYRO_CORE_CONTRACTION, /* a convolution or products, with what follows them */
    PYRO_CORE_WINDOW,
    PYRO_CORE_ATTENTION,
    PYRO_CORE_OPAQUE
} pyro_group_core;

typedef struct pyro_group {
    pyro_group_core core;
    int64_t elements; /* that its kernels walk: the most of them */
    int64_t rows;     /* values that its reductions leave; 0: none */
    uint32_t first, last; /* kernels */
    uint32_t members, contractions;
    bool is_projections, is_parallel;
} pyro_group;

typedef struct pyro_groups {
    const pyro_kernels *kernels;
    uint32_t *parent; /* of each kernel, towards the first of its group */
    uint32_t *next;   /* member after it; PYRO_NO_KERNEL */
    uint32_t *tail;   /* of a first one: the last member */
    pyro_group *groups; /* by first kernel */
    uint32_t *seen;   /* by kernel: the search that saw it last */
    uint32_t search;
    uint32_t *stack;
} pyro_groups;

int pyro_groups_init(pyro_groups *out, const pyro_kernels *kernels, pyro_error *error);
void pyro_groups_free(pyro_groups *groups);
/* The number of a kernel's group: its representative. */
uint32_t pyro_groups_of(const pyro_groups *groups, uint32_t kernel);

/* Whether all readers of a kernel's values are in a group, and none of them is a result. */
bool pyro_groups_keep(const pyro_groups *groups, uint32_t kernel, uint32_t group);
/* Whether two groups as one would still be convex. */
bool pyro_groups_can_join(pyro_groups *groups, uint32_t a, uint32_t b);
/* Joins them; the core, elements and rows are those of `core_of`. Returns the new group. */
uint32_t pyro_groups_join(pyro_groups *groups, uint32_t a, uint32_t b, uint32_t core_of);

/* The passes, in their order. */
void pyro_fuse_attention(pyro_groups *groups);
void pyro_fuse_vertical(pyro_groups *groups, bool keeps_results);
void pyro_fuse_horizontal(pyro_groups *groups, const pyro_cost *cost);

#endif
