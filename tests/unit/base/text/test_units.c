/* Tests of base/text/units.c. */
#include "base/text/units.h"
#include "unit.h"

#include <math.h>
#include <stddef.h>

typedef char *(*format_function)(char text[PYRO_UNIT_TEXT], int64_t value);

typedef struct example {
    int64_t value;
    const char *expected;
} example;

static void check(format_function format, const example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[PYRO_UNIT_TEXT];
        assert_ptr_equal(format(text, examples[i].value), text);
        assert_string_equal(text, examples[i].expected);
    }
}

#define CHECK(format, examples) check(format, examples, sizeof(examples) / sizeof *(examples))

static void test_counts(void **state)
{
    (void)state;
    static const example plain[] = {
        {0, "0"},
        {512, "512"},
        {999, "999"},
        {1000, "1.00 k"},
        {1234, "1.23 k"},
        {1235, "1.24 k"},
        {11689512, "11.69 M"},
        {99994000, "99.99 M"},
        {99995000, "100.0 M"},
        {1814073344, "1.81 G"},
        {123456789, "123.5 M"},
        {999949, "999.9 k"},
        {999950, "1.00 M"},
        {999949999999, "999.9 G"},
        {INT64_MAX, "9.22 E"},
        {INT64_MIN, "-9.22 E"},
        {-1500, "-1.50 k"},
    };
    CHECK(pyro_format_count, plain);
    static const example with_sign[] = {
        {0, "0"},  {12300000, "+12.3 M"}, {-4, "-4"},
        {4, "+4"}, {-1234, "-1.23 k"},    {INT64_MIN, "-9.22 E"},
    };
    CHECK(pyro_format_count_signed, with_sign);
}

static void test_bytes(void **state)
{
    (void)state;
    static const example plain[] = {
        {0, "0 B"},
        {512, "512 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {10240, "10.0 KiB"},
        {46758048, "44.6 MiB"},
        {1048524, "1023.9 KiB"},
        {1048575, "1.00 MiB"},
        {INT64_C(5) << 30, "5.00 GiB"},
        {INT64_MAX, "8.00 EiB"},
        {-2048, "-2.00 KiB"},
    };
    CHECK(pyro_format_bytes, plain);
    static const example with_sign[] = {{0, "0 B"}, {2048, "+2.00 KiB"}, {-512, "-512 B"}};
    CHECK(pyro_format_bytes_signed, with_sign);
}

static void test_durations(void **state)
{
    (void)state;
    static const example examples[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1.00 us"},
        {12345, "12.3 us"},
        {999949, "999.9 us"},
        {999950, "1.00 ms"},
        {-1500000, "-1.50 ms"},
        {INT64_C(61000000000), "61.0 s"},
        {INT64_C(86400000000000), "86400.0 s"},
        {INT64_MAX, "9223372036.9 s"},
    };
    CHECK(pyro_format_duration, examples);
}

static void test_exact(void **state)
{
    (void)state;
    static const example examples[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {-1000, "-1,000"},
        {12345678, "12,345,678"},
        {INT64_MAX, "9,223,372,036,854,775,807"},
        {INT64_MIN, "-9,223,372,036,854,775,808"},
    };
    CHECK(pyro_format_exact, examples);
}

static void expect_share(double part, double whole, const char *expected)
{
    char text[PYRO_UNIT_TEXT];
    assert_ptr_equal(pyro_format_share(text, part, whole), text);
    assert_string_equal(text, expected);
}

static void test_shares(void **state)
{
    (void)state;
    expect_share(852, 1000, "85.2%");
    expect_share(1, 1, "100.0%");
    expect_share(0, 5, "0.0%");
    expect_share(0, 0, "-");
    expect_share(3, 0, "-");
    expect_share(NAN, 1, "-");
    expect_share(1, 1e6, "<0.1%");
    expect_share(-1, 1e6, ">-0.1%");
    expect_share(1, 1000, "0.1%");
    expect_share(-1, 4, "-25.0%");
    expect_share(30, 10, "300.0%");
    expect_share(1e300, 1, ">1e14%");
    expect_share(-INFINITY, 1, "<-1e14%");
}

static void expect_parsed(const char *text, int64_t expected)
{
    int64_t duration_ns = -1;
    assert_int_equal(pyro_parse_duration(text, &duration_ns), expected != 0);
    if (expected)
        assert_int_equal(duration_ns, expected);
}

static void test_parsed_durations(void **state)
{
    (void)state;
    expect_parsed("30s", 30000000000);
    expect_parsed("1.5 ms", 1500000);
    expect_parsed("250us", 250000);
    expect_parsed("7ns", 7);
    expect_parsed("2min", 120000000000);
    expect_parsed("2m", 120000000000);
    expect_parsed("1h", 3600000000000);
    static const char *const bad[] = {"", "s", "30", "30 S", "-1s", "0s", "1e9h", "nan s", "5 d"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_parsed(bad[i], 0);
}

static void test_parsed_sizes(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    assert_true(pyro_parse_size("64KiB", &bytes) && bytes == 65536);
    assert_true(pyro_parse_size("1.5M", &bytes) && bytes == 3 << 19);
    assert_true(pyro_parse_size("1000", &bytes) && bytes == 1000);
    assert_false(pyro_parse_size("much", &bytes) || pyro_parse_size("0", &bytes) ||
                 pyro_parse_size("1Q", &bytes));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_counts),       cmocka_unit_test(test_bytes),
    cmocka_unit_test(test_durations),    cmocka_unit_test(test_exact),
    cmocka_unit_test(test_shares),       cmocka_unit_test(test_parsed_durations),
    cmocka_unit_test(test_parsed_sizes),
};

UNIT_TESTS(tests, NULL, NULL)
