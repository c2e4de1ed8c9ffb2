/* Threads that write: their memory is made on first use, reset per session, reused at their end. */
#include "capture/session.h"

#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__thread pyro_recorder_thread *pyro_this_thread __attribute__((tls_model("initial-exec")));
static pthread_key_t at_end;
static pyro_fork_continue_fn continue_after_fork; /* set once per process, before any session */

#define CACHE_LINE 64
#define WAIT_NS 20000

void pyro_membarrier(void)
{
    if (!pyro_the_recorder_api.needs_fence)
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* Once per process: with several threads the system call is slow. */
bool pyro_membarrier_register(void)
{
    static pid_t registered;
    static bool is_there;
    if (registered != getpid()) {
        registered = getpid();
        is_there = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    }
    return is_there;
}

/* Keeps the thread's memory for the next thread, with the rest of its chunk. */
static void release_slot(void *memory)
{
    pyro_thread_slot *slot = memory;
    pyro_this_thread = NULL;
    __atomic_store_n(&slot->open.depth, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->is_used, 0, __ATOMIC_RELEASE);
}

int pyro_threads_prepare(pyro_fork_continue_fn after_fork, pyro_error *error)
{
    continue_after_fork = after_fork;
    int reason = pthread_key_create(&at_end, release_slot);
    return reason ? pyro_fail(error, PYRO_ERROR_IO, "cannot create a thread-local key: %s",
                              strerror(reason))
                  : PYRO_OK;
}

/* A slot that a thread left, preferably with space in a chunk of this session; or a new one. */
static pyro_thread_slot *find_slot(pyro_session *session)
{
    pyro_thread_slot *free_slot = NULL;
    for (pyro_thread_slot *slot = session->threads; slot; slot = slot->next) {
        if (__atomic_load_n(&slot->is_used, __ATOMIC_ACQUIRE))
            continue;
        if (!free_slot || slot->open.generation == pyro_the_recorder_api.generation)
            free_slot = slot;
    }
    if (!free_slot) {
        free_slot = aligned_alloc(CACHE_LINE, sizeof *free_slot);
        if (!free_slot)
            return NULL;
        memset(free_slot, 0, sizeof *free_slot);
        free_slot->chunk = PYRO_NO_CHUNK;
        free_slot->next = session->threads;
        __atomic_store_n(&session->threads, free_slot, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&free_slot->is_used, 1, __ATOMIC_RELEASE);
    return free_slot;
}

/* Forgets what belongs to another session. */
static void reset_slot(pyro_session *session, pyro_thread_slot *slot)
{
    pyro_recorder_thread *thread = &slot->open;
    memset(slot->names, 0, sizeof slot->names);
    memset(slot->words, 0, sizeof slot->words);
    slot->chunk = PYRO_NO_CHUNK;
    slot->is_waiting = 0;
    thread->next = thread->end = NULL;
    thread->chunk = 0;
    thread->depth = 0;
    thread->layer_stack = 0;
    thread->layer_frame = NULL;
    thread->number = ++session->thread_count;
    __atomic_store_n(&thread->generation, pyro_the_recorder_api.generation, __ATOMIC_RELEASE);
}

/* Continues in the chunk of a thread that has ended, and notes that there. */
static void take_over(pyro_session *session, pyro_thread_slot *slot)
{
    pyro_recorder_thread *thread = &slot->open;
    thread->depth = 0;
    thread->layer_stack = 0;
    thread->layer_frame = NULL;
    thread->number = ++session->thread_count;
    if (thread->next == thread->end)
        return;
    pyro_record *record = thread->next;
    record->start_raw = pyro_raw_time(&pyro_the_recorder_api);
    record->sequence = syscall(SYS_gettid);
    record->name = thread->number;
    record->kind = PYRO_RECORD_THREAD;
    pyro_record_commit(thread, record);
}

static __attribute__((noinline, cold)) pyro_recorder_thread *register_thread(void)
{
    pyro_session *session = &pyro_the_session;
    pyro_recorder_thread *thread = NULL;
    pthread_mutex_lock(&session->control);
    if (session->is_forked && !continue_after_fork(session))
        goto done;
    if (!pyro_is_recording(&pyro_the_recorder_api))
        goto done;
    bool is_new = !pyro_this_thread;
    pyro_thread_slot *slot = is_new ? find_slot(session) : (pyro_thread_slot *)pyro_this_thread;
    if (slot && is_new && pthread_setspecific(at_end, slot) != 0) {
        slot->is_used = 0;
        slot = NULL;
    }
    if (!slot)
        goto done;
    if (slot->open.generation != pyro_the_recorder_api.generation)
        reset_slot(session, slot);
    else if (is_new)
        take_over(session, slot);
    thread = pyro_this_thread = &slot->open;
done:
    pthread_mutex_unlock(&session->control);
    return thread;
}

__attribute__((hot)) pyro_recorder_thread *pyro_thread_current(void)
{
    pyro_recorder_thread *thread = pyro_this_thread;
    if (__builtin_expect(thread != NULL, 1) &&
        thread->generation == __atomic_load_n(&pyro_the_recorder_api.generation, __ATOMIC_RELAXED))
        return thread;
    return register_thread();
}

pyro_recorder_thread *const *pyro_thread_place(void)
{
    return &pyro_this_thread;
}

void pyro_threads_forget_others(pyro_session *session)
{
    for (pyro_thread_slot *slot = session->threads; slot; slot = slot->next) {
        slot->open.busy = slot->is_waiting = 0;
        slot->open.depth = 0;
        slot->is_used = &slot->open == pyro_this_thread;
    }
}

void pyro_threads_quiesce(pyro_session *session, bool waiting_is_quiet)
{
    pyro_membarrier();
    pyro_thread_slot *slot = __atomic_load_n(&session->threads, __ATOMIC_ACQUIRE);
    for (; slot; slot = slot->next) {
        while (__atomic_load_n(&slot->open.busy, __ATOMIC_SEQ_CST) != 0 &&
               !(waiting_is_quiet && __atomic_load_n(&slot->is_waiting, __ATOMIC_ACQUIRE))) {
            struct timespec pause = {0, WAIT_NS};
            nanosleep(&pause, NULL);
        }
    }
}
