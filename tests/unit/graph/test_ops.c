/*
 * Tests of the table of operators as a whole: every row is called once with plausible arguments, so
 * that no row is free unless its entry says so.
 */
#include "graph/ops.h"

#include "call_text.h"
#include "fail_alloc.h"
#include "graph/rules/rules.h"
#include "unit.h"

/* A plausible call for every rule; rows with other argument names have their own. */
static const struct {
    pyro_rule rule;
    const char *op, *text;
} calls[] = {
    {NULL, "mkldnn._convolution_pointwise", "X=t2x3x6x6 W=w6x3x4x4 B=w6 > t2x6x5x5"},
    {NULL, "onednn.qconv1d_pointwise", "qx=t2x3x6/uint8 qw=w6x3x4/int8 bias=w6 > t2x6x5"},
    {NULL, "onednn.qconv2d_pointwise", "qx=t2x3x6x6/uint8 qw=w6x3x4x4/int8 > t2x6x5x5"},
    {NULL, "onednn.qconv3d_pointwise", "qx=t2x3x6x6x6/uint8 qw=w6x3x4x4x4/int8 > t2x6x5x5x5"},
    {NULL, "onednn.qconv_pointwise", "qx=t2x3x6x6/uint8 qw=w6x3x4x4/int8 > t2x6x5x5"},
    {NULL, "mkldnn._linear_pointwise", "X=t4x8 W=w5x8 B=w5 > t4x5"},
    {NULL, "aten.addmm", "self=w6 mat1=t4x5 mat2=t5x6 > t4x6"},
    {NULL, "aten._addmm_activation", "self=w6 mat1=t4x5 mat2=t5x6 > t4x6"},
    {NULL, "aten.baddbmm", "self=t3x4x6 batch1=t3x4x5 batch2=t3x5x6 > t3x4x6"},
    {NULL, "aten.addbmm", "self=t4x6 batch1=t3x4x5 batch2=t3x5x6 > t4x6"},
    {NULL, "aten.bmm", "self=t3x4x5 mat2=t3x5x6 > t3x4x6"},
    {NULL, "aten.mv", "self=t4x5 vec=t5 > t4"},
    {NULL, "aten.addmv", "self=t4 mat=t4x5 vec=t5 > t4"},
    {NULL, "aten.linalg_vecdot", "x=t4x5 y=t4x5 > t4"},
    {NULL, "aten.searchsorted", "sorted_sequence=t16 self=t10 > t10/int64"},
    {NULL, "aten.embedding", "weight=w10x4 indices=t3/int64 > t3x4"},
    {pyro_rule_convolution, NULL, "input=t2x3x6x6 weight=w6x3x4x4 bias=w6 > t2x6x5x5"},
    {pyro_rule_transposed_convolution, NULL, "input=t2x4x5x5 weight=w4x6x3x3 bias=w6 > t2x6x7x7"},
    {pyro_rule_any_convolution, NULL, "input=t2x3x6x6 weight=w6x3x4x4 transposed=false > t2x6x5x5"},
    {pyro_rule_deformable_convolution, NULL,
     "input=t2x3x6x6 weight=w6x3x3x3 offset=t2x18x4x4 mask=t2x9x4x4 bias=w6 > t2x6x4x4"},
    {pyro_rule_convolution_backward, NULL,
     "grad_output=t2x6x5x5 input=t2x3x6x6 weight=w6x3x4x4 output_mask=[1,1,0] > t2x3x6x6 t6x3x4x4"},
    {pyro_rule_linear, NULL, "input=t4x8 weight=w5x8 bias=w5 > t4x5"},
    {pyro_rule_linear_packed, NULL, "X=t4x8 packed=w100/uint8 > t4x5"},
    {pyro_rule_matmul, NULL, "self=t3x4x5 other=t5x6 > t3x4x6"},
    {pyro_rule_inner, NULL, "self=t4x5 other=t6x5 > t4x6"},
    {pyro_rule_matrix_product, NULL, "self=t4x5 mat2=t5x6 > t4x6"},
    {pyro_rule_vector_product, NULL, "self=t5 other=t5 > t"},
    {pyro_rule_tensordot, NULL, "self=t3x4x5 other=t4x5x6 dims_self=[1,2] dims_other=[0,1] > t3x6"},
    {pyro_rule_einsum, NULL, "equation='ij,jk->ik' tensors=[t4x5,t5x6] > t4x6"},
    {pyro_rule_bilinear, NULL, "input1=t2x3 input2=t2x4 weight=w5x3x4 bias=w5 > t2x5"},
    {pyro_rule_chain_matmul, NULL, "matrices=[t2x3,t3x4,t4x5] > t2x5"},
    {pyro_rule_grouped_matmul, NULL, "self=t10x8 mat2=w4x8x6 offs=t4/int32 > t10x6"},
    {NULL, "aten.lu_solve", "self=t2x6x3 LU_data=t2x6x6 LU_pivots=t2x6/int32 > t2x6x3"},
    {NULL, "aten.cholesky_solve", "self=t2x6x3 input2=t2x6x6 > t2x6x3"},
    {NULL, "aten.linalg_lu_solve", "LU=t2x6x6 pivots=t2x6/int32 B=t2x6x3 > t2x6x3"},
    {NULL, "aten.linalg_ldl_solve", "LD=t2x6x6 pivots=t2x6/int32 B=t2x6x3 > t2x6x3"},
    {pyro_rule_factorization, NULL, "A=t2x6x6 > t2x6x6"},
    {pyro_rule_orthogonal_factors, NULL, "A=t2x6x4 > t2x6x4 t2x4x4"},
    {pyro_rule_solve, NULL, "A=t2x6x6 B=t2x6x3 > t2x6x3"},
    {pyro_rule_least_squares, NULL, "self=t2x6x4 b=t2x6x3 > t2x4x3"},
    {pyro_rule_spectrum, NULL, "A=t2x6x6 > t2x6"},
    {pyro_rule_pseudo_inverse, NULL, "self=t2x6x4 > t2x4x6"},
    {pyro_rule_reflectors, NULL, "input=t6x4 input2=t4 input3=t6x5 > t6x5"},
    {pyro_rule_matrix_power, NULL, "self=t2x6x6 n=3 > t2x6x6"},
    {pyro_rule_matrix_exponential, NULL, "self=t2x6x6 > t2x6x6"},
    {pyro_rule_tensor_system, NULL, "self=t4x6x8x3 other=t4x6 > t8x3"},
    {pyro_rule_distances, NULL, "x1=t2x3x4 x2=t2x5x4 > t2x3x5"},
    {pyro_rule_attention, NULL, "query=t2x4x10x16 key=t2x4x12x16 value=t2x4x12x8 > t2x4x10x8"},
    {pyro_rule_attention_sequence_first, NULL,
     "query=t2x10x4x16 key=t2x12x4x16 value=t2x12x4x8 > t2x10x4x8"},
    {pyro_rule_native_multi_head, NULL,
     "query=t2x10x32 key=t2x10x32 value=t2x10x32 embed_dim=32 num_head=4 qkv_weight=w96x32 > "
     "t2x10x32"},
    {pyro_rule_encoder_layer, NULL,
     "src=t2x10x32 embed_dim=32 num_heads=4 ffn_weight_1=w64x32 ffn_weight_2=w32x64 > t2x10x32"},
    {pyro_rule_attention_backward, NULL,
     "grad_out=t2x4x10x8 query=t2x4x10x16 key=t2x4x12x16 value=t2x4x12x8 > t2x4x10x16 t2x4x12x16"},
    {pyro_rule_attention_backward_sequence_first, NULL,
     "grad_out=t2x10x4x8 query=t2x10x4x16 key=t2x12x4x16 value=t2x12x4x8 > t2x10x4x16"},
    {pyro_rule_recurrent, NULL,
     "input=t5x3x10 hx=[t1x3x20,t1x3x20] params=[w80x10,w80x20,w80,w80] > t5x3x20 t1x3x20"},
    {pyro_rule_recurrent_packed, NULL,
     "data=t12x10 batch_sizes=t5/int64 hx=[t1x3x20] params=[w80x10,w80x20,w80,w80] > t12x20"},
    {pyro_rule_recurrent_cell, NULL,
     "input=t3x10 hx=[t3x20,t3x20] w_ih=w80x10 w_hh=w80x20 > t3x20 t3x20"},
    {pyro_rule_batch_norm, NULL, "input=t2x4x3x3 weight=w4 bias=w4 training=false > t2x4x3x3"},
    {pyro_rule_norm, NULL, "input=t2x4x3x3 weight=w4 bias=w4 > t2x4x3x3"},
    {pyro_rule_softmax, NULL, "self=t4x5 dim=1 > t4x5"},
    {pyro_rule_dropout, NULL, "input=t4x5 train=true > t4x5"},
    {pyro_rule_elementwise, NULL, "self=t4x5 other=t4x5 > t4x5"},
    {pyro_rule_elementwise_lists, NULL, "self=[t4x5,t3] other=[t4x5,t3] > t4x5 t3"},
    {pyro_rule_reduction, NULL, "self=t4x5 > t4"},
    {pyro_rule_loss, NULL, "self=t4x5 target=t4/int64 > t"},
    {pyro_rule_sort, NULL, "self=t4x8 dim=1 > t4x8 t4x8/int64"},
    {pyro_rule_search, NULL, "self=t10 boundaries=t16 > t10/int64"},
    {pyro_rule_box_pairs, NULL, "dets=t10x4 scores=t10 > t3/int64"},
    {pyro_rule_fourier, NULL, "self=t4x16/complex64 dim=[1] > t4x16/complex64"},
    {pyro_rule_short_fourier, NULL, "self=t2x9x13/complex64 n_fft=16 > t2x9x13/complex64"},
    {pyro_rule_pool, NULL, "self=t2x4x6x6 kernel_size=[2,2] > t2x4x3x3"},
    {pyro_rule_adaptive_pool, NULL, "self=t2x4x6x6 output_size=[1,1] > t2x4x1x1"},
    {pyro_rule_roi, NULL, "input=t1x8x10x10 rois=t5x5 sampling_ratio=2 > t5x8x7x7"},
    {pyro_rule_resample, NULL, "self=t2x4x3x3 output_size=[6,6] > t2x4x6x6"},
    {pyro_rule_resample_counted, NULL, "self=t2x4x3x3 output_size=[6,6] > t2x4x6x6"},
    {pyro_rule_gradient, NULL, "grad_output=t4x5 self=t4x5 > t4x5"},
    {pyro_rule_pool_backward, NULL,
     "grad_output=t2x4x3x3 self=t2x4x6x6 kernel_size=[2,2] > t2x4x6x6"},
    {pyro_rule_embedding_backward, NULL, "grad_output=t3x4 indices=t3/int64 > t10x4"},
    {pyro_rule_gather, NULL, "self=t10x4 index=t3/int64 > t3x4"},
    {pyro_rule_embedding_bag, NULL, "weight=w10x4 indices=t6/int64 offsets=t2/int64 > t2x4"},
    {pyro_rule_scatter, NULL, "self=t10x4 index=t3/int64 source=t3x4 > t10x4"},
    {pyro_rule_scatter_copy, NULL, "self=t10x4 index=t3/int64 source=t3x4 > t10x4"},
    {pyro_rule_copy, NULL, "self=t4x5 > t4x5"},
    {pyro_rule_concatenate, NULL, "tensors=[t4x5,t1x5] dim=0 > t5x5"},
    {pyro_rule_overwrite, NULL, "self=t4x5 src=t4x5 > t4x5"},
    {pyro_rule_create, NULL, "size=[4,5] > t4x5"},
    {pyro_rule_maybe_copy, NULL, "self=v4x5 shape=[20] > t20"},
    {pyro_rule_convert, NULL, "self=t4x5 dtype=5 > t4x5/float16"},
    {pyro_rule_view, NULL, "self=t4x5 size=[20] > t20"},
    {pyro_rule_strided_view, NULL, "self=t4x5 dims=[1,0] > t5x4"},
    {pyro_rule_reordered_view, NULL, "self=t4x5 dims=[1,0] dim0=0 dim1=1 > t5x4"},
    {pyro_rule_cut_view, NULL, "self=t4x5 dim=1 > t4x2"},
    {pyro_rule_expanded_view, NULL, "self=t4x1 size=[4,5] > t4x5"},
    {pyro_rule_scalar, NULL, "self=t4x5 dim=0 > t4x5"},
    {pyro_rule_host, NULL, "=3 =4 >"},
    {pyro_rule_gemm, NULL, "a=t4x8 b=w5x8 c=w5 transB=1 > t4x5"},
    {pyro_rule_determinant, NULL, "x=t2x3x3 > t2"},
    {pyro_rule_packed_attention, NULL,
     "query=t2x10x32 key=t2x12x32 value=t2x12x32 num_heads=4 > t2x10x32"},
    {pyro_rule_projected_attention, NULL,
     "input=t2x10x32 weights=w32x96 bias=w96 num_heads=4 > t2x10x32"},
    {pyro_rule_linear_attention, NULL,
     "query=t2x10x32 key=t2x10x32 value=t2x10x32 q_num_heads=4 > t2x10x32"},
    {pyro_rule_recurrent_matrices, NULL,
     "input=t5x3x10 w=w1x80x10 r=w1x80x20 b=w1x160 > t5x1x3x20"},
    {pyro_rule_experts, NULL,
     "input=t4x8 router_probs=t4x3 fc1_experts_weights=w3x8x16 fc2_experts_weights=w3x16x8 k=2 > "
     "t4x8"},
    {pyro_rule_embedding_norm, NULL,
     "input_ids=t2x5/int32 segment_ids=t2x5/int32 word_embedding=w10x8 > t2x5x8"},
    {pyro_rule_quantization, NULL, "x=t4x5 scale=w1 zero_point=w1/int8 > t4x5/int8"},
    {pyro_rule_resample_by_mode, NULL, "x=t2x4x3x3 mode='linear' > t2x4x6x6"},
    {pyro_rule_suppression, NULL, "boxes=t1x10x4 scores=t1x2x10 > t3x3/int64"},
    {pyro_rule_frames_fourier, NULL, "signal=t2x100 > t2x9x9x2"},
    {pyro_rule_permuted_view, NULL, "x=t4x5 dims=[1,0] > t5x4"},
};

