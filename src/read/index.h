/* The catalog's index: facts about built-in models that need no opening of the model. */
#ifndef PYRO_READ_INDEX_H
#define PYRO_READ_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PYRO_INDEX_NAME = 128 };

/*
 * Finds the built-in model for an id (a name, or owner/name) and writes it to `name`. An exact
 * alias has the same architecture, another one is similar. Returns false if the index has neither.
 */
bool pyro_index_alias(const char *id, char name[PYRO_INDEX_NAME], bool *exact);

/* Elements of keys and values that each token adds to a language model's cache; 0: unknown. */
int64_t pyro_index_cache_values(const char *name);

/* The first input and family of a model in the index; returns false if the model is unknown. */
typedef struct pyro_index_model {
    char family[PYRO_INDEX_NAME];
    int64_t image_side; /* 0: the first input is not a square image */
    bool open_image;    /* its height may change */
} pyro_index_model;
bool pyro_index_find(const char *name, pyro_index_model *out);

#endif
