/*
 * A monotonic clock that tests set. Every unit test is linked with -Wl,--wrap=clock_gettime and
 * fake_clock.c, so that the library's times can be given instead of measured.
 */
#ifndef PYRO_TESTS_FAKE_CLOCK_H
#define PYRO_TESTS_FAKE_CLOCK_H

#include <stdint.h>

/* Stops CLOCK_MONOTONIC at this time; 0 lets it run again. */
void fake_clock_set(int64_t now_ns);
/* Advances a stopped clock. */
void fake_clock_advance(int64_t duration_ns);

#endif
