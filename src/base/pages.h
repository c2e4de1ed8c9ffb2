/* Requests large pages for large blocks, which saves page faults when they are first filled. */
#ifndef PYRO_BASE_PAGES_H
#define PYRO_BASE_PAGES_H

#include <stddef.h>

/* A hint for blocks that are large enough; no effect if the system has no large pages. */
void pyro_prefer_large_pages(void *block, size_t size);

/* calloc with that hint. */
void *pyro_calloc_pages(size_t count, size_t size);

/*
 * malloc for a large block that will be filled completely, in large pages as far as possible. Free
 * it with free().
 */
void *pyro_alloc_pages(size_t size);

#endif
