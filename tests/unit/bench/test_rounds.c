/* Tests of bench/rounds.c: limits, estimates, and when simulated comparisons stop. */
#include "unit.h"
#include "bench/rounds.h"

#include "bench/statistics/random.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define SECOND INT64_C(1000000000)

static const pyro_verdict_options verdict = {.delta = 0.02};

static void test_plan(void **state)
{
    (void)state;
    pyro_rounds usual = pyro_rounds_plan(&(pyro_rounds_request){.total_s = 600});
    assert_int_equal(usual.least, PYRO_ROUNDS_MIN);
    assert_int_equal(usual.most, PYRO_ROUNDS_MAX);
    assert_true(usual.side_s == 60 && usual.total_s == 600 && !usual.out_of_time);
    pyro_rounds exact = pyro_rounds_plan(&(pyro_rounds_request){.exact = 7, .least = 3, .most = 9});
    assert_int_equal(exact.least, 7);
    assert_int_equal(exact.most, 7);
    /* A limit on rounds disables the limit on time. */
    pyro_rounds few = pyro_rounds_plan(&(pyro_rounds_request){.most = 4, .side_s = 5});
    assert_int_equal(few.least, 4);
    assert_int_equal(few.most, 4);
    assert_true(few.side_s == 0);
    assert_true(pyro_rounds_plan(&(pyro_rounds_request){.side_s = 5}).side_s == 5);
}

static void test_earlier_base(void **state)
{
    (void)state;
    pyro_rounds rounds = pyro_rounds_plan(&(pyro_rounds_request){0});
    pyro_rounds_limit_by_earlier_base(&rounds);
    assert_int_equal(rounds.most, PYRO_ROUNDS_USUAL);
    assert_true(rounds.side_s == 0);
    rounds = pyro_rounds_plan(&(pyro_rounds_request){.least = 50});
    pyro_rounds_limit_by_earlier_base(&rounds);
    assert_int_equal(rounds.most, 50);
    rounds = pyro_rounds_plan(&(pyro_rounds_request){.exact = 80});
    pyro_rounds_limit_by_earlier_base(&rounds);
    assert_int_equal(rounds.most, 80);
}

static void test_base_replicates(void **state)
{
    (void)state;
    pyro_bench_result results[2] = {{.process_count = 5}, {.process_count = 4}};
    assert_false(pyro_rounds_base_has_replicates(&(pyro_bench){.result_count = 0}));
    assert_true(
        pyro_rounds_base_has_replicates(&(pyro_bench){.results = results, .result_count = 1}));
    assert_false(
        pyro_rounds_base_has_replicates(&(pyro_bench){.results = results, .result_count = 2}));
}

static void test_limits(void **state)
{
    (void)state;
    pyro_rounds rounds = pyro_rounds_plan(&(pyro_rounds_request){.total_s = 100, .side_s = 10});
    pyro_rounds_start(&rounds, 5 * SECOND);
    assert_false(pyro_rounds_reached_limit(&rounds, 499, 9.9, 104 * SECOND));
    assert_true(pyro_rounds_reached_limit(&rounds, 500, 0, 104 * SECOND));
    /* A side's time counts only after the usual number of rounds. */
    assert_false(pyro_rounds_reached_limit(&rounds, 29, 1000, 104 * SECOND));
    assert_true(pyro_rounds_reached_limit(&rounds, 30, 10, 104 * SECOND));
    assert_false(rounds.out_of_time);
    /* A few rounds always run, because an interval needs replicates. */
    assert_false(pyro_rounds_reached_limit(&rounds, 4, 0, 1000 * SECOND));
    assert_true(pyro_rounds_reached_limit(&rounds, 5, 0, 105 * SECOND));
    assert_true(rounds.out_of_time);
    rounds = pyro_rounds_plan(&(pyro_rounds_request){.least = 40, .total_s = 100, .side_s = 10});
    assert_false(pyro_rounds_reached_limit(&rounds, 39, 11, 0));
    assert_true(pyro_rounds_reached_limit(&rounds, 40, 11, 0));
}

