/* Tests of trace/joins/names.c: what follows from names alone. */
#include "trace/joins/internal.h"
#include "unit.h"

#include <stddef.h>

static void names_have_classes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        pyro_name_class expected;
    } cases[] = {
        {"nn.Module: Conv2d_0", PYRO_NAME_LAYER_FRAME},
        {"nn.Module", PYRO_NAME_PLAIN},
        {"ProfilerStep#12", PYRO_NAME_STEP},
        {"ProfilerStep*", PYRO_NAME_PLAIN},
        {"Optimizer.step#AdamW.step", PYRO_NAME_OPTIMIZER},
        {"Optimizer.zero_grad#SGD.zero_grad", PYRO_NAME_OPTIMIZER},
        {"torch/optim/adam.py(212): step", PYRO_NAME_OPTIMIZER},
        {"torch/optim/lr_scheduler.py(124): step", PYRO_NAME_PLAIN},
        {"torch/optim/adam.py(80): __init__", PYRO_NAME_PLAIN},
        {"aten::_fused_adamw_", PYRO_NAME_OPTIMIZER_OP},
        {"aten::_foreach_addcdiv_", PYRO_NAME_OPTIMIZER_OP},
        {"aten::_foreach_copy_", PYRO_NAME_PLAIN},
        {"autograd::engine::evaluate_function: AddmmBackward0", PYRO_NAME_EVALUATE},
        {"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
         PYRO_NAME_ACCUMULATE},
        {"torch::autograd::AccumulateGrad", PYRO_NAME_ACCUMULATE},
        {"AddmmBackward", PYRO_NAME_BACKWARD},
        {"MaxPool2DWithIndicesBackward0", PYRO_NAME_BACKWARD},
        {"Backward", PYRO_NAME_PLAIN},
        {"aten::convolution_backward", PYRO_NAME_PLAIN},
        {"", PYRO_NAME_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(pyro_classify_name(cases[i].name), cases[i].expected);
}

static void forward_and_backward_names_fit(void **state)
{
    (void)state;
    assert_true(pyro_names_are_forward_and_backward("aten::addmm", "AddmmBackward0"));
    assert_true(pyro_names_are_forward_and_backward(
        "aten::_log_softmax", "autograd::engine::evaluate_function: LogSoftmaxBackward0"));
    assert_true(pyro_names_are_forward_and_backward("aten::add_", "AddBackward0"));
    assert_true(
        pyro_names_are_forward_and_backward("CompiledFunction", "CompiledFunctionBackward"));
    assert_false(pyro_names_are_forward_and_backward("aten::add", "AddmmBackward0"));
    assert_false(pyro_names_are_forward_and_backward("aten::addmm", "AddBackward0"));
    assert_false(pyro_names_are_forward_and_backward("", ""));
}

static void collectives_are_known(void **state)
{
    (void)state;
    assert_true(pyro_is_collective_kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"));
    assert_true(pyro_is_collective_kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096>)"));
    assert_true(pyro_is_collective_kernel(
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(x*)"));
    assert_true(pyro_is_collective_kernel(
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)"));
    assert_false(pyro_is_collective_kernel("void at::native::reduce_kernel<512, 1>(x)"));
    assert_false(pyro_is_collective_kernel("triton_poi_fused_all_gather_into_tensor_0"));
    assert_false(pyro_is_collective_kernel("void softmax<BlockAllReduce<float>>(float*)"));
    assert_false(pyro_is_collective_kernel(""));
}

static void phases_have_names(void **state)
{
    (void)state;
    assert_string_equal(pyro_phase_name(PYRO_PHASE_FORWARD), "forward");
    assert_string_equal(pyro_phase_name(PYRO_PHASE_OTHER), "other");
    assert_string_equal(pyro_phase_name((pyro_phase)99), "other");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_have_classes),
    cmocka_unit_test(forward_and_backward_names_fit),
    cmocka_unit_test(collectives_are_known),
    cmocka_unit_test(phases_have_names),
};

UNIT_TESTS(tests, NULL, NULL)
