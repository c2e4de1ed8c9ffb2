/*
 * After a fork the child continues to record, into a separate file next to the parent's, created
 * when it first has something to record. The child never writes to the parent's mapping.
 */
#include "capture/session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void before(void)
{
    pthread_mutex_lock(&pyro_the_session.control);
    pthread_mutex_lock(&pyro_the_session.lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&pyro_the_session.lock);
    pthread_mutex_unlock(&pyro_the_session.control);
}

/* The other threads and their locks are gone; a new generation makes this thread register again. */
static void in_child(void)
{
    pyro_session *session = &pyro_the_session;
    pthread_mutex_init(&session->control, NULL);
    pthread_mutex_init(&session->lock, NULL);
    session->has_allocator = session->has_writer = false;
    pyro_tail_forget();
    pyro_flight_forget(session);
    pyro_threads_forget_others(session);
    if (!session->is_running)
        return;
    session->is_forked = true;
    pyro_the_recorder_api.generation += 2;
}

int pyro_fork_prepare(pyro_error *error)
{
    int reason = pthread_atfork(before, in_parent, in_child);
    return reason ? pyro_fail(error, PYRO_ERROR_IO, "cannot register fork handlers: %s",
                              strerror(reason))
                  : PYRO_OK;
}

/* "run.pyro" becomes "run.1234.pyro". */
static bool name_of_child(const pyro_session *session, char *path, size_t size)
{
    const char *base = session->base_path, *dot = strrchr(base, '.'), *slash = strrchr(base, '/');
    if (!dot || (slash && dot < slash))
        dot = base + strlen(base);
    return snprintf(path, size, "%.*s.%ld%s", (int)(dot - base), base, (long)getpid(), dot) <
           (int)size;
}

bool pyro_fork_continue(pyro_session *session)
{
    char path[PATH_MAX];
    session->is_forked = false;
    pyro_file_close(session, false);
    pyro_passes_forget(session);
    bool ok = name_of_child(session, path, sizeof path) &&
              pyro_session_open(session, path, true, NULL) == PYRO_OK;
    if (!ok) {
        session->is_running = false;
        __atomic_store_n(&pyro_the_recorder_api.generation, pyro_the_recorder_api.generation + 1,
                         __ATOMIC_SEQ_CST);
    }
    return ok;
}