static const char *call_of(const pyro_op *op)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].op ? !strcmp(calls[i].op, op->name) : calls[i].rule == op->rule)
            return calls[i].text;
    fail_msg("no call is written for %s", op->name);
    return NULL;
}

static bool is_contraction(const pyro_op *op)
{
    return op->category == PYRO_CATEGORY_CONVOLUTION || op->category == PYRO_CATEGORY_MATMUL ||
           op->category == PYRO_CATEGORY_ATTENTION || op->category == PYRO_CATEGORY_RECURRENT;
}

static bool is_free(const pyro_op *op)
{
    return op->category == PYRO_CATEGORY_VIEW || op->category == PYRO_CATEGORY_SCALAR;
}

static int64_t bytes_of(const pyro_price *price)
{
    return price->activation_read_bytes + price->weight_read_bytes + price->written_bytes;
}

/* Prices every row and passes it to a check. */
static void for_every_row(void (*check)(const pyro_op *, const pyro_price *))
{
    static call_text c;
    for (size_t i = 0; i < pyro_op_count; i++) {
        const pyro_op *op = &pyro_ops[i];
        call_text_read(&c, op, call_of(op));
        if (!pyro_op_price(&c.call, &c.price) || c.call.overflow)
            fail_msg("%s does not understand: %s", op->name, call_of(op));
        check(op, &c.price);
    }
}

