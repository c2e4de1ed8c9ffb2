/* Tests of report/text.c. */
#include "report/text.h"
#include "unit.h"

#include <stdint.h>
#include <string.h>

static void check_wrap(const char *text, int first, int indent, int width, const char *expected)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_text_wrap(&buf, text, first, indent, width);
    assert_string_equal(buf.data, expected);
    pyro_buf_free(&buf);
}

static void test_wrap(void **state)
{
    (void)state;
    check_wrap("", 0, 0, 20, "\n");
    check_wrap("one two three", 0, 0, 80, "one two three\n");
    check_wrap("one two three", 0, 0, 7, "one two\nthree\n");
    check_wrap("- one two three", 2, 4, 10, "  - one\n    two\n    three\n");
    check_wrap("  spaces   and\nlines ", 0, 0, 80, "spaces and lines\n");
    check_wrap("averylongwordthatdoesnotfit x", 0, 2, 10, "averylongwordthatdoesnotfit\n  x\n");
    check_wrap("first\n\nsecond part", 0, 1, 8, "first\n\n second\n part\n");
}

static void test_wrap_never_exceeds_80(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    char text[1000];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 5 == 4 ? ' ' : 'a';
    text[sizeof text - 1] = '\0';
    pyro_text_wrap(&buf, text, 0, 3, 4096);
    for (char *line = strtok(buf.data, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 80);
    pyro_buf_free(&buf);
}

static void test_field(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT, value = PYRO_BUF_INIT;

    pyro_text_field(&buf, "Empty:", &value, 80);
    pyro_buf_adds(&value, "a value that is long");
    pyro_text_field(&buf, "Label:", &value, 36);
    assert_string_equal(buf.data, "  Empty:                \n"
                                  "  Label:                a value that\n"
                                  "                        is long\n");
    pyro_buf_free(&value);
    pyro_buf_free(&buf);
}

static void test_clean(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_text_clean(&buf, "a\033[31mb\nc\x7f\xc2\x9b \xc3\xa9 \xff\xc3");
    assert_string_equal(buf.data, "a?[31mb?c?? \xc3\xa9 ??");
    pyro_buf_free(&buf);
}

static void check_path(const char *path, size_t room, const char *expected)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_text_path(&buf, path, room);
    assert_string_equal(buf.data ? buf.data : "", expected);
    pyro_buf_free(&buf);
}

static void test_path(void **state)
{
    (void)state;
    const char *path = "encoder.layer.11.intermediate.dense";

    check_path(path, 35, path);
    check_path(path, 34, "e.layer.11.intermediate.dense");
    check_path(path, 28, "e.l.11.intermediate.dense");
    check_path(path, 1, "e.l.11.i.dense");
    check_path("Net_0.Block_11.Linear_19", 21, "N0.Block_11.Linear_19");
    check_path("Net_0.Block_11.Linear_19", 1, "N0.B11.Linear_19");
    check_path("head", 1, "head");
    check_path("", 1, "");
    check_path("a..b.", 1, "a..b.");
}

static void test_banner(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_text_banner(&buf, "T", 4, true);
    assert_string_equal(buf.data, "====\n\033[1mT\033[0m\n====\n");
    pyro_buf_reset(&buf);
    pyro_text_banner(&buf, "T", 500, false);
    assert_int_equal(buf.length, 81 + 2 + 81);
    pyro_buf_free(&buf);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_wrap),  cmocka_unit_test(test_wrap_never_exceeds_80),
    cmocka_unit_test(test_field), cmocka_unit_test(test_clean),
    cmocka_unit_test(test_path),  cmocka_unit_test(test_banner),
};

UNIT_TESTS(tests, NULL, NULL)
