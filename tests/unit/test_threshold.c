/* Tests of bench/threshold.c. */
#include <pyrometer/bench.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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
    /* 100 samples say nothing about p99, but one that is broken already by less is broken. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_gates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
