/* The whole analysis: narrowing, filters, failing allocations, and hostile traces. */
#include "analyze_maker.h"
#include "fail_alloc.h"
#include "unit.h"

#define ALLREDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

/* Two steps with input for every analysis. */
static void make_rich_trace(maker *maker)
{
    maker_begin(maker);
    for (int i = 0; i < 2; i++) {
        int64_t start = i * 10000;
        maker_step(maker, i + 1, start, 10000);
        maker_host(maker, "user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, start + 10,
                   500);
        maker_host(maker, "python_function", "train.py(3): step", 1, start + 600, 9000);
        maker_host(maker, "python_function", "nn.Module: Linear_0", 1, start + 700, 1000);
        maker_event(maker, "cpu_op", "aten::linear", 100, 1, start + 800, 800,
                    "\"External id\":5,\"Sequence number\":4,\"Input Dims\":[[2,3],[4,3]],"
                    "\"Input type\":[\"float\",\"float\"]");
        maker_kernel(maker, "gemm", start + 1000, 500, start + 900);
        maker_memory(maker, 1, start + 950, 0x1000 + i, 512, 512 * (i + 1));
        maker_host(maker, "cpu_op", "aten::item", 1, start + 3000, 1000);
        maker_host(maker, "cuda_runtime", "cudaStreamSynchronize", 1, start + 3100, 500);
        maker_work(maker, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, start + 3200, 100,
                   start + 3050, 20, ",\"bytes\":4");
        maker_event(maker, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 100, 2,
                    start + 4000, 900, "\"Sequence number\":4,\"Fwd thread id\":1");
        maker_work(maker, "kernel", ALLREDUCE, 0, 20, start + 5000, 900, start + 4950, 20, "");
        maker_host(maker, "user_annotation", "Optimizer.step#SGD.step", 1, start + 6000, 800);
        maker_kernel(maker, "multi_tensor_apply", start + 6500, 200, start + 6100);
    }
}

static void test_phase(void **state)
{
    (void)state;
    maker maker;
    pyro_analysis_options options = {.step = -1, .phase = PYRO_PHASE_OPTIMIZER};
    make_rich_trace(&maker);
    const pyro_analysis *analysis = maker_analyze(&maker, &options);
    assert_int_equal(analysis->device_total_ns, 400);
    assert_int_equal(analysis->device_busy_ns, 400);
    assert_int_equal(analysis->kernel_count, 2);
    assert_int_equal(analysis->launch.launches, 2);
    assert_int_equal(analysis->copy_count, 0);
    assert_int_equal(analysis->collective_count, 0);
    assert_int_equal(analysis->gap_count, 2);
    assert_int_equal(analysis->steps[0].compute_ns, 700); /* a step is whole, whatever the filter */
    maker_end(&maker);
}

static void test_filter_narrows_rows(void **state)
{
    (void)state;
    maker maker;
    pyro_analysis_options options = {.step = -1, .filter = "item|allreduce"};
    make_rich_trace(&maker);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    int64_t total = analysis->device_total_ns;
    assert_int_equal(analysis->copy_count, 1);
    analysis = maker_analyze(&maker, &options);
    assert_int_equal(analysis->device_total_ns, total);
    assert_int_equal(analysis->copy_count, 0);
    assert_int_equal(analysis->collective_count, 1);
    assert_int_equal(analysis->sync_count, 1);
    maker_end(&maker);
}

/* Whatever allocation fails, the analysis reports it and leaks nothing. */
static void test_memory_runs_out(void **state)
{
    (void)state;
    maker maker;
    pyro_error error;
    pyro_analysis *analysis = NULL;
    make_rich_trace(&maker);
    maker_analyze(&maker, NULL);
    int status = PYRO_ERROR_MEMORY;
    for (long allowed = 0; status != PYRO_OK && allowed < 5000; allowed++) {
        pyro_error_clear(&error);
        fail_alloc_after(allowed);
        status = pyro_trace_analyze(&analysis, maker.trace, NULL, &error);
        fail_alloc_after(-1);
        if (status != PYRO_OK) {
            assert_int_equal(status, PYRO_ERROR_MEMORY);
            assert_null(analysis);
        }
    }
    assert_int_equal(status, PYRO_OK);
    pyro_analysis_free(analysis);
    maker_end(&maker);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    while (*text)
        hash = (hash ^ (unsigned char)*text++) * UINT64_C(0x100000001b3);
    return hash * UINT64_C(0x100000001b3);
}

