/* The map between two clocks: rates, drift, jumps and the error that it states. */
#include "device/clock_map.h"
#include "unit.h"

#define BASE UINT64_C(1700000000000000000)
#define SECOND UINT64_C(1000000000)

static pyro_clock_map map;

/* The recorder's counter runs 2.5 units per nanosecond, from 5000 at BASE. */
static uint64_t counter_at(uint64_t ns)
{
    return 5000 + ns * 5 / 2;
}

static void add(uint64_t ns, uint64_t width)
{
    pyro_clock_map_add(&map, (pyro_clock_pair){BASE + ns, counter_at(ns), width});
}

static int forget(void **state)
{
    (void)state;
    map = (pyro_clock_map){0};
    return 0;
}

static void test_two_pairs_give_the_rate(void **state)
{
    (void)state;
    add(0, 100);
    add(SECOND / 1000, 60);
    assert_true(pyro_clock_map_time(&map, BASE + 400000) == counter_at(400000));
    /* Also before the first pair and after the last one. */
    assert_true(pyro_clock_map_time(&map, BASE + SECOND) == counter_at(SECOND));
    assert_true(pyro_clock_map_time(&map, BASE - 1000) == counter_at(0) - 2500);
    assert_int_equal(pyro_clock_map_error(&map), 50);
}

static void test_close_pairs_extend_the_base(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        add(i * 1000000, 80);
    assert_in_range(map.count, 8, 12);
    assert_true(pyro_clock_map_time(&map, BASE + 55000000) == counter_at(55000000));
    assert_int_equal(pyro_clock_map_error(&map), 40);
}

static void test_drift_is_followed_and_stated(void **state)
{
    (void)state;
    /* Every second the device's clock gains one microsecond more. */
    uint64_t drift = 0;
    for (uint64_t i = 0; i < 200; i++) {
        drift += i;
        pyro_clock_map_add(
            &map, (pyro_clock_pair){BASE + i * SECOND + drift, counter_at(i * SECOND), 100});
    }
    assert_int_equal(map.count, PYRO_CLOCK_PAIRS);
    uint64_t middle = pyro_clock_map_time(&map, BASE + 198 * SECOND + SECOND / 2 + drift - 100);
    assert_in_range(middle, counter_at(198 * SECOND + SECOND / 2) - 500,
                    counter_at(198 * SECOND + SECOND / 2) + 500);
    assert_in_range(pyro_clock_map_error(&map), 51, 1000);
}

static void test_a_replaced_clock_starts_over(void **state)
{
    (void)state;
    add(0, 100);
    add(SECOND, 100);
    add(2 * SECOND, 100);
    /* The library now returns the counter itself. */
    pyro_clock_map_add(&map, (pyro_clock_pair){counter_at(3 * SECOND), counter_at(3 * SECOND), 60});
    pyro_clock_map_add(&map, (pyro_clock_pair){counter_at(4 * SECOND), counter_at(4 * SECOND), 60});
    assert_int_equal(map.count, 2);
    assert_true(pyro_clock_map_time(&map, counter_at(3 * SECOND) + 77) ==
                counter_at(3 * SECOND) + 77);
    assert_int_equal(pyro_clock_map_error(&map), 30);
}

static void test_the_recorders_own_clock(void **state)
{
    (void)state;
    add(0, 100);
    add(SECOND, 100);
    map.is_recorder_clock = true;
    assert_true(pyro_clock_map_time(&map, 12345) == 12345);
    assert_int_equal(pyro_clock_map_error(&map), 0);
}

static uint64_t counter;

static uint64_t slow_now(void)
{
    return counter += 10;
}

static bool read_device(void *user, uint64_t *device)
{
    unsigned *reading = user;
    counter += ++*reading == 7 ? 4 : 90; /* one reading is quick */
    *device = BASE + counter;
    return true;
}

static bool read_nothing(void *user, uint64_t *device)
{
    (void)user;
    (void)device;
    return false;
}

static void test_the_quickest_reading_counts(void **state)
{
    (void)state;
    unsigned readings = 0;
    assert_true(pyro_clock_map_read(&map, slow_now, read_device, &readings));
    assert_int_equal(map.count, 1);
    assert_int_equal(map.pairs[0].width, 15); /* and a tick */
    assert_false(pyro_clock_map_read(&map, slow_now, read_nothing, NULL));
}

static uint64_t same_tick(void)
{
    return BASE;
}

static void test_a_counter_that_stands_still_has_an_error(void **state)
{
    (void)state;
    unsigned readings = 0;
    assert_true(pyro_clock_map_read(&map, same_tick, read_device, &readings));
    assert_int_equal(pyro_clock_map_error(&map), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(test_two_pairs_give_the_rate, forget),
    cmocka_unit_test_setup(test_close_pairs_extend_the_base, forget),
    cmocka_unit_test_setup(test_drift_is_followed_and_stated, forget),
    cmocka_unit_test_setup(test_a_replaced_clock_starts_over, forget),
    cmocka_unit_test_setup(test_the_recorders_own_clock, forget),
    cmocka_unit_test_setup(test_the_quickest_reading_counts, forget),
    cmocka_unit_test_setup(test_a_counter_that_stands_still_has_an_error, forget),
};

UNIT_TESTS(tests, NULL, NULL)
