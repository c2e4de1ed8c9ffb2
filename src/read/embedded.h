/* The model skeletons built into the library. The build generates the table from catalog/. */
#ifndef PYRO_READ_EMBEDDED_H
#define PYRO_READ_EMBEDDED_H

#include <stddef.h>

typedef struct pyro_embedded_model {
    const char *name; /* the file's name without ".pt2"; a second graph's ends in ".decode" */
    const unsigned char *data;
    size_t size;
} pyro_embedded_model;

/* Sorted by name (strcmp); the last row has a NULL name. */
extern const pyro_embedded_model pyro_embedded_models[];

/* Their index with default costs: catalog/index.json. */
extern const unsigned char pyro_embedded_index[];
extern const size_t pyro_embedded_index_size;

#endif
