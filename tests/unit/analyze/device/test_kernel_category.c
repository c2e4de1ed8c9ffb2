/* Tests of analyze/device/kernel_category.c and of the rows of kernels.def. */
#include "analyze/device/kernel_category.h"
#include "unit.h"

#include <string.h>

static const struct {
    const char *name;
    pyro_kernel_category category;
    pyro_kernel_role role;
} examples[] = {
    /* products */
    {"ampere_sgemm_128x128_tn", PYRO_KERNEL_GEMM, PYRO_ROLE_PRODUCT},
    {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>(Params)",
     PYRO_KERNEL_GEMM, PYRO_ROLE_PRODUCT},
    {"nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN", PYRO_KERNEL_GEMM, PYRO_ROLE_PRODUCT},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute",
     PYRO_KERNEL_GEMM, PYRO_ROLE_PRODUCT},
    {"Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1_SN", PYRO_KERNEL_GEMM, PYRO_ROLE_PRODUCT},
    {"void gemv2T_kernel_val<int, int, float, float>(cublasGemvParams<float>)", PYRO_KERNEL_GEMM,
     PYRO_ROLE_PRODUCT},
    {"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u>(float*)", PYRO_KERNEL_GEMM,
     PYRO_ROLE_PRODUCT},
    {"triton_tem_fused_addmm_3", PYRO_KERNEL_GEMM, PYRO_ROLE_PRODUCT},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>)",
     PYRO_KERNEL_GEMM, PYRO_ROLE_PLAIN},
    {"void marlin::Marlin<128l, 256, 4, 16>(int4 const*)", PYRO_KERNEL_GEMM, PYRO_ROLE_PRODUCT},
    /* convolutions */
    {"volta_scudnn_128x64_relu_interior_nn_v1", PYRO_KERNEL_CONVOLUTION, PYRO_ROLE_PRODUCT},
    {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16",
     PYRO_KERNEL_CONVOLUTION, PYRO_ROLE_PRODUCT},
    {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32", PYRO_KERNEL_CONVOLUTION, PYRO_ROLE_PRODUCT},
    {"_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblockEEE",
     PYRO_KERNEL_CONVOLUTION, PYRO_ROLE_PRODUCT},
    {"void cask_cudnn::computeOffsetsKernel<false, false>(cask_cudnn::ComputeOffsetsParams)",
     PYRO_KERNEL_CONVOLUTION, PYRO_ROLE_PLAIN},
    {"void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4> >(ConvParamsBase)",
     PYRO_KERNEL_CONVOLUTION, PYRO_ROLE_PLAIN},
    /* attention */
    {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128> >(Flash_fwd_params)",
     PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>)",
     PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128",
     PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2> > >"
     "(flash::FlashAttnFwdSm90::Params)",
     PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<false, 2u>(flashinfer::DecodeParams)",
     PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"kernel_unified_attention_2d", PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, 128>(__hip_bfloat16*)",
     PYRO_KERNEL_ATTENTION, PYRO_ROLE_PLAIN},
    {"_fwd_grouped_kernel_stage1", PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"attn_fwd", PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"triton_tem_fused_flex_attention_4", PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"sage_fwd", PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_4BaseEEEEEvT0_",
     PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_4BaseEEEEEvT0_", PYRO_KERNEL_NORM,
     PYRO_ROLE_PLAIN},
    {"void sm90_fp8_paged_mqa_logits<64u>(unsigned int)", PYRO_KERNEL_ATTENTION, PYRO_ROLE_PRODUCT},
    {"_state_passing_fwd_kernel", PYRO_KERNEL_ATTENTION, PYRO_ROLE_PLAIN},
    /* experts on several devices */
    {"void dpsk::ep::internode::combine<false, 8, __nv_bfloat16>(int4*, float*)",
     PYRO_KERNEL_COMMUNICATION, PYRO_ROLE_PLAIN},
    {"void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)", PYRO_KERNEL_COMMUNICATION,
     PYRO_ROLE_PLAIN},
    {"void step::intensity_kernel<float>(float*)", PYRO_KERNEL_OTHER, PYRO_ROLE_PLAIN},
    {"void kOptimizerStatic8bit2StateBlockwise<float, 1>(float*)", PYRO_KERNEL_OPTIMIZER,
     PYRO_ROLE_PLAIN},
    /* compilers: the names of ops in a name are no product */
    {"triton_poi_fused_addmm_gelu_view_6", PYRO_KERNEL_ELEMENTWISE, PYRO_ROLE_PLAIN},
    {"triton_per_fused_add_addmm_native_layer_norm_transpose_view_8", PYRO_KERNEL_NORM,
     PYRO_ROLE_PLAIN},
    {"triton_red_fused_add_mean_mul_pow_rsqrt_0", PYRO_KERNEL_NORM, PYRO_ROLE_PLAIN},
    {"triton_per_fused__softmax_add_mm_3", PYRO_KERNEL_SOFTMAX, PYRO_ROLE_PLAIN},
    {"triton_red_fused_mm_sum_2", PYRO_KERNEL_REDUCTION, PYRO_ROLE_PLAIN},
    {"triton_poi_fused_all_reduce_copy__2", PYRO_KERNEL_ELEMENTWISE, PYRO_ROLE_PLAIN},
    /* norms, softmax */
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
     PYRO_KERNEL_NORM, PYRO_ROLE_PLAIN},
    {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16EEEvPT0_", PYRO_KERNEL_NORM,
     PYRO_ROLE_PLAIN},
    {"MIOpenBatchNormFwdTrainSpatial", PYRO_KERNEL_NORM, PYRO_ROLE_PLAIN},
    {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(float*)",
     PYRO_KERNEL_SOFTMAX, PYRO_ROLE_PLAIN},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*)",
     PYRO_KERNEL_SOFTMAX, PYRO_ROLE_PLAIN},
    {"liger_cross_entropy_kernel", PYRO_KERNEL_SOFTMAX, PYRO_ROLE_PLAIN},
    /* maps, reductions, copies */
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
     "std::array<char*, 3ul> >(int)",
     PYRO_KERNEL_ELEMENTWISE, PYRO_ROLE_MAP},
    {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::"
     "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}>(int)::{lambda(int)#1}>(int)",
     PYRO_KERNEL_COPY, PYRO_ROLE_MAP},
    {"void vllm::act_and_mul_kernel<c10::BFloat16>(c10::BFloat16*)", PYRO_KERNEL_ELEMENTWISE,
     PYRO_ROLE_PLAIN},
    {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
     PYRO_KERNEL_ELEMENTWISE, PYRO_ROLE_PLAIN},
    {"void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16>(c10::Float8_e4m3fn*)",
     PYRO_KERNEL_ELEMENTWISE, PYRO_ROLE_PLAIN},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>"
     ", unsigned int, float, 4> >(at::native::ReduceOp<float>)",
     PYRO_KERNEL_REDUCTION, PYRO_ROLE_PLAIN},
    {"void cub::DeviceScanInitKernel<cub::ScanTileState<int, true> >(int)", PYRO_KERNEL_REDUCTION,
     PYRO_ROLE_PLAIN},
    {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char>(__nv_bfloat16*)",
     PYRO_KERNEL_COPY, PYRO_ROLE_PLAIN},
    {"void cudnn::ops::nchwToNhwcKernel<float, float>(float*)", PYRO_KERNEL_COPY, PYRO_ROLE_LAYOUT},
    /* embeddings, experts, optimizers, sampling, communication */
    {"void at::native::vectorized_gather_kernel<16, long>(char*)", PYRO_KERNEL_EMBEDDING,
     PYRO_ROLE_PLAIN},
    {"void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float>"
     "(float*)",
     PYRO_KERNEL_EMBEDDING, PYRO_ROLE_PLAIN},
    {"fused_moe_kernel", PYRO_KERNEL_MOE, PYRO_ROLE_PRODUCT},
    {"bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_clmp_dynBatch_sm100f", PYRO_KERNEL_MOE,
     PYRO_ROLE_PRODUCT},
    {"void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<float> >(int)",
     PYRO_KERNEL_MOE, PYRO_ROLE_PLAIN},
    {"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu", PYRO_KERNEL_MOE, PYRO_ROLE_PRODUCT},
    {"void vllm::moe::topkGatingSoftmax<8, 128, 4>(float const*)", PYRO_KERNEL_MOE,
     PYRO_ROLE_PLAIN},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorList"
     "Metadata<4>, at::native::FusedAdamMathFunctor<float, 4> >(int)",
     PYRO_KERNEL_OPTIMIZER, PYRO_ROLE_PLAIN},
    {"void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>(float*)",
     PYRO_KERNEL_SAMPLING, PYRO_ROLE_PLAIN},
    {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", PYRO_KERNEL_COMMUNICATION,
     PYRO_ROLE_PLAIN},
    {"void vllm::cross_device_reduce_1stage<c10::BFloat16, 8>(vllm::RankData*)",
     PYRO_KERNEL_COMMUNICATION, PYRO_ROLE_PLAIN},
    {"mystery", PYRO_KERNEL_OTHER, PYRO_ROLE_PLAIN},
    {"", PYRO_KERNEL_OTHER, PYRO_ROLE_PLAIN},
};

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        pyro_kernel_class found = pyro_kernel_classify(examples[i].name);
        if (found.category != examples[i].category || found.role != examples[i].role)
            fail_msg("%s is %s, role %d", examples[i].name,
                     pyro_kernel_category_name((pyro_kernel_category)found.category), found.role);
    }
}

