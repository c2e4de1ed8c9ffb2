/* Tests of bench/rates.c. */
#include "unit.h"

#include <pyrometer/bench.h>

#include <math.h>

static pyro_bench *make_bench(double items)
{
    static const double samples[] = {8, 10, 12};
    pyro_bench *bench;
    size_t index;

    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "net", "module", &index, NULL), PYRO_OK);
    bench->results[index].items = items;
    assert_int_equal(pyro_bench_add_metric(bench, index, "latency", "ms", false, samples, 3, NULL),
                     PYRO_OK);
    return bench;
}

static void test_calls_per_second(void **state)
{
    pyro_bench *bench = make_bench(4);

    (void)state;
    assert_true(isnan(pyro_bench_calls_per_s(&bench->results[0]))); /* not derived yet */
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    assert_true(fabs(pyro_bench_metric(&bench->results[0], "throughput")->value - 400) < 1e-9);
    assert_true(fabs(pyro_bench_calls_per_s(&bench->results[0]) - 100) < 1e-9);
    bench->results[0].items = 0;
    assert_true(isnan(pyro_bench_calls_per_s(&bench->results[0])));
    pyro_bench_free(bench);
}

static void test_rates_of_a_metric(void **state)
{
    pyro_bench *bench = make_bench(1);

    (void)state;
    assert_int_equal(pyro_bench_add_rate(bench, 0, "latency", "tokens", "tokens/s", 32, NULL),
                     PYRO_OK);
    assert_true(fabs(pyro_bench_metric(&bench->results[0], "tokens")->value - 3200) < 1e-9);
    assert_int_equal(pyro_bench_add_rate(bench, 0, "tokens", "x", "/s", 1, NULL),
                     PYRO_ERROR_ARGUMENT);
    assert_int_equal(pyro_bench_add_rate(bench, 0, "none", "x", "/s", 1, NULL),
                     PYRO_ERROR_ARGUMENT);
    pyro_bench_free(bench);
}

static void test_means_and_medians(void **state)
{
    static const double samples[] = {5, 1, 3, 11};

    (void)state;
    assert_true(pyro_samples_mean(samples, 4) == 5);
    assert_true(pyro_samples_median(samples, 4) == 4);
    assert_true(isnan(pyro_samples_mean(NULL, 0)));
    assert_true(isnan(pyro_samples_median(NULL, 0)));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_calls_per_second),
    cmocka_unit_test(test_rates_of_a_metric),
    cmocka_unit_test(test_means_and_medians),
};

UNIT_TESTS(tests, NULL, NULL)
