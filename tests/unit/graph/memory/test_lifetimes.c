/* Tests of memory over time: pieces, their sum and its peak. */
#include "graph/memory/lifetimes.h"
#include "unit.h"

static void test_curve(void **unused)
{
    (void)unused;
    pyro_lifetimes lifetimes = {0};
    int64_t curve[4];
    size_t peak;
    assert_int_equal(pyro_lifetimes_add(&lifetimes, (pyro_piece){.bytes = 5, .last = 1}), 0);
    assert_int_equal(
        pyro_lifetimes_add(&lifetimes, (pyro_piece){.bytes = 7, .first = 1, .last = 9}), 1);
    assert_int_equal(pyro_lifetimes_add(&lifetimes, (pyro_piece){.bytes = 0}), SIZE_MAX);
    assert_true(pyro_lifetimes_run(&lifetimes, curve, 4, &peak));
    assert_int_equal(curve[0], 5);
    assert_int_equal(curve[1], 12);
    assert_int_equal(curve[2], 7);
    assert_int_equal(curve[3], 7);
    assert_int_equal(peak, 1);
    pyro_lifetimes_free(&lifetimes);
}

static void test_overflow(void **unused)
{
    (void)unused;
    pyro_lifetimes lifetimes = {0};
    int64_t curve[1];
    size_t peak;
    pyro_lifetimes_add(&lifetimes, (pyro_piece){.bytes = INT64_MAX});
    pyro_lifetimes_add(&lifetimes, (pyro_piece){.bytes = 1});
    assert_false(pyro_lifetimes_run(&lifetimes, curve, 1, &peak));
    pyro_lifetimes_free(&lifetimes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_curve),
    cmocka_unit_test(test_overflow),
};

UNIT_TESTS(tests, NULL, NULL)
