/* Tests of graph/cost_changes.c: which layers changed, and in what order they are listed. */
#include "graph/cost_changes.h"

#include "fail_alloc.h"
#include "unit.h"
#include <stdint.h>
#include <string.h>

static pyro_cost_row make_row(const char *name, int64_t flops, int64_t memory)
{
    return (pyro_cost_row){.name = name,
                           .type = "conv2d",
                           .class_name = "Conv2d",
                           .work = {.flops = flops},
                           .memory_bytes = memory};
}

static void check_change(const pyro_layer_change *change, const char *name, const char *kind)
{
    assert_string_equal(pyro_change_name(change), name);
    assert_string_equal(pyro_change_kind(change), kind);
}

static void test_kinds_and_order(void **state)
{
    (void)state;
    pyro_cost_row before[] = {make_row("stem", 5, 1), make_row("gone", 100, 1),
                              make_row("body", 50, 1), make_row("head", 7, 1)};
    pyro_cost_row after[] = {make_row("stem", 5, 1), make_row("body", 20, 1),
                             make_row("extra", 30, 2), make_row("head", 7, 1)};
    pyro_layer_changes changes;

    after[3].class_name = "Linear";
    assert_int_equal(pyro_match_layers(&changes, before, 4, after, 4, NULL), PYRO_OK);
    assert_int_equal(changes.count, 4);
    assert_int_equal(changes.identical, 1);
    assert_int_equal(changes.added, 1);
    assert_int_equal(changes.removed, 1);
    assert_int_equal(changes.changed, 2);
    check_change(&changes.items[0], "gone", "removed");
    check_change(&changes.items[1], "extra", "added");
    check_change(&changes.items[2], "body", "changed");
    check_change(&changes.items[3], "head", "changed");
    pyro_layer_changes_free(&changes);
}

static void test_ties_stay_in_graph_order(void **state)
{
    (void)state;
    pyro_cost_row after[] = {make_row("z", 5, 1), make_row("m", 5, 1), make_row("a", 5, 1)};
    pyro_layer_changes changes;

    assert_int_equal(pyro_match_layers(&changes, NULL, 0, after, 3, NULL), PYRO_OK);
    assert_int_equal(changes.count, 3);
    check_change(&changes.items[0], "z", "added");
    check_change(&changes.items[1], "m", "added");
    check_change(&changes.items[2], "a", "added");
    pyro_layer_changes_free(&changes);
}

static void test_repeated_names_pair_up_in_order(void **state)
{
    (void)state;
    pyro_cost_row before[] = {make_row("x", 1, 1), make_row("x", 2, 1)};
    pyro_cost_row after[] = {make_row("x", 1, 1), make_row("x", 2, 1), make_row("x", 3, 1)};
    pyro_layer_changes changes;

    assert_int_equal(pyro_match_layers(&changes, before, 2, after, 3, NULL), PYRO_OK);
    assert_int_equal(changes.identical, 2);
    assert_int_equal(changes.count, 1);
    check_change(&changes.items[0], "x", "added");
    pyro_layer_changes_free(&changes);
}

static void test_nothing(void **state)
{
    (void)state;
    pyro_layer_changes changes;

    assert_int_equal(pyro_match_layers(&changes, NULL, 0, NULL, 0, NULL), PYRO_OK);
    assert_int_equal(changes.count + changes.identical, 0);
    pyro_layer_changes_free(&changes);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    pyro_cost_row row = make_row("x", 1, 1);
    pyro_layer_changes changes;
    int status = PYRO_ERROR_MEMORY;

    for (long allowed = 0; status != PYRO_OK; allowed++) {
        assert_true(allowed < 10);
        fail_alloc_after(allowed);
        status = pyro_match_layers(&changes, &row, 1, &row, 1, NULL);
        fail_alloc_after(-1);
        assert_true(status == PYRO_OK || status == PYRO_ERROR_MEMORY);
        pyro_layer_changes_free(&changes);
    }
}

static void test_change_is_held_at_the_ends(void **state)
{
    (void)state;
    assert_int_equal(pyro_change_i64(3, 10), 7);
    assert_int_equal(pyro_change_i64(10, 3), -7);
    assert_true(pyro_change_i64(-2, INT64_MAX) == INT64_MAX);
    assert_true(pyro_change_i64(2, INT64_MIN) == INT64_MIN);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_kinds_and_order),
    cmocka_unit_test(test_ties_stay_in_graph_order),
    cmocka_unit_test(test_repeated_names_pair_up_in_order),
    cmocka_unit_test(test_nothing),
    cmocka_unit_test(test_memory_runs_out),
    cmocka_unit_test(test_change_is_held_at_the_ends),
};

UNIT_TESTS(tests, NULL, NULL)
