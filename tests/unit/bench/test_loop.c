/* Tests of bench/loop.c. Times are given instead of measured, wherever possible. */
#include "bench/statistics/random.h"
#include "fail_alloc.h"
#include "unit.h"

#include <pyrometer/bench.h>

#include <math.h>
#include <time.h>

static pyro_loop *new_loop(const pyro_loop_options *options)
{
    pyro_loop *loop;

    assert_int_equal(pyro_loop_new(&loop, options, NULL), PYRO_OK);
    return loop;
}

/* Feeds durations made by `duration` until the loop is done. */
static pyro_loop_samples feed(pyro_loop *loop,
                              int64_t (*duration)(size_t index, pyro_random *random))
{
    pyro_random random;

    pyro_random_seed(&random, 42);
    for (size_t i = 0; pyro_loop_next(loop) != PYRO_LOOP_DONE; i++) {
        assert_true(i < 1000000);
        assert_int_equal(pyro_loop_record(loop, duration(i, &random), NULL), PYRO_OK);
    }
    return pyro_loop_read(loop);
}

static int64_t steady(size_t index, pyro_random *random)
{
    (void)index;
    return 1000000 + (int64_t)(20000 * pyro_random_normal(random));
}

static int64_t warming(size_t index, pyro_random *random)
{
    return steady(index, random) + (int64_t)(5e6 * exp(-(double)index / 8));
}

static int64_t wild(size_t index, pyro_random *random)
{
    (void)index;
    return (int64_t)(1e6 * exp(1.5 * pyro_random_normal(random)));
}

static void test_fixed(void **state)
{
    (void)state;
    pyro_loop_options options = {.warmup_runs = 3, .min_runs = 7, .max_runs = 7};
    pyro_loop *loop = new_loop(&options);
    pyro_loop_samples samples = feed(loop, wild);
    assert_int_equal(samples.count, 7);
    assert_int_equal(samples.warmup_count, 3);
    assert_int_equal(samples.end, PYRO_LOOP_FIXED);
    assert_int_equal(pyro_loop_record(loop, 1, NULL), PYRO_ERROR_ARGUMENT);
    pyro_loop_free(loop);
}

/* 1 ms per run: 20 ms are over before the 100 requested runs. */
static void test_a_limit_of_time_ends_fixed_runs(void **state)
{
    (void)state;
    pyro_loop_options options = {.warmup_runs = 4,
                                 .min_runs = 100,
                                 .max_runs = 100,
                                 .max_time_ns = 20000000,
                                 .max_time_wins = true};
    pyro_loop *loop = new_loop(&options);
    pyro_loop_samples samples = feed(loop, steady);
    assert_int_equal(samples.end, PYRO_LOOP_NOISY);
    assert_int_equal(samples.warmup_count, 4);
    assert_in_range(samples.count, 15, 17);
    assert_int_equal(samples.wanted_count, 100);
    pyro_loop_free(loop);
    /* One run is longer than the limit: one warm-up run, and one measured run. */
    options.max_time_ns = 500000;
    loop = new_loop(&options);
    samples = feed(loop, steady);
    assert_int_equal(samples.warmup_count, 1);
    assert_int_equal(samples.count, 1);
    pyro_loop_free(loop);
    options.max_time_wins = false;
    loop = new_loop(&options);
    assert_int_equal(feed(loop, steady).count, 100);
    pyro_loop_free(loop);
}

static void test_stops_when_narrow(void **state)
{
    (void)state;
    pyro_loop *loop = new_loop(&(pyro_loop_options){.warmup_runs = 0});
    pyro_loop_samples samples = feed(loop, steady);
    assert_int_equal(samples.end, PYRO_LOOP_NARROW);
    assert_in_range(samples.count, 10, 200);
    pyro_loop_free(loop);
}

static void test_runs_for_a_percentile(void **state)
{
    (void)state;
    pyro_loop *loop = new_loop(&(pyro_loop_options){.warmup_runs = 0, .deepest_percentile = 0.99});
    assert_true(feed(loop, steady).count >= 299);
    pyro_loop_free(loop);
}

static void test_says_noisy(void **state)
{
    (void)state;
    pyro_loop_options options = {.warmup_runs = 0, .max_time_ns = 200000000};
    pyro_loop *loop = new_loop(&options);
    pyro_loop_samples samples = feed(loop, wild);
    assert_int_equal(samples.end, PYRO_LOOP_NOISY);
    assert_true(samples.count >= 10 && samples.count < 300);
    pyro_loop_free(loop);
    options = (pyro_loop_options){.warmup_runs = 0, .min_runs = 5, .max_runs = 30};
    loop = new_loop(&options);
    samples = feed(loop, wild);
    assert_int_equal(samples.end, PYRO_LOOP_NOISY);
    assert_int_equal(samples.count, 30);
    pyro_loop_free(loop);
}

/* The slow start is dropped; steady runs before its detection are kept. */
static void test_detects_warmup(void **state)
{
    (void)state;
    pyro_loop *loop = new_loop(NULL);
    pyro_loop_samples samples = feed(loop, warming);
    assert_true(samples.warmup_settled);
    assert_in_range(samples.warmup_count, 10, 200);
    for (size_t i = 0; i < samples.count; i++)
        assert_true(samples.latency_ns[i] < 1.7e6);
    assert_true(samples.count >= 40);
    pyro_loop_free(loop);
    loop = new_loop(NULL);
    samples = feed(loop, steady);
    assert_true(samples.warmup_settled && samples.warmup_count < 100);
    pyro_loop_free(loop);
}

