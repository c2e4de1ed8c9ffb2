/* Tests of the report functions on a built-in model: every format, and failing allocations. */
#include "base/json/json.h"
#include "fail_alloc.h"
#include "unit.h"

#include <pyrometer/report.h>
#include <stdlib.h>
#include <string.h>

static pyro_model *model;
static pyro_cost *cost;

static int open_model(void **state)
{
    (void)state;
    return pyro_model_open(&model, "resnet18", NULL) == PYRO_OK &&
                   pyro_cost_compute(&cost, model, NULL, NULL) == PYRO_OK
               ? 0
               : -1;
}

static int close_model(void **state)
{
    (void)state;
    pyro_cost_free(cost);
    pyro_model_close(model);
    return 0;
}

/* One of the three reports, by number. */
static int write_report(int which, char **text, size_t *size, const pyro_report_options *options,
                        pyro_error *error)
{
    const pyro_cost *const costs[] = {cost, cost};

    if (which == 0)
        return pyro_report_cost(text, size, cost, options, error);
    if (which == 1)
        return pyro_report_compare(text, size, costs, 2, options, error);
    return pyro_report_diff(text, size, cost, cost, options, error);
}

static void test_sizes_are_right(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++)
        for (int format = PYRO_FORMAT_TEXT; format <= PYRO_FORMAT_CSV; format++) {
            pyro_report_options options = {.format = (pyro_format)format, .verbose = true};
            char *text;
            size_t size;

            assert_int_equal(write_report(which, &text, &size, &options, NULL), PYRO_OK);
            assert_int_equal(strlen(text), size);
            assert_int_equal(text[size - 1], '\n');
            pyro_free(text);
        }
}

static void test_defaults(void **state)
{
    (void)state;
    char *text;

    assert_int_equal(pyro_report_cost(&text, NULL, cost, NULL, NULL), PYRO_OK);
    assert_non_null(strstr(text, "GRAPH PROFILE: ResNet-18\n"));
    assert_non_null(strstr(text, "Layer Details (Top 10 of 61 by FLOPs):\n"));
    pyro_free(text);
}

static void test_lines_fit_80_columns(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        pyro_report_options options = {.verbose = true, .width = 80};
        char *text;

        assert_int_equal(write_report(which, &text, NULL, &options, NULL), PYRO_OK);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            size_t columns = 0;
            for (const char *c = line; *c; c++)
                columns += ((unsigned char)*c & 0xc0) != 0x80;
            assert_true(columns <= 80);
        }
        pyro_free(text);
    }
}

static void test_json_is_json(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        pyro_report_options options = {.format = PYRO_FORMAT_JSON};
        pyro_source *source;
        pyro_json *json;
        pyro_json_kind kind;
        char *text;
        size_t size;

        assert_int_equal(write_report(which, &text, &size, &options, NULL), PYRO_OK);
        assert_int_equal(pyro_source_open_memory(&source, text, size, NULL), PYRO_OK);
        assert_int_equal(pyro_json_open(&json, source, NULL, NULL), PYRO_OK);
        do
            kind = pyro_json_next(json);
        while (kind != PYRO_JSON_END && kind != PYRO_JSON_ERROR);
        assert_int_equal(kind, PYRO_JSON_END);
        pyro_json_close(json);
        pyro_source_close(source);
        pyro_free(text);
    }
}

/* Each allocation fails in turn: the result is an error, never an incomplete report. */
static void test_memory_runs_out(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++)
        for (int format = PYRO_FORMAT_TEXT; format <= PYRO_FORMAT_CSV; format++) {
            pyro_report_options options = {.format = (pyro_format)format, .verbose = true};
            int status = PYRO_ERROR_MEMORY;

            for (long allowed = 0; status != PYRO_OK; allowed++) {
                pyro_error error;
                char *text;
                size_t size;

                pyro_error_clear(&error);
                fail_alloc_after(allowed);
                status = write_report(which, &text, &size, &options, &error);
                long failures = fail_alloc_failures();
                fail_alloc_after(-1);
                if (status == PYRO_OK) {
                    assert_int_equal(failures, 0);
                    pyro_free(text);
                } else {
                    assert_int_equal(status, PYRO_ERROR_MEMORY);
                    assert_null(text);
                    assert_string_equal(error.message, "out of memory");
                }
            }
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sizes_are_right),      cmocka_unit_test(test_defaults),
    cmocka_unit_test(test_lines_fit_80_columns), cmocka_unit_test(test_json_is_json),
    cmocka_unit_test(test_memory_runs_out),
};

UNIT_TESTS(tests, open_model, close_model)