/* A row that an earlier one always precedes would never be used. */
static void test_rows_are_reached(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        pyro_kernel_category category;
        pyro_kernel_role role;
    } rows[] = {
#define KERNEL(words, category, certainty, role) {words, PYRO_KERNEL_##category, PYRO_ROLE_##role},
#include "analyze/device/kernels.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[256];
        size_t length = 0;
        for (const char *at = rows[i].words; *at && length + 2 < sizeof name; at++)
            if (*at != '^')
                name[length++] = *at == ' ' ? '_' : *at;
        if (name[length - 1] == ':')
            name[length++] = 'f';
        name[length] = '\0';
        pyro_kernel_class found = pyro_kernel_classify(name);
        if (found.category != rows[i].category || found.role != rows[i].role)
            fail_msg("row \"%s\": %s is %s, role %d", rows[i].words, name,
                     pyro_kernel_category_name((pyro_kernel_category)found.category), found.role);
    }
}

static void test_ops(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        pyro_kernel_category category;
    } ops[] = {
        {"aten::addmm", PYRO_KERNEL_GEMM},
        {"aten::native_layer_norm", PYRO_KERNEL_NORM},
        {"aten::_log_softmax", PYRO_KERNEL_SOFTMAX},
        {"aten::cudnn_convolution", PYRO_KERNEL_CONVOLUTION},
        {"aten::embedding", PYRO_KERNEL_EMBEDDING},
        {"vllm::unified_attention_with_output", PYRO_KERNEL_ATTENTION},
        {"vllm::moe_forward", PYRO_KERNEL_MOE},
        {"_C::rotary_embedding", PYRO_KERNEL_ELEMENTWISE},
        {"FlashAttnFuncBackward", PYRO_KERNEL_ATTENTION},
        {"aten::_native_multi_head_attention", PYRO_KERNEL_OTHER},
        {"my::op", PYRO_KERNEL_OTHER},
    };
    pyro_op_index index;
    assert_true(pyro_op_index_init(&index));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (pyro_op_kernel_category(&index, ops[i].name) != ops[i].category)
            fail_msg("%s is %s", ops[i].name,
                     pyro_kernel_category_name(pyro_op_kernel_category(&index, ops[i].name)));
    pyro_op_index_free(&index);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_rows_are_reached),
    cmocka_unit_test(test_ops),
};

UNIT_TESTS(tests, NULL, NULL)