static void test_looks(void **state)
{
    (void)state;
    pyro_rounds rounds = pyro_rounds_plan(&(pyro_rounds_request){0});
    int64_t looks = 0;
    assert_false(pyro_rounds_is_look_due(&rounds, 9));
    for (int64_t done = 10; done < 20; done++)
        assert_true(pyro_rounds_is_look_due(&rounds, done));
    assert_false(pyro_rounds_is_look_due(&rounds, 31));
    assert_true(pyro_rounds_is_look_due(&rounds, 33));
    for (int64_t done = 1; done < PYRO_ROUNDS_MAX; done++)
        looks += pyro_rounds_is_look_due(&rounds, done);
    assert_true(looks < 80);
    rounds = pyro_rounds_plan(&(pyro_rounds_request){.exact = 50});
    for (int64_t done = 1; done <= 50; done++)
        assert_false(pyro_rounds_is_look_due(&rounds, done));
}

static void test_estimate(void **state)
{
    (void)state;
    pyro_rounds rounds = pyro_rounds_plan(&(pyro_rounds_request){.total_s = 600, .side_s = 60});
    pyro_rounds_start(&rounds, 0);
    pyro_rounds_end_round(&rounds, 7 * SECOND);
    pyro_rounds_end_round(&rounds, 9 * SECOND);
    assert_true(rounds.round_s == 2);
    /* 60 rounds of one second fit into a side; then it ends, or after the total. */
    pyro_rounds_estimate time = pyro_rounds_estimate_time(&rounds, 1);
    assert_true(time.least_s == 20 && time.most_s == 120);
    time = pyro_rounds_estimate_time(&rounds, 0.01);
    assert_true(time.least_s == 20 && time.most_s == 602);
    rounds.side_s = 0;
    time = pyro_rounds_estimate_time(&rounds, 1);
    assert_true(time.least_s == 20 && time.most_s == 60);
}

/* When a comparison of sides with this noise stops; a sample takes about 1 ms. */
static int64_t compare(double noise, double factor, double base_unit, bool is_interleaved,
                       bool *out_of_time)
{
    static double base[PYRO_ROUNDS_MAX], current[PYRO_ROUNDS_MAX];
    pyro_rounds rounds = pyro_rounds_plan(&(pyro_rounds_request){.total_s = 10, .side_s = 0.3});
    pyro_random random;
    bool enough = false;
    size_t done = 0;
    pyro_random_seed(&random, 3);
    pyro_rounds_start(&rounds, 0);
    while (!enough) {
        assert_true(done < PYRO_ROUNDS_MAX);
        base[done] = base_unit * exp(noise * pyro_random_normal(&random));
        current[done] = factor * 1e6 * exp(noise * pyro_random_normal(&random));
        done++;
        pyro_round_samples samples = {.base = base,
                                      .current_ns = current,
                                      .base_count = done,
                                      .current_count = done,
                                      .is_interleaved = is_interleaved};
        assert_int_equal(pyro_rounds_is_enough(&rounds, &samples, &verdict,
                                               (int64_t)done * SECOND / 10, &enough, NULL),
                         PYRO_OK);
    }
    if (out_of_time)
        *out_of_time = rounds.out_of_time;
    return (int64_t)done;
}

