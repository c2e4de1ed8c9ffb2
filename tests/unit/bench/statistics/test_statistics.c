/*
 * Tests of the statistics, the bootstrap, the comparison and the verdict on one metric, against
 * SciPy, NumPy and statsmodels (make_statistics_reference.py).
 */
#include "bench/statistics/inference.h"
#include "bench/statistics/random.h"
#include "bench/statistics/statistics.h"
#include "fail_alloc.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    double given, expected;
} pair;
typedef struct triple {
    double k, n, p, expected;
} triple;
typedef struct rank_row {
    double n, p, confidence, low, high;
} rank_row;
typedef struct test_row {
    const double *a;
    size_t a_count;
    const double *b;
    size_t b_count;
    pyro_alternative alternative;
    double u, p;
} test_row;
typedef struct shift_row {
    size_t size;
    double confidence, shift, low, high;
} shift_row;
typedef struct bootstrap_row {
    pyro_statistic statistic;
    uint64_t seed;
    double low, high;
} bootstrap_row;
typedef struct tost_row {
    const double *a, *b;
    size_t size;
    double p;
} tost_row;

#include "statistics_reference.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_near(double actual, double expected)
{
    if (isnan(expected)) {
        assert_true(isnan(actual));
        return;
    }
    if (!(fabs(actual - expected) <= 1e-9 * fmax(1, fabs(expected))))
        fail_msg("%.17g is not %.17g", actual, expected);
}

static double *sorted_copy(const double *samples, size_t count)
{
    double *copy = malloc(count * sizeof *copy);

    assert_non_null(copy);
    memcpy(copy, samples, count * sizeof *copy);
    pyro_sort_samples(copy, count);
    return copy;
}

static void test_description(void **state)
{
    (void)state;
    double *sorted = sorted_copy(sample, COUNT(sample)), scratch[COUNT(sample)];
    assert_near(pyro_mean(sample, COUNT(sample)), EXPECTED_MEAN);
    assert_near(pyro_stddev(sample, COUNT(sample)), EXPECTED_STDDEV);
    assert_near(pyro_mad(sorted, COUNT(sample), scratch), EXPECTED_MAD);
    for (size_t i = 0; i < COUNT(expected_quantiles); i++)
        assert_near(pyro_sample_quantile(sorted, COUNT(sample), expected_quantiles[i].given),
                    expected_quantiles[i].expected);
    pyro_outliers outliers = pyro_find_outliers(sorted, COUNT(sample));
    assert_int_equal(outliers.low_mild + outliers.low_severe + outliers.high_mild +
                         outliers.high_severe,
                     EXPECTED_OUTLIERS);
    for (size_t i = 0; i < COUNT(expected_autocorrelation); i++)
        assert_near(
            pyro_autocorrelation(series, COUNT(series), (size_t)expected_autocorrelation[i].given),
            expected_autocorrelation[i].expected);
    free(sorted);
}

static void test_nothing_and_little(void **state)
{
    (void)state;
    double one = 5, scratch;
    assert_true(isnan(pyro_mean(NULL, 0)));
    assert_true(isnan(pyro_sample_quantile(NULL, 0, 0.5)));
    assert_true(isnan(pyro_stddev(&one, 1)));
    assert_near(pyro_sample_quantile(&one, 1, 0.99), 5);
    assert_near(pyro_mad(&one, 1, &scratch), 0);
    assert_near(pyro_autocorrelation(&one, 1, 1), 0);
}

static void test_distributions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expected_normal_quantiles); i++)
        assert_near(pyro_normal_quantile(expected_normal_quantiles[i].given),
                    expected_normal_quantiles[i].expected);
    for (size_t i = 0; i < COUNT(expected_normal_cdf); i++)
        assert_near(pyro_normal_cdf(expected_normal_cdf[i].given), expected_normal_cdf[i].expected);
    for (size_t i = 0; i < COUNT(expected_binomial); i++) {
        const triple *row = &expected_binomial[i];

        assert_near(pyro_binomial_cdf((long long)row->k, (size_t)row->n, row->p), row->expected);
    }
    assert_true(isinf(pyro_normal_quantile(0)) && isinf(pyro_normal_quantile(1)));
    assert_true(isnan(pyro_normal_quantile(-1)));
}

