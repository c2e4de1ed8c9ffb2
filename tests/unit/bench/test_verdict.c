/*
 * Tests of bench/verdict.c: how often it is wrong, and how often it finds a real change, in
 * simulated runs whose processes differ by 1.5% (standard deviation). The seeds are fixed, so the
 * counts are too.
 */
#include "bench/statistics/random.h"
#include "bench/verdict.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

enum { PAIRS = 2000, REPLICATES_MAX = 30 };

#define NOISE 0.015

typedef struct tally {
    int of[4]; /* indexed by pyro_verdict */
} tally;

static void simulate(double *samples, int count, double center, pyro_random *random)
{
    for (int i = 0; i < count; i++)
        samples[i] = center * exp(NOISE * pyro_random_normal(random));
}

static tally run_pairs(int replicates, double ratio, bool higher_is_better, uint64_t seed)
{
    tally counted = {{0}};
    pyro_verdict_options options = {.delta = 0.02};
    double base[REPLICATES_MAX], current[REPLICATES_MAX];
    pyro_random random;

    pyro_random_seed(&random, seed);
    for (int i = 0; i < PAIRS; i++) {
        pyro_verdict_row row = {.processes = true};

        simulate(base, replicates, 100, &random);
        simulate(current, replicates, 100 * ratio, &random);
        assert_int_equal(pyro_verdict_of(&row, base, (size_t)replicates, current,
                                         (size_t)replicates, higher_is_better, &options, NULL),
                         PYRO_OK);
        counted.of[row.verdict]++;
    }
    print_message(
        "ratio %.2f, %d a side: %d no change, %d improved, %d regressed, %d cannot tell\n", ratio,
        replicates, counted.of[0], counted.of[1], counted.of[2], counted.of[3]);
    return counted;
}

static void test_same(void **state)
{
    (void)state;
    tally found = run_pairs(20, 1, false, 1);
    assert_true(found.of[PYRO_VERDICT_REGRESSED] + found.of[PYRO_VERDICT_IMPROVED] <= PAIRS / 20);
    assert_true(found.of[PYRO_VERDICT_NO_CHANGE] >= PAIRS * 9 / 10);
}

static void test_slower(void **state)
{
    (void)state;
    tally found = run_pairs(10, 1.05, false, 2);
    assert_true(found.of[PYRO_VERDICT_REGRESSED] >= PAIRS * 9 / 10);
    assert_int_equal(found.of[PYRO_VERDICT_IMPROVED], 0);
}

static void test_faster(void **state)
{
    (void)state;
    tally found = run_pairs(10, 1 / 1.05, false, 3);
    assert_int_equal(found.of[PYRO_VERDICT_REGRESSED], 0);
    assert_true(found.of[PYRO_VERDICT_IMPROVED] >= PAIRS * 9 / 10);
    found = run_pairs(10, 1 / 1.05, true, 3);
    assert_true(found.of[PYRO_VERDICT_REGRESSED] >= PAIRS * 9 / 10);
    assert_int_equal(found.of[PYRO_VERDICT_IMPROVED], 0);
}

/* At the threshold itself an alarm is false: at most one in forty. */
static void test_border(void **state)
{
    (void)state;
    tally found = run_pairs(20, 1.02, false, 4);
    assert_true(found.of[PYRO_VERDICT_REGRESSED] <= PAIRS * 3 / 100);
    assert_true(found.of[PYRO_VERDICT_NO_CHANGE] <= PAIRS * 3 / 100);
}

static void test_too_few(void **state)
{
    (void)state;
    double base[] = {1, 1, 1, 1}, current[] = {9, 9, 9, 9};
    pyro_verdict_row row = {.processes = true};
    pyro_verdict_options options = {0};
    assert_int_equal(pyro_verdict_of(&row, base, 4, current, 4, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_CANNOT_TELL);
    assert_non_null(row.reason);
    assert_int_equal(pyro_verdict_of(&row, base, 0, current, 0, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_CANNOT_TELL);
}

static void test_without_noise(void **state)
{
    (void)state;
    double same[] = {7, 7, 7, 7, 7, 7}, more[] = {8, 8, 8, 8, 8, 8}, none[6] = {0};
    pyro_verdict_row row = {.processes = true, .unit = "ms"};
    pyro_verdict_options options = {0};
    assert_int_equal(pyro_verdict_of(&row, same, 6, same, 6, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_NO_CHANGE);
    assert_int_equal(pyro_verdict_of(&row, same, 6, more, 6, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_REGRESSED);
    assert_int_equal(pyro_verdict_of(&row, none, 6, none, 6, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_NO_CHANGE);
    assert_int_equal(pyro_verdict_of(&row, none, 6, more, 6, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_CANNOT_TELL);
    /* A minimum time, or the machine's noise, can exceed the percentage. */
    options.floor_ms = 2;
    assert_int_equal(pyro_verdict_of(&row, same, 6, more, 6, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_NO_CHANGE);
    options = (pyro_verdict_options){.noise = 0.3};
    assert_int_equal(pyro_verdict_of(&row, same, 6, more, 6, false, &options, NULL), PYRO_OK);
    assert_int_equal(row.verdict, PYRO_VERDICT_NO_CHANGE);
}

/* Autocorrelated iterations of one process: blocks keep false alarms rare. */
static void test_iterations(void **state)
{
    (void)state;
    enum { RUNS = 40, ITERATIONS = 300 };
    static double base[ITERATIONS], current[ITERATIONS];
    int alarms = 0, found = 0;
    pyro_random random;
    pyro_random_seed(&random, 8);
    for (int run = 0; run < RUNS; run++) {
        double drift = 0, other = 0;
        for (int i = 0; i < ITERATIONS; i++) {
            drift = 0.5 * drift + 0.02 * pyro_random_normal(&random);
            other = 0.5 * other + 0.02 * pyro_random_normal(&random);
            base[i] = exp(drift);
            current[i] = exp(other);
        }
        pyro_verdict_row row = {.processes = false};
        pyro_verdict_options options = {.delta = 0.02};
        assert_int_equal(
            pyro_verdict_of(&row, base, ITERATIONS, current, ITERATIONS, false, &options, NULL),
            PYRO_OK);
        alarms += row.verdict == PYRO_VERDICT_REGRESSED || row.verdict == PYRO_VERDICT_IMPROVED;
        for (int i = 0; i < ITERATIONS; i++)
            current[i] *= 1.1;
        assert_int_equal(
            pyro_verdict_of(&row, base, ITERATIONS, current, ITERATIONS, false, &options, NULL),
            PYRO_OK);
        found += row.verdict == PYRO_VERDICT_REGRESSED;
    }
    assert_true(alarms <= RUNS / 20);
    assert_true(found >= RUNS * 9 / 10);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same),       cmocka_unit_test(test_slower),
    cmocka_unit_test(test_faster),     cmocka_unit_test(test_border),
    cmocka_unit_test(test_too_few),    cmocka_unit_test(test_without_noise),
    cmocka_unit_test(test_iterations),
};

UNIT_TESTS(tests, NULL, NULL)
