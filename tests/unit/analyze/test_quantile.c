/* Quantiles by selection, compared with sorting. */
#include "analyze/quantile.h"
#include "unit.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static void test_like_sorting(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (size_t count = 1; count < 300; count++) {
        int64_t values[300], sorted[300];
        for (size_t i = 0; i < count; i++) {
            seed = seed * 1103515245u + 12345u;
            values[i] = sorted[i] = (int64_t)(seed >> 16) % (count % 7 ? 1000 : 3) - 500;
        }
        qsort(sorted, count, sizeof *sorted, compare);
        assert_int_equal(pyro_quantile(values, count, 1, 2), sorted[(count + 1) / 2 - 1]);
        assert_int_equal(pyro_quantile(values, count, 19, 20), sorted[(count * 19 + 19) / 20 - 1]);
        assert_int_equal(pyro_quantile(values, count, 1, 1), sorted[count - 1]);
        int64_t low = sorted[(count - 1) / 2], high = sorted[count / 2];
        assert_int_equal(pyro_median(values, count), low + (high - low) / 2);
    }
}

static void test_of_nothing(void **state)
{
    (void)state;
    assert_int_equal(pyro_quantile(NULL, 0, 1, 2), 0);
    assert_int_equal(pyro_median(NULL, 0), 0);
}

/* A quadratic selection would exceed the test's time limit. */
static void test_hostile_orders(void **state)
{
    (void)state;
    size_t count = 1000000;
    int64_t *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (int pattern = 0; pattern < 3; pattern++) {
        for (size_t i = 0; i < count; i++)
            values[i] = pattern == 0 ? (int64_t)i : pattern == 1 ? -(int64_t)i : (int64_t)(i % 2);
        int64_t wanted[] = {499999, -500000, 0};
        assert_int_equal(pyro_quantile(values, count, 1, 2), wanted[pattern]);
    }
    free(values);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_like_sorting),
    cmocka_unit_test(test_of_nothing),
    cmocka_unit_test(test_hostile_orders),
};

UNIT_TESTS(tests, NULL, NULL)
