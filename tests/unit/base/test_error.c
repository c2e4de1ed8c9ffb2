/* Tests of base/error.c: the first failure wins, and hostile names cannot break the line. */
#include "base/error.h"
#include "unit.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void test_first_failure_wins(void **state)
{
    (void)state;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(error.code, PYRO_OK);
    assert_int_equal(error.offset, -1);
    assert_int_equal(pyro_fail_at(&error, PYRO_ERROR_FORMAT, 7, "bad %s", "thing"),
                     PYRO_ERROR_FORMAT);
    assert_int_equal(pyro_fail(&error, PYRO_ERROR_IO, "other"), PYRO_ERROR_IO);
    assert_int_equal(pyro_fail_memory(&error), PYRO_ERROR_MEMORY);
    assert_int_equal(error.code, PYRO_ERROR_FORMAT);
    assert_int_equal(error.offset, 7);
    assert_string_equal(error.message, "bad thing");
}

static void test_no_error_wanted(void **state)
{
    (void)state;
    assert_int_equal(pyro_fail(NULL, PYRO_ERROR_IO, "x"), PYRO_ERROR_IO);
    assert_int_equal(pyro_fail_at(NULL, PYRO_ERROR_LIMIT, 1, "x"), PYRO_ERROR_LIMIT);
    assert_int_equal(pyro_fail_memory(NULL), PYRO_ERROR_MEMORY);
    pyro_error_where(NULL, "file", NULL);
}

static void test_line(void **state)
{
    (void)state;
    pyro_error error;
    char line[64];
    pyro_error_clear(&error);
    pyro_fail(&error, PYRO_ERROR_FORMAT, "no graph");
    assert_string_equal(pyro_error_line(&error, line, sizeof line), "no graph");
    pyro_error_where(&error, "a.pt2", "models/model.json");
    pyro_error_where(&error, "b.pt2", NULL);
    assert_string_equal(pyro_error_line(&error, line, sizeof line),
                        "a.pt2:models/model.json: no graph");
    error.offset = 12;
    assert_string_equal(pyro_error_line(&error, line, sizeof line),
                        "a.pt2:models/model.json: no graph (at byte 12)");
    assert_string_equal(pyro_error_line(&error, line, 6), "a.pt2");
    assert_ptr_equal(pyro_error_line(&error, line, 0), line);
}

static void test_where_needs_a_failure(void **state)
{
    (void)state;
    pyro_error error;
    pyro_error_clear(&error);
    pyro_error_where(&error, "a.pt2", NULL);
    assert_string_equal(error.where, "");
}

static void test_control_characters(void **state)
{
    (void)state;
    pyro_error error;
    pyro_error_clear(&error);
    pyro_fail(&error, PYRO_ERROR_FORMAT, "%s", "a\nb\033[31m\x7f\xc3\xa9");
    assert_string_equal(error.message, "a?b?[31m?\xc3\xa9");
    pyro_error_where(&error, "x\ty", NULL);
    assert_string_equal(error.where, "x?y");
}

static void test_long_texts(void **state)
{
    (void)state;
    char text[2000];
    for (size_t shift = 0; shift < 4; shift++) {
        pyro_error error;
        pyro_error_clear(&error);
        /* Cut anywhere inside a character of three bytes. */
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4);
        pyro_fail(&error, PYRO_ERROR_FORMAT, "%s", text);
        size_t length = strlen(error.message);
        assert_true(length > sizeof error.message - 5);
        assert_memory_equal(error.message + length - 3, "\xe2\x82\xac", 3);
        pyro_error_where(&error, text, "member");
        length = strlen(error.where);
        assert_true(length < sizeof error.where && length > sizeof error.where - 5);
        assert_memory_equal(error.where, "...\xe2\x82\xac", 6);
        assert_string_equal(error.where + length - 10, "\xe2\x82\xac:member");
    }
    pyro_error error;
    pyro_error_clear(&error);
    memset(text, 'm', sizeof text);
    text[sizeof text - 1] = '\0';
    pyro_fail(&error, PYRO_ERROR_FORMAT, "x");
    pyro_error_where(&error, "file", text);
    assert_int_equal(strlen(error.where), sizeof error.where - 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_first_failure_wins),
    cmocka_unit_test(test_no_error_wanted),
    cmocka_unit_test(test_line),
    cmocka_unit_test(test_where_needs_a_failure),
    cmocka_unit_test(test_control_characters),
    cmocka_unit_test(test_long_texts),
};

UNIT_TESTS(tests, NULL, NULL)
