/* Tests of analyze/timeline/links.c: backward ops and the forward ops that made them. */
#include "analyze/timeline/timeline.h"

#include "trace_builder.h"
#include "unit.h"
#include <string.h>

static uint32_t slice_named(const pyro_timeline *timeline, const pyro_trace *trace,
                            const char *name)
{
    for (uint32_t i = 0; i < timeline->count; i++)
        if (strcmp(pyro_trace_text(trace, timeline->slices[i].name), name) == 0)
            return i;
    fail_msg("no slice is called %s", name);
    return PYRO_NO_SLICE;
}

static void backward_ops_name_their_forward_ops(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 1);
    pyro_timeline_options options = {0};
    pyro_timeline timeline;
    pyro_joins joins;

    build_op(trace, 0, "aten::mul", 1000, 10, 5, 0);
    build_op(trace, 0, "aten::add", 1020, 10, 6, 0);
    build_op(trace, 1, "autograd::engine::evaluate_function: AddBackward0", 1100, 10, 6, 1);
    build_op(trace, 1, "autograd::engine::evaluate_function: MulBackward0", 1120, 10, 5, 1);
    build_op(trace, 1, "autograd::engine::evaluate_function: Other", 1140, 10, 99, 1);
    assert_int_equal(pyro_joins_make(&joins, trace, NULL, NULL), PYRO_OK);
    assert_int_equal(pyro_timeline_make(&timeline, trace, &joins, &options, NULL), PYRO_OK);
    const pyro_slice *add = &timeline.slices[slice_named(
        &timeline, trace, "autograd::engine::evaluate_function: AddBackward0")];
    const pyro_slice *mul = &timeline.slices[slice_named(
        &timeline, trace, "autograd::engine::evaluate_function: MulBackward0")];
    const pyro_slice *other =
        &timeline
             .slices[slice_named(&timeline, trace, "autograd::engine::evaluate_function: Other")];
    assert_int_equal(add->forward, slice_named(&timeline, trace, "aten::add"));
    assert_int_equal(mul->forward, slice_named(&timeline, trace, "aten::mul"));
    assert_int_equal(other->forward, PYRO_NO_SLICE);
    pyro_timeline_free(&timeline);
    pyro_joins_free(&joins);
    built_free(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(backward_ops_name_their_forward_ops),
};

UNIT_TESTS(tests, NULL, NULL)
