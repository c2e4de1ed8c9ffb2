/* An arena: memory allocated piece by piece and freed all at once. One per graph, one per trace. */
#ifndef PYRO_BASE_CONTAINERS_ARENA_H
#define PYRO_BASE_CONTAINERS_ARENA_H

#include "base/pages.h"
#include <stddef.h>

typedef struct pyro_arena_block pyro_arena_block;

typedef struct pyro_arena {
    pyro_arena_block *blocks;
    size_t total_bytes; /* taken from the system */
    pyro_populator *populator; /* the caller's; NULL: none */
    pyro_arena_block *spare; /* the next large block, which the populator fills with pages */
} pyro_arena;

void pyro_arena_init(pyro_arena *arena);
void pyro_arena_free(pyro_arena *arena);

/*
 * Lets a populator prepare the next large block while this one is filled, until that is called with
 * NULL. The populator must not be stopped before.
 */
void pyro_arena_set_populator(pyro_arena *arena, pyro_populator *populator);

/* Returns zeroed memory, aligned for any type; NULL if memory runs out. */
void *pyro_arena_alloc(pyro_arena *arena, size_t size);
/* count * size, checked for overflow. */
void *pyro_arena_array(pyro_arena *arena, size_t count, size_t size);
/* The same for items of a smaller alignment, a power of two, which wastes less. */
void *pyro_arena_items(pyro_arena *arena, size_t count, size_t size, size_t alignment);
/* A NUL-terminated copy of `length` bytes. */
char *pyro_arena_text(pyro_arena *arena, const char *text, size_t length);
/* printf into the arena. */
char *pyro_arena_format(pyro_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
