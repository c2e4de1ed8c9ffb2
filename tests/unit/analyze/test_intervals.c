/* The sweep over classes of intervals, compared with one that visits every unit of time. */
#include "analyze/intervals.h"
#include "unit.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TIMES 400
#define CLASSES 5

typedef struct picture {
    unsigned classes[TIMES];
    int64_t last_ns;
} picture;

static void paint(void *user, int64_t start_ns, int64_t end_ns, unsigned classes)
{
    picture *seen = user;
    assert_true(start_ns < end_ns);
    assert_int_equal(start_ns, seen->last_ns); /* nothing is missing, nothing reported twice */
    for (int64_t time = start_ns; time < end_ns; time++)
        seen->classes[time] = classes;
    seen->last_ns = end_ns;
}

/* Our own generator makes the cases the same everywhere. */
static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static void sweeps_like_the_slow_way(unsigned seed)
{
    picture seen = {.last_ns = 0}, wanted = {.last_ns = 0};
    pyro_sweep sweep;
    pyro_sweep_init(&sweep, CLASSES, 0, paint, &seen);
    int64_t start = 0;
    while (start < TIMES - 50) {
        unsigned class = next_random(&seed) % CLASSES;
        int64_t end = start + next_random(&seed) % 50; /* also empty ones */
        pyro_sweep_cover(&sweep, class, start, end);
        for (int64_t time = start; time < end; time++)
            wanted.classes[time] |= 1u << class;
        start += next_random(&seed) % 20;
    }
    pyro_sweep_to(&sweep, TIMES);
    assert_int_equal(seen.last_ns, TIMES);
    assert_memory_equal(seen.classes, wanted.classes, sizeof seen.classes);
}

static void test_random_intervals(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 500; seed++)
        sweeps_like_the_slow_way(seed);
}

static void test_what_began_before_is_cut(void **state)
{
    (void)state;
    picture seen = {.last_ns = 100};
    pyro_sweep sweep;
    pyro_sweep_init(&sweep, 2, 100, paint, &seen);
    pyro_sweep_cover(&sweep, 0, 10, 20);
    pyro_sweep_cover(&sweep, 0, 50, 110);
    pyro_sweep_cover(&sweep, 1, 105, 103); /* ends before it starts */
    pyro_sweep_to(&sweep, 120);
    assert_int_equal(seen.classes[100], 1);
    assert_int_equal(seen.classes[109], 1);
    assert_int_equal(seen.classes[110], 0);
    assert_int_equal(seen.last_ns, 120);
    pyro_sweep_to(&sweep, 90); /* back in time: nothing */
    assert_int_equal(seen.last_ns, 120);
}

static void test_sums_stay_at_the_largest(void **state)
{
    (void)state;
    assert_int_equal(pyro_add_ns(3, 4), 7);
    assert_true(pyro_add_ns(INT64_MAX - 1, 5) == INT64_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_intervals),
    cmocka_unit_test(test_what_began_before_is_cut),
    cmocka_unit_test(test_sums_stay_at_the_largest),
};

UNIT_TESTS(tests, NULL, NULL)
