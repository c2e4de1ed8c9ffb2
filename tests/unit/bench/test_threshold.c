/* Tests of bench/threshold.c. */
#include "unit.h"

#include <pyrometer/bench.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double limit;
    } good[] = {
        {"latency:100ms", 100},
        {"latency:1.5s", 1500},
        {"p99:120us", 0.12},
        {"p99.9:1min", 60000},
        {"throughput:1000samples/s", 1000},
        {"throughput:5/s", 5},
        {"memory:2GiB", 2147483648.0},
        {"memory:2GB", 2e9},
        {"memory:512B", 512},
        {"max:10ns", 1e-5},
    };
    static const char *const bad[] = {
        "latency",
        "latency:",
        ":100ms",
        "latncy:100ms",
        "latency:100",
        "latency:ms",
        "latency:100s/",
        "latency:2GiB",
        "memory:2ms",
        "throughput:5samples",
        "latency:-1ms",
        "latency:nanms",
        "latency:1e999ms",
        "latency:+1ms",
        "",
        "latency:1000000000000000000000000000000000000000000000000000000000000000ms",
    };
    pyro_threshold threshold;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(pyro_threshold_parse(&threshold, good[i].text, NULL), PYRO_OK);
        assert_true(fabs(threshold.limit - good[i].limit) <= 1e-12 * good[i].limit);
        assert_string_equal(threshold.text, good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pyro_error error;

        pyro_error_clear(&error);
        if (pyro_threshold_parse(&threshold, bad[i], &error) != PYRO_ERROR_ARGUMENT)
            fail_msg("%s was taken", bad[i]);
        assert_true(error.message[0] != '\0');
    }
}

static pyro_gate check(pyro_bench *bench, const char *text)
{
    pyro_threshold threshold;

    assert_int_equal(pyro_threshold_parse(&threshold, text, NULL), PYRO_OK);
    return pyro_threshold_check(&threshold, &bench->results[0]).gate;
}

static void test_gates(void **state)
{
    (void)state;
    double latency[100], memory[] = {1000, 3000, 2000};
    pyro_bench *bench;
    size_t index;
    for (size_t i = 0; i < 100; i++)
        latency[i] = 10 + 0.01 * (double)i;
    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "one", "command", &index, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_metric(bench, 0, "latency", "ms", false, latency, 100, NULL),
                     PYRO_OK);
    assert_int_equal(pyro_bench_add_metric(bench, 0, "memory", "bytes", false, memory, 3, NULL),
                     PYRO_OK);
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    assert_int_equal(check(bench, "latency:11ms"), PYRO_GATE_PASSED);
    assert_int_equal(check(bench, "latency:10ms"), PYRO_GATE_FAILED);
    assert_int_equal(check(bench, "latency:10.495ms"), PYRO_GATE_CANNOT_TELL);
    assert_int_equal(check(bench, "p95:11ms"), PYRO_GATE_PASSED);
    assert_int_equal(check(bench, "p95:10ms"), PYRO_GATE_FAILED);
    /* 100 samples are too few for p99, but a threshold that they already exceed fails. */
    assert_int_equal(check(bench, "p99:1000ms"), PYRO_GATE_CANNOT_TELL);
    assert_int_equal(check(bench, "p99:5ms"), PYRO_GATE_FAILED);
    assert_int_equal(check(bench, "max:10.99ms"), PYRO_GATE_PASSED);
    assert_int_equal(check(bench, "max:10.98ms"), PYRO_GATE_FAILED);
    assert_int_equal(check(bench, "memory:3KB"), PYRO_GATE_PASSED);
    assert_int_equal(check(bench, "memory:2999B"), PYRO_GATE_FAILED);
    assert_int_equal(check(bench, "throughput:90/s"), PYRO_GATE_PASSED);
    assert_int_equal(check(bench, "throughput:100/s"), PYRO_GATE_FAILED);
    assert_int_equal(check(bench, "user:1ms"), PYRO_GATE_CANNOT_TELL);
    pyro_bench_free(bench);
}

