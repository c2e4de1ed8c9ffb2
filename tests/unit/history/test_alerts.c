/* Tests of history/alerts.c. */
#include "unit.h"

#include <pyrometer/history.h>

#include <math.h>
#include <string.h>

static void test_parse(void **state)
{
    static const struct {
        const char *text;
        pyro_alert_kind kind;
        const char *metric, *unit;
        double limit;
    } good[] = {
        {"p99 > 120ms", PYRO_ALERT_LIMIT, "latency", "ms", 120},
        {"latency>1.5s", PYRO_ALERT_LIMIT, "latency", "ms", 1500},
        {"memory.p95 > 2GiB", PYRO_ALERT_LIMIT, "memory", "bytes", 2147483648.0},
        {"throughput < 1000samples/s", PYRO_ALERT_LIMIT, "throughput", "", 1000},
        {"device_busy < 50%", PYRO_ALERT_LIMIT, "device_busy", "share", 0.5},
        {"kernels > 100", PYRO_ALERT_LIMIT, "kernels", "", 100},
        {"regression > 3%", PYRO_ALERT_REGRESSION, "", "share", 0.03},
        {"no data for 7d", PYRO_ALERT_NO_DATA, "", "", 0},
    };
    static const char *const bad[] = {
        "",
        "latency",
        "latency 5ms",
        "latency > ",
        "> 5ms",
        "latency > x",
        "regression > 3ms",
        "regression < 3%",
        "no data for 7",
        "latency.p42 > 1ms",
        "latency > 5ms 6ms",
        "latency > 5parsec",
    };
    pyro_alert_rule rule;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(pyro_alert_parse(&rule, good[i].text, NULL), PYRO_OK);
        assert_int_equal(rule.kind, good[i].kind);
        assert_string_equal(rule.metric, good[i].metric);
        assert_string_equal(rule.unit, good[i].unit);
        assert_true(fabs(rule.limit - good[i].limit) <= 1e-12 * fabs(good[i].limit));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pyro_error error;

        pyro_error_clear(&error);
        if (pyro_alert_parse(&rule, bad[i], &error) != PYRO_ERROR_ARGUMENT)
            fail_msg("%s was taken", bad[i]);
        assert_true(error.message[0] != '\0');
    }
}

static void test_duration(void **state)
{
    int64_t duration_ns;

    (void)state;
    assert_true(pyro_duration_parse(&duration_ns, "90d"));
    assert_true(duration_ns == 90 * 86400 * INT64_C(1000000000));
    assert_true(pyro_duration_parse(&duration_ns, "30min"));
    assert_false(pyro_duration_parse(&duration_ns, "90"));
    assert_false(pyro_duration_parse(&duration_ns, "-1d"));
    assert_false(pyro_duration_parse(&duration_ns, "1e300y"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parse),
    cmocka_unit_test(test_duration),
};

UNIT_TESTS(tests, NULL, NULL)
