/* Implements the arena as a list of zeroed blocks. New pieces come from the first block. */
#include "base/containers/arena.h"

#include "base/pages.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK_BYTES ((size_t)4 << 10)
/* Large enough for large pages: with blocks of 1 MB a graph of a million nodes takes 400,000 faults. */
#define LARGEST_BLOCK_BYTES ((size_t)16 << 20)
#define ALIGNMENT alignof(max_align_t)

struct pyro_arena_block {
    pyro_arena_block *next;
    size_t used, capacity;
    alignas(max_align_t) char bytes[];
};

void pyro_arena_init(pyro_arena *arena)
{
    arena->blocks = NULL;
    arena->total_bytes = 0;
}

void pyro_arena_free(pyro_arena *arena)
{
    pyro_arena_block *next;
    for (pyro_arena_block *block = arena->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    pyro_arena_init(arena);
}

/* Adds a block of at least `size` bytes. It becomes the first one unless that has more space. */
static pyro_arena_block *add_block(pyro_arena *arena, size_t size)
{
    pyro_arena_block *first = arena->blocks;
    size_t capacity = first ? first->capacity * 2 : FIRST_BLOCK_BYTES;
    if (capacity > LARGEST_BLOCK_BYTES)
        capacity = LARGEST_BLOCK_BYTES;
    if (capacity < size)
        capacity = size;
    pyro_arena_block *block = calloc(1, sizeof *block + capacity);
    if (!block)
        return NULL;
    pyro_prefer_large_pages(block, sizeof *block + capacity);
    block->capacity = capacity;
    arena->total_bytes += sizeof *block + capacity;
    if (first && first->capacity - first->used > capacity - size) {
        block->next = first->next;
        first->next = block;
    } else {
        block->next = first;
        arena->blocks = block;
    }
    return block;
}

void *pyro_arena_alloc(pyro_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = size ? (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1) : ALIGNMENT;
    pyro_arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < size)
        block = add_block(arena, size);
    if (!block)
        return NULL;
    void *memory = block->bytes + block->used;
    block->used += size;
    return memory;
}

void *pyro_arena_array(pyro_arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    return pyro_arena_alloc(arena, total);
}

char *pyro_arena_text(pyro_arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = pyro_arena_alloc(arena, length + 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

char *pyro_arena_format(pyro_arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    char *text = NULL;
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0)
        text = pyro_arena_alloc(arena, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}
