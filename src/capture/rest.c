/* Pauses recording: observers skip events, and the observer of ops asks torch for none. */
#include "capture/session.h"

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
