/* What recording took: costs per event, and the part of lost time that they explain. */
#include "analyze_maker.h"
#include "base/containers/buf.h"
#include "unit.h"

#include <sys/utsname.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static int64_t taken_of(const pyro_analysis *analysis, pyro_cause cause)
{
    int64_t taken_ns = 0;
    for (size_t i = 0; i < analysis->cause_count; i++)
        taken_ns += analysis->causes[i].cause == cause ? analysis->causes[i].profiler_ns : 0;
    return taken_ns;
}

/* The parts add up, and none is longer than the time that it is a part of. */
static void check_parts(const pyro_analysis *analysis)
{
    int64_t of_causes = 0, of_places = 0;
    for (size_t i = 0; i < analysis->cause_count; i++) {
        assert_in_range(analysis->causes[i].profiler_ns, 0, analysis->causes[i].time_ns);
        of_causes += analysis->causes[i].profiler_ns;
    }
    for (size_t i = 0; i < analysis->cause_place_count; i++) {
        const pyro_cause_place *place = &analysis->cause_places[i];
        assert_in_range(place->profiler_ns, 0, place->time_ns);
        of_places += place->profiler_ns;
    }
    assert_int_equal(of_causes, of_places);
    assert_int_equal(of_causes, analysis->profiler_cost.time_ns);
}

/* Ops one after the other; each takes half of the pitch. */
static void add_ops(maker *maker, int64_t start_ns, int count, int64_t pitch_ns)
{
    for (int i = 0; i < count; i++)
        maker_host(maker, "cpu_op", "aten::add", 1, start_ns + i * pitch_ns, pitch_ns / 2);
}

/* Without a device every event counts; the causes themselves stay the same. */
static void test_host_alone(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 1 * MS);
    add_ops(&maker, 10 * US, 50, 10 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    const pyro_profiler_cost *cost = &analysis->profiler_cost;
    check_parts(analysis);
    assert_int_equal(cost->source, PYRO_COSTS_DEFAULT);
    assert_true(cost->op_ns > 0);
    assert_int_equal(cost->time_ns, 51 * cost->op_ns); /* the step's own mark too */
    assert_int_equal(cost->step_ns, 1 * MS);
    assert_int_equal(cost->step_without_ns, 1 * MS - cost->time_ns);
    assert_true(cost->step_without_low_ns < cost->step_without_ns);
    assert_true(cost->step_without_high_ns > cost->step_without_ns);
    assert_true(cost->step_without_high_ns <= 1.15 * (double)cost->step_without_ns + 1);
    maker_end(&maker);
}

/* A device that works all the time does not wait for the profiler. */
static void test_busy_device(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 2 * MS);
    maker_kernel(&maker, "a", 10, 1 * MS - 10, 0);
    maker_kernel(&maker, "b", 1 * MS, 1 * MS, 500 * US);
    add_ops(&maker, 10 * US, 40, 10 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_parts(analysis);
    assert_int_equal(analysis->profiler_cost.time_ns, 0);
    maker_end(&maker);
}

/* A late launch is late by what was recorded before it, also while the device worked. */
static void test_late_launch(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 2 * MS);
    maker_kernel(&maker, "a", 100 * US, 400 * US, 90 * US);
    add_ops(&maker, 150 * US, 40, 20 * US);
    maker_kernel(&maker, "b", 1 * MS, 1 * MS, 990 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_parts(analysis);
    int64_t late = taken_of(analysis, PYRO_CAUSE_OPS) + taken_of(analysis, PYRO_CAUSE_PYTHON);
    int64_t all = 40 * analysis->profiler_cost.op_ns;
    assert_in_range(late, all, all + 2 * analysis->profiler_cost.op_ns);
    maker_end(&maker);
}

