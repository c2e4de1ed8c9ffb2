/* Tests of base/parallel.c: every part is done once, and parts cover everything. */
#include "base/parallel.h"
#include "unit.h"

#include <stdint.h>

static void mark(void *data, unsigned part)
{
    int *marks = data;
    marks[part]++;
}

static void test_run(void **state)
{
    (void)state;
    for (unsigned parts = 1; parts <= PYRO_MOST_PARTS; parts++) {
        int marks[PYRO_MOST_PARTS] = {0};
        pyro_run_parts(mark, marks, parts);
        for (unsigned i = 0; i < PYRO_MOST_PARTS; i++)
            assert_int_equal(marks[i], i < parts);
    }
}

static void test_count(void **state)
{
    (void)state;
    assert_int_equal(pyro_count_parts(4, 1000, 100), 4);
    assert_int_equal(pyro_count_parts(4, 399, 100), 3);
    assert_int_equal(pyro_count_parts(4, 99, 100), 1);
    assert_int_equal(pyro_count_parts(4, 0, 0), 1);
    assert_int_equal(pyro_count_parts(1000, 1000000, 1), PYRO_MOST_PARTS);
    assert_true(pyro_count_parts(0, 1000000, 1) >= 1);
}

static void test_borders(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 15, 16, 17, 1000003, SIZE_MAX / 4};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (unsigned parts = 1; parts <= PYRO_MOST_PARTS; parts++) {
            assert_int_equal(pyro_part_begin(counts[i], 0, parts), 0);
            assert_int_equal(pyro_part_begin(counts[i], parts, parts), counts[i]);
            for (unsigned part = 0; part < parts; part++)
                assert_true(pyro_part_begin(counts[i], part, parts) <=
                            pyro_part_begin(counts[i], part + 1, parts));
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_run),
    cmocka_unit_test(test_count),
    cmocka_unit_test(test_borders),
};

UNIT_TESTS(tests, NULL, NULL)
