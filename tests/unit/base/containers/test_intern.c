/* Tests of base/containers/intern.c. */
#include "base/containers/intern.h"

#include "fail_alloc.h"
#include "unit.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void test_ids_count_up(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_intern table;
    pyro_arena_init(&arena);
    pyro_intern_init(&table, &arena);
    assert_int_equal(pyro_intern_find(&table, "x", 1), PYRO_INTERN_NONE);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++) {
            char text[32];
            int length = snprintf(text, sizeof text, "layer%u.conv%u", i, i % 7);
            assert_int_equal(pyro_intern_add(&table, text, (size_t)length), i);
            assert_int_equal(pyro_intern_find(&table, text, (size_t)length), i);
            assert_string_equal(pyro_intern_text(&table, i), text);
        }
    assert_int_equal(table.count, 5000);
    assert_int_equal(pyro_intern_find(&table, "layer0.conv", 11), PYRO_INTERN_NONE);
    pyro_intern_free(&table);
    assert_int_equal(table.count, 0);
    pyro_arena_free(&arena);
}

/* Texts that differ in one digit, at every place of texts of every length, have ids of their own. */
static void test_digits(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_intern table;
    pyro_arena_init(&arena);
    pyro_intern_init(&table, &arena);
    for (int round = 0; round < 2; round++) {
        uint32_t expected = 0;
        for (size_t length = 1; length < 35; length++)
            for (size_t at = 0; at < length; at++)
                for (char digit = '0'; digit <= '9'; digit++) {
                    char text[40];
                    memset(text, 'x', length);
                    text[at] = digit;
                    assert_int_equal(pyro_intern_add(&table, text, length), expected++);
                }
        assert_int_equal(table.count, expected);
    }
    pyro_intern_free(&table);
    pyro_arena_free(&arena);
}

/* Ids do not depend on what an order predicts: in order, with names left out, backwards, new ones. */
static void test_ordered(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_intern table;
    pyro_intern_order order = {0};
    pyro_arena_init(&arena);
    pyro_intern_init(&table, &arena);
    assert_int_equal(pyro_intern_find_ordered(&table, &order, "n0", 2), PYRO_INTERN_NONE);
    static const int steps[] = {1, 1, 3, 7, -1};
    for (size_t round = 0; round < sizeof steps / sizeof *steps; round++)
        for (int i = steps[round] < 0 ? 2999 : 0; i >= 0 && i < 3000; i += steps[round]) {
            char text[32], other[32];
            int length = snprintf(text, sizeof text, "n%d", i);
            int other_length = snprintf(other, sizeof other, "n%d", i * 31 % 3000);
            assert_int_equal(pyro_intern_add_ordered(&table, &order, text, (size_t)length),
                             (uint32_t)i);
            assert_int_equal(pyro_intern_find_ordered(&table, &order, other, (size_t)other_length),
                             pyro_intern_find(&table, other, (size_t)other_length));
        }
    assert_int_equal(table.count, 3000);
    assert_int_equal(pyro_intern_find_ordered(&table, &order, "n3000", 5), PYRO_INTERN_NONE);
    assert_int_equal(pyro_intern_add_ordered(&table, &order, "n", UINT32_MAX), PYRO_INTERN_NONE);
    assert_int_equal(pyro_intern_find_ordered(&table, &order, "n", UINT32_MAX), PYRO_INTERN_NONE);
    pyro_intern_free(&table);
    pyro_arena_free(&arena);
}

static void test_lengths_and_nuls(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_intern table;
    pyro_arena_init(&arena);
    pyro_intern_init(&table, &arena);
    static const char zeros[20] = {0};
    for (uint32_t length = 0; length < 20; length++)
        assert_int_equal(pyro_intern_add(&table, zeros, length), length);
    for (uint32_t length = 0; length < 20; length++)
        assert_int_equal(pyro_intern_find(&table, zeros, length), length);
    assert_int_equal(table.entries[7].length, 7);
    assert_int_equal(pyro_intern_add(&table, NULL, 0), 0);
    assert_int_equal(pyro_intern_add(&table, zeros, UINT32_MAX), PYRO_INTERN_NONE);
    assert_int_equal(pyro_intern_find(&table, zeros, UINT32_MAX), PYRO_INTERN_NONE);
    pyro_intern_free(&table);
    pyro_arena_free(&arena);
}

static void test_without_memory(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        pyro_arena arena;
        pyro_intern table;
        pyro_arena_init(&arena);
        pyro_intern_init(&table, &arena);
        fail_alloc_after(n);
        uint32_t id = 0;
        char text[32];
        for (uint32_t i = 0; i < 200 && id != PYRO_INTERN_NONE; i++)
            id = pyro_intern_add(&table, text, (size_t)snprintf(text, sizeof text, "n%u", i));
        bool failed = fail_alloc_failures() > 0;
        fail_alloc_after(-1);
        assert_int_equal(failed, id == PYRO_INTERN_NONE);
        /* Earlier entries remain, and failed ones may be added again. */
        for (size_t i = 0; i < table.count; i++)
            assert_int_equal(pyro_intern_find(&table, pyro_intern_text(&table, (uint32_t)i),
                                              table.entries[i].length),
                             i);
        uint32_t next = (uint32_t)table.count;
        assert_int_equal(pyro_intern_add(&table, "again", 5), next);
        pyro_intern_free(&table);
        pyro_arena_free(&arena);
        if (!failed)
            break;
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_ids_count_up),   cmocka_unit_test(test_digits),
    cmocka_unit_test(test_ordered),        cmocka_unit_test(test_lengths_and_nuls),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
