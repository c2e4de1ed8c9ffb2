/* Training steps: parts that add up on device and host, work, the summary, numbers for a file. */
#include "analyze_maker.h"
#include "unit.h"
#include <pyrometer/report.h>
#include <pyrometer/training.h>

#include <unistd.h>

#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

static void check_sum(const pyro_training_step *row)
{
    assert_int_equal(row->forward_ns + row->backward_ns + row->optimizer_ns + row->data_ns +
                         row->communication_ns + row->other_ns,
                     row->span_ns);
    assert_true(row->communication_ns <= row->communication_total_ns);
    if (row->python_ns >= 0)
        assert_int_equal(row->forward_op_ns + row->backward_op_ns + row->optimizer_op_ns +
                             row->other_op_ns + row->data_ns + row->communication_ns +
                             row->python_ns,
                         row->span_ns);
}

static void make_host_step(maker *maker, int number, int64_t at)
{
    maker_step(maker, number, at, 1000);
    maker_host(maker, "user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, at + 10, 90);
    maker_host(maker, "python_function", "nn.Module: Linear_0", 1, at + 100, 200);
    maker_event(maker, "cpu_op", "aten::linear", 100, 1, at + 110, 180,
                "\"Input Dims\":[[2,3],[4,3],[4]],\"Input type\":[\"float\",\"float\",\"float\"]");
    maker_host(maker, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 1, at + 320,
               200);
    /* From the middle of the backward on; 80 ns of it alone. */
    maker_host(maker, "user_annotation", "gloo:all_reduce", 2, at + 400, 200);
    maker_host(maker, "user_annotation", "Optimizer.step#SGD.step", 1, at + 600, 300);
}

static void test_on_the_host(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    make_host_step(&maker, 3, 0);
    make_host_step(&maker, 4, 1000);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->training_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const pyro_training_step *row = &analysis->training[i];
        check_sum(row);
        assert_int_equal(row->number, 3 + (int)i);
        assert_int_equal(row->span_ns, 1000);
        assert_int_equal(row->data_ns, 90);
        assert_int_equal(row->forward_ns, 200);
        assert_int_equal(row->backward_ns, 200);
        assert_int_equal(row->communication_total_ns, 200);
        assert_int_equal(row->communication_ns, 80);
        assert_int_equal(row->optimizer_ns, 300);
        assert_int_equal(row->forward_op_ns, 180); /* 20 of its frame are Python */
        assert_int_equal(row->optimizer_op_ns, 0);
        assert_int_equal(row->torch_flops, 2 * 2 * 3 * 4);
        assert_true(row->flops >= row->torch_flops);
        assert_string_equal(row->dtype, "float32");
        assert_true(row->peak_flops_per_s < 0);
    }
    maker_end(&maker);
}

static void test_a_wait_inside_of_an_op_is_no_computing(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 0, 0, 1000);
    maker_host(&maker, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 1, 100,
               600);
    maker_host(&maker, "user_annotation", "FSDP::post_backward", 1, 300, 300);
    maker_host(&maker, "cpu_op", "aten::copy_", 1, 500, 50);
    maker_host(&maker, "user_annotation", "gloo:reduce_scatter", 2, 350, 250);
    const pyro_training_step *row = maker_analyze(&maker, NULL)->training;
    check_sum(row);
    assert_int_equal(row->communication_ns, 200);
    assert_int_equal(row->backward_ns, 400);
    maker_end(&maker);
}

