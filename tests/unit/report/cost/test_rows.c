/* Tests of report/cost/rows.c: order, how many rows are shown, and sums by bound and band. */
#include "report/cost/rows.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static pyro_cost_row make_row(const char *name, int64_t flops, int64_t bytes, int64_t params)
{
    pyro_cost_row row = {.name = name, .type = "", .class_name = "", .memory_bytes = bytes};

    row.work.flops = flops;
    row.work.macs = -flops;
    row.work.params = params;
    row.arithmetic_intensity = bytes ? (double)flops / (double)bytes : 0;
    row.bound = !bytes                            ? PYRO_BOUND_NONE
                : row.arithmetic_intensity < 50.0 ? PYRO_BOUND_MEMORY
                                                  : PYRO_BOUND_COMPUTE;
    return row;
}

static void check_order(const pyro_cost_row *rows, size_t count, pyro_sort key,
                        const char *expected)
{
    for (size_t shown = 1; shown <= count; shown++) {
        const pyro_cost_row **sorted = pyro_rows_sorted(rows, count, shown, key);

        assert_non_null(sorted);
        for (size_t i = 0; i < shown; i++)
            assert_int_equal(sorted[i]->name[0], expected[i]);
        free(sorted);
    }
}

static void test_sorting(void **state)
{
    (void)state;
    pyro_cost_row rows[] = {
        make_row("a", 10, 100, 3),
        make_row("b", INT64_MAX, INT64_MAX, 3),
        make_row("c", 10, 1, 9),
        make_row("d", 0, 0, 0),
    };

    check_order(rows, 4, PYRO_SORT_FLOPS, "bacd");
    check_order(rows, 4, PYRO_SORT_MACS, "dacb");
    check_order(rows, 4, PYRO_SORT_BYTES, "bacd");
    check_order(rows, 4, PYRO_SORT_PARAMS, "cabd");
    check_order(rows, 4, PYRO_SORT_AI, "cbad");
    assert_null(pyro_rows_sorted(rows, 0, 0, PYRO_SORT_FLOPS));
}

static void test_shown(void **state)
{
    (void)state;
    pyro_report_options options = {.top = 0};

    assert_int_equal(pyro_rows_shown(&options, 100), 10);
    assert_int_equal(pyro_rows_shown(&options, 3), 3);
    options.top = 20;
    assert_int_equal(pyro_rows_shown(&options, 100), 20);
    assert_int_equal(pyro_rows_shown(&options, 0), 0);
    options.top = -1;
    assert_int_equal(pyro_rows_shown(&options, 100), 100);
}

static void test_sums(void **state)
{
    (void)state;
    pyro_cost_row rows[] = {
        make_row("a", 9, 1, 0),    make_row("b", 49, 1, 0), make_row("c", 99, 1, 0),
        make_row("d", 5000, 1, 0), make_row("e", 0, 0, 0),  make_row("f", 0, 7, 0),
    };
    size_t in_bands = 0;
    pyro_row_sums sums = pyro_sum_rows(rows, 6);

    assert_int_equal(sums.of_bound[PYRO_BOUND_MEMORY].rows, 3);
    assert_true(sums.of_bound[PYRO_BOUND_MEMORY].flops == 58);
    assert_true(sums.of_bound[PYRO_BOUND_MEMORY].memory_bytes == 9);
    assert_int_equal(sums.of_bound[PYRO_BOUND_COMPUTE].rows, 2);
    assert_int_equal(sums.of_bound[PYRO_BOUND_NONE].rows, 1);
    for (size_t i = 0; i < PYRO_BAND_COUNT; i++)
        in_bands += sums.of_band[i].rows;
    assert_int_equal(in_bands, 5);
    assert_int_equal(sums.of_band[0].rows, 2);
    assert_string_equal(pyro_row_band(&rows[4]), "none");
}

/* Every intensity is in exactly one band, also at the edges. */
static void test_every_intensity_has_one_band(void **state)
{
    (void)state;
    static const double edges[] = {0, 9.999, 10, 10.001, 50, 50.001, 99.999, 100, 100.001, 1e18};

    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        pyro_cost_row row = make_row("x", 1, 1, 0);
        size_t bands = 0;

        row.arithmetic_intensity = edges[i];
        pyro_row_sums sums = pyro_sum_rows(&row, 1);
        for (size_t j = 0; j < PYRO_BAND_COUNT; j++) {
            bands += sums.of_band[j].rows;
            if (sums.of_band[j].rows)
                assert_string_equal(pyro_band_name(pyro_bands[j].inside), pyro_row_band(&row));
        }
        assert_int_equal(bands, 1);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sorting),
    cmocka_unit_test(test_shown),
    cmocka_unit_test(test_sums),
    cmocka_unit_test(test_every_intensity_has_one_band),
};

UNIT_TESTS(tests, NULL, NULL)
