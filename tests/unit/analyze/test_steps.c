/* Steps: parts that add up despite overlaps; work counts in the step that launched it. */
#include "analyze/totals.h"
#include "analyze_maker.h"
#include "unit.h"

#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

static void check_sum(const pyro_step_row *row)
{
    assert_int_equal(row->compute_ns + row->communication_exposed_ns + row->copy_exposed_ns +
                         row->idle_ns,
                     row->span_ns);
    assert_int_equal(row->forward_ns + row->backward_ns + row->optimizer_ns + row->other_ns,
                     row->device_total_ns);
    assert_true(row->host_only_ns <= row->idle_ns && row->data_loading_ns <= row->idle_ns);
}

static void test_parts_are_disjoint(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 3, 0, 1000);
    maker_step(&maker, 4, 1000, 500);
    maker_kernel(&maker, "gemm", 100, 300, 50);                          /* [100,400) */
    maker_work(&maker, "kernel", NCCL, 0, 20, 300, 300, 60, 5, "");      /* [300,600) */
    maker_work(&maker, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, 550, 150, 70, 5,
               ",\"bytes\":1500");                                       /* [550,700) */
    maker_work(&maker, "gpu_memset", "Memset (Device)", 0, 7, 650, 20, 80, 5, ",\"bytes\":64");
    maker_kernel(&maker, "gemm", 900, 200, 90);                          /* into the next step */
    maker_host(&maker, "cpu_op", "aten::mm", 1, 720, 100);
    maker_host(&maker, "cpu_op", "aten::inner", 1, 730, 10);
    maker_host(&maker, "user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, 830, 100);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->step_count, 2);
    const pyro_step_row *row = &analysis->steps[0];
    assert_string_equal(row->name, "ProfilerStep#3");
    assert_int_equal(row->number, 3);
    assert_int_equal(row->span_ns, 1000);
    assert_int_equal(row->compute_ns, 300 + 20 + 100);
    assert_int_equal(row->communication_ns, 300);
    assert_int_equal(row->communication_exposed_ns, 200);
    assert_int_equal(row->copy_ns, 150);
    assert_int_equal(row->copy_exposed_ns, 50 + 30);
    assert_int_equal(row->idle_ns, 100 + 200);
    assert_int_equal(row->host_only_ns, 100);
    assert_int_equal(row->data_loading_ns, 70);
    assert_int_equal(row->device_total_ns, 300 + 300 + 150 + 20 + 200);
    assert_int_equal(row->kernels, 3);
    check_sum(row);
    row = &analysis->steps[1];
    assert_int_equal(row->compute_ns, 100); /* of work that the previous step launched */
    assert_int_equal(row->idle_ns, 400);
    assert_int_equal(row->device_total_ns, 0);
    check_sum(row);
    assert_int_equal(analysis->device_total_ns, 970);
    assert_int_equal(analysis->device_busy_ns, 800);
    maker_end(&maker);
}

static void test_one_step_is_the_same_row(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    for (int i = 0; i < 5; i++) {
        maker_step(&maker, 10 + i, i * 1000, 1000);
        maker_kernel(&maker, "gemm", i * 1000 + 700, 600, i * 1000 + 10);
    }
    pyro_step_row all[5];
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->step_count, 5);
    memcpy(all, analysis->steps, sizeof all);
    for (int i = 0; i < 5; i++) {
        pyro_analysis_options options = {.step = 10 + i};
        analysis = maker_analyze(&maker, &options);
        assert_int_equal(analysis->step_count, 1);
        assert_int_equal(analysis->span_ns, all[i].span_ns);
        assert_int_equal(analysis->start_ns, all[i].start_ns);
        assert_memory_equal(&analysis->steps[0].span_ns, &all[i].span_ns,
                            sizeof all[i] - offsetof(pyro_step_row, span_ns));
        assert_int_equal(analysis->device_total_ns, 600);
        assert_int_equal(analysis->kernel_count, 1);
    }
    maker_end(&maker);
}

static void test_a_step_that_is_not_there(void **state)
{
    (void)state;
    maker maker;
    pyro_error error;
    pyro_analysis *none;
    pyro_analysis_options options = {.step = 7};
    maker_begin(&maker);
    maker_step(&maker, 3, 0, 1000);
    maker_step(&maker, 4, 1000, 1000);
    maker_analyze(&maker, NULL);
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_analyze(&none, maker.trace, &options, &error), PYRO_ERROR_ARGUMENT);
    assert_null(none);
    assert_string_equal(error.message, "no step 7: the trace has steps 3 to 4");
    options = (pyro_analysis_options){.step = -1, .filter = "("};
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_analyze(&none, maker.trace, &options, &error), PYRO_ERROR_ARGUMENT);
    maker_end(&maker);
}

static void test_without_steps(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::mm", 1, 0, 100);
    maker_kernel(&maker, "gemm", 150, 250, 20);
    maker_kernel(&maker, "empty", 400, 0, 30); /* empty, at the very end */
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->step_count, 1);
    assert_string_equal(analysis->steps[0].name, "(whole trace)");
    assert_int_equal(analysis->steps[0].number, -1);
    assert_int_equal(analysis->steps[0].span_ns, 400);
    assert_int_equal(analysis->steps[0].idle_ns, 150);
    assert_int_equal(analysis->steps[0].host_only_ns, 100);
    assert_int_equal(analysis->steps[0].kernels, 2);
    check_sum(&analysis->steps[0]);
    maker_end(&maker);
}