static void check_macs(const pyro_op *op, const pyro_price *price)
{
    /* Distances are differences and squares, without multiply-accumulates. */
    bool expected = is_contraction(op) && op->rule != pyro_rule_distances;
    if ((price->macs > 0) != expected)
        fail_msg("%s: %lld MACs", op->name, (long long)price->macs);
}

static void test_contractions_have_macs(void **unused)
{
    (void)unused;
    for_every_row(check_macs);
}

static void check_bytes(const pyro_op *op, const pyro_price *price)
{
    if ((bytes_of(price) > 0) == is_free(op) || price->is_free != is_free(op))
        fail_msg("%s (%s): %lld bytes", op->name, pyro_category_name(op->category),
                 (long long)bytes_of(price));
}

static void test_all_but_views_move_bytes(void **unused)
{
    (void)unused;
    for_every_row(check_bytes);
}

static void check_flops(const pyro_op *op, const pyro_price *price)
{
    bool computes = is_contraction(op) || op->category == PYRO_CATEGORY_NORM ||
                    op->category == PYRO_CATEGORY_ACTIVATION ||
                    op->category == PYRO_CATEGORY_ELEMENTWISE ||
                    op->category == PYRO_CATEGORY_REDUCTION;
    if (computes && price->macs + price->other_flops <= 0)
        fail_msg("%s: no FLOPs", op->name);
    if (is_free(op) && (price->macs || price->other_flops))
        fail_msg("%s is free, and has FLOPs", op->name);
    /* Other counters never count more than we do, except by their own rules of thumb. */
    if (price->torch_macs != 0 && price->torch_macs != price->macs)
        fail_msg("%s: torch counts a part", op->name);
}

