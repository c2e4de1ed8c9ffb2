/* Owns the one session of a process, and the part of it that observers see. Pauses observers. */
#include "capture/session.h"

#include "base/every_event.h"

static uint32_t no_stack(pyro_recorder_thread *thread)
{
    (void)thread;
    return 0;
}

static const void *no_frame(void)
{
    return NULL;
}

pyro_session pyro_the_session = {
    .control = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* recorder.c adds the recorder's functions. What every event reads is one cache line. */
_Alignas(64) pyro_recorder_api pyro_the_recorder_api PYRO_EVERY_EVENT = {
    .size = sizeof(pyro_recorder_api),
    .stack = no_stack,
    .frame = no_frame,
};

/* Set by the observer of ops, which disables its callback in torch meanwhile. */
static void (*rest_of_ops)(int rests);

void pyro_recorder_on_rest(void (*rest_ops)(int rests))
{
    rest_of_ops = rest_ops;
}

void pyro_recorder_rest(bool rests)
{
    pyro_the_recorder_api.is_resting = rests;
    if (rest_of_ops)
        rest_of_ops(rests);
}