static void test_host_only(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::mm", 1, 0, 100);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->steps[0].idle_ns, 100);
    assert_int_equal(analysis->steps[0].host_only_ns, 100);
    assert_int_equal(analysis->device_busy_ns, 0);
    assert_int_equal(analysis->gap_count, 0);
    maker_end(&maker);
}

#define TIMES 1200

/* The state of each unit of time. */
typedef struct painting {
    bool compute[TIMES], communication[TIMES], copy[TIMES];
} painting;

static void check_against_painting(const pyro_step_row *row, const painting *painting)
{
    int64_t compute = 0, communication = 0, communication_exposed = 0, copy = 0, copy_exposed = 0;
    int64_t idle = 0, start = row->start_ns - MAKER_BASE_NS;
    for (int64_t t = start; t < start + row->span_ns; t++) {
        compute += painting->compute[t];
        communication += painting->communication[t];
        communication_exposed += painting->communication[t] && !painting->compute[t];
        copy += painting->copy[t];
        copy_exposed += painting->copy[t] && !painting->compute[t] && !painting->communication[t];
        idle += !painting->compute[t] && !painting->communication[t] && !painting->copy[t];
    }
    assert_int_equal(row->compute_ns, compute);
    assert_int_equal(row->communication_ns, communication);
    assert_int_equal(row->communication_exposed_ns, communication_exposed);
    assert_int_equal(row->copy_ns, copy);
    assert_int_equal(row->copy_exposed_ns, copy_exposed);
    assert_int_equal(row->idle_ns, idle);
    check_sum(row);
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/* Work on several devices and streams, overlapping on one stream too, and steps that overlap. */
static void check_random_trace(unsigned seed)
{
    maker maker;
    painting painting = {0};
    int64_t start = 0, total = 0;
    maker_begin(&maker);
    for (int i = 0; i < 8; i++)
        maker_step(&maker, i, next_random(&seed) % 1000, next_random(&seed) % 200);
    while (start < 1000) {
        unsigned kind = next_random(&seed) % 4;
        int64_t duration = next_random(&seed) % 60;
        static const char *const categories[] = {"kernel", "kernel", "gpu_memcpy", "gpu_memset"};
        static const char *const names[] = {"gemm", NCCL, "Memcpy DtoH (Device -> Pinned)",
                                            "Memset (Device)"};
        maker_work(&maker, categories[kind], names[kind], (int)(next_random(&seed) % 2),
                   (int)(next_random(&seed) % 3) + 7, start, duration,
                   next_random(&seed) % 3 ? start / 2 : -1, 1, "");
        bool *paint = kind == 1   ? painting.communication
                      : kind == 2 ? painting.copy
                                  : painting.compute;
        for (int64_t t = start; t < start + duration; t++)
            paint[t] = true;
        total += duration;
        start += next_random(&seed) % 40;
    }
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->step_count, 8);
    for (size_t i = 0; i < analysis->step_count; i++)
        check_against_painting(&analysis->steps[i], &painting);
    assert_int_equal(analysis->device_total_ns, total);
    int64_t busy = 0;
    for (int64_t t = 0; t < TIMES; t++)
        busy += painting.compute[t] || painting.communication[t] || painting.copy[t];
    assert_int_equal(analysis->device_busy_ns, busy);
    maker_end(&maker);
}

static void test_random_traces(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++)
        check_random_trace(seed);
}

/* The host runs ahead: its steps vary, those of the device do not. */
static void test_device_lags(void **state)
{
    (void)state;
    static const int64_t ends[] = {35000, 70000, 165000, 260000};
    maker maker;
    maker_begin(&maker);
    for (int i = 0; i < 4; i++) {
        int64_t start = i ? ends[i - 1] : 0;
        maker_step(&maker, i, start, ends[i] - start);
        maker_kernel(&maker, "k", 10000 + i * 65000, 65000, start + 100);
    }
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    pyro_step_time time;
    assert_true(pyro_analysis_step_time(&time, analysis));
    assert_true(time.on_device);
    assert_int_equal(time.median_ns, 65000);
    assert_int_equal(time.lag_ns, 140000 - 70000);
    assert_int_equal(analysis->steps[1].device_start_ns, MAKER_BASE_NS + 75000);
    assert_int_equal(analysis->steps[3].device_span_ns, 65000);
    /* The steps' time is the device's: the first begins with the host, the last ends with its work. */
    assert_true(analysis->steps_on_device);
    assert_int_equal(analysis->steps[0].start_ns, MAKER_BASE_NS);
    assert_int_equal(analysis->steps[0].idle_ns, 10000);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(analysis->steps[i].span_ns, 65000);
        assert_int_equal(analysis->steps[i].compute_ns, 65000);
        check_sum(&analysis->steps[i]);
    }
    pyro_analysis_options options = {.step = -1, .host_steps = true};
    analysis = maker_analyze(&maker, &options);
    assert_false(analysis->steps_on_device);
    assert_int_equal(analysis->steps[2].span_ns, 95000);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parts_are_disjoint),
    cmocka_unit_test(test_one_step_is_the_same_row),
    cmocka_unit_test(test_a_step_that_is_not_there),
    cmocka_unit_test(test_without_steps),
    cmocka_unit_test(test_host_only),
    cmocka_unit_test(test_random_traces),
    cmocka_unit_test(test_device_lags),
};

UNIT_TESTS(tests, NULL, NULL)
