/* Memory over time: pieces that live from one step to another, and the curve of their sum. */
#ifndef PYRO_GRAPH_MEMORY_LIFETIMES_H
#define PYRO_GRAPH_MEMORY_LIFETIMES_H

#include "graph/model.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pyro_piece {
    int64_t bytes;
    size_t first, last; /* steps, inclusive */
    uint32_t value;     /* of the main graph, or PYRO_NO_VALUE */
    uint32_t node;      /* that makes it, or PYRO_NO_VALUE */
    uint8_t kind;       /* the caller's */
} pyro_piece;

typedef struct pyro_lifetimes {
    pyro_piece *pieces;
    size_t count, capacity;
    bool overflow, out_of_memory;
} pyro_lifetimes;

/* Adds a piece; one without bytes is left out. Returns its index, or SIZE_MAX. */
size_t pyro_lifetimes_add(pyro_lifetimes *lifetimes, pyro_piece piece);
/* Fills the curve over `steps` steps and finds its first maximum. False: the bytes overflow. */
bool pyro_lifetimes_run(const pyro_lifetimes *lifetimes, int64_t *curve, size_t steps,
                        size_t *peak);
void pyro_lifetimes_free(pyro_lifetimes *lifetimes);

/* The tensors that the main graph makes, over its nodes (cost/peak.c). */
struct pyro_cost;
int pyro_cost_lifetimes(const struct pyro_cost *cost, pyro_lifetimes *out, pyro_error *error);

#endif
