/* Tests of trace/joins/order.c: any order in the file gives the order of time. */
#include "trace/joins/internal.h"

#include "trace_builder.h"
#include "unit.h"
#include <stddef.h>

static pyro_joins order(pyro_trace *trace)
{
    pyro_joins joins;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_joins_make(&joins, trace, NULL, &error), PYRO_OK);
    return joins;
}

static void empty_trace_is_fine(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    pyro_joins joins = order(trace);
    assert_false(joins.has_layers);
    assert_int_equal(joins.step_count, 0);
    pyro_joins_free(&joins);
    built_free(trace);
}

static void enclosing_events_come_first(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    uint32_t launch = build_slice(trace, PYRO_EVENT_RUNTIME, 0, "cudaLaunchKernel", 10, 5);
    uint32_t inner = build_slice(trace, PYRO_EVENT_OP, 0, "aten::t", 10, 5);
    uint32_t outer = build_slice(trace, PYRO_EVENT_OP, 0, "aten::linear", 10, 9);
    uint32_t frame = build_slice(trace, PYRO_EVENT_PYTHON, 0, "f", 10, 5);
    uint32_t first = build_slice(trace, PYRO_EVENT_OP, 0, "aten::empty", 2, 0);
    pyro_joins joins = order(trace);
    const uint32_t expected[] = {first, outer, frame, inner, launch};
    assert_memory_equal(joins.by_time, expected, sizeof expected);
    assert_int_equal(joins.parent[launch], inner);
    assert_int_equal(joins.parent[inner], frame);
    assert_int_equal(joins.parent[frame], outer);
    assert_int_equal(joins.parent[outer], PYRO_NO_EVENT);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* Any number of threads gives the same order, ties included. */
static void expect_same_by_threads(pyro_trace *trace, const pyro_joins *expected)
{
    for (int threads = 2; threads < 20; threads += 5) {
        pyro_analysis_options options = {.step = -1, .threads = threads};
        pyro_joins joins;
        assert_int_equal(pyro_joins_make_sized(&joins, trace, &options, 1, NULL), PYRO_OK);
        assert_memory_equal(joins.by_time, expected->by_time, trace->count * sizeof *joins.by_time);
        assert_memory_equal(joins.parent, expected->parent, trace->count * sizeof *joins.parent);
        pyro_joins_free(&joins);
    }
}

/* Shuffled over tracks and categories, with many ties. */
static void random_order_is_sorted(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (size_t count = 1; count < 3000; count = count * 2 + 1) {
        pyro_trace *trace = build_trace(3, 2);
        for (size_t i = 0; i < count; i++) {
            random = random * 1664525u + 1013904223u;
            build_slice(trace, (int)(random >> 8) % PYRO_EVENT_CATEGORY_COUNT,
                        (int)(random >> 12) % 5, "x", (random >> 16) % 500, (random >> 24) % 7);
        }
        pyro_joins joins = order(trace);
        bool *seen = calloc(count, sizeof *seen);
        for (size_t i = 0; i < count; i++) {
            uint32_t event = joins.by_time[i], before = i ? joins.by_time[i - 1] : event;
            assert_false(seen[event]);
            seen[event] = true;
            assert_true(trace->start_ns[before] <= trace->start_ns[event]);
            if (trace->start_ns[before] == trace->start_ns[event])
                assert_true(trace->duration_ns[before] >= trace->duration_ns[event]);
        }
        free(seen);
        expect_same_by_threads(trace, &joins);
        pyro_joins_free(&joins);
        built_free(trace);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(empty_trace_is_fine),
    cmocka_unit_test(enclosing_events_come_first),
    cmocka_unit_test(random_order_is_sorted),
};

UNIT_TESTS(tests, NULL, NULL)
