/* Tests of analyze/device/kernel_names.c. */
#include "analyze/device/kernel_names.h"
#include "unit.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void test_short_names(void **state)
{
    (void)state;
    static const char *const examples[][2] = {
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
         "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
         "at::detail::Array<char*, 3>)",
         "vectorized_elementwise_kernel<CUDAFunctor_add<float>>"},
        {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::"
         "(anonymous namespace)::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::"
         "operator()() const::{lambda()#14}::operator()() const::{lambda(float)#1}>(at::TensorIte"
         "ratorBase&, float const&)::{lambda(int)#1}>(int, float)",
         "elementwise_kernel<direct_copy_kernel_cuda>"},
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<"
         "float, float>, unsigned int, float, 4> >(at::native::ReduceOp<float>)",
         "reduce_kernel<MeanOps<float>>"},
        {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4>"
         "(cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4::Params)",
         "cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4"},
        {"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, "
         "(cudnnKernelDataType_t)2>(cudnn::ops::nchw2nhwc_params_t<float>, float const*, float*)",
         "nchwToNhwcKernel<float>"},
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclDevKernel_AllGather_RING_LL"},
        {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, false, 7>"
         "(cublasGemvParams<float>)",
         "gemvx::kernel<float>"},
        {"_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdlops_bwd_weightINS_4BaseILi64EEE",
         "kernel_batched_gemm_xdlops_bwd_weight"},
        {"Cijk_Ailk_Bljk_BBS_BH_MT64x64x64_MI16x16x1_SN_LDSB1_AFC1",
         "Cijk_Ailk_Bljk_BBS_BH_MT64x64x64"},
        {"triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0"},
        {"", ""},
        {"<", "<"},
        {"a<b", "a"},
        {"f(", "f"},
        {"_Z", "_Z"},
        {"_Z99999999999999999999x", "_Z99999999999999999999x"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char out[PYRO_KERNEL_SHORT_NAME];
        pyro_kernel_short_name(examples[i][0], out);
        assert_string_equal(out, examples[i][1]);
    }
}

/* Any bytes give a name that fits; long ones end in dots. */
static void test_hostile_names(void **state)
{
    (void)state;
    enum { LENGTH = 40000 };
    char *name = malloc(LENGTH + 1), out[PYRO_KERNEL_SHORT_NAME];
    static const char alphabet[] = "<<>>()::,, aZ_N9{}*-";
    unsigned seed = 1;
    assert_non_null(name);
    for (int round = 0; round < 200; round++) {
        size_t length = (size_t)round * 50 + 1;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1103515245u + 12345u;
            name[i] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
        }
        name[length] = '\0';
        pyro_kernel_short_name(name, out);
        assert_true(strlen(out) < PYRO_KERNEL_SHORT_NAME);
        pyro_kernel_uses_tensor_cores(name);
    }
    memset(name, 'x', LENGTH);
    name[LENGTH] = '\0';
    pyro_kernel_short_name(name, out);
    assert_string_equal(out + PYRO_KERNEL_SHORT_NAME - 4, "...");
    memset(name, '<', LENGTH);
    pyro_kernel_short_name(name, out);
    free(name);
}

static void test_tensor_cores(void **state)
{
    (void)state;
    static const char *const with[] = {
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
        "volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn",
        "turing_fp16_s1688gemm_fp16_64x128_sliced1x2_ldg8_f2f_tn",
        "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16",
        "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x64x32_warpgroupsize1x1x1",
        "nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN",
        "Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1_SN",
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<64> >(Flash_fwd_params)",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
    };
    static const char *const without[] = {
        "ampere_sgemm_128x128_tn",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>(Params)",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4",
        "volta_scudnn_128x64_relu_interior_nn_v1",
        "Cijk_Alik_Bljk_SB_MT64x64x16_SN_K1",
        "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int)",
    };
    static const char *const unknown[] = {"SubTensorOpWithScalar1d", "triton_matmul_kernel_0d1d",
                                          "fc-dtype_Float"};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        if (!pyro_kernel_uses_tensor_cores(with[i]) || pyro_kernel_uses_plain_cores(with[i]))
            fail_msg("%s", with[i]);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (pyro_kernel_uses_tensor_cores(without[i]) || !pyro_kernel_uses_plain_cores(without[i]))
            fail_msg("%s", without[i]);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (pyro_kernel_uses_tensor_cores(unknown[i]) || pyro_kernel_uses_plain_cores(unknown[i]))
            fail_msg("%s", unknown[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_short_names),
    cmocka_unit_test(test_hostile_names),
    cmocka_unit_test(test_tensor_cores),
};

UNIT_TESTS(tests, NULL, NULL)
