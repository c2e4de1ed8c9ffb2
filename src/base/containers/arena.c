/* Implements the arena as a list of zeroed blocks. New pieces come from the first block. */
#include "base/containers/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK_BYTES ((size_t)4 << 10)
#define ALIGNMENT alignof(max_align_t)

struct pyro_arena_block {
    pyro_arena_block *next;
    size_t used, capacity;
    alignas(max_align_t) char bytes[];
};

/* Large enough for large pages: with blocks of 1 MB a graph of a million nodes takes 400,000 faults. */
static size_t largest_capacity(void)
{
    return pyro_whole_large_pages((size_t)15 << 20) - sizeof(pyro_arena_block);
}

void pyro_arena_init(pyro_arena *arena)
{
    *arena = (pyro_arena){0};
}

void pyro_arena_free(pyro_arena *arena)
{
    pyro_arena_block *next;
    for (pyro_arena_block *block = arena->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena->spare);
    pyro_arena_init(arena);
}

static pyro_arena_block *new_block(size_t capacity)
{
    pyro_arena_block *block = calloc(1, sizeof *block + capacity);
    if (!block)
        return NULL;
    pyro_prefer_large_pages(block, sizeof *block + capacity);
    block->capacity = capacity;
    return block;
}

/* The spare block, if it is of that capacity, or a new one; makes the next spare one ready. */
static pyro_arena_block *next_block(pyro_arena *arena, size_t capacity)
{
    if (!arena->populator || capacity != largest_capacity())
        return new_block(capacity);
    pyro_arena_block *block = arena->spare ? arena->spare : new_block(capacity);
    arena->spare = block ? new_block(capacity) : NULL; /* without memory the next call fails */
    if (arena->spare)
        pyro_populator_add(arena->populator, arena->spare, sizeof *block + capacity);
    return block;
}

void pyro_arena_set_populator(pyro_arena *arena, pyro_populator *populator)
{
    arena->populator = populator;
    if (populator)
        return;
    free(arena->spare);
    arena->spare = NULL;
}

/* Adds a block of at least `size` bytes. It becomes the first one unless that has more space. */
static pyro_arena_block *add_block(pyro_arena *arena, size_t size)
{
    pyro_arena_block *first = arena->blocks;
    size_t capacity = first ? first->capacity * 2 : FIRST_BLOCK_BYTES;
    if (capacity > largest_capacity())
        capacity = largest_capacity();
    if (capacity < size)
        capacity = size;
    pyro_arena_block *block = next_block(arena, capacity);
    if (!block)
        return NULL;
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

static void *allocate(pyro_arena *arena, size_t size, size_t alignment)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    pyro_arena_block *block = arena->blocks;
    size_t at = block ? (block->used + alignment - 1) & ~(alignment - 1) : 0;
    if (!block || at > block->capacity || block->capacity - at < size) {
        block = add_block(arena, size);
        at = 0;
    }
    if (!block)
        return NULL;
    block->used = at + size;
    return block->bytes + at;
}

/* Whole units of the alignment: texts are compared 16 bytes at once, and some hold words. */
void *pyro_arena_alloc(pyro_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = size ? (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1) : ALIGNMENT;
    return allocate(arena, size, ALIGNMENT);
}

void *pyro_arena_array(pyro_arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    return pyro_arena_alloc(arena, total);
}

void *pyro_arena_items(pyro_arena *arena, size_t count, size_t size, size_t alignment)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    return allocate(arena, total ? total : 1, alignment);
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
