/* Implements the hash map: open addressing with linear probing, at most three quarters full. */
#include "base/containers/map.h"

#include "base/pages.h"
#include <stdlib.h>

#define SMALLEST_CAPACITY 16

/*
 * Mixes in the address of the slots, which changes with every run and every growth, so that no file
 * can provoke collisions.
 */
static size_t slot_of(const pyro_map_slot *slots, size_t capacity, uint64_t key)
{
    uint64_t mixed = (key ^ (uint64_t)(uintptr_t)slots) * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= mixed >> 32;
    mixed *= UINT64_C(0xd6e8feb86659fd93);
    mixed ^= mixed >> 32;
    return (size_t)mixed & (capacity - 1);
}

/* Returns the slot of the key, or the empty slot where it belongs. */
static pyro_map_slot *find_slot(pyro_map_slot *slots, size_t capacity, uint64_t key)
{
    size_t at = slot_of(slots, capacity, key);
    while (slots[at].value != PYRO_MAP_NONE && slots[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(pyro_map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : SMALLEST_CAPACITY;
    if (capacity < map->capacity)
        return false;
    pyro_map_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return false;
    pyro_prefer_large_pages(slots, capacity * sizeof *slots);
    for (size_t i = 0; i < capacity; i++)
        slots[i].value = PYRO_MAP_NONE;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value != PYRO_MAP_NONE)
            *find_slot(slots, capacity, map->slots[i].key) = map->slots[i];
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return true;
}

uint32_t pyro_map_get(const pyro_map *map, uint64_t key)
{
    if (map->count == 0)
        return PYRO_MAP_NONE;
    return find_slot(map->slots, map->capacity, key)->value;
}

bool pyro_map_put(pyro_map *map, uint64_t key, uint32_t value)
{
    if (map->count >= map->capacity / 4 * 3 && pyro_map_get(map, key) == PYRO_MAP_NONE &&
        !grow(map))
        return false;
    pyro_map_slot *slot = find_slot(map->slots, map->capacity, key);
    if (slot->value == PYRO_MAP_NONE)
        map->count++;
    slot->key = key;
    slot->value = value;
    return true;
}

void pyro_map_free(pyro_map *map)
{
    free(map->slots);
    *map = (pyro_map)PYRO_MAP_INIT;
}