static void test_quantile_ranks(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expected_ranks); i++) {
        const rank_row *row = &expected_ranks[i];
        pyro_rank_bounds ranks = pyro_quantile_ranks((size_t)row->n, row->p, row->confidence);

        assert_int_equal(ranks.low, row->low);
        assert_int_equal(ranks.high, row->high);
    }
    static const struct {
        double probability;
        size_t at_95, at_99;
    } needs[] = {{0.95, 59, 90}, {0.99, 299, 459}, {0.999, 2995, 4603}};
    for (size_t i = 0; i < COUNT(needs); i++) {
        assert_int_equal(pyro_quantile_needs(needs[i].probability, 0.95), needs[i].at_95);
        assert_int_equal(pyro_quantile_needs(needs[i].probability, 0.99), needs[i].at_99);
    }
}

static void test_select(void **state)
{
    (void)state;
    double values[257], sorted[257];
    pyro_random random;
    pyro_random_seed(&random, 3);
    for (int round = 0; round < 200; round++) {
        size_t count = 1 + (size_t)pyro_random_below(&random, COUNT(values));
        for (size_t i = 0; i < count; i++)
            values[i] = round % 3 == 0 ? (double)i : (double)pyro_random_below(&random, 20);
        memcpy(sorted, values, sizeof values);
        pyro_sort_samples(sorted, count);
        size_t rank = (size_t)pyro_random_below(&random, count);
        assert_near(pyro_select(values, count, rank), sorted[rank]);
        assert_near(pyro_statistic_median(values, count), pyro_sample_quantile(sorted, count, 0.5));
    }
}

static void test_mann_whitney(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expected_tests); i++) {
        const test_row *row = &expected_tests[i];
        pyro_mann_whitney found;

        assert_int_equal(pyro_mann_whitney_test(&found, row->a, row->a_count, row->b, row->b_count,
                                                row->alternative, NULL),
                         PYRO_OK);
        assert_near(found.u, row->u);
        assert_near(found.p, row->p);
    }
}

static void test_hodges_lehmann(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expected_shifts); i++) {
        const shift_row *row = &expected_shifts[i];
        pyro_interval interval;
        double shift;

        assert_int_equal(pyro_hodges_lehmann(&shift, &interval, sample, row->size, other, row->size,
                                             row->confidence, NULL),
                         PYRO_OK);
        assert_near(shift, row->shift);
        assert_near(interval.low, row->low);
        assert_near(interval.high, row->high);
    }
}

static void test_bootstrap(void **state)
{
    (void)state;
    pyro_interval interval;
    for (size_t i = 0; i < COUNT(expected_bootstrap); i++) {
        const bootstrap_row *row = &expected_bootstrap[i];
        pyro_bootstrap_options options = {.resamples = 500, .seed = row->seed};

        assert_int_equal(
            pyro_bootstrap(&interval, sample, COUNT(sample), row->statistic, &options, NULL),
            PYRO_OK);
        assert_near(interval.low, row->low);
        assert_near(interval.high, row->high);
    }
    /* SciPy with its own resamples, within a few standard errors of the bootstrap. */
    pyro_bootstrap_options many = {.resamples = 20000, .seed = 11};
    assert_int_equal(
        pyro_bootstrap(&interval, sample, COUNT(sample), pyro_statistic_mean, &many, NULL),
        PYRO_OK);
    double error = EXPECTED_STDDEV / sqrt((double)COUNT(sample));
    assert_true(fabs(interval.low - expected_scipy_bca[0]) < 0.06 * error);
    assert_true(fabs(interval.high - expected_scipy_bca[1]) < 0.06 * error);
}

/* Autocorrelated series: blocks give the wider interval that they need. */
static void test_blocks(void **state)
{
    (void)state;
    pyro_interval plain, blocks;
    size_t length = pyro_block_length(series, COUNT(series));
    pyro_bootstrap_options options = {.seed = 5, .block_length = length};
    assert_true(length > 1 && length <= COUNT(series) / 10);
    assert_int_equal(pyro_block_length(sample, COUNT(sample)), 1);
    assert_int_equal(
        pyro_bootstrap(&blocks, series, COUNT(series), pyro_statistic_mean, &options, NULL),
        PYRO_OK);
    options.block_length = 1;
    assert_int_equal(
        pyro_bootstrap(&plain, series, COUNT(series), pyro_statistic_mean, &options, NULL),
        PYRO_OK);
    assert_true(blocks.high - blocks.low > 1.3 * (plain.high - plain.low));
}

