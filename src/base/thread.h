/* Starts threads that leave the program's signals alone. */
#ifndef PYRO_BASE_THREAD_H
#define PYRO_BASE_THREAD_H

#include <pthread.h>

/*
 * Signals are the program's business, so none is delivered to the thread. `name` has at most 15
 * characters. 0, or the errno of the failure.
 */
int pyro_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument);

#endif
