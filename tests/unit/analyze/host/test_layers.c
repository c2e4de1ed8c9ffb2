/* Tests of analyze/host/layers.c and analyze/host/stacks.c. */
#include "analyze_maker.h"
#include "unit.h"

static const pyro_layer_row *find(const pyro_analysis *a, const char *class_name)
{
    for (size_t i = 0; i < a->layer_count; i++)
        if (!strcmp(a->layers[i].class_name, class_name))
            return &a->layers[i];
    fail_msg("no layer of class %s", class_name);
    return NULL;
}

static void frame(maker *maker, const char *name, int id, int parent, int64_t start,
                  int64_t duration)
{
    char args[100];
    snprintf(args, sizeof args, "\"Python id\":%d,\"Python parent id\":%d", id, parent);
    maker_event(maker, "python_function", name, 100, 1, start, duration, args);
}

/* A model of one linear layer, its backward on thread 2, and a kernel that no launch explains. */
static void make_model(maker *maker)
{
    char args[300];
    maker_begin(maker);
    frame(maker, "nn.Module: Net_0", 1, 0, 0, 10000);
    frame(maker, "nn.Module: Linear_0", 2, 1, 1000, 4000);
    maker_event(maker, "cpu_op", "aten::linear", 100, 1, 2000, 1000,
                "\"Input Dims\":[[2,4],[8,4],[]],\"Input type\":[\"float\",\"float\",\"\"],"
                "\"Sequence number\":7,\"Fwd thread id\":0");
    maker_kernel(maker, "gemm_forward", 20000, 300, 2100);
    maker_host(maker, "cpu_op", "aten::relu", 1, 6000, 1000);
    maker_kernel(maker, "relu_forward", 21000, 50, 6100);
    maker_event(maker, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 100, 2,
                30000, 3000, "\"Sequence number\":7,\"Fwd thread id\":1");
    maker_event(maker, "cpu_op", "AddmmBackward0", 100, 2, 30100, 2500,
                "\"Sequence number\":7,\"Fwd thread id\":1");
    snprintf(args, sizeof args, "\"correlation\":77");
    maker_event(maker, "cuda_runtime", "cudaLaunchKernel", 100, 2, 30200, 10, args);
    maker_event(maker, "kernel", "gemm_backward", 0, 7, 40000, 700,
                "\"device\":0,\"stream\":7,\"correlation\":77");
    maker_work(maker, "kernel", "stranger", 0, 7, 50000, 11, -1, 0, "");
}

static void test_tree(void **state)
{
    (void)state;
    maker maker;
    make_model(&maker);
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    const pyro_layer_row *net = find(a, "Net"), *linear = find(a, "Linear");
    assert_int_equal(a->layer_count, 2);
    assert_ptr_equal(&a->layers[linear->parent], net);
    assert_int_equal(net->parent, PYRO_NO_EVENT);
    assert_int_equal(net->forward_host_ns, 10000);
    assert_int_equal(net->forward_host_self_ns, 6000);
    assert_int_equal(linear->forward_host_ns, 4000);
    assert_int_equal(linear->forward_device_self_ns, 300);
    assert_int_equal(linear->backward_device_self_ns, 700);
    assert_int_equal(linear->backward_host_self_ns, 3000);
    assert_int_equal(net->forward_device_self_ns, 50);
    assert_int_equal(net->forward_device_ns, 350);
    assert_int_equal(net->backward_device_ns, 700);
    assert_int_equal(linear->calls, 1);
    assert_int_equal(linear->backward_calls, 1);
    assert_int_equal(net->backward_calls, 1);
    assert_int_equal(net->kernels, 3);
    assert_int_equal(linear->flops, 2 * 2 * 4 * 8);
    assert_int_equal(net->flops, linear->flops);
    assert_string_equal(linear->shapes, "[[2, 4], [8, 4], []]");
    assert_int_equal(a->unattributed.no_launch_ns, 11);
    maker_end(&maker);
}

static void test_sums(void **state)
{
    (void)state;
    maker maker;
    make_model(&maker);
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    const pyro_unattributed *rest = &a->unattributed;
    int64_t sum = rest->no_launch_ns + rest->outside_layer_ns + rest->optimizer_ns +
                  rest->collective_ns;
    int64_t stacks = 0;
    for (size_t i = 0; i < a->layer_count; i++)
        sum += a->layers[i].forward_device_self_ns + a->layers[i].backward_device_self_ns;
    for (size_t i = 0; i < a->stack_count; i++)
        stacks += a->stacks[i].device_ns;
    assert_int_equal(sum, a->device_total_ns);
    assert_int_equal(stacks, a->device_total_ns);
    maker_end(&maker);
}

/* A layer that calls itself counts once in its own total. */
static void test_recursion(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    frame(&maker, "nn.Module: Net_0", 1, 0, 0, 10000);
    frame(&maker, "nn.Module: Net_0", 2, 1, 1000, 4000);
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    int64_t total = 0, self = 0;
    for (size_t i = 0; i < a->layer_count; i++) {
        self += a->layers[i].forward_host_self_ns;
        total = a->layers[i].forward_host_ns > total ? a->layers[i].forward_host_ns : total;
    }
    assert_int_equal(total, 10000);
    assert_int_equal(self, 10000);
    maker_end(&maker);
}

static void test_filter(void **state)
{
    (void)state;
    maker maker;
    make_model(&maker);
    pyro_analysis_options options = {.step = -1, .filter = "Linear"};
    const pyro_analysis *a = maker_analyze(&maker, &options);
    assert_int_equal(a->layer_count, 1);
    assert_string_equal(a->layers[0].class_name, "Linear");
    assert_int_equal(a->layers[0].parent, PYRO_NO_EVENT);
    maker_end(&maker);
}

static void test_stacks(void **state)
{
    (void)state;
    maker maker;
    make_model(&maker);
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    bool has_forward = false, has_backward = false, has_stranger = false;
    for (size_t i = 0; i < a->stack_count; i++) {
        const char *frames = a->stacks[i].frames;
        assert_null(strchr(frames, '\n'));
        has_forward |= strstr(frames, ";aten::linear;cudaLaunchKernel;gemm_forward") &&
                       a->stacks[i].device_ns == 300;
        has_backward |= !strncmp(frames, "(backward);", 11) && strstr(frames, "gemm_backward");
        has_stranger |= !strcmp(frames, "(no launch in file);stranger");
    }
    assert_true(has_forward && has_backward && has_stranger);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tree),   cmocka_unit_test(test_sums),   cmocka_unit_test(test_recursion),
    cmocka_unit_test(test_filter), cmocka_unit_test(test_stacks),
};

UNIT_TESTS(tests, NULL, NULL)
