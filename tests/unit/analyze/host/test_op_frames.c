/* Tests of src/analyze/host/op_frames.c: Python frames of ops that have their stack as text. */
#include "analyze_maker.h"
#include "unit.h"

#define MODULE "/v/torch/nn/modules/module.py"
#define CALL MODULE "(9): _call_impl;" MODULE "(8): _wrapped_call_impl;"

static bool has_stack(const pyro_analysis *analysis, const char *frames, int64_t host_self_ns)
{
    for (size_t i = 0; i < analysis->stack_count; i++) {
        if (strcmp(analysis->stacks[i].frames, frames) == 0)
            return analysis->stacks[i].host_self_ns == host_self_ns;
    }
    return false;
}

static void op(maker *maker, const char *name, int64_t start, int64_t length, const char *stack)
{
    char arguments[1024];
    snprintf(arguments, sizeof arguments, "\"Call stack\":\"%s\"", stack);
    maker_event(maker, "cpu_op", name, 100, 1, start, length, arguments);
}

/* Layers stand where they were called, for the wrapper that called them; nested ops add nothing. */
static void test_frames_among_layers(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "python_function", "nn.Module: Net_0", 1, 0, 1000);
    maker_host(&maker, "python_function", "nn.Module: Linear_0", 1, 100, 500);
    static const char inside[] = "lin.py(3): forward;" CALL "net.py(2): forward;" CALL
                                 "a.py(1): <module>";
    op(&maker, "aten::linear", 200, 300, inside);
    op(&maker, "aten::addmm", 250, 100, inside);
    op(&maker, "aten::relu", 700, 50, "net.py(4): forward;" CALL "a.py(1): <module>");
    op(&maker, "aten::sum", 2000, 10, "a.py(5): <module>");
    op(&maker, "aten::none", 3000, 10, "");
    const pyro_analysis *a = maker_analyze(&maker, NULL);
#define NET "a.py(1): <module>;Net_0"
#define LINEAR NET ";" MODULE "(9): _call_impl;net.py(2): forward;Net_0.Linear_0"
    assert_true(has_stack(a, NET, 1000 - 500 - 50));
    assert_true(has_stack(a, LINEAR, 200));
    assert_true(
        has_stack(a, LINEAR ";" MODULE "(9): _call_impl;lin.py(3): forward;aten::linear", 200));
    assert_true(has_stack(
        a, LINEAR ";" MODULE "(9): _call_impl;lin.py(3): forward;aten::linear;aten::addmm", 100));
    assert_true(has_stack(a, NET ";" MODULE "(9): _call_impl;net.py(4): forward;aten::relu", 50));
    assert_true(has_stack(a, "a.py(5): <module>;aten::sum", 10));
    assert_true(has_stack(a, "aten::none", 10));
    maker_end(&maker);
}

/* In a trace with frames as events, the texts are ignored. */
static void test_frames_as_events(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "python_function", "a.py(1): <module>", 1, 0, 1000);
    op(&maker, "aten::sum", 200, 10, "a.py(1): <module>");
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    assert_true(has_stack(a, "a.py(1): <module>;aten::sum", 10));
    maker_end(&maker);
}

/* A stack that ends before the frame of the call, and one that differs from its parent's. */
static void test_frames_that_do_not_fit(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "python_function", "nn.Module: Net_0", 1, 0, 1000);
    op(&maker, "aten::a", 100, 300, "b.py(2): g\\na.py(1): f");
    op(&maker, "aten::b", 200, 100, ";;c.py(1): h;");
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    assert_true(has_stack(a, "Net_0;a.py(1): f;b.py(2): g;aten::a", 200));
    assert_true(has_stack(a, "Net_0;a.py(1): f;b.py(2): g;aten::a;aten::b", 100));
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_frames_among_layers),
    cmocka_unit_test(test_frames_as_events),
    cmocka_unit_test(test_frames_that_do_not_fit),
};

UNIT_TESTS(tests, NULL, NULL)
