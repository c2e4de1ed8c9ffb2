/*
 * Tests of bench/statistics/{drift,paired,change}.c: independent and slow noise,
 * the signed-rank test against SciPy's numbers, and verdicts on simulated busy machines.
 */
#include "bench/statistics/drift.h"
#include "bench/statistics/inference.h"
#include "bench/statistics/random.h"
#include "bench/verdict.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { OCTAVES = 10, SAMPLES_MAX = 250 };

#define ASSERT_NEAR(value, expected) \
    do { \
        double value_ = (value), expected_ = (expected); \
        if (!(fabs(value_ - expected_) <= 1e-9 * fmax(1, fabs(expected_)))) \
            fail_msg("%.17g, not %.17g", value_, expected_); \
    } while (0)

/* 1/f noise of variance 1: a sum of autoregressive processes whose time constants double. */
typedef struct phases {
    double state[OCTAVES];
} phases;

static void begin_phases(phases *of, pyro_random *random)
{
    for (int i = 0; i < OCTAVES; i++)
        of->state[i] = pyro_random_normal(random);
}

static double next_phase(phases *of, pyro_random *random)
{
    double sum = 0;

    for (int i = 0; i < OCTAVES; i++) {
        double keep = exp(-1 / (double)(1 << i));

        of->state[i] = keep * of->state[i] + sqrt(1 - keep * keep) * pyro_random_normal(random);
        sum += of->state[i];
    }
    return sum / sqrt(OCTAVES);
}

static void test_white_noise_has_no_floor(void **state)
{
    (void)state;
    double values[SAMPLES_MAX];
    int floors = 0;
    pyro_random random;
    pyro_random_seed(&random, 1);
    for (int round = 0; round < 200; round++) {
        pyro_drift drift;

        for (int i = 0; i < 100; i++)
            values[i] = 5 + 0.3 * pyro_random_normal(&random);
        assert_int_equal(pyro_drift_measure(&drift, values, 50, values + 50, 50, NULL), PYRO_OK);
        assert_true(drift.variance > 0.04 && drift.variance < 0.16);
        floors += drift.floor > 0;
    }
    assert_true(floors <= 20);
}

static void test_slow_phases_are_a_floor(void **state)
{
    (void)state;
    double values[200], floors = 0;
    phases machine;
    pyro_random random;
    pyro_random_seed(&random, 2);
    for (int round = 0; round < 50; round++) {
        pyro_drift drift;

        begin_phases(&machine, &random);
        for (int i = 0; i < 200; i++)
            values[i] = next_phase(&machine, &random) + 0.1 * pyro_random_normal(&random);
        assert_int_equal(pyro_drift_measure(&drift, values, 100, values + 100, 100, NULL), PYRO_OK);
        floors += drift.floor / 50;
    }
    /* 100 independent samples of that variance would have a mean of variance 0.01. */
    assert_true(floors > 0.05 && floors < 0.6);
}

static void test_drift_of_little(void **state)
{
    (void)state;
    double same[10] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, one[] = {7};
    double outlier[12] = {1, 1.1, 0.9, 1, 1.05, 0.95, 1, 1.1, 1e9, 0.9, 1, 1.05};
    pyro_drift drift;
    assert_int_equal(pyro_drift_measure(&drift, same, 10, NULL, 0, NULL), PYRO_OK);
    assert_true(drift.variance == 0 && drift.floor == 0);
    assert_int_equal(pyro_drift_measure(&drift, one, 1, same, 0, NULL), PYRO_OK);
    assert_true(drift.variance == 0 && drift.floor == 0);
    assert_int_equal(pyro_drift_measure(&drift, outlier, 12, NULL, 0, NULL), PYRO_OK);
    assert_true(drift.variance < 0.1);
}

/* scipy.stats.wilcoxon, SciPy 1.17. */
static void test_signed_rank(void **state)
{
    (void)state;
    static const double differences[] = {0.3,  -0.1, 0.7,  0.25, -0.45, 1.1,
                                         0.05, 0.6,  -0.2, 0.9,  0.15,  0.33};
    static const double tied[] = {0.3, -0.1, 0.7, 0.3, -0.7, 1.1, 0.1, 0.6, -0.2, 0.9, 0.1, 0.3};
    static const struct {
        const double *values;
        pyro_alternative alternative;
        double w, p;
    } rows[] = {
        {differences, PYRO_TWO_SIDED, 64, 0.05224609375},
        {differences, PYRO_LESS, 64, 0.978759765625},
        {differences, PYRO_GREATER, 64, 0.026123046875},
        {tied, PYRO_TWO_SIDED, 62.5, 0.070211063906259},
        {tied, PYRO_LESS, 62.5, 0.9705719040291063},
        {tied, PYRO_GREATER, 62.5, 0.0351055319531295},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pyro_signed_rank found;

        assert_int_equal(
            pyro_signed_rank_test(&found, rows[i].values, 12, rows[i].alternative, NULL), PYRO_OK);
        ASSERT_NEAR(found.w, rows[i].w);
        ASSERT_NEAR(found.p, rows[i].p);
        assert_int_equal(found.exact, rows[i].values == differences);
    }
    double centre;
    pyro_interval interval;
    assert_int_equal(pyro_hodges_lehmann_paired(&centre, &interval, differences, 12, 0.95, NULL),
                     PYRO_OK);
    ASSERT_NEAR(centre, 0.295);
    ASSERT_NEAR(interval.low, -0.025);
    ASSERT_NEAR(interval.high, 0.615);
    /* Five equal signs do not reach 95% confidence. */
    assert_int_equal(pyro_hodges_lehmann_paired(&centre, &interval, differences, 5, 0.95, NULL),
                     PYRO_OK);
    assert_true(isnan(interval.low) && !isnan(centre));
    assert_int_equal(pyro_hodges_lehmann_paired(&centre, &interval, differences, 6, 0.95, NULL),
                     PYRO_OK);
    ASSERT_NEAR(interval.low, -0.45);
    ASSERT_NEAR(interval.high, 1.1);
}

