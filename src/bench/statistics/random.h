/* A small random number generator: the same seed gives the same numbers on every machine. */
#ifndef PYRO_BENCH_STATISTICS_RANDOM_H
#define PYRO_BENCH_STATISTICS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* xoshiro256**: period 2^256 - 1, and fast. */
typedef struct pyro_random {
    uint64_t state[4];
} pyro_random;

void pyro_random_seed(pyro_random *random, uint64_t seed);
uint64_t pyro_random_next(pyro_random *random);
/* 0 .. bound - 1, each equally likely; bound is not 0. */
uint64_t pyro_random_below(pyro_random *random, uint64_t bound);
/* 0 <= x < 1, in steps of 2^-53. */
double pyro_random_uniform(pyro_random *random);
/* Mean 0, standard deviation 1. */
double pyro_random_normal(pyro_random *random);
/* Mean 1: the gaps of a Poisson process. */
double pyro_random_exponential(pyro_random *random);
/* 0 .. count - 1 in random order. */
void pyro_random_order(pyro_random *random, size_t *order, size_t count);

#endif