static void test_what_computes_has_flops(void **unused)
{
    (void)unused;
    for_every_row(check_flops);
}

/* A call without a rule is reported as unsupported, never priced as free. */
static void test_senseless_calls(void **unused)
{
    (void)unused;
    static call_text c;
    static const char *const texts[] = {">",        "=3 >",      "=t >",
                                        "=[t] > t", "='text' >", "=t2 > t2 t2"};
    for (size_t i = 0; i < pyro_op_count; i++)
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            call_text_read(&c, &pyro_ops[i], texts[t]);
            if (!pyro_op_price(&c.call, &c.price))
                continue;
            assert_true(c.price.macs >= 0 && c.price.other_flops >= 0 && bytes_of(&c.price) >= 0);
        }
}

static void test_names(void **unused)
{
    (void)unused;
    static const char *const libraries[] = {
        "aten",       "mkldnn",      "onednn",       "quantized",
        "_quantized", "torchvision", "transformers", "higher_order",
        "torchao",    "prims",       "profiler",     "quantized_decomposed",
        "torch",      "_operator",   "onnx",         "microsoft",
        "derived",
    };
    for (size_t i = 0; i < pyro_op_count; i++) {
        const char *name = pyro_ops[i].name, *dot = strchr(name, '.');
        size_t length = dot ? (size_t)(dot - name) : strlen(name);
        bool known = false;
        for (size_t l = 0; l < sizeof libraries / sizeof *libraries; l++)
            known |= strlen(libraries[l]) == length && !strncmp(libraries[l], name, length);
        if (!known || !pyro_ops[i].label[0])
            fail_msg("%s belongs to no known library or has no label", name);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(pyro_ops[j].name, name))
                fail_msg("%s has two rows", name);
    }
}

