/* Tests of base/text/table.c. */
#include "base/text/table.h"

#include "fail_alloc.h"
#include "unit.h"
#include <stdlib.h>
#include <string.h>

static const pyro_table_column columns[] = {
    {"layer", false, true}, {"FLOPs", true, false}, {"bound", false, false}};

static void fill_rows(pyro_table *table)
{
    pyro_table_cell(table, "layer1.0.conv1");
    pyro_table_cellf(table, "%.1f G", 1.5);
    pyro_table_cell(table, "compute");
    pyro_table_cell(table, "fc");
    pyro_table_cell(table, "12.25 M");
    pyro_table_cell(table, NULL);
    pyro_table_rule(table);
    pyro_table_cell(table, "total");
    pyro_table_cell(table, "1.5 G");
}

static void expect_table(void (*fill)(pyro_table *), int indent, int width, bool color,
                         const char *expected)
{
    pyro_table table;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_table_init(&table, columns, 3);
    fill(&table);
    pyro_table_write(&table, &buf, indent, width, color);
    assert_false(buf.failed);
    assert_string_equal(buf.data, expected);
    pyro_buf_free(&buf);
    pyro_table_free(&table);
}

static void test_plain(void **state)
{
    (void)state;
    expect_table(fill_rows, 0, 80, false,
                 "layer             FLOPs  bound\n"
                 "--------------------------------\n"
                 "layer1.0.conv1    1.5 G  compute\n"
                 "fc              12.25 M\n"
                 "--------------------------------\n"
                 "total             1.5 G\n");
}

static void test_cut_and_indented(void **state)
{
    (void)state;
    expect_table(fill_rows, 2, 28, false,
                 "  layer       FLOPs  bound\n"
                 "  --------------------------\n"
                 "  lay\xe2\x80\xa6onv1    1.5 G  compute\n"
                 "  fc        12.25 M\n"
                 "  --------------------------\n"
                 "  total       1.5 G\n");
}

static void test_too_narrow(void **state)
{
    (void)state;
    expect_table(fill_rows, 0, 5, false,
                 "l\xe2\x80\xa6r    FLOPs  bound\n"
                 "---------------------\n"
                 "l\xe2\x80\xa6"
                 "1    1.5 G  compute\n"
                 "fc   12.25 M\n"
                 "---------------------\n"
                 "t\xe2\x80\xa6l    1.5 G\n");
}

static void fill_one(pyro_table *table)
{
    pyro_table_cell(table, "a");
    pyro_table_cell(table, "1");
    pyro_table_cell(table, "x");
}

static void test_color(void **state)
{
    (void)state;
    expect_table(fill_one, 1, 80, true,
                 "\033[1m layer  FLOPs  bound\033[0m\n"
                 " \033[2m-------------------\033[0m\n"
                 " a          1  x\n");
}

static void fill_hostile(pyro_table *table)
{
    pyro_table_cell(table, "\xc3\xa9\xc3\xa9\xe2\x82\xac"); /* three code points */
    pyro_table_cell(table, "a\nb\033[2J");
    pyro_table_cell(table, "\xff\xc2\x9b"
                           "x");
}

static void test_hostile_text(void **state)
{
    (void)state;
    expect_table(fill_hostile, 0, 80, false,
                 "layer    FLOPs  bound\n"
                 "---------------------\n"
                 "\xc3\xa9\xc3\xa9\xe2\x82\xac    a?b?[2J  ??x\n");
}

static void fill_wide(pyro_table *table)
{
    char name[400];
    for (size_t i = 0; i < 100; i++)
        memcpy(name + 4 * i, "\xf0\x9f\x98\x80", 4);
    pyro_table_cellf(table, "%.400s", name);
    pyro_table_cell(table, "1");
    pyro_table_cell(table, "x");
}

static void test_cut_between_code_points(void **state)
{
    (void)state;
    expect_table(fill_wide, 0, 20, false,
                 "layer   FLOPs  bound\n"
                 "--------------------\n"
                 "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xe2\x80\xa6"
                 "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80      1  x\n");
}

static void fill_nothing(pyro_table *table)
{
    (void)table;
}

static void test_no_rows(void **state)
{
    (void)state;
    expect_table(fill_nothing, 0, 80, false, "layer  FLOPs  bound\n-------------------\n");
    pyro_table table;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_table_init(&table, columns, 0);
    pyro_table_write(&table, &buf, 0, 80, false);
    assert_int_equal(buf.length, 0);
    pyro_table_free(&table);
}

static void fill_half_a_row(pyro_table *table)
{
    pyro_table_cell(table, "a");
    pyro_table_rule(table);
    fill_one(table);
}

static void test_rule_ends_a_row(void **state)
{
    (void)state;
    expect_table(fill_half_a_row, 0, 80, false,
                 "layer  FLOPs  bound\n"
                 "-------------------\n"
                 "a\n"
                 "-------------------\n"
                 "a          1  x\n");
}

static void test_without_memory(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        pyro_table table;
        pyro_buf buf = PYRO_BUF_INIT;
        fail_alloc_after(n);
        pyro_table_init(&table, columns, 3);
        fill_rows(&table);
        pyro_table_write(&table, &buf, 0, 80, false);
        bool failed = fail_alloc_failures() > 0;
        fail_alloc_after(-1);
        assert_int_equal(buf.failed, failed);
        pyro_buf_free(&buf);
        pyro_table_free(&table);
        if (!failed)
            break;
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plain),          cmocka_unit_test(test_cut_and_indented),
    cmocka_unit_test(test_too_narrow),     cmocka_unit_test(test_color),
    cmocka_unit_test(test_hostile_text),   cmocka_unit_test(test_cut_between_code_points),
    cmocka_unit_test(test_no_rows),        cmocka_unit_test(test_rule_ends_a_row),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
