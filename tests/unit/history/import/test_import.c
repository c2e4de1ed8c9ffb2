/* Tests of history/import/import.c: what is no file of results, and memory that runs out. */
#include "fail_alloc.h"
#include "unit.h"

#include <pyrometer/history.h>

#include <stdio.h>
#include <string.h>

static void test_rejected(void **state)
{
    static const struct {
        const char *text;
        int status;
    } files[] = {
        {"", PYRO_ERROR_FORMAT},
        {"{", PYRO_ERROR_FORMAT},
        {"{} {}", PYRO_ERROR_FORMAT},
        {"[]", PYRO_ERROR_UNSUPPORTED},
        {"{}", PYRO_ERROR_UNSUPPORTED},
        {"3", PYRO_ERROR_UNSUPPORTED},
        {"{\"schema\": \"pyrometer.verdict/1\"}", PYRO_ERROR_UNSUPPORTED},
        {"window.BENCHMARK_DATA = ", PYRO_ERROR_FORMAT},
    };
    pyro_runs runs;

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        pyro_error error;

        pyro_error_clear(&error);
        assert_int_equal(pyro_runs_parse(&runs, files[i].text, strlen(files[i].text), &error),
                         files[i].status);
        assert_true(error.message[0] != '\0');
        assert_int_equal(runs.count, 0);
    }
}

static void test_numbers_that_are_not_finite(void **state)
{
    static const char text[] = "{\"results\": [{\"command\": \"c\", \"mean\": NaN, "
                               "\"times\": [NaN, 1, Infinity, 2]}]}";
    pyro_runs runs;

    (void)state;
    assert_int_equal(pyro_runs_parse(&runs, text, sizeof text - 1, NULL), PYRO_OK);
    assert_int_equal(runs.count, 1);
    assert_int_equal(runs.items[0]->metric_count, 1);
    assert_int_equal(runs.items[0]->metrics[0].count, 2);
    pyro_runs_free(&runs);
}

static void test_without_memory(void **state)
{
    static const char text[] = "{\"results\": [{\"command\": \"c\", \"times\": [1, 2, 3]}]}";

    (void)state;
    for (long n = 0; n < 200; n++) {
        pyro_runs runs;

        fail_alloc_after(n);
        int status = pyro_runs_parse(&runs, text, sizeof text - 1, NULL);
        fail_alloc_after(-1);
        if (status == PYRO_OK) {
            pyro_runs_free(&runs);
            return;
        }
        assert_int_equal(status, PYRO_ERROR_MEMORY);
    }
    fail_msg("reading never succeeded");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rejected),
    cmocka_unit_test(test_numbers_that_are_not_finite),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