static bool has_word_before(const char *words, const char *word, size_t length)
{
    for (const char *at = words; at < word; at += strcspn(at, " ") + 1)
        if (strcspn(at, " ") == length && !strncmp(at, word, length))
            return true;
    return false;
}

/* Arguments are read word by word; a repeated or empty word would shift positions. */
static void test_arguments(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < pyro_op_count; i++) {
        const char *words = pyro_ops[i].arguments;
        for (const char *word = words; word; word = strchr(word, ' ')) {
            word += word > words;
            size_t length = strcspn(word, " ");
            if (!length || has_word_before(words, word, length))
                fail_msg("%s: arguments \"%s\"", pyro_ops[i].name, words);
        }
    }
}

static void expect_found(const pyro_op_index *index, const char *target, const char *name)
{
    const pyro_op *op = pyro_op_find(index, target);
    const char *found = op ? op->name : "nothing", *wanted = name ? name : "nothing";
    if (strcmp(found, wanted))
        fail_msg("%s is taken for %s, not for %s", target, found, wanted);
}

static void test_find(void **unused)
{
    (void)unused;
    pyro_op_index index;
    assert_true(pyro_op_index_init(&index));
    for (size_t i = 0; i < pyro_op_count; i++)
        expect_found(&index, pyro_ops[i].name, pyro_ops[i].name);
    static const struct {
        const char *target, *name;
    } rows[] = {
        {"aten.conv2d.default", "aten.conv2d"},
        {"aten.conv2d.padding", "aten.conv2d"},
        {"aten.add.Tensor", "aten.add"},
        {"aten.add_.Tensor", "aten.add"},
        {"aten.relu_.default", "aten.relu"},
        {"aten.relu_", "aten.relu"},
        {"aten.index_put_.default", "aten.index_put_"},
        {"aten.index_put.default", "aten.index_put"},
        {"aten.copy_.default", "aten.copy"},
        {"aten.zero_.default", "aten.zero"},
        {"aten.lstm.input", "aten.lstm"},
        {"aten.lstm.data", "aten.lstm.data"},
        {"aten.gru.data", "aten.gru.data"},
        {"aten.rnn_tanh.data", "aten.rnn_tanh.data"},
        {"aten.rnn_relu.data", "aten.rnn_relu.data"},
        {"aten.view_copy.default", "aten.clone"},
        {"aten.permute_copy.default", "aten.clone"},
        {"aten.split_copy.Tensor", "aten.clone"},
        {"aten.unfold_copy.default", "aten.unfold_copy"},
        {"aten.conv2d_copy.default", NULL},
        {"_operator.mul", "_operator"},
        {"math.floor", "_operator"},
        {"torch.sym_max", "_operator"},
        {"builtins.max", "_operator"},
        {"mylib.conv2d.default", NULL},
        {"aten.no_such.default", NULL},
        {"aten.conv2", NULL},
        {"aten.conv2dd.default", NULL},
        {"conv2d", NULL},
        {"aten", NULL},
        {"aten.", NULL},
        {"aten._copy", NULL},
        {"_copy", NULL},
        {"_", NULL},
        {".", NULL},
        {"..", NULL},
        {"", NULL},
        {"a.b.c.d", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_found(&index, rows[i].target, rows[i].name);
    pyro_op_index_free(&index);
}

static void test_index_without_memory(void **unused)
{
    (void)unused;
    bool whole = false;
    for (long n = 0; !whole; n++) {
        pyro_op_index index;
        fail_alloc_after(n);
        bool good = pyro_op_index_init(&index);
        whole = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        assert_int_equal(good, whole);
        pyro_op_index_free(&index);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_contractions_have_macs),
    cmocka_unit_test(test_all_but_views_move_bytes),
    cmocka_unit_test(test_what_computes_has_flops),
    cmocka_unit_test(test_senseless_calls),
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_arguments),
    cmocka_unit_test(test_find),
    cmocka_unit_test(test_index_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
