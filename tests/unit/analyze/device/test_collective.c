/* Spellings of collectives: kinds, element types, bandwidth factors. */
#include "analyze/device/collective.h"
#include "unit.h"

#include <stddef.h>
#include <stdlib.h>

static void test_kinds(void **state)
{
    (void)state;
    static const char *const spellings[][2] = {
        {"allreduce", "allreduce"},
        {"nccl:all_reduce", "allreduce"},
        {"allreduce_coalesced", "allreduce"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "allreduce"},
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "allreduce"},
        {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(...)", "allreduce"},
        {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16>(int)", "allreduce"},
        {"_allgather_base", "allgather"},
        {"allgather_into_tensor_coalesced", "allgather"},
        {"ncclDevKernel_AllGather_RING_LL(...)", "allgather"},
        {"_reduce_scatter_base", "reduce_scatter"},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(...)", "reduce_scatter"},
        {"all_to_allv", "alltoall"},
        {"ncclDevKernel_SendRecv(...)", "sendrecv"},
        {"send 0->1", "send"},
        {"recv 0<-1", "recv"},
        {"ncclDevKernel_Reduce_Sum_f32_RING_LL(...)", "reduce"},
        {"broadcast", "broadcast"},
        {"barrier", "barrier"},
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        assert_string_equal(pyro_collective_kind(spellings[i][0]), spellings[i][1]);
    assert_null(pyro_collective_kind("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"));
    assert_null(pyro_collective_kind(""));
}

static void test_types(void **state)
{
    (void)state;
    assert_int_equal(pyro_collective_dtype("Float"), PYRO_DTYPE_FLOAT32);
    assert_int_equal(pyro_collective_dtype("BFloat16"), PYRO_DTYPE_BFLOAT16);
    assert_int_equal(pyro_collective_dtype("Byte"), PYRO_DTYPE_UINT8);
    assert_int_equal(pyro_collective_dtype("Float8_e4m3fn"), PYRO_DTYPE_FLOAT8_E4M3FN);
    assert_int_equal(pyro_collective_dtype(""), PYRO_DTYPE_UNKNOWN);
    assert_int_equal(pyro_collective_dtype("NONSENSE"), PYRO_DTYPE_UNKNOWN);
    assert_int_equal(
        pyro_collective_kernel_dtype("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(...)"),
        PYRO_DTYPE_BFLOAT16);
    assert_int_equal(
        pyro_collective_kernel_dtype("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"),
        PYRO_DTYPE_INT8);
    assert_int_equal(pyro_collective_kernel_dtype("ncclDevKernel_Generic(float)"),
                     PYRO_DTYPE_UNKNOWN);
}

static void test_bus_factors(void **state)
{
    (void)state;
    assert_true(pyro_collective_bus_factor("allreduce", 4) == 1.5);
    assert_true(pyro_collective_bus_factor("allgather", 4) == 0.75);
    assert_true(pyro_collective_bus_factor("reduce_scatter", 2) == 0.5);
    assert_true(pyro_collective_bus_factor("alltoall", 8) == 0.875);
    assert_true(pyro_collective_bus_factor("broadcast", -1) == 1);
    assert_true(pyro_collective_bus_factor("allreduce", -1) == -1);
    assert_true(pyro_collective_bus_factor("allreduce", 1) == 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_kinds),
    cmocka_unit_test(test_types),
    cmocka_unit_test(test_bus_factors),
};

UNIT_TESTS(tests, NULL, NULL)
