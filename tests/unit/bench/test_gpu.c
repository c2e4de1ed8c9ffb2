/* Tests of bench/gpu.c and gpu_watch.c with a stub of NVML that simulates clocks. */
#include "bench/gpu.h"
#include "fail_alloc.h"
#include "fake_clock.h"
#include "unit.h"

#include <pyrometer/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pyro_gpu *open_stub(const char *script)
{
    pyro_gpu *gpu; /* its UUID is that of a real one, as in the tests on a GPU */

    assert_int_equal(setenv("PYRO_STUB_GPU", script, 1), 0);
    assert_int_equal(pyro_gpu_open(&gpu, "GPU-5c5f2a0e-9d1b-4d4e-8a53-0c6f1f0b9a77", NULL),
                     PYRO_OK);
    return gpu;
}

/* Longer than the sampling interval, so that every iteration is sampled once. */
static int run(void *user)
{
    (void)user;
    fake_clock_advance(1500000);
    return 0;
}

/*
 * Ten runs without warm-up while the script runs; the caller frees the loop. The clock moves only
 * in runs: a sample that the system interrupts would make the next ones rarer.
 */
static pyro_loop_samples measure(pyro_loop **loop, const char *script)
{
    pyro_loop_options options = {.min_runs = 10, .max_runs = 10};
    pyro_gpu *gpu = open_stub(script);

    assert_int_equal(pyro_loop_new(loop, &options, NULL), PYRO_OK);
    assert_int_equal(pyro_loop_watch(*loop, gpu, NULL), PYRO_OK);
    fake_clock_set(1000000000);
    assert_int_equal(pyro_loop_run(*loop, run, NULL, NULL, NULL), 0);
    fake_clock_set(0);
    pyro_gpu_close(gpu);
    return pyro_loop_read(*loop);
}

static void test_a_steady_gpu(void **state)
{
    pyro_loop *loop;

    (void)state;
    pyro_loop_samples samples = measure(&loop, "2*1965:0,1980:0");
    assert_int_equal(samples.count, 10);
    assert_int_equal(samples.discarded_count, 0);
    assert_int_equal(samples.gpu.looks, 10);
    assert_true(samples.gpu.clock_mhz == 1980 && samples.gpu.clock_min_mhz == 1965);
    assert_true(samples.gpu.clock_limit_mhz == 1980 && samples.gpu.memory_clock_mhz == 3201);
    assert_true(samples.gpu.power_cap_w == 500 && samples.gpu.power_default_cap_w == 700);
    assert_true(samples.gpu.power_w == 431.5 && isnan(samples.gpu.temperature_c));
    pyro_loop_free(loop);
}

/* Two throttled samples: the runs that ended at them, and the run that began at the last. */
static void test_throttled_samples_are_taken_again(void **state)
{
    static const char *const scripts[] = {
        "3*1980:0,2*1980:0x40,1980:0", "3*1980:0,2*1980:0x20,1980:0", "3*1980:0,2*1980:0x88,1980:0",
        "3*1980:0,2*1400:0,1980:0"};

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        pyro_loop *loop;
        pyro_loop_samples samples = measure(&loop, scripts[i]);

        assert_int_equal(samples.count, 10);
        assert_int_equal(samples.end, PYRO_LOOP_FIXED);
        assert_int_equal(samples.discarded_count, 3);
        assert_int_equal(samples.throttled_count, 0);
        assert_int_equal(samples.gpu.throttled_looks, 2);
        pyro_loop_free(loop);
    }
}

static void test_what_is_no_throttling(void **state)
{
    /* A power cap is normal on a large GPU; clocks may be locked; a busy GPU is not idle. */
    static const char *const scripts[] = {"1700:0x4", "1200:0x2", "1200:0", "1980:0x1", "1500:0x4"};

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        pyro_loop *loop;
        pyro_loop_samples samples = measure(&loop, scripts[i]);

        assert_int_equal(samples.count, 10);
        assert_int_equal(samples.discarded_count, 0);
        pyro_loop_free(loop);
    }
}

/* A GPU that never recovers is measured anyway, with a warning. */
static void test_a_gpu_that_stays_throttled(void **state)
{
    pyro_loop *loop;

    (void)state;
    pyro_loop_samples samples = measure(&loop, "1980:0x40");
    assert_int_equal(samples.count, 10);
    assert_int_equal(samples.throttled_count, 10);
    assert_int_equal(samples.discarded_count, 40);
    pyro_loop_free(loop);
}

