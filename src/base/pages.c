/* Requests large pages with madvise on Linux; does nothing elsewhere. */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A trace of 1.5 GB fills 300 MB of columns: 75,000 faults of small pages, on the one thread that
 * joins. Below a few large pages a block is not worth the system call. */
#define LARGE_PAGE ((uintptr_t)2 << 20)
#define WORTH_BYTES ((size_t)4 << 20)

static void advise(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    uintptr_t begin = ((uintptr_t)block + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)block + size) & ~(LARGE_PAGE - 1);
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)block;
    (void)size;
#endif
}

void pyro_prefer_large_pages(void *block, size_t size)
{
    if (size >= WORTH_BYTES)
        advise(block, size);
}

void *pyro_calloc_pages(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (block)
        pyro_prefer_large_pages(block, count * size);
    return block;
}

void *pyro_alloc_pages(size_t size)
{
    if (size < LARGE_PAGE || size > SIZE_MAX / 2)
        return malloc(size);
    /* The rest after the last whole large page stays in small pages, so that nothing is wasted. */
    void *block = aligned_alloc(LARGE_PAGE, (size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1));
    if (block)
        advise(block, size);
    return block;
}
