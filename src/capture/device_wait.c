/* Waits for device work: a pass is complete when the kernels that it launched have arrived. */
#include "capture/session.h"

#include "device/collector.h"

#define FIRST_WAIT_NS 500000
#define LONGEST_WAIT_NS 50000000
#define MOST_IDLE_WAITS 200 /* without any progress: about ten seconds */
/* About five seconds: CUPTI keeps a buffer back while one kernel in it still runs. */
#define MOST_BRIEF_WAITS 100

uint64_t pyro_device_work_launches(void)
{
    pyro_collector_status status;
    pyro_collector_look(&status);
    return status.state == PYRO_COLLECTOR_ON ? status.launches : 0;
}

/* Asking for finished work costs something, so the pauses grow. */
static void wait_for(uint64_t launches, int most_waits, int most_idle_waits)
{
    int64_t wait_ns = FIRST_WAIT_NS;
    uint64_t last_done = 0;
    for (int idle = 0, waits = 0; idle < most_idle_waits && waits < most_waits; idle++, waits++) {
        pyro_collector_status status;
        pyro_collector_look(&status);
        uint64_t done = status.launches - status.unfinished;
        if (status.state != PYRO_COLLECTOR_ON || done >= launches ||
            !pyro_is_recording(&pyro_the_recorder_api))
            return;
        if (done > last_done)
            idle = 0;
        last_done = done;
        pyro_collector_flush();
        pyro_collector_look(&status);
        if (status.launches - status.unfinished >= launches)
            return;
        struct timespec pause = {0, wait_ns};
        nanosleep(&pause, NULL);
        wait_ns = wait_ns * 2 < LONGEST_WAIT_NS ? wait_ns * 2 : LONGEST_WAIT_NS;
    }
}

void pyro_device_work_wait(uint64_t launches)
{
    wait_for(launches, INT_MAX, MOST_IDLE_WAITS);
}

void pyro_device_work_wait_briefly(uint64_t launches)
{
    if (launches)
        wait_for(launches, MOST_BRIEF_WAITS, MOST_BRIEF_WAITS);
}