typedef struct setting {
    double own, drift; /* standard deviations of logarithms */
    double busy, slower;
    bool interleaved;
} setting;

/* Counts each verdict; sides that are not interleaved follow each other with a gap. */
static void tally(int of[4], const setting *how, int pairs, uint64_t seed)
{
    double all[SAMPLES_MAX], base[100], current[100];
    pyro_random random;

    memset(of, 0, 4 * sizeof *of);
    pyro_random_seed(&random, seed);
    for (int pair = 0; pair < pairs; pair++) {
        size_t count = 10 + (size_t)pyro_random_below(&random, 90);
        phases machine;

        begin_phases(&machine, &random);
        for (size_t i = 0; i < 5 * count / 2; i++)
            all[i] = exp(how->drift * next_phase(&machine, &random) +
                         how->own * pyro_random_normal(&random));
        for (size_t i = 0; i < count; i++) {
            base[i] = how->interleaved ? all[2 * i] : all[i];
            current[i] = how->slower * (how->interleaved ? all[2 * i + 1] : all[3 * count / 2 + i]);
        }
        pyro_circumstances known = {true, how->interleaved, how->busy, 0};
        pyro_verdict_options options = {.delta = 0.02};
        pyro_verdict_row row = {.unit = "ms"};
        assert_int_equal(
            pyro_verdict_between(&row, base, count, current, count, false, &known, &options, NULL),
            PYRO_OK);
        assert_true(fabs(row.current / row.base - 1 - row.change) < 1e-9);
        of[row.verdict]++;
    }
    print_message("own %.3f, drift %.3f, slower %.2f%s: %d no change, %d improved, %d regressed, "
                  "%d cannot tell\n",
                  how->own, how->drift, how->slower, how->interleaved ? ", interleaved" : "", of[0],
                  of[1], of[2], of[3]);
}

static void test_busy_machine_raises_no_alarms(void **state)
{
    (void)state;
    const setting busy[] = {{0.2, 0.2, 0.8, 1, false},
                            {0.05, 0.3, 0.8, 1, false},
                            {0.2, 0.2, NAN, 1, false},
                            {0.2, 0.2, 0.8, 1, true}};
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++) {
        int of[4];

        tally(of, &busy[i], 400, 10 + i);
        assert_true(of[PYRO_VERDICT_REGRESSED] + of[PYRO_VERDICT_IMPROVED] <= 400 / 20);
    }
}

static void test_slowdown_is_not_called_improved(void **state)
{
    (void)state;
    int of[4];
    tally(of, &(setting){0.2, 0.2, 0.8, 1.1, false}, 400, 20);
    assert_true(of[PYRO_VERDICT_IMPROVED] <= 2);
    tally(of, &(setting){0.05, 0.3, 0.8, 1.1, true}, 400, 21);
    assert_int_equal(of[PYRO_VERDICT_IMPROVED], 0);
    assert_true(of[PYRO_VERDICT_REGRESSED] >= 400 * 6 / 10);
}

static void test_idle_machine_is_told(void **state)
{
    (void)state;
    int of[4];
    tally(of, &(setting){0.01, 0.002, 0.02, 1, false}, 400, 30);
    assert_true(of[PYRO_VERDICT_NO_CHANGE] >= 400 * 8 / 10);
    assert_int_equal(of[PYRO_VERDICT_REGRESSED] + of[PYRO_VERDICT_IMPROVED], 0);
    tally(of, &(setting){0.01, 0.002, 0.02, 1.1, false}, 400, 31);
    assert_int_equal(of[PYRO_VERDICT_REGRESSED], 400);
    tally(of, &(setting){0.02, 0.004, 0.02, 1.1, true}, 400, 32);
    assert_true(of[PYRO_VERDICT_REGRESSED] >= 400 * 9 / 10);
}

/* Iterations of one process do not show how processes differ: 4% is no alarm yet. */
static void test_one_process_needs_more(void **state)
{
    (void)state;
    double base[60], current[60];
    pyro_verdict_options options = {.delta = 0.02};
    pyro_verdict_row row = {.processes = false};
    pyro_random random;
    pyro_random_seed(&random, 4);
    for (int i = 0; i < 60; i++) {
        base[i] = exp(0.002 * pyro_random_normal(&random));
        current[i] = 1.04 * exp(0.002 * pyro_random_normal(&random));
    }
    assert_int_equal(pyro_verdict_of(&row, base, 60, current, 60, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_CANNOT_TELL);
    assert_non_null(strstr(row.reason, "--processes"));
    for (int i = 0; i < 60; i++)
        current[i] *= 1.1 / 1.04;
    assert_int_equal(pyro_verdict_of(&row, base, 60, current, 60, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_REGRESSED);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_white_noise_has_no_floor),
    cmocka_unit_test(test_slow_phases_are_a_floor),
    cmocka_unit_test(test_drift_of_little),
    cmocka_unit_test(test_signed_rank),
    cmocka_unit_test(test_busy_machine_raises_no_alarms),
    cmocka_unit_test(test_slowdown_is_not_called_improved),
    cmocka_unit_test(test_idle_machine_is_told),
    cmocka_unit_test(test_one_process_needs_more),
};

UNIT_TESTS(tests, NULL, NULL)
