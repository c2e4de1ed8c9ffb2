/* Tests of trace/joins/steps.c: which annotations are steps. */
#include "trace/joins/internal.h"

#include "trace_builder.h"
#include "unit.h"
#include <stddef.h>

static void steps_in_order_and_once(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 1);
    build_slice(trace, PYRO_EVENT_OP, 0, "ProfilerStep#11", 200, 90);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "ProfilerStep#10", 100, 90);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 1, "ProfilerStep#10", 101, 95);
    build_slice(trace, PYRO_EVENT_DEVICE_ANNOTATION, 2, "ProfilerStep#12", 300, 90);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "ProfilerStep#", 400, 90);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "ProfilerStep#x", 410, 90);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "ProfilerStep#10", 500, 90);
    pyro_joins joins;
    assert_int_equal(pyro_joins_make(&joins, trace, NULL, NULL), PYRO_OK);
    assert_int_equal(joins.step_count, 3);
    assert_int_equal(joins.steps[0].number, 10);
    assert_int_equal(joins.steps[0].event, 1);
    assert_int_equal(joins.steps[0].end_ns, 190);
    assert_int_equal(joins.steps[1].number, 11);
    assert_int_equal(joins.steps[2].number, 10);
    pyro_joins_free(&joins);
    built_free(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_in_order_and_once),
};

UNIT_TESTS(tests, NULL, NULL)
