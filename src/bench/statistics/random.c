/* Generates random numbers. */
#include "bench/statistics/random.h"

#include <math.h>

#define TWO_PI 6.28318530717958647692

static uint64_t rotate_left(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

/* Mixes a counter's bits, so that neighbouring seeds give unrelated states. */
static uint64_t mix(uint64_t *counter)
{
    uint64_t value = *counter += UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

void pyro_random_seed(pyro_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        random->state[i] = mix(&seed);
}

uint64_t pyro_random_next(pyro_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* The high half of a product; draws again if that would favour some results. */
uint64_t pyro_random_below(pyro_random *random, uint64_t bound)
{
    uint64_t uneven = -bound % bound;

    for (;;) {
        unsigned __int128 product = (unsigned __int128)pyro_random_next(random) * bound;

        if ((uint64_t)product >= uneven)
            return (uint64_t)(product >> 64);
    }
}

double pyro_random_uniform(pyro_random *random)
{
    return (double)(pyro_random_next(random) >> 11) * 0x1p-53;
}

double pyro_random_normal(pyro_random *random)
{
    double radius = sqrt(-2 * log1p(-pyro_random_uniform(random)));

    return radius * cos(TWO_PI * pyro_random_uniform(random));
}

double pyro_random_exponential(pyro_random *random)
{
    return -log1p(-pyro_random_uniform(random));
}

void pyro_random_order(pyro_random *random, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)pyro_random_below(random, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
}