/* The rows of gaps as text, in order. */
static uint64_t hash_gaps(const pyro_analysis *analysis)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < analysis->gap_count; i++) {
        const pyro_gap_row *gap = &analysis->gaps[i];
        hash = (hash ^ (uint64_t)gap->start_ns) * UINT64_C(0x100000001b3);
        hash = (hash ^ (uint64_t)gap->duration_ns) * UINT64_C(0x100000001b3);
        hash = mix_text(mix_text(mix_text(hash, gap->op), gap->line), gap->sync);
    }
    return hash;
}

/* What the texts of gaps do not decide: their times, and the findings. */
static uint64_t hash_without_causes(const pyro_analysis *analysis)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < analysis->gap_count; i++) {
        const pyro_gap_row *gap = &analysis->gaps[i];
        hash = (hash ^ (uint64_t)gap->start_ns) * UINT64_C(0x100000001b3);
        hash = (hash ^ (uint64_t)gap->duration_ns) * UINT64_C(0x100000001b3);
        hash = (hash ^ (uint64_t)(gap->step * 3 + gap->kind)) * UINT64_C(0x100000001b3);
    }
    for (size_t i = 0; i < analysis->finding_count; i++)
        hash = mix_text(mix_text(hash, analysis->findings[i].id), analysis->findings[i].evidence);
    return hash;
}

static void test_gaps_without_causes(void **state)
{
    (void)state;
    maker maker;
    pyro_analysis_options options = {.step = -1};
    make_rich_trace(&maker);
    const pyro_analysis *analysis = maker_analyze(&maker, &options);
    size_t count = analysis->gap_count;
    uint64_t hash = hash_without_causes(analysis), with_causes = hash_gaps(analysis);
    assert_true(count > 0 && analysis->finding_count > 0);
    options.without_gap_causes = true;
    analysis = maker_analyze(&maker, &options);
    assert_int_equal(analysis->gap_count, count);
    assert_true(hash_without_causes(analysis) == hash);
    assert_true(hash_gaps(analysis) != with_causes);
    for (size_t i = 0; i < count; i++) {
        const pyro_gap_row *gap = &analysis->gaps[i];
        assert_true(!*gap->op && !*gap->layer && !*gap->line && !*gap->sync);
    }
    /* A filter compares the texts, so that they are needed. */
    options = (pyro_analysis_options){.step = -1, .filter = "."};
    with_causes = hash_gaps(maker_analyze(&maker, &options));
    options.without_gap_causes = true;
    analysis = maker_analyze(&maker, &options);
    assert_true(analysis->gap_count > 0);
    assert_true(hash_gaps(analysis) == with_causes);
    maker_end(&maker);
}

/* One lane or several: the same result. */
static void test_lanes_agree(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    for (int i = 0; i < 20000; i++) {
        maker_host(&maker, "cpu_op", i % 3 ? "aten::mm" : "aten::add", 1, i * 100, 50);
        maker_kernel(&maker, i % 5 ? "gemm" : ALLREDUCE, i * 100 + 30, 40 + i % 70, i * 100 + 10);
    }
    pyro_analysis_options options = {.step = -1, .threads = 1};
    const pyro_analysis *analysis = maker_analyze(&maker, &options);
    pyro_step_row step = analysis->steps[0];
    pyro_launch_summary launch = analysis->launch;
    int64_t busy = analysis->device_busy_ns, kernel_ns = analysis->kernels[0].total_ns;
    size_t ops = analysis->op_count, stacks = analysis->stack_count, gaps = analysis->gap_count;
    uint64_t gaps_hash = hash_gaps(analysis);
    for (options.threads = 2; options.threads <= 5; options.threads++) {
        analysis = maker_analyze(&maker, &options);
        assert_memory_equal(&analysis->steps[0].span_ns, &step.span_ns,
                            sizeof step - offsetof(pyro_step_row, span_ns));
        assert_memory_equal(&analysis->launch, &launch, sizeof launch);
        assert_int_equal(analysis->device_busy_ns, busy);
        assert_int_equal(analysis->kernels[0].total_ns, kernel_ns);
        assert_int_equal(analysis->op_count, ops);
        assert_int_equal(analysis->stack_count, stacks);
        assert_int_equal(analysis->gap_count, gaps);
        assert_true(hash_gaps(analysis) == gaps_hash);
    }
    maker_end(&maker);
}

/* Prices exist before layers and steps see ops, on whichever thread: otherwise ops inside priced
 * ops would count twice. */