static int64_t drifting(size_t index, pyro_random *random)
{
    return steady(index, random) + 3000000 / (int64_t)(1 + index) * (int64_t)(index % 9);
}

static int64_t growing(size_t index, pyro_random *random)
{
    (void)random;
    return 1000 + 40 * (int64_t)index * (int64_t)index;
}

static void test_warmup_gives_up(void **state)
{
    (void)state;
    pyro_loop_options options = {.warmup_runs = -1, .warmup_runs_max = 50};
    pyro_loop *loop = new_loop(&options);
    pyro_loop_samples samples = feed(loop, growing);
    assert_false(samples.warmup_settled);
    assert_int_equal(samples.warmup_count, 90);
    pyro_loop_free(loop);
    loop = new_loop(NULL);
    samples = feed(loop, drifting);
    assert_true(samples.count > 0);
    pyro_loop_free(loop);
}

typedef struct calls {
    int runs, waits, limit;
} calls;

static int count_run(void *user)
{
    calls *counted = user;

    return ++counted->runs == counted->limit ? -99 : 0;
}

static int count_wait(void *user)
{
    ((calls *)user)->waits++;
    return 0;
}

static void test_callbacks(void **state)
{
    (void)state;
    calls counted = {0};
    pyro_loop *loop = new_loop(
        &(pyro_loop_options){.warmup_runs = 2, .min_runs = 5, .max_runs = 5});
    assert_int_equal(pyro_loop_run(loop, count_run, count_wait, &counted, NULL), PYRO_OK);
    assert_int_equal(counted.runs, 7);
    assert_int_equal(counted.waits, 14);
    pyro_loop_free(loop);
    counted = (calls){.limit = 3};
    loop = new_loop(&(pyro_loop_options){.warmup_runs = 0, .min_runs = 5, .max_runs = 5});
    assert_int_equal(pyro_loop_run(loop, count_run, NULL, &counted, NULL), -99);
    pyro_loop_samples samples = pyro_loop_read(loop);
    assert_int_equal(samples.count, 2);
    assert_int_equal(samples.end, PYRO_LOOP_STOPPED);
    pyro_loop_free(loop);
}

static int stall_once(void *user)
{
    calls *counted = user;
    struct timespec stall = {0, 20000000};

    if (++counted->runs == 3)
        nanosleep(&stall, NULL);
    return 0;
}

/*
 * One stall of 20 ms at one call per millisecond: calls that should have started meanwhile
 * waited, and their latency includes the wait. A closed loop would show one slow call.
 */
static void test_coordinated_omission(void **state)
{
    (void)state;
    calls counted = {0};
    pyro_loop_options options = {
        .warmup_runs = 0, .min_runs = 60, .max_runs = 60, .rate_per_s = 1000};
    pyro_loop *loop = new_loop(&options);
    size_t delayed = 0, slow = 0;
    assert_int_equal(pyro_loop_run(loop, stall_once, NULL, &counted, NULL), PYRO_OK);
    pyro_loop_samples samples = pyro_loop_read(loop);
    for (size_t i = 0; i < samples.count; i++) {
        assert_true(samples.latency_ns[i] >= samples.service_ns[i]);
        delayed += samples.latency_ns[i] > 2e6;
        slow += i == 2 && samples.service_ns[i] >= 20e6;
    }
    assert_int_equal(slow, 1);
    assert_true(delayed >= 15);
    assert_true(samples.latency_ns[3] >= 18e6);
    pyro_loop_free(loop);
}

static void test_refuses_nonsense(void **state)
{
    (void)state;
    pyro_loop *loop;
    pyro_loop_options options[] = {
        {.min_runs = 10, .max_runs = 5},
        {.deepest_percentile = 1},
        {.deepest_percentile = NAN},
        {.rate_per_s = -1},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        assert_int_equal(pyro_loop_new(&loop, &options[i], NULL), PYRO_ERROR_ARGUMENT);
    loop = new_loop(NULL);
    assert_int_equal(pyro_loop_record(loop, -1, NULL), PYRO_ERROR_ARGUMENT);
    pyro_loop_free(loop);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (long n = 0; n < 12; n++) {
        pyro_loop *loop = NULL;
        fail_alloc_after(n);
        int status = pyro_loop_new(&loop, NULL, NULL);
        while (status == PYRO_OK && pyro_loop_next(loop) != PYRO_LOOP_DONE)
            status = pyro_loop_record(loop, 1000, NULL);
        assert_int_equal(status, fail_alloc_failures() > 0 ? PYRO_ERROR_MEMORY : PYRO_OK);
        fail_alloc_after(-1);
        pyro_loop_free(loop);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_fixed),
    cmocka_unit_test(test_a_limit_of_time_ends_fixed_runs),
    cmocka_unit_test(test_stops_when_narrow),
    cmocka_unit_test(test_runs_for_a_percentile),
    cmocka_unit_test(test_says_noisy),
    cmocka_unit_test(test_detects_warmup),
    cmocka_unit_test(test_warmup_gives_up),
    cmocka_unit_test(test_callbacks),
    cmocka_unit_test(test_coordinated_omission),
    cmocka_unit_test(test_refuses_nonsense),
    cmocka_unit_test(test_no_memory),
};

UNIT_TESTS(tests, NULL, NULL)
