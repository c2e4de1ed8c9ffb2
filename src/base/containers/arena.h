/* An arena: memory allocated piece by piece and freed all at once. One per graph, one per trace. */
#ifndef PYRO_BASE_CONTAINERS_ARENA_H
#define PYRO_BASE_CONTAINERS_ARENA_H

#include <stddef.h>

typedef struct pyro_arena_block pyro_arena_block;

typedef struct pyro_arena {
    pyro_arena_block *blocks;
    size_t total_bytes; /* taken from the system */
} pyro_arena;

void pyro_arena_init(pyro_arena *arena);
void pyro_arena_free(pyro_arena *arena);

/* Returns zeroed memory, aligned for any type; NULL if memory runs out. */
void *pyro_arena_alloc(pyro_arena *arena, size_t size);
/* count * size, checked for overflow. */
void *pyro_arena_array(pyro_arena *arena, size_t count, size_t size);
/* A NUL-terminated copy of `length` bytes. */
char *pyro_arena_text(pyro_arena *arena, const char *text, size_t length);
/* printf into the arena. */
char *pyro_arena_format(pyro_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
