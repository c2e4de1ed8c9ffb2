/* Starts threads with all signals blocked. */
#include "base/thread.h"

#include <signal.h>

int pyro_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int reason = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!reason)
        pthread_setname_np(*thread, name);
    return reason;
}