static void test_results_show_what_was_discarded(void **state)
{
    pyro_bench *bench, *read;
    size_t index, size;
    char *text, *json, *again;
    pyro_loop *loop;

    (void)state;
    measure(&loop, "3*1980:0,2*1980:0x44,1980:0");
    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "net", "module", &index, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_loop(bench, index, loop, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    pyro_bench_report report = {.bench = bench};
    assert_int_equal(pyro_report_bench(&text, &size, &report, PYRO_BENCH_TEXT, NULL, NULL), 0);
    assert_non_null(strstr(text, "1980 MHz (1980 to 1980, limit 1980), memory 3201 MHz, "
                                 "power cap 500 W (lowered from 700 W), at most 432 W used"));
    assert_non_null(strstr(text, "Discarded:   3 samples"));
    assert_non_null(strstr(text, "power cap, heat (hardware)"));
    pyro_free(text);
    assert_int_equal(pyro_report_bench(&text, &size, &report, PYRO_BENCH_HTML, NULL, NULL), 0);
    assert_non_null(strstr(text, "3 samples taken while the GPU was throttled"));
    pyro_free(text);
    assert_int_equal(pyro_report_bench(&json, &size, &report, PYRO_BENCH_JSON, NULL, NULL), 0);
    assert_non_null(strstr(json, "\"discarded\": 3"));
    assert_int_equal(pyro_bench_parse(&read, json, size, NULL), PYRO_OK);
    report.bench = read;
    assert_int_equal(pyro_report_bench(&again, &size, &report, PYRO_BENCH_JSON, NULL, NULL), 0);
    assert_string_equal(json, again);
    assert_int_equal(pyro_bench_merge(read, bench, NULL), PYRO_OK);
    assert_int_equal(read->results[0].discarded, 6);
    assert_int_equal(read->results[0].gpu.looks, 26);
    pyro_free(json);
    pyro_free(again);
    pyro_bench_free(read);
    pyro_bench_free(bench);
    pyro_loop_free(loop);
}

static void test_the_environment_names_the_gpu(void **state)
{
    pyro_bench *bench;

    (void)state;
    setenv("PYRO_STUB_GPU", "1200:0x40", 1);
    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_environment_before(bench, NULL), PYRO_OK);
    assert_string_equal(bench->environment.gpu, "Stub GPU");
    assert_string_equal(bench->environment.gpu_driver, "999.1");
    assert_string_equal(bench->environment.gpu_clocks, "1200 of 1980 MHz");
    assert_string_equal(bench->warnings[0], "a GPU is slowed down by heat or power");
    pyro_bench_free(bench);
}

static void test_no_such_gpu(void **state)
{
    pyro_gpu *gpu;
    pyro_error error;

    (void)state;
    setenv("PYRO_STUB_GPU", "1980:0", 1);
    pyro_error_clear(&error);
    assert_int_equal(pyro_gpu_open(&gpu, "GPU-other", &error), PYRO_ERROR_ARGUMENT);
    assert_null(gpu);
    unsetenv("PYRO_STUB_GPU");
    assert_int_equal(pyro_gpu_open(&gpu, NULL, &error), PYRO_ERROR_UNSUPPORTED);
}

static void test_no_memory(void **state)
{
    pyro_loop_options options = {.min_runs = 3, .max_runs = 3};
    pyro_gpu *gpu = open_stub("1980:0");

    (void)state;
    for (int allowed = 0; allowed < 40; allowed++) {
        pyro_loop *loop = NULL;

        fail_alloc_after(allowed);
        int status = pyro_loop_new(&loop, &options, NULL);
        if (status == PYRO_OK)
            status = pyro_loop_watch(loop, gpu, NULL);
        for (int i = 0; i < 3 && status == PYRO_OK; i++) {
            pyro_loop_next(loop);
            status = pyro_loop_record(loop, 1000, NULL);
        }
        fail_alloc_after(-1);
        assert_true(status == PYRO_OK || status == PYRO_ERROR_MEMORY);
        pyro_loop_free(loop);
    }
    pyro_gpu_close(gpu);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_steady_gpu),
    cmocka_unit_test(test_throttled_samples_are_taken_again),
    cmocka_unit_test(test_what_is_no_throttling),
    cmocka_unit_test(test_a_gpu_that_stays_throttled),
    cmocka_unit_test(test_results_show_what_was_discarded),
    cmocka_unit_test(test_the_environment_names_the_gpu),
    cmocka_unit_test(test_no_such_gpu),
    cmocka_unit_test(test_no_memory),
};

UNIT_TESTS(tests, NULL, NULL)
