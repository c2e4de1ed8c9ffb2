/* Families, labels and numbers of metrics. */
#include "base/text/exposition.h"
#include "unit.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_families(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_exposition_family(&buf, PYRO_EXPOSITION_OPENMETRICS, "a_seconds", PYRO_METRIC_COUNTER,
                           "seconds", "Time.");
    assert_string_equal(
        buf.data, "# HELP a_seconds Time.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n");
    pyro_buf_reset(&buf);
    pyro_exposition_family(&buf, PYRO_EXPOSITION_PROMETHEUS, "a", PYRO_METRIC_COUNTER, "", "A.");
    assert_string_equal(buf.data, "# HELP a_total A.\n# TYPE a_total counter\n");
    pyro_buf_reset(&buf);
    pyro_exposition_family(&buf, PYRO_EXPOSITION_PROMETHEUS, "a", PYRO_METRIC_INFO, "", "A.");
    assert_string_equal(buf.data, "# HELP a_info A.\n# TYPE a_info gauge\n");
    pyro_buf_free(&buf);
}

static void test_labels(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_exposition_label(&buf, "name", "a\"b\\c\nd\re");
    assert_string_equal(buf.data, "name=\"a\\\"b\\\\c\\nd e\"");
    pyro_buf_free(&buf);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {0.1, "0.1"},
                 {1e300, "1e+300"},
                 {INFINITY, "+Inf"},
                 {-INFINITY, "-Inf"},
                 {NAN, "NaN"},
                 {9007199254740993.0, "9007199254740992"},
                 {1.0 / 3, "0.3333333333333333"}};
    pyro_buf buf = PYRO_BUF_INIT;
    setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* a decimal comma, where it is installed */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pyro_buf_reset(&buf);
        pyro_exposition_number(&buf, cases[i].value);
        assert_string_equal(buf.data, cases[i].text);
    }
    pyro_buf_free(&buf);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_families),
    cmocka_unit_test(test_labels),
    cmocka_unit_test(test_numbers),
};

UNIT_TESTS(tests, NULL, NULL)
