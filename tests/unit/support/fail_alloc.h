/*
 * Allocations that fail on purpose. Every unit test is linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc and fail_alloc.c.
 */
#ifndef PYRO_TESTS_FAIL_ALLOC_H
#define PYRO_TESTS_FAIL_ALLOC_H

/* Lets n more allocations succeed, and none after that; -1 lets all succeed. */
void fail_alloc_after(long n);
/* Number of allocations that failed since the last call of fail_alloc_after. */
long fail_alloc_failures(void);

#endif
