/* A hash map from 64-bit keys to 32-bit values (indices into the caller's arrays). */
#ifndef PYRO_BASE_CONTAINERS_MAP_H
#define PYRO_BASE_CONTAINERS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYRO_MAP_NONE UINT32_MAX

typedef struct pyro_map_slot {
    uint64_t key;
    uint32_t value; /* PYRO_MAP_NONE: empty */
} pyro_map_slot;

typedef struct pyro_map {
    pyro_map_slot *slots;
    size_t count, capacity; /* capacity is 0 or a power of two */
} pyro_map;

#define PYRO_MAP_INIT {NULL, 0, 0}

/* PYRO_MAP_NONE when absent. */
uint32_t pyro_map_get(const pyro_map *map, uint64_t key);
/* Adds or replaces; `value` must not be PYRO_MAP_NONE. Returns false if memory runs out. */
bool pyro_map_put(pyro_map *map, uint64_t key, uint32_t value);
void pyro_map_free(pyro_map *map);

#endif
