/* The allocator that the linker puts between the tests and libc's. */
#include "fail_alloc.h"

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static long remaining = -1;
static long failures;

void fail_alloc_after(long n)
{
    remaining = n;
    failures = 0;
}

long fail_alloc_failures(void)
{
    return failures;
}

static bool refuse(void)
{
    if (remaining < 0)
        return false;
    if (remaining == 0) {
        failures++;
        return true;
    }
    remaining--;
    return false;
}

void *__wrap_malloc(size_t size)
{
    return refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return refuse() ? NULL : __real_realloc(memory, size);
}
