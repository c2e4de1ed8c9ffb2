/* Tests of analyze/host/stacks.c: a thread's time is counted in stacks once. */
#include "analyze_maker.h"
#include "unit.h"

static int64_t time_of(const pyro_analysis *analysis, const char *frames)
{
    for (size_t i = 0; i < analysis->stack_count; i++)
        if (strcmp(analysis->stacks[i].frames, frames) == 0)
            return analysis->stacks[i].host_self_ns;
    return -1;
}

static int64_t sum(const pyro_analysis *analysis)
{
    int64_t total = 0;

    for (size_t i = 0; i < analysis->stack_count; i++)
        total += analysis->stacks[i].host_self_ns;
    return total;
}

/* The span of the whole profile is on a separate row. */
static void test_the_profilers_own_span_is_no_stack(void **state)
{
    maker maker;
    (void)state;

    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::add", 1, 1000, 500);
    pyro_buf_adds(&maker.text, "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\","
                               "\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"ts\":1000,"
                               "\"dur\":9000},\n");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->stack_count, 1);
    assert_int_equal(time_of(analysis, "aten::add"), 500);
    maker_end(&maker);
}

/* A step begins inside the call that starts it, shortly before the last one ends. */
static void test_steps_do_not_nest_in_the_one_before(void **state)
{
    maker maker;
    (void)state;

    maker_begin(&maker);
    maker_host(&maker, "python_function", "train.py(1): main", 1, 0, 4000);
    maker_step(&maker, 0, 100, 1000);
    for (int i = 1; i < 4; i++) {
        maker_host(&maker, "python_function", "profiler.py(9): step", 1, i * 1000, 150);
        maker_step(&maker, i, i * 1000 + 90, i < 3 ? 1010 : 900);
        maker_host(&maker, "cpu_op", "aten::mm", 1, i * 1000 + 200, 700);
    }
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(sum(analysis), 4000);
    for (int i = 1; i < 4; i++) {
        char frames[100];

        snprintf(frames, sizeof frames, "train.py(1): main;ProfilerStep#%d;aten::mm", i);
        assert_int_equal(time_of(analysis, frames), 700);
    }
    maker_end(&maker);
}

/* Slices that overlap in part: the time belongs to the innermost, until it ends. */
static void test_overlaps_are_counted_once(void **state)
{
    maker maker;
    (void)state;

    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "outer", 1, 0, 1000);
    maker_host(&maker, "cpu_op", "late", 1, 600, 1000);
    maker_host(&maker, "cpu_op", "inner", 1, 1200, 100);
    maker_host(&maker, "cpu_op", "other", 2, 500, 700);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(time_of(analysis, "outer"), 600);
    assert_int_equal(time_of(analysis, "outer;late"), 900);
    assert_int_equal(time_of(analysis, "outer;late;inner"), 100);
    assert_int_equal(time_of(analysis, "other"), 700);
    assert_int_equal(sum(analysis), 1600 + 700);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_profilers_own_span_is_no_stack),
    cmocka_unit_test(test_steps_do_not_nest_in_the_one_before),
    cmocka_unit_test(test_overlaps_are_counted_once),
};

UNIT_TESTS(tests, NULL, NULL)
