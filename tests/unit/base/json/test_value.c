/* Tests of base/json/value.c and base/text/utf8.h. */
#include "base/json/value.h"

#include "base/text/utf8.h"
#include "unit.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t code_point = 0; code_point < 0x110000; code_point++) {
        char text[8] = {0};
        size_t size = pyro_utf8_encode(text, code_point);
        bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
        assert_int_equal(pyro_utf8_sequence(text, text + size), surrogate ? 0 : size);
        for (size_t cut = 1; cut < size; cut++)
            assert_int_equal(pyro_utf8_sequence(text, text + cut), 0);
    }
    static const char *const wrong[] = {
        "\x80",     "\xbf",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
        "\xc3\x28", "\xe2\x82\x28", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff",     "\xe2\x28\xa1", "\xf0\x90\x28\xbc", "\xf0\x90\x8c\x28", "\xfe",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(pyro_utf8_sequence(wrong[i], wrong[i] + strlen(wrong[i])), 0);
}

static void test_bad_utf8_is_found_anywhere(void **state)
{
    (void)state;
    for (size_t length = 1; length < 40; length++)
        for (size_t bad = 0; bad < length; bad++) {
            char text[40];
            memset(text, 'a', sizeof text);
            assert_null(pyro_json_find_bad_utf8(text, length));
            text[bad] = '\xff';
            assert_ptr_equal(pyro_json_find_bad_utf8(text, length), text + bad);
        }
}

static void expect_unescaped(const char *text, const char *expected, size_t expected_length)
{
    char copy[64];
    strcpy(copy, text);
    size_t length = strlen(text);
    assert_null(pyro_json_unescape(copy, &length));
    assert_int_equal(length, expected_length);
    assert_memory_equal(copy, expected, length);
}

static void test_unescape(void **state)
{
    (void)state;
    expect_unescaped("", "", 0);
    expect_unescaped("plain", "plain", 5);
    expect_unescaped("a\\nb\\\\c\\/", "a\nb\\c/", 6);
    expect_unescaped("\\u0000x\\u0041", "\0xA", 3);
    expect_unescaped("\\uD834\\uDD1E!", "\xf0\x9d\x84\x9e!", 5);
    expect_unescaped("\\uDD1E\\uD834", "\xef\xbf\xbd\xef\xbf\xbd", 6);
    expect_unescaped("\\uD834\\n", "\xef\xbf\xbd\n", 4);
    static const char *const wrong[] = {"\\",      "x\\",     "\\a",     "\\U0041", "\\u",  "\\u12",
                                        "\\u123g", "\\u 123", "\\u-123", "\\'",     "\\x41"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char copy[64];
        strcpy(copy, wrong[i]);
        size_t length = strlen(copy);
        const char *bad = pyro_json_unescape(copy, &length);
        assert_ptr_equal(bad, copy + (wrong[i][0] == 'x'));
    }
}

static void check_double(const char *text)
{
    double got;
    assert_true(pyro_json_parse_double(text, &got));
    double expected = strtod(text, NULL);
    assert_memory_equal(&got, &expected, sizeof got);
}

static void test_doubles(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "0.1",
        "1.5",
        "-2.25",
        "1e5",
        "1E-7",
        "123.456",
        "0.30000001",
        "5e-324",
        "1e308",
        "1.7976931348623157e308",
        "0.1234567890123456789",
        "9007199254740993",
        "9007199254740992",
        "12345678901234567890",
        "1700000000000003.125",
        "0.000001",
        "4.35",
        "100000000000000000000",
        "2.2250738585072011e-308",
        "1e-400",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_double(texts[i]);
    uint32_t seed = 5;
    for (int i = 0; i < 100000; i++) {
        char text[40];
        seed = seed * 1664525 + 1013904223;
        uint32_t whole = seed >> (seed & 31);
        seed = seed * 1664525 + 1013904223;
        snprintf(text, sizeof text, "%s%u.%u", seed & 1 ? "-" : "", whole, seed >> (seed & 31));
        check_double(text);
    }
    double value;
    assert_false(pyro_json_parse_double("1e999", &value));
    assert_false(pyro_json_parse_double("-1e999", &value));
    assert_true(pyro_json_parse_double("Infinity", &value) && isinf(value));
    assert_true(pyro_json_parse_double("NaN", &value) && isnan(value));
}

static void test_doubles_in_another_locale(void **state)
{
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    for (size_t i = 0; i < 3 && !setlocale(LC_NUMERIC, commas[i]); i++)
        ;
    double value = 0;
    assert_true(pyro_json_parse_double("1.2345678901234567e-3", &value));
    setlocale(LC_NUMERIC, "C");
    assert_true(value == 1.2345678901234567e-3);
}

static void test_scan_number(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long stop;
        bool sound, integer;
        int64_t value;
    } cases[] = {
        {"0", 1, true, true, 0},
        {"01", 1, true, true, 0},
        {"-12x", 3, true, true, -12},
        {"1.5e+10,", 7, true, false, 0},
        {"1E5", 3, true, false, 0},
        {"9223372036854775807", 19, true, true, INT64_MAX},
        {"-9223372036854775808", 20, true, true, INT64_MIN},
        {"9223372036854775808", 19, true, false, 0},
        {"99999999999999999999999", 23, true, false, 0},
        {"-", 1, false, false, 0},
        {"-a", 1, false, false, 0},
        {"1.", 2, false, false, 0},
        {"1.e5", 2, false, false, 0},
        {"1e", 2, false, false, 0},
        {"1e-", 3, false, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128] = {0};
        strcpy(text, cases[i].text);
        pyro_scanned_number number = pyro_json_scan_number(text);
        assert_int_equal(number.stop - text, cases[i].stop);
        assert_int_equal(number.end != NULL, cases[i].sound);
        if (!number.end)
            continue;
        assert_int_equal(number.is_integer, cases[i].integer);
        if (number.is_integer)
            assert_int_equal(number.integer, cases[i].value);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_code_point), cmocka_unit_test(test_bad_utf8_is_found_anywhere),
    cmocka_unit_test(test_unescape),         cmocka_unit_test(test_doubles),
    cmocka_unit_test(test_scan_number),      cmocka_unit_test(test_doubles_in_another_locale),
};

UNIT_TESTS(tests, NULL, NULL)
