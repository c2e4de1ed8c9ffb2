/* Asking the system for large pages under large blocks: fewer faults when they are first filled. */
#ifndef PYRO_BASE_PAGES_H
#define PYRO_BASE_PAGES_H

#include <stddef.h>

/* A hint, made only where it pays; without effect where the system has no such pages. */
void pyro_prefer_large_pages(void *block, size_t size);

/*
 * malloc for a large block that will be filled to its end: as much of it as can be lies in large
 * pages. free frees it.
 */
void *pyro_alloc_pages(size_t size);

#endif
