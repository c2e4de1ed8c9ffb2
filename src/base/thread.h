/* Starts threads that receive no signals. */
#ifndef PYRO_BASE_THREAD_H
#define PYRO_BASE_THREAD_H

#include <pthread.h>

/*
 * Starts a thread that blocks all signals, so that the program's own threads handle them. `name`
 * has at most 15 characters. Returns 0 or an errno.
 */
int pyro_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument);

#endif
