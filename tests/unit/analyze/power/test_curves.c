/* Tests of analyze/power/curves.c: values between samples, areas, periods. */
#include "analyze/power/curves.h"
#include "unit.h"

#include <math.h>

#define MS INT64_C(1000000)

static pyro_curve_point points[] = {{0, 0}, {100 * MS, 10}, {200 * MS, 10}, {300 * MS, 40}};
static const pyro_curve curve = {points, 4, 4};

static void test_values(void **state)
{
    (void)state;
    assert_true(pyro_curve_at(&curve, 50 * MS) == 5);
    assert_true(pyro_curve_at(&curve, 100 * MS) == 10);
    assert_true(pyro_curve_at(&curve, 150 * MS) == 10);
    assert_true(pyro_curve_at(&curve, 350 * MS) == 55); /* the last line continues */
    assert_true(pyro_curve_at(&curve, -50 * MS) == -5);
    assert_true(isnan(pyro_curve_at(&curve, 401 * MS)));
    assert_true(isnan(pyro_curve_at(&curve, -101 * MS)));
    assert_true(isnan(pyro_curve_at(&(pyro_curve){points, 1, 1}, 0)));
    assert_true(isnan(pyro_curve_at(&(pyro_curve){0}, 0)));
}

static void test_areas(void **state)
{
    (void)state;
    assert_float_equal(pyro_curve_area(&curve, 0, 100 * MS), 0.5, 1e-9);
    assert_float_equal(pyro_curve_area(&curve, 50 * MS, 250 * MS), 0.375 + 1 + 0.875, 1e-9);
    assert_float_equal(pyro_curve_area(&curve, 120 * MS, 130 * MS), 0.1, 1e-9);
    assert_true(isnan(pyro_curve_area(&curve, 0, 500 * MS)));
}

static void test_periods(void **state)
{
    (void)state;
    assert_int_equal(pyro_curve_interval_ns(&curve), 100 * MS);
    assert_int_equal(pyro_curve_update_ns(&curve), 200 * MS); /* at 100 and 300 ms */
    assert_int_equal(pyro_curve_update_ns(&(pyro_curve){points, 3, 3}), 0);
    assert_int_equal(pyro_curve_interval_ns(&(pyro_curve){points, 1, 1}), 0);
    assert_int_equal(pyro_curve_find(&curve, 1), 1);
    assert_int_equal(pyro_curve_find(&curve, 301 * MS), 4);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_values),
    cmocka_unit_test(test_areas),
    cmocka_unit_test(test_periods),
};

UNIT_TESTS(tests, NULL, NULL)
