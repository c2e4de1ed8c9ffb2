/* Addresses that metrics are served at. */
#include "unit.h"
#include <pyrometer/metrics.h>

#include <stdlib.h>
#include <string.h>

static void check(const char *text, const char *written, bool is_loopback)
{
    pyro_metrics_address address;
    char again[PYRO_METRICS_ADDRESS_TEXT];
    assert_int_equal(pyro_metrics_parse_address(&address, text, NULL), PYRO_OK);
    pyro_metrics_format_address(again, &address);
    assert_string_equal(again, written);
    assert_int_equal(address.is_loopback, is_loopback);
}

static void test_good(void **state)
{
    (void)state;
    check("9400", "127.0.0.1:9400", true);
    check("0", "127.0.0.1:0", true);
    check("localhost:65535", "127.0.0.1:65535", true);
    check("127.1.2.3:1", "127.1.2.3:1", true);
    check("0.0.0.0:9400", "0.0.0.0:9400", false);
    check("[::1]:9400", "[::1]:9400", true);
    check("[::]:9400", "[::]:9400", false);
}

static void test_bad(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",          ":",    ":9400", "127.0.0.1",         "127.0.0.1:",
        "65536",     "-1",   "1e3",   "host.example:9400", "[::1]",
        "[::1]9400", "::1:", "9400 ", "127.0.0.1:94000",   "[]:1"};
    pyro_metrics_address address;
    pyro_error error;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pyro_error_clear(&error);
        if (pyro_metrics_parse_address(&address, texts[i], &error) != PYRO_ERROR_ARGUMENT)
            fail_msg("%s", texts[i]);
        assert_non_null(strstr(error.message, "is not an address"));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_good),
    cmocka_unit_test(test_bad),
};

UNIT_TESTS(tests, NULL, NULL)
