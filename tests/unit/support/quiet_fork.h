/* Forks of tests whose process has threads. */
#ifndef PYRO_TESTS_QUIET_FORK_H
#define PYRO_TESTS_QUIET_FORK_H

#include <sys/types.h>

/*
 * Like fork(). Under AddressSanitizer it first waits until the other threads sleep: the locks of its
 * allocator stay as they are in a child, so that one that another thread held would never be free.
 */
pid_t fork_quietly(void);

#endif
