/* Sets of time ranges: union, length and difference. */
#include "analyze/coverage.h"
#include "unit.h"

#include <stddef.h>
#include <stdint.h>

static void test_overlap(void **state)
{
    (void)state;
    pyro_coverage cover = {0};
    assert_true(pyro_coverage_add(&cover, 50, 60));
    assert_true(pyro_coverage_add(&cover, 10, 20));
    assert_true(pyro_coverage_add(&cover, 15, 30));
    assert_true(pyro_coverage_add(&cover, 40, 40));
    assert_true(pyro_coverage_add(&cover, 30, 31));
    pyro_coverage_finish(&cover);
    assert_int_equal(cover.count, 2);
    assert_int_equal(pyro_coverage_overlap(&cover, 0, 100), 31);
    assert_int_equal(pyro_coverage_overlap(&cover, 0, 10), 0);
    assert_int_equal(pyro_coverage_overlap(&cover, 25, 55), 11);
    assert_int_equal(pyro_coverage_overlap(&cover, 12, 13), 1);
    assert_int_equal(pyro_coverage_overlap(&cover, 31, 50), 0);
    assert_int_equal(pyro_coverage_overlap(&cover, 55, 12), 0);
    pyro_coverage_free(&cover);
}

static void test_difference(void **state)
{
    (void)state;
    pyro_coverage whole = {0}, part = {0}, rest = {0};
    assert_true(pyro_coverage_add(&whole, 0, 100) && pyro_coverage_add(&whole, 200, 300));
    assert_true(pyro_coverage_add(&part, 10, 20) && pyro_coverage_add(&part, 90, 210) &&
                pyro_coverage_add(&part, 220, 221) && pyro_coverage_add(&part, 299, 400));
    pyro_coverage_finish(&whole);
    pyro_coverage_finish(&part);
    assert_true(pyro_coverage_difference(&rest, &whole, &part));
    assert_int_equal(rest.count, 4);
    assert_int_equal(pyro_coverage_overlap(&rest, 0, 1000), 10 + 70 + 10 + 78);
    for (int64_t t = 0; t < 400; t++)
        assert_int_equal(pyro_coverage_overlap(&rest, t, t + 1),
                         pyro_coverage_overlap(&whole, t, t + 1) &&
                             !pyro_coverage_overlap(&part, t, t + 1));
    pyro_coverage_free(&whole);
    pyro_coverage_free(&part);
    pyro_coverage_free(&rest);
}

static void test_empty(void **state)
{
    (void)state;
    pyro_coverage none = {0}, rest = {0};
    pyro_coverage_finish(&none);
    assert_int_equal(pyro_coverage_overlap(&none, 0, 10), 0);
    assert_true(pyro_coverage_difference(&rest, &none, &none));
    assert_int_equal(rest.count, 0);
    pyro_coverage_free(&none);
    pyro_coverage_free(&rest);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_overlap),
    cmocka_unit_test(test_difference),
    cmocka_unit_test(test_empty),
};

UNIT_TESTS(tests, NULL, NULL)
