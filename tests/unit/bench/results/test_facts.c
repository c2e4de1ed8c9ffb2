/* Tests of bench/results/facts.c: tables and facts, and reading and writing them. */

#include "unit.h"

#include <pyrometer/report.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pyro_bench *make_bench(void)
{
    static const char *const columns[] = {"layer", "share"};
    static const char *const rows[][2] = {{"encoder <0>", "12%"}, {"head", NULL}};
    double samples[] = {3, 4, 5};
    pyro_bench *bench;
    size_t index;

    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "net", "module", &index, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_metric(bench, index, "latency", "ms", false, samples, 3, NULL),
                     PYRO_OK);
    assert_int_equal(pyro_bench_add_fact(bench, index, "device", "cpu", NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_table(bench, index, "Layers", columns, 2, NULL), PYRO_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pyro_bench_add_row(bench, index, rows[i], NULL), PYRO_OK);
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    return bench;
}

static char *to_text(const pyro_bench_report *report, pyro_bench_format format)
{
    char *text;
    size_t size;

    assert_int_equal(pyro_report_bench(&text, &size, report, format, NULL, NULL), PYRO_OK);
    return text;
}

static void test_round_trip(void **state)
{
    (void)state;
    pyro_bench *bench = make_bench(), *read;
    pyro_bench_report report = {.bench = bench};
    char *text = to_text(&report, PYRO_BENCH_JSON);

    assert_int_equal(pyro_bench_parse(&read, text, strlen(text), NULL), PYRO_OK);
    const pyro_bench_table *table = &read->results[0].tables[0];
    assert_int_equal(read->results[0].table_count, 1);
    assert_string_equal(read->results[0].facts[0].value, "cpu");
    assert_string_equal(table->title, "Layers");
    assert_string_equal(table->columns[1], "share");
    assert_int_equal(table->row_count, 2);
    assert_string_equal(table->cells[0], "encoder <0>");
    assert_string_equal(table->cells[2], "head");
    assert_null(table->cells[3]);
    pyro_free(text);
    pyro_bench_free(read);
    pyro_bench_free(bench);
}

static void test_pages_have_them(void **state)
{
    (void)state;
    pyro_bench *bench = make_bench();
    pyro_bench_report report = {.bench = bench};
    char *page = to_text(&report, PYRO_BENCH_HTML), *text = to_text(&report, PYRO_BENCH_TEXT);

    assert_non_null(strstr(page, "encoder &lt;0&gt;"));
    assert_non_null(strstr(page, "<svg"));
    assert_non_null(strstr(text, "encoder <0>"));
    assert_non_null(strstr(text, "device: cpu"));
    pyro_free(page);
    report.without_drawings = report.without_details = true;
    page = to_text(&report, PYRO_BENCH_HTML);
    assert_null(strstr(page, "encoder"));
    assert_null(strstr(page, "<svg"));
    pyro_free(page);
    pyro_free(text);
    pyro_bench_free(bench);
}

static int parse_tables(const char *tables)
{
    char text[512];
    pyro_bench *bench = NULL;

    snprintf(
        text, sizeof text,
        "{\"schema\": \"pyrometer.bench/1\", \"benchmarks\": [{\"name\": \"a\", \"tables\": %s}]}",
        tables);
    int status = pyro_bench_parse(&bench, text, strlen(text), NULL);
    pyro_bench_free(bench);
    return status;
}

static void test_damage(void **state)
{
    static const char *const bad[] = {
        "{}",
        "[{}]",
        "[1]",
        "[{\"title\": \"t\"}]",
        "[{\"rows\": [[\"a\"]], \"title\": \"t\", \"columns\": []}]",
        "[{\"title\": \"t\", \"columns\": [\"a\"], \"rows\": [[\"1\", \"2\"]]}]",
        "[{\"title\": \"t\", \"columns\": [\"a\"], \"rows\": [1]}]",
        "[{\"title\": \"t\", \"columns\": [1], \"rows\": []}]",
        "[{\"title\": \"t\", \"columns\": [\"a\"], \"rows\": [[\"a\\u0000b\"]]}]",
    };

    (void)state;
    assert_int_equal(parse_tables("[{\"title\": \"t\", \"columns\": [\"a\"], \"rows\": [[null]]}]"),
                     PYRO_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(parse_tables(bad[i]) < 0);
}

static void test_limits(void **state)
{
    (void)state;
    const char *columns[65] = {"a"};
    pyro_bench *bench;
    size_t index;

    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "net", "module", &index, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_row(bench, index, columns, NULL), PYRO_ERROR_ARGUMENT);
    assert_int_equal(pyro_bench_add_table(bench, index, "t", columns, 65, NULL), PYRO_ERROR_LIMIT);
    assert_int_equal(pyro_bench_add_table(bench, index, "t", columns, 0, NULL), PYRO_ERROR_LIMIT);
    for (int i = 0; i < 100; i++)
        assert_int_equal(pyro_bench_add_table(bench, index, "t", columns, 1, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_table(bench, index, "t", columns, 1, NULL), PYRO_ERROR_LIMIT);
    pyro_bench_free(bench);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_round_trip),
    cmocka_unit_test(test_pages_have_them),
    cmocka_unit_test(test_damage),
    cmocka_unit_test(test_limits),
};

UNIT_TESTS(tests, NULL, NULL)