static pyro_bench *make_model(void)
{
    double latency[20];
    pyro_bench *bench;
    size_t index;

    for (size_t i = 0; i < 20; i++)
        latency[i] = 10 + 0.001 * (double)i;
    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "net", "module", &index, NULL), PYRO_OK);
    bench->results[0].items = 8;
    assert_int_equal(pyro_bench_add_metric(bench, 0, "latency", "ms", false, latency, 20, NULL),
                     PYRO_OK);
    assert_int_equal(
        pyro_bench_add_value(bench, 0, "tokens_per_second", "tokens/s", true, 12800, NULL),
        PYRO_OK);
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    return bench;
}

/* A batch of 8 takes 10 ms: 800 samples, 100 requests and 12,800 tokens per second. */
static void test_rate_gates_the_number_of_its_unit(void **state)
{
    (void)state;
    pyro_bench *bench = make_model();
    pyro_threshold threshold;

    assert_int_equal(check(bench, "throughput:790samples/s"), PYRO_GATE_PASSED);
    assert_int_equal(check(bench, "throughput:810samples/s"), PYRO_GATE_FAILED);
    assert_int_equal(check(bench, "throughput:790/s"), PYRO_GATE_PASSED);
    assert_int_equal(check(bench, "throughput:99requests/s"), PYRO_GATE_PASSED);
    assert_int_equal(check(bench, "throughput:325requests/s"), PYRO_GATE_FAILED);
    assert_int_equal(check(bench, "throughput:12700tokens/s"), PYRO_GATE_PASSED);
    assert_int_equal(check(bench, "throughput:13000tokens/s"), PYRO_GATE_FAILED);
    assert_int_equal(pyro_threshold_parse(&threshold, "throughput:99requests/s", NULL), PYRO_OK);
    pyro_gate_row row = pyro_threshold_check(&threshold, &bench->results[0]);
    assert_string_equal(row.unit, "requests/s");
    assert_true(fabs(row.value - 99.9) < 0.1 && row.interval.low < row.interval.high);
    pyro_bench_free(bench);
}

static void test_unit_without_a_number(void **state)
{
    (void)state;
    pyro_bench *bench = make_model();
    pyro_bench_result command = {.name = "a command", .engine = "command", .items = 1};
    static const struct {
        const char *text;
        bool of_model, of_command;
    } rows[] = {
        {"throughput:1samples/s", true, true},
        {"throughput:1/s", true, true},
        {"throughput:1requests/s", true, false},
        {"throughput:1runs/s", false, true},
        {"throughput:1tokens/s", true, false},
        {"throughput:1images/s", false, false},
        {"latency:1ms", true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pyro_threshold threshold;

        assert_int_equal(pyro_threshold_parse(&threshold, rows[i].text, NULL), PYRO_OK);
        assert_int_equal(pyro_threshold_verify(&threshold, &bench->results[0], NULL),
                         rows[i].of_model ? PYRO_OK : PYRO_ERROR_ARGUMENT);
        assert_int_equal(pyro_threshold_verify(&threshold, &command, NULL),
                         rows[i].of_command ? PYRO_OK : PYRO_ERROR_ARGUMENT);
    }
    pyro_threshold images;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_threshold_parse(&images, "throughput:9images/s", NULL), PYRO_OK);
    pyro_threshold_verify(&images, &bench->results[0], &error);
    assert_string_equal(error.message, "threshold throughput:9images/s: net has no number in "
                                       "images/s; it has samples/s, requests/s, tokens/s");
    assert_int_equal(pyro_threshold_check(&images, &bench->results[0]).gate, PYRO_GATE_CANNOT_TELL);
    pyro_bench_free(bench);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parse),
    cmocka_unit_test(test_gates),
    cmocka_unit_test(test_rate_gates_the_number_of_its_unit),
    cmocka_unit_test(test_unit_without_a_number),
};

UNIT_TESTS(tests, NULL, NULL)