static void test_lanes_wait_for_prices(void **state)
{
    (void)state;
    maker maker;
    enum { COUNT = 50000, FLOPS = 2 * 2 * 3 * 4 };
    const char *args = "\"Input Dims\":[[2,3],[3,4]],\"Input type\":[\"float\",\"float\"]";
    maker_begin(&maker);
    maker_step(&maker, 1, 0, COUNT * 100);
    maker_host(&maker, "python_function", "nn.Module: Linear_0", 1, 1, COUNT * 100 - 2);
    for (int i = 0; i < COUNT; i++) {
        maker_event(&maker, "cpu_op", "aten::matmul", 100, 1, i * 100 + 10, 80, args);
        maker_event(&maker, "cpu_op", "aten::mm", 100, 1, i * 100 + 20, 50, args);
    }
    for (int threads = 1; threads <= 8; threads++) {
        pyro_analysis_options options = {.step = -1, .threads = threads};
        const pyro_analysis *analysis = maker_analyze(&maker, &options);
        assert_int_equal(analysis->layer_count, 1);
        assert_int_equal(analysis->layers[0].flops, (int64_t)COUNT * FLOPS);
        assert_int_equal(analysis->training[0].flops, (int64_t)COUNT * FLOPS);
    }
    maker_end(&maker);
}

/* Long steps, empty steps, and nested steps: still linear. */
static void test_very_many_steps(void **state)
{
    (void)state;
    maker maker;
    enum { COUNT = 100000 };
    maker_begin(&maker);
    for (int i = 0; i < COUNT; i++) {
        maker_step(&maker, i, i, i % 3 == 0 ? 0 : i % 3 == 1 ? 5 : 2 * (COUNT - i));
        maker_kernel(&maker, "k", i * 2, 1, i % 2 ? i : -1);
    }
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->step_count, COUNT);
    for (size_t i = 0; i < analysis->step_count; i++) {
        const pyro_step_row *row = &analysis->steps[i];
        assert_int_equal(row->compute_ns + row->idle_ns, row->span_ns);
    }
    maker_end(&maker);
}

/* Every gap spans the whole trace on its own device: the search for causes stays bounded. */
static void test_gaps_of_many_devices(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    for (int i = 0; i < 2000; i++)
        maker_work(&maker, "kernel", "k", i, 7, i, 1, -1, 0, "");
    for (int i = 0; i < 20000; i++)
        maker_host(&maker, "cpu_op", "aten::add", 1, 3000 + i * 10, 5);
    for (int i = 0; i < 2000; i++)
        maker_work(&maker, "kernel", "k", i, 7, 300000 + i, 1, 250000 + i, 1, "");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->gap_count, 1000);
    assert_string_equal(analysis->gaps[0].op, "aten::add");
    maker_end(&maker);
}

/* Times at the ends of the range must not overflow. */
static void test_extreme_times(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"
        "\"ts\":9223372036854775.807,\"dur\":9223372036854775.807,\"args\":{\"correlation\":1}},\n",
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"
        "\"ts\":-9223372036854775.808,\"dur\":5,\"args\":{\"correlation\":2}},\n",
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":7,"
        "\"ts\":1e300,\"dur\":1e300},\n",
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#2\",\"pid\":1,\"tid\":7,"
        "\"ts\":5,\"dur\":-7},\n",
        "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1,\"tid\":7,"
        "\"ts\":6,\"args\":{\"Addr\":-1,\"Bytes\":9223372036854775807,\"Device Type\":1,\"Device "
        "Id\":0,\"Total Allocated\":9223372036854775807}},\n",
        "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1,\"tid\":7,"
        "\"ts\":7,\"args\":{\"Addr\":1,\"Bytes\":-1152921504606846976,\"Device Type\":1,\"Device "
        "Id\":0}},\n",
    };
    maker maker;
    maker_begin(&maker);
    for (int copies = 0; copies < 3; copies++) {
        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
            pyro_buf_adds(&maker.text, lines[i]);
    }
    maker_kernel(&maker, "k", 100, 100, 50);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    for (size_t i = 0; i < analysis->step_count; i++) {
        const pyro_step_row *row = &analysis->steps[i];
        assert_true(row->span_ns >= 0);
        assert_int_equal(row->compute_ns + row->idle_ns, row->span_ns);
    }
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_phase),           cmocka_unit_test(test_filter_narrows_rows),
    cmocka_unit_test(test_memory_runs_out), cmocka_unit_test(test_gaps_without_causes),
    cmocka_unit_test(test_lanes_agree),     cmocka_unit_test(test_lanes_wait_for_prices),
    cmocka_unit_test(test_very_many_steps), cmocka_unit_test(test_gaps_of_many_devices),
    cmocka_unit_test(test_extreme_times),
};

UNIT_TESTS(tests, NULL, NULL)