static void test_comparisons(void **state)
{
    (void)state;
    bool out_of_time;
    /* Quiet sides stop at the first check, noisy ones when the total time is over. */
    assert_int_equal(compare(0.001, 1, 1e6, true, &out_of_time), PYRO_ROUNDS_MIN);
    assert_false(out_of_time);
    assert_int_equal(compare(0.2, 1, 1e6, true, &out_of_time), 100);
    assert_true(out_of_time);
    /* In between, the noise alone decides: neither a change nor the unit of the base does. */
    int64_t rounds = compare(0.02, 1, 1e6, true, NULL);
    assert_true(rounds > PYRO_ROUNDS_MIN && rounds < 100);
    assert_int_equal(compare(0.02, 1.5, 1e6, true, NULL), rounds);
    assert_int_equal(compare(0.02, 1, 1, true, NULL), rounds);
    assert_true(compare(0.02, 1, 1e6, false, NULL) > PYRO_ROUNDS_MIN);
    /* 0.3 s are over after about 60 samples of 5 ms. */
    assert_in_range(compare(0.2, 5, 1e6, true, &out_of_time), 50, 70);
    assert_false(out_of_time);
}

static void test_base_without_replicates_is_not_enough(void **state)
{
    (void)state;
    double samples[12];
    bool enough;
    pyro_rounds rounds = pyro_rounds_plan(&(pyro_rounds_request){.total_s = 10});
    for (size_t i = 0; i < 12; i++)
        samples[i] = 1e6 + (double)i;
    pyro_round_samples both = {samples, samples, 4, 12, false};
    assert_int_equal(pyro_rounds_is_enough(&rounds, &both, &verdict, 0, &enough, NULL), PYRO_OK);
    assert_false(enough);
    both.base_count = 12;
    assert_int_equal(pyro_rounds_is_enough(&rounds, &both, &verdict, 0, &enough, NULL), PYRO_OK);
    assert_true(enough);
}

static pyro_bench *make_results(double noise, uint64_t seed)
{
    double latency_ms[PYRO_ROUNDS_MIN], memory[PYRO_ROUNDS_MIN];
    pyro_bench *bench;
    pyro_random random;
    size_t index;
    pyro_random_seed(&random, seed);
    for (size_t i = 0; i < PYRO_ROUNDS_MIN; i++) {
        latency_ms[i] = 10 * exp(noise * pyro_random_normal(&random));
        memory[i] = 0;
    }
    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "model", "module", &index, NULL), PYRO_OK);
    bench->results[0].replicate = PYRO_REPLICATE_PROCESS;
    assert_int_equal(
        pyro_bench_add_metric(bench, 0, "latency", "ms", false, latency_ms, PYRO_ROUNDS_MIN, NULL),
        PYRO_OK);
    /* It has no interval, and more processes would not give it one. */
    assert_int_equal(
        pyro_bench_add_metric(bench, 0, "memory", "bytes", false, memory, PYRO_ROUNDS_MIN, NULL),
        PYRO_OK);
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    return bench;
}

static bool are_enough(int64_t done, double noise, int64_t now_ns)
{
    pyro_rounds rounds = pyro_rounds_plan(
        &(pyro_rounds_request){.most = PYRO_ROUNDS_USUAL, .total_s = 10});
    pyro_bench *base = make_results(noise, 1), *current = make_results(noise, 2);
    bool enough;
    pyro_rounds_start(&rounds, 0);
    assert_int_equal(pyro_rounds_are_results_enough(&rounds, done, base, current, &verdict, now_ns,
                                                    &enough, NULL),
                     PYRO_OK);
    pyro_bench_free(base);
    pyro_bench_free(current);
    return enough;
}

static void test_results(void **state)
{
    (void)state;
    assert_true(are_enough(10, 0.0001, 0));
    assert_false(are_enough(9, 0.0001, 0));
    assert_false(are_enough(10, 0.1, 0));
    assert_true(are_enough(10, 0.1, 10 * SECOND));
    assert_true(are_enough(30, 0.1, 0));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plan),
    cmocka_unit_test(test_earlier_base),
    cmocka_unit_test(test_base_replicates),
    cmocka_unit_test(test_limits),
    cmocka_unit_test(test_looks),
    cmocka_unit_test(test_estimate),
    cmocka_unit_test(test_comparisons),
    cmocka_unit_test(test_base_without_replicates_is_not_enough),
    cmocka_unit_test(test_results),
};

UNIT_TESTS(tests, NULL, NULL)
