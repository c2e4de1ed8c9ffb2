/* The catalog's index: what is known of built-in models without opening them. */
#ifndef PYRO_READ_INDEX_H
#define PYRO_READ_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PYRO_INDEX_NAME = 128 };

/*
 * The built-in model that is known elsewhere as `id` (a name, or owner/name), in `name`. An exact
 * alias is the same architecture; another one is near it. False where the index has neither.
 */
bool pyro_index_alias(const char *id, char name[PYRO_INDEX_NAME], bool *exact);

/* Values of keys and values that each token adds to a language model's cache; 0: not known. */
int64_t pyro_index_cache_values(const char *name);

/* What the index says of a model's first input and family; false where there is no such model. */
typedef struct pyro_index_model {
    char family[PYRO_INDEX_NAME];
    int64_t image_side; /* 0: the first input is no square image */
    bool open_image;    /* its height may change */
} pyro_index_model;
bool pyro_index_find(const char *name, pyro_index_model *out);

#endif