/* A host that waits for the device has caught up there. */
static void test_wait_for_device(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 2 * MS);
    maker_kernel(&maker, "a", 100 * US, 400 * US, 90 * US);
    add_ops(&maker, 150 * US, 10, 20 * US);
    maker_host(&maker, "cuda_runtime", "cudaStreamSynchronize", 1, 400 * US, 105 * US);
    maker_kernel(&maker, "b", 1 * MS, 1 * MS, 990 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_parts(analysis);
    assert_in_range(taken_of(analysis, PYRO_CAUSE_PYTHON) + taken_of(analysis, PYRO_CAUSE_OPS), 0,
                    analysis->profiler_cost.call_ns);
    maker_end(&maker);
}

/* CUPTI's own work delays the host as long as it takes. Loading modules is no part of it. */
static void test_overhead_of_cupti(void **state)
{
    (void)state;
    for (int is_cupti = 0; is_cupti < 2; is_cupti++) {
        maker maker;
        maker_begin(&maker);
        maker_step(&maker, 1, 0, 2 * MS);
        maker_kernel(&maker, "a", 100 * US, 400 * US, 90 * US);
        maker_host(&maker, "cpu_op", "aten::mm", 1, 480 * US, 500 * US);
        maker_event(&maker, "overhead",
                    is_cupti ? "Activity Buffer Request" : "Lazy Function Loading", -1, 0, 490 * US,
                    300 * US, "");
        maker_kernel(&maker, "b", 1 * MS, 1 * MS, 970 * US);
        const pyro_analysis *analysis = maker_analyze(&maker, NULL);
        check_parts(analysis);
        int64_t taken = taken_of(analysis, PYRO_CAUSE_PYTHON) + taken_of(analysis, PYRO_CAUSE_OPS);
        assert_in_range(taken, is_cupti * 300 * US, is_cupti * 300 * US + 10 * US);
        maker_end(&maker);
    }
}

/* Half of the width of the range, as a part of the step without the profiler. */
static double width_of(const pyro_profiler_cost *cost)
{
    double without = (double)cost->step_without_ns;
    assert_true(cost->step_without_high_ns + cost->step_without_low_ns >= 2 * without - 2);
    assert_true(cost->step_without_high_ns + cost->step_without_low_ns <= 2 * without + 2);
    return (double)(cost->step_without_high_ns - cost->step_without_low_ns) / 2 / without;
}

static double width_with(int ops)
{
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 2 * MS);
    add_ops(&maker, 10 * US, ops, 3 * US);
    double width = width_of(&maker_analyze(&maker, NULL)->profiler_cost);
    maker_end(&maker);
    return width;
}

/* The more of a step is the profiler's, the less certain is the rest; never by more than 15%. */
static void test_width_of_range(void **state)
{
    (void)state;
    double few = width_with(10), some = width_with(200), many = width_with(650);
    assert_true(few > 0.06 && few < 0.07);
    assert_true(some > 0.09 && some < 0.15);
    assert_true(many > 0.1499 && many < 0.1501);
}

/* A Python function costs less than an op, and an allocation less than that. */
static void test_kinds_of_events(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 1 * MS);
    add_ops(&maker, 10 * US, 10, 10 * US);
    const pyro_profiler_cost *cost = &maker_analyze(&maker, NULL)->profiler_cost;
    assert_in_range(cost->builtin_ns, cost->frame_ns, cost->op_ns - 1);
    assert_in_range(cost->frame_ns, cost->memory_ns + 1, cost->op_ns / 5 * 3);
    assert_in_range(cost->memory_ns, 1, cost->op_ns / 3);
    maker_end(&maker);
}

static int64_t cost_of_nested_with(int64_t gap_ns, bool has_device,
                                   const pyro_analysis_options *options)
{
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 10 * MS);
    gap_ns += 1; /* whole microseconds would not be trusted */
    for (int i = 0; i < 100; i++) {
        maker_host(&maker, "cpu_op", "aten::t", 1, i * 50 * US, 20 * US);
        maker_host(&maker, "cpu_op", "aten::transpose", 1, i * 50 * US + gap_ns, 2 * US);
    }
    if (has_device)
        maker_host(&maker, "cuda_runtime", "cudaLaunchKernel", 1, 9 * MS, 2 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, options);
    int64_t op_ns = analysis->profiler_cost.op_ns;
    check_parts(analysis);
    assert_int_equal(analysis->profiler_cost.source, PYRO_COSTS_TRACE);
    maker_end(&maker);
    return op_ns;
}

