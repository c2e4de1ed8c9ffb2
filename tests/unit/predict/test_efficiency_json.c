/* Tests of predict/efficiency_json.c: tables survive a round trip, and hostile ones are rejected. */
#include "fail_alloc.h"
#include "predict/efficiency.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW \
    "{\"chip\": \"T4\", \"library\": \"cuda 12.1\", \"kind\": \"gemm\", \"dtype\": \"float16\", " \
    "\"form\": \"plain\", \"sizes\": [20, 20, 20, 62, 44, 0], " \
    "\"size_logs\": [20480, 20500, 20500, 63000, 45000, 0], \"samples\": 2, " \
    "\"time_log\": 26000, \"time_log_squares\": 338000000, " \
    "\"least_ns\": 6000, \"most_ns\": 7000}"
#define TABLE(rows) "{\"schema\": \"pyrometer.efficiency/2\", \"rows\": [" rows "]}"

static int read_text(pyro_efficiency_table *table, const char *text, pyro_error *error)
{
    pyro_error_clear(error);
    return pyro_efficiency_read_memory(table, text, strlen(text), error);
}

static void test_round_trip(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new(), *again = pyro_efficiency_new();
    pyro_buf first = PYRO_BUF_INIT, second = PYRO_BUF_INIT;
    pyro_error error;

    assert_int_equal(read_text(table, TABLE(ROW), &error), PYRO_OK);
    assert_int_equal(pyro_efficiency_write(table, &first, &error), PYRO_OK);
    assert_int_equal(read_text(again, first.data, &error), PYRO_OK);
    assert_int_equal(pyro_efficiency_write(again, &second, &error), PYRO_OK);
    assert_string_equal(first.data, second.data);
    pyro_buf_free(&first);
    pyro_buf_free(&second);
    pyro_efficiency_free(table);
    pyro_efficiency_free(again);
}

static void test_equal_rows_are_added_up(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    pyro_error error;
    size_t count;

    assert_int_equal(read_text(table, TABLE(ROW ", " ROW), &error), PYRO_OK);
    const pyro_efficiency_row *rows = pyro_efficiency_rows(table, &count);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].samples, 4);
    pyro_efficiency_free(table);
}

/* A copy of the text with one part replaced. */
static char *changed(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    char *result = NULL;
    assert_non_null(at);
    assert_true(asprintf(&result, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) > 0);
    return result;
}

static void test_hostile_tables(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"pyrometer.efficiency/2", "pyrometer.efficiency/3"},
        {"\"rows\": [", "\"rows\": ["
                        "3, "},
        {"\"rows\"", "\"lines\""},
        {"\"T4\"", "\"\""},
        {"\"T4\"", "\"T4\\u0000\""},
        {"\"T4\"", "\"T4\\n\""},
        {"\"T4\"", "4"},
        {"gemm", "magic"},
        {"float16", "float17"},
        {"plain", "plane"},
        {"\"form\": \"plain\", ", ""},
        {"45000, 0]", "45000]"},
        {"45000, 0]", "45000, 0, 0]"},
        {"45000, 0]", "45000, null]"},
        {"45000, 0]", "45000, -1]"},
        {"45000, 0]", "145000, 0]"},
        {"62, 44, 0]", "62, 44]"},
        {"62, 44, 0]", "62, 44, 0, 1]"},
        {"62, 44, 0]", "62, 44, 127]"},
        {"62, 44, 0]", "62, 44, -1]"},
        {"62, 44, 0]", "62, 44, 4.5]"},
        {"\"samples\": 2", "\"samples\": 0"},
        {"\"samples\": 2", "\"samples\": -2"},
        {"\"samples\": 2", "\"samples\": 9223372036854775807"},
        {"\"samples\": 2", "\"samples\": 92233720368547758070"},
        {"\"samples\": 2, ", ""},
        {"\"samples\": 2", "\"samples\": 2, \"samples\": 2"},
        {"26000", "260000"},
        {"26000", "1e300"},
        {"338000000", "100"},
        {"338000000", "9223372036854775807"},
        {"\"least_ns\": 6000", "\"least_ns\": 8000"},
        {"\"least_ns\": 6000", "\"least_ns\": 0"},
        {"]}", "]} x"},
        {"]}", "]"},
    };
    pyro_efficiency_table *table = pyro_efficiency_new();
    pyro_error error;
    size_t count;

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *text = changed(TABLE(ROW), changes[i][0], changes[i][1]);
        assert_true(read_text(table, text, &error) < 0);
        assert_true(error.message[0] && !strchr(error.message, '\n'));
        free(text);
    }
    assert_true(read_text(table, "", &error) < 0);
    assert_true(read_text(table, "[]", &error) < 0);
    pyro_efficiency_rows(table, &count);
    assert_int_equal(count, 0); /* a damaged table adds nothing */
    pyro_efficiency_free(table);
}

/* A table of an older version is named as such, and so is a way out. */
static void test_an_old_table(void **state)
{
    (void)state;
    char *text = changed(TABLE(ROW), "efficiency/2", "efficiency/1");
    pyro_efficiency_table *table = pyro_efficiency_new();
    pyro_error error;

    assert_int_equal(read_text(table, text, &error), PYRO_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "older"));
    assert_non_null(strstr(error.message, "learn from the traces again"));
    free(text);
    pyro_efficiency_free(table);
}

static void test_sums_do_not_overflow(void **state)
{
    (void)state;
    char *large = changed(TABLE(ROW), "\"samples\": 2", "\"samples\": 1073741824");
    char *text = changed(large, "\"time_log\": 26000", "\"time_log\": 70000000000000");
    char *whole = changed(text, "338000000", "4600000000000000000");
    pyro_efficiency_table *table = pyro_efficiency_new();
    pyro_error error;

    assert_int_equal(read_text(table, whole, &error), PYRO_OK);
    assert_true(read_text(table, TABLE(ROW), &error) < 0);
    assert_non_null(strstr(error.message, "samples"));
    free(large);
    free(text);
    free(whole);
    pyro_efficiency_free(table);
}

static void test_the_shipped_table(void **state)
{
    (void)state;
    pyro_efficiency_table *table = NULL;
    pyro_error error;
    size_t count;
    bool is_old;

    pyro_error_clear(&error);
    assert_int_equal(pyro_efficiency_load(&table, "/nonexistent", &is_old, &error), PYRO_OK);
    assert_false(is_old);
    pyro_efficiency_rows(table, &count);
    assert_true(count > 100);
    pyro_efficiency_free(table);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    for (long n = 0; n < 40; n++) {
        pyro_error error;
        fail_alloc_after(n);
        pyro_efficiency_table *table = pyro_efficiency_new();
        if (table && read_text(table, TABLE(ROW), &error) == PYRO_OK)
            pyro_efficiency_prepare(table, &error);
        pyro_efficiency_free(table);
        fail_alloc_after(-1);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_equal_rows_are_added_up),
    cmocka_unit_test(test_hostile_tables), cmocka_unit_test(test_sums_do_not_overflow),
    cmocka_unit_test(test_an_old_table),   cmocka_unit_test(test_the_shipped_table),
    cmocka_unit_test(test_out_of_memory),
};

UNIT_TESTS(tests, NULL, NULL)
