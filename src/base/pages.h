/*
 * Requests large pages for large blocks, which saves page faults when they are first filled, and
 * populates them ahead on a thread, because the system clears pages more slowly than they are filled.
 */
#ifndef PYRO_BASE_PAGES_H
#define PYRO_BASE_PAGES_H

#include <stddef.h>

#define PYRO_LARGE_PAGE_BYTES ((size_t)2 << 20)

/* A hint for blocks that are large enough; no effect if the system has no large pages. */
void pyro_prefer_large_pages(void *block, size_t size);

/*
 * The next size at which a mapped block fills its large pages: the system aligns such a mapping to
 * them, and can move it page by page. Overflow is the caller's matter.
 */
size_t pyro_whole_large_pages(size_t size);

/* calloc with that hint. */
void *pyro_calloc_pages(size_t count, size_t size);

/*
 * malloc for a large block that will be filled completely, in large pages as far as possible. Free
 * it with free().
 */
void *pyro_alloc_pages(size_t size);
/* The same for a block of which perhaps only the first part will be filled. */
void *pyro_alloc_pages_partly(size_t size, size_t filled_bytes);

/*
 * A thread that takes the pages of large blocks from the system before their owner fills them. NULL
 * is valid in all functions: pages are then taken at first use.
 */
typedef struct pyro_populator pyro_populator;

/* NULL if one processor is all there is, or no thread can be started. */
pyro_populator *pyro_populator_start(void);
/* Queues the whole large pages of a block that will be filled. It may move or be freed meanwhile. */
void pyro_populator_add(pyro_populator *populator, void *block, size_t size);
/*
 * Queues the next large page of an array that has just grown to `count` items, if these have reached
 * the last one that was queued. Call it after every item.
 */
void pyro_populator_add_page(pyro_populator *populator, void *items, size_t size, size_t capacity);
static inline void pyro_populator_follow(pyro_populator *populator, void *items, size_t count,
                                         size_t capacity, size_t item_size)
{
    if (populator && count * item_size % PYRO_LARGE_PAGE_BYTES < item_size)
        pyro_populator_add_page(populator, items, count * item_size, capacity * item_size);
}
/* Drops the queue and ends the thread. */
void pyro_populator_stop(pyro_populator *populator);

#endif
