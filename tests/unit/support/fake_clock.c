/* The clock that the linker puts between the tests and libc's. */
#include "fake_clock.h"

#include <stdatomic.h>
#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

static _Atomic int64_t fake_now_ns;

void fake_clock_set(int64_t now_ns)
{
    fake_now_ns = now_ns;
}

void fake_clock_advance(int64_t duration_ns)
{
    fake_now_ns += duration_ns;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    int64_t now_ns = fake_now_ns;
    if (clock != CLOCK_MONOTONIC || now_ns == 0)
        return __real_clock_gettime(clock, time);
    *time = (struct timespec){(time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000)};
    return 0;
}
