/* The allocator that the linker puts between the tests and libc's. */
#include "fail_alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

/* Threads allocate too. */
static _Atomic long remaining = -1;
static _Atomic long failures;

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
    long left = remaining;
    while (left > 0)
        if (atomic_compare_exchange_weak(&remaining, &left, left - 1))
            return false;
    if (left == 0)
        failures++;
    return left == 0;
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
