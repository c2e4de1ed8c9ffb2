/* Tests of bench/variant.c and bench/rates.c. */
#include "unit.h"

#include <math.h>
#include <pyrometer/bench.h>
#include <pyrometer/recommend.h>
#include <string.h>

static const double ten[6] = {10, 10, 10, 10, 10, 10};

static pyro_variant_gain compare(const double after[6], double factor, bool frees)
{
    pyro_variant_gain gain;
    pyro_error error = {0};
    assert_int_equal(pyro_variant_compare(&gain, ten, after, 6, factor, frees, &error), PYRO_OK);
    return gain;
}

static void test_outcomes(void **state)
{
    (void)state;
    static const struct {
        double after[6];
        bool frees;
        pyro_outcome outcome;
    } cases[] = {
        {{9, 9, 9, 9, 9, 9}, false, PYRO_OUTCOME_CONFIRMED},
        {{10, 10, 10, 10, 10, 10}, false, PYRO_OUTCOME_REFUTED},
        {{9.9, 9.9, 9.9, 9.9, 9.9, 10.1}, false, PYRO_OUTCOME_REFUTED}, /* gains under 2% */
        {{9, 9, 9, 9, 11, 11}, false, PYRO_OUTCOME_OPEN},
        {{11, 11, 11, 11, 9, 9}, false, PYRO_OUTCOME_REFUTED},
        {{10.5, 10.5, 10.5, 10.5, 10.5, 10.5}, true, PYRO_OUTCOME_CONFIRMED},
        {{12, 12, 12, 12, 12, 12}, true, PYRO_OUTCOME_REFUTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(compare(cases[i].after, 1, cases[i].frees).outcome, cases[i].outcome);
    assert_string_equal(pyro_outcome_name(PYRO_OUTCOME_OPEN), "not confirmed");
}

static void test_texts(void **state)
{
    (void)state;
    static const double half[6] = {5, 5.25, 4.75, 5, 5, 5}, noisy[6] = {9, 9, 9, 9, 11, 11};
    pyro_variant_gain gain = compare(half, 1, false);
    assert_string_equal(gain.text,
                        "+100% throughput (+90% to +111%; run here: 10 ms, with it 5 ms)");
    assert_non_null(strstr(compare(noisy, 1, false).text, "; unclear whether"));
    assert_true(compare(ten, 2, false).middle == 1); /* twice the samples in the same time */
}

static void test_no_rounds(void **state)
{
    (void)state;
    pyro_variant_gain gain;
    pyro_error error = {0};
    assert_int_equal(pyro_variant_compare(&gain, ten, ten, 0, 1, false, &error),
                     PYRO_ERROR_ARGUMENT);
}

static void test_means_and_medians(void **state)
{
    (void)state;
    static const double samples[] = {4, 1, 2, 9};
    assert_true(pyro_samples_mean(samples, 4) == 4);
    assert_true(pyro_samples_median(samples, 4) == 3);
    assert_true(pyro_samples_median(samples, 3) == 2);
    assert_true(isnan(pyro_samples_mean(samples, 0)) && isnan(pyro_samples_median(samples, 0)));
}

static void test_rates(void **state)
{
    (void)state;
    static const double times[] = {10, 30};
    pyro_bench *bench = NULL;
    pyro_error error = {0};
    size_t index = 0;
    assert_int_equal(pyro_bench_new(&bench, &error), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "model", "module", &index, &error), PYRO_OK);
    assert_int_equal(pyro_bench_add_rate(bench, index, "latency", "t", "tokens/s", 8, &error),
                     PYRO_ERROR_ARGUMENT);
    assert_int_equal(pyro_bench_add_metric(bench, index, "latency", "ms", false, times, 2, &error),
                     PYRO_OK);
    assert_int_equal(pyro_bench_add_rate(bench, index, "latency", "t", "tokens/s", 8, &error),
                     PYRO_OK);
    const pyro_metric *rate = pyro_bench_metric(&bench->results[index], "t");
    assert_true(rate && rate->value == 400 && rate->higher_is_better);
    pyro_bench_free(bench);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_outcomes),          cmocka_unit_test(test_texts),
    cmocka_unit_test(test_no_rounds),         cmocka_unit_test(test_rates),
    cmocka_unit_test(test_means_and_medians),
};

UNIT_TESTS(tests, NULL, NULL)