static void test_holm(void **state)
{
    (void)state;
    double p[COUNT(holm_given)];
    memcpy(p, holm_given, sizeof p);
    assert_int_equal(pyro_holm(p, COUNT(p), NULL), PYRO_OK);
    for (size_t i = 0; i < COUNT(p); i++)
        assert_near(p[i], holm_expected[i]);
}

static void test_random(void **state)
{
    (void)state;
    pyro_random random;
    double mean = 0, square = 0;
    size_t order[10], seen = 0;
    enum { DRAWS = 100000 };
    pyro_random_seed(&random, 1);
    for (int i = 0; i < DRAWS; i++) {
        double x = pyro_random_normal(&random);

        mean += x / DRAWS;
        square += x * x / DRAWS;
    }
    assert_true(fabs(mean) < 0.015 && fabs(square - 1) < 0.025);
    pyro_random_order(&random, order, COUNT(order));
    for (size_t i = 0; i < COUNT(order); i++)
        seen |= (size_t)1 << order[i];
    assert_int_equal(seen, 1023);
}

/*
 * "No change" is the equivalence test: if statsmodels' t-test version is far from its threshold,
 * ours agrees.
 */
static void test_equivalence(void **state)
{
    (void)state;
    size_t sure = 0, drifting = 0;
    for (size_t i = 0; i < COUNT(expected_tost); i++) {
        const tost_row *row = &expected_tost[i];
        pyro_verdict_options options = {.delta = 0.02};
        pyro_verdict_row verdict = {.processes = true};

        assert_int_equal(
            pyro_verdict_of(&verdict, row->a, row->size, row->b, row->size, false, &options, NULL),
            PYRO_OK);
        if (row->p > 0.01 && row->p < 0.06)
            continue;
        sure++;
        /* Few samples may look like drift by chance; then the interval is wider. */
        if (verdict.verdict == PYRO_VERDICT_CANNOT_TELL && row->p < 0.025)
            drifting++;
        else
            assert_int_equal(verdict.verdict == PYRO_VERDICT_NO_CHANGE, row->p < 0.025);
    }
    assert_true(sure >= 18 && drifting <= 2);
}

static void test_windows(void **state)
{
    (void)state;
    double values[40], scratch[40];
    for (size_t i = 0; i < 40; i++)
        values[i] = 10 + 0.01 * (double)(i % 7);
    assert_true(pyro_windows_agree(values, values + 20, 20, scratch));
    values[0] = 100;
    assert_false(pyro_windows_agree(values, values + 20, 20, scratch));
    for (size_t i = 0; i < 40; i++)
        values[i] = 20 - 0.3 * (double)i;
    assert_false(pyro_windows_agree(values, values + 20, 20, scratch));
    for (size_t i = 0; i < 40; i++)
        values[i] = 0;
    assert_true(pyro_windows_agree(values, values + 20, 20, scratch));
}

static void test_no_memory(void **state)
{
    (void)state;
    for (long n = 0; n < 4; n++) {
        pyro_verdict_options options = {.delta = 0.02};
        pyro_verdict_row verdict = {.processes = true};
        pyro_interval interval;

        fail_alloc_after(n);
        int status = pyro_verdict_of(&verdict, sample, 20, other, 20, false, &options, NULL);
        assert_true(status == PYRO_ERROR_MEMORY || verdict.verdict != PYRO_VERDICT_REGRESSED);
        fail_alloc_after(n);
        status = pyro_bootstrap(&interval, sample, 20, pyro_statistic_mean,
                                &(pyro_bootstrap_options){0}, NULL);
        assert_int_equal(status, n < 3 ? PYRO_ERROR_MEMORY : PYRO_OK);
        fail_alloc_after(-1);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_description),    cmocka_unit_test(test_nothing_and_little),
    cmocka_unit_test(test_distributions),  cmocka_unit_test(test_quantile_ranks),
    cmocka_unit_test(test_select),         cmocka_unit_test(test_mann_whitney),
    cmocka_unit_test(test_hodges_lehmann), cmocka_unit_test(test_bootstrap),
    cmocka_unit_test(test_blocks),         cmocka_unit_test(test_holm),
    cmocka_unit_test(test_random),         cmocka_unit_test(test_equivalence),
    cmocka_unit_test(test_windows),        cmocka_unit_test(test_no_memory),
};

UNIT_TESTS(tests, NULL, NULL)