static void make_device_steps(maker *maker)
{
    maker_begin(maker);
    maker_step(maker, 3, 0, 1000);
    maker_step(maker, 4, 1000, 1000);
    maker_host(maker, "user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, 0, 60);
    maker_host(maker, "python_function", "nn.Module: Linear_0", 1, 60, 100);
    maker_event(maker, "cpu_op", "aten::linear", 100, 1, 70, 80,
                "\"Input Dims\":[[2,3],[4,3],[4]],\"Input type\":[\"float\",\"float\",\"float\"]");
    maker_kernel(maker, "gemm", 100, 300, 80); /* forward: [100,400) */
    maker_host(maker, "cpu_op", "AddmmBackward0", 1, 200, 100);
    maker_kernel(maker, "gemm_nt", 400, 200, 210); /* backward: [400,600) */
    maker_work(maker, "kernel", NCCL, 0, 20, 500, 200, 230, 5, ""); /* [500,700) */
    maker_host(maker, "user_annotation", "Optimizer.step#SGD.step", 1, 320, 100);
    maker_kernel(maker, "axpy", 700, 100, 330); /* optimizer: [700,800) */
}

static void test_on_the_device(void **state)
{
    (void)state;
    maker maker;
    make_device_steps(&maker);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    const pyro_training_step *row = analysis->training;
    check_sum(row);
    assert_int_equal(row->data_ns, 60);
    assert_int_equal(row->forward_ns, 300);
    assert_int_equal(row->backward_ns, 200);
    assert_int_equal(row->communication_ns, 100);
    assert_int_equal(row->communication_total_ns, 200);
    assert_int_equal(row->optimizer_ns, 100);
    assert_int_equal(row->other_ns, 240);
    assert_int_equal(row->python_ns, -1);
    assert_true(row->peak_flops_per_s > 1e12); /* the table has the H200 */
    check_sum(&row[1]);
    assert_int_equal(row[1].flops, -1);
    maker_end(&maker);
}

static void test_without_steps(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::mm", 1, 0, 100);
    maker_host(&maker, "cpu_op", "aten::relu", 1, 150, 50);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->training_count, 1);
    assert_int_equal(analysis->training->number, -1);
    assert_int_equal(analysis->training->other_op_ns, 150);
    assert_int_equal(analysis->training->python_ns, 50);
    check_sum(analysis->training);
    maker_end(&maker);
}

static void test_summary(void **state)
{
    (void)state;
    maker maker;
    char *text;
    size_t size;
    pyro_training_report report = {
        .title = "Steps", .first_step = 3, .last_step = 3, .with_flops = true, .top = 2};
    make_device_steps(&maker);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(pyro_report_training(&text, &size, analysis, &report, NULL), PYRO_OK);
    assert_non_null(strstr(text, "Steps\n"));
    assert_non_null(strstr(text, "Name    Self FLOPS     CPU total    CUDA total    # of Calls\n"));
    assert_non_null(strstr(text, "  aten::linear"));
    assert_non_null(strstr(text, "0.300us             1\n"));
    assert_non_null(strstr(text, "of the peak of"));
    assert_null(strstr(text, "mean"));
    pyro_free(text);
    report.with_flops = false;
    report.last_step = 4;
    assert_int_equal(pyro_report_training(&text, &size, analysis, &report, NULL), PYRO_OK);
    assert_null(strstr(text, "FLOP"));
    assert_non_null(strstr(text, "\nmean "));
    pyro_free(text);
    maker_end(&maker);
}

static bool holds(const char *bytes, size_t size, const char *text)
{
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void test_numbers_for_a_file(void **state)
{
    (void)state;
    maker maker;
    char folder[] = "/tmp/pyrometer-training-XXXXXX", bytes[4096];
    pyro_scalars *scalars;
    pyro_training_report report = {.first_step = 3, .last_step = 3, .with_flops = true};
    const pyro_step_memory memory = {3, 5 << 20, -1, -1};
    assert_non_null(mkdtemp(folder));
    make_device_steps(&maker);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(pyro_scalars_open(&scalars, folder, NULL, NULL), PYRO_OK);
    assert_int_equal(
        pyro_scalars_add_training(scalars, maker.trace, analysis, &report, &memory, 1, NULL),
        PYRO_OK);
    FILE *file = fopen(pyro_scalars_path(scalars), "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(holds(bytes, size, "step/communication_ms"));
    assert_true(holds(bytes, size, "work/share_of_peak"));
    assert_true(holds(bytes, size, "memory/host_mib"));
    assert_false(holds(bytes, size, "memory/device_mib"));
    unlink(pyro_scalars_path(scalars));
    pyro_scalars_close(scalars);
    rmdir(folder);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_on_the_host),
    cmocka_unit_test(test_a_wait_inside_of_an_op_is_no_computing),
    cmocka_unit_test(test_on_the_device),
    cmocka_unit_test(test_without_steps),
    cmocka_unit_test(test_summary),
    cmocka_unit_test(test_numbers_for_a_file),
};

UNIT_TESTS(tests, NULL, NULL)