static int64_t cost_of_nested(int64_t gap_ns, const pyro_analysis_options *options)
{
    return cost_of_nested_with(gap_ns, false, options);
}

/* torch.profiler tells CUPTI about every op, if it records a device. */
static void test_ops_beside_a_device(void **state)
{
    (void)state;
    int64_t alone = cost_of_nested(800, NULL), beside = cost_of_nested_with(800, true, NULL);
    assert_in_range(beside, alone + alone / 10, alone + alone / 5);
}

/* A faster machine is seen from how soon an op in an op starts. */
static void test_speed_of_the_machine(void **state)
{
    (void)state;
    int64_t slow = cost_of_nested(1600, NULL), fast = cost_of_nested(400, NULL);
    assert_in_range(slow, 7 * fast / 2, 9 * fast / 2);
    assert_in_range(cost_of_nested(15 * US, NULL), slow, 4 * slow); /* limited */
}

/* Opens a trace of a machine with pairs of an op and an op in it, and returns what an op costs. */
static int64_t cost_on(const char *host, const pyro_peaks *peaks, int pairs, int gap_ns)
{
    pyro_analysis_options options = {.step = -1, .peaks = peaks};
    pyro_analysis *analysis = NULL;
    pyro_trace *trace = NULL;
    pyro_error error;
    pyro_buf text = PYRO_BUF_INIT;
    pyro_buf_addf(&text, "{\"schemaVersion\":1,\"host_name\":\"%s\",\"traceEvents\":[", host);
    for (int i = 0; i < pairs; i++)
        for (int inner = 0; inner < 2; inner++)
            pyro_buf_addf(
                &text,
                "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::t\",\"pid\":1,\"tid\":1,"
                "\"ts\":%.3f,\"dur\":%d}",
                i + inner ? "," : "", 50 * i + (inner ? gap_ns / 1e3 : 0), inner ? 2 : 20);
    pyro_buf_adds(&text, "]}");
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, text.data, text.length, "made", NULL, &error),
                     0);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, &options, &error), 0);
    int64_t op_ns = analysis->profiler_cost.op_ns;
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    pyro_buf_free(&text);
    return op_ns;
}

/* Measured costs are those of the machine that measured them. A trace that shows how long its own
 * events took has a say too: its program may use the caches otherwise. */
static void test_calibrated(void **state)
{
    (void)state;
    struct utsname names;
    pyro_peaks peaks = {.torch_profiler = {.op_ns = 777}};
    assert_int_equal(uname(&names), 0);
    assert_int_equal(cost_on(names.nodename, &peaks, 2, 501), 777);
    assert_int_not_equal(cost_on("another", &peaks, 2, 501), 777);
    assert_int_not_equal(cost_on(names.nodename, NULL, 2, 501), 777);
    int64_t by_trace = cost_on("another", &peaks, 100, 1001);
    assert_int_equal(cost_on(names.nodename, NULL, 100, 1001), by_trace);
    assert_in_range(cost_on(names.nodename, &peaks, 100, 1001), (777 + by_trace) / 2 - 2,
                    (777 + by_trace) / 2 + 2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_overhead_of_cupti), cmocka_unit_test(test_host_alone),
    cmocka_unit_test(test_busy_device),       cmocka_unit_test(test_late_launch),
    cmocka_unit_test(test_wait_for_device),   cmocka_unit_test(test_speed_of_the_machine),
    cmocka_unit_test(test_calibrated),        cmocka_unit_test(test_width_of_range),
    cmocka_unit_test(test_kinds_of_events),   cmocka_unit_test(test_ops_beside_a_device),
};

UNIT_TESTS(tests, NULL, NULL)
