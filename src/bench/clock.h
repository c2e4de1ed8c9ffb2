/* The clock for all measurements of this folder. */
#ifndef PYRO_BENCH_CLOCK_H
#define PYRO_BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

#define PYRO_SECOND_NS INT64_C(1000000000)

static inline int64_t pyro_now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * PYRO_SECOND_NS + time.tv_nsec;
}

#endif
