/* Which values of the main graph share memory, and how much each piece of memory has. */
#ifndef PYRO_GRAPH_MEMORY_STORAGES_H
#define PYRO_GRAPH_MEMORY_STORAGES_H

#include "graph/cost/cost.h"

typedef struct pyro_storages {
    uint32_t *owner; /* by value: the value that owns its memory */
    int64_t *bytes;  /* by owner, of outputs of nodes; 0 for inputs and weights */
    bool *moves;     /* by node: it reads or writes bytes, so that it is no view */
} pyro_storages;

/* PYRO_ERROR_LIMIT if bytes overflow. Free it even then. */
int pyro_storages_find(pyro_storages *out, const pyro_cost *cost, pyro_error *error);
void pyro_storages_free(pyro_storages *storages);

/* Bytes of a value of the main graph; 0 if a size is open. False: they overflow. */
bool pyro_value_bytes(const pyro_cost *cost, uint32_t value, int64_t *bytes);
/* Number of elements; 0 if a size is open, or it is no tensor. False: they overflow. */
bool pyro_value_elements(const pyro_cost *cost, uint32_t value, int64_t *elements);

/* "aten.relu_.default" writes into its input. */
bool pyro_writes_in_place(const char *target);

#endif
