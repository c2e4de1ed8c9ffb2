/* Tests of predict/describe.c: kinds and sizes of work. */
#include "call_text.h"
#include "predict/describe.h"

static bool describe(struct pyro_op_work *work, const char *op, const char *text)
{
    static call_text call;
    return call_text_price(&call, op, text) && pyro_work_describe(work, &call.call, &call.price);
}

static void test_products(void **state)
{
    (void)state;
    struct pyro_op_work work;

    assert_true(describe(&work, "aten.linear", "input=t8x16x64 weight=w32x64 bias=w32 > t8x16x32"));
    assert_string_equal(work.kind, "gemm");
    assert_string_equal(work.dtype, "float32");
    assert_int_equal(work.m, 128);
    assert_int_equal(work.n, 32);
    assert_int_equal(work.k, 64);
    assert_true(describe(&work, "aten.linear", "input=t1x64 weight=w32x64 > t1x32"));
    assert_string_equal(work.kind, "gemv");
    assert_true(describe(&work, "aten.bmm",
                         "self=t4x8x16/bfloat16 mat2=t4x16x2/bfloat16 > "
                         "t4x8x2/bfloat16"));
    assert_string_equal(work.dtype, "bfloat16");
    assert_int_equal(work.m, 32);
    assert_int_equal(work.n, 2);
    assert_int_equal(work.k, 16);
    assert_int_equal(work.parts, 4);
}

static void test_convolution_as_a_product(void **state)
{
    (void)state;
    struct pyro_op_work work;

    assert_true(describe(&work, "aten.conv2d",
                         "input=t2x3x8x8 weight=w6x3x3x3 bias=none stride=[1,1] padding=[1,1] "
                         "dilation=[1,1] groups=1 > t2x6x8x8"));
    assert_string_equal(work.kind, "conv");
    assert_int_equal(work.m, 128);
    assert_int_equal(work.n, 6);
    assert_int_equal(work.k, 27);
}

/* A depthwise convolution has one column per group; gradients have the sizes of the forward. */
static void test_groups_and_gradients(void **state)
{
    (void)state;
    struct pyro_op_work work;

    assert_true(describe(&work, "aten.conv2d",
                         "input=t2x6x8x8 weight=w6x1x3x3 bias=none stride=[1,1] padding=[1,1] "
                         "dilation=[1,1] groups=6 > t2x6x8x8"));
    assert_int_equal(work.m, 128 * 6);
    assert_int_equal(work.n, 1);
    assert_int_equal(work.k, 9);
    assert_true(describe(&work, "aten.convolution_backward",
                         "grad_output=t2x6x8x8 input=t2x3x8x8 weight=w6x3x3x3 output_mask=[1,1,0] "
                         "> t2x3x8x8"));
    assert_string_equal(work.kind, "conv_backward");
    assert_int_equal(work.m, 128);
    assert_int_equal(work.n, 6);
    assert_int_equal(work.k, 27);
    assert_int_equal(pyro_work_kind_of_forward(PYRO_WORK_CONV_BACKWARD), PYRO_WORK_CONV);
    assert_int_equal(pyro_work_kind_of_backward(PYRO_WORK_ATTENTION), PYRO_WORK_ATTENTION_BACKWARD);
    assert_int_equal(pyro_work_kind_of_backward(PYRO_WORK_GEMM), PYRO_WORK_GEMM);
}

static void test_attention(void **state)
{
    (void)state;
    struct pyro_op_work work;

    assert_true(describe(&work, "aten.scaled_dot_product_attention",
                         "query=t2x4x10x64 key=t2x4x30x64 value=t2x4x30x64 > t2x4x10x64"));
    assert_string_equal(work.kind, "attention");
    assert_int_equal(work.m, 80);
    assert_int_equal(work.n, 30);
    assert_int_equal(work.k, 64);
    assert_int_equal(work.parts, 8);
}

static void test_other_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *op, *text, *kind;
    } examples[] = {
        {"aten.add", "self=t4x8 other=t4x8 > t4x8", "elementwise"},
        {"aten.softmax", "self=t4x8 dim=1 > t4x8", "softmax"},
        {"aten.layer_norm", "input=t4x8 normalized_shape=[8] weight=w8 bias=w8 > t4x8", "norm"},
        {"aten.sum", "self=t4x8 > t", "reduction"},
        {"aten.embedding", "weight=w100x8 indices=t4/int64 > t4x8", "embedding"},
        {"aten.clone", "self=t4x8 > t4x8", "copy"},
    };
    struct pyro_op_work work;

    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        assert_true(describe(&work, examples[i].op, examples[i].text));
        assert_string_equal(work.kind, examples[i].kind);
        assert_true(work.k == 0);
        assert_true(work.bytes > 0);
    }
}

/* Forms, and the rows and columns of what is summed; each beside its near miss. */
static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *op, *text, *form;
        int64_t m, n; /* -1: not looked at */
    } examples[] = {
        {"aten.linear", "input=t8x197x64 weight=w32x64 > t8x197x32", "plain", 1576, 32},
        {"aten.linear", "input=t8x8x64 weight=w33x64 > t8x8x33", "unaligned", 64, 33},
        {"aten.mm", "self=t64x64 mat2=t64x32 > t64x32", "plain", 64, 32},
        {"aten.mm", "self=t66x64 mat2=t64x32 > t66x32", "unaligned", 66, 32},
        {"aten.mm", "self=t64x8/bfloat16 mat2=t8x32/bfloat16 > t64x32/bfloat16", "plain", 64, 32},
        {"aten.mm", "self=t64x4/bfloat16 mat2=t4x32/bfloat16 > t64x32/bfloat16", "unaligned", 64,
         32},
        {"aten.conv2d", "input=t2x8x8x8 weight=w6x8x1x1 > t2x6x8x8", "pointwise", 128, 6},
        {"aten.conv2d", "input=t2x8x8x8 weight=w6x8x1x3 > t2x6x8x6", "plain", 96, 6},
        {"aten.conv2d",
         "input=t2x6x8x8 weight=w6x1x1x1 bias=none stride=[1,1] padding=[0,0] "
         "dilation=[1,1] groups=6 > t2x6x8x8",
         "grouped", 768, 1},
        {"aten.layer_norm", "input=t4x6x8 normalized_shape=[8] weight=w8 bias=w8 > t4x6x8", "plain",
         24, 8},
        {"aten.group_norm", "input=t2x6x8x8 num_groups=3 weight=w6 bias=w6 > t2x6x8x8",
         "statistics", 6, 128},
        {"aten.batch_norm",
         "input=t2x6x8x8 weight=w6 bias=w6 running_mean=w6 running_var=w6 "
         "training=false > t2x6x8x8",
         "scale", 12, 64},
        {"aten.batch_norm",
         "input=t2x6x8x8 weight=w6 bias=w6 running_mean=w6 running_var=w6 "
         "training=true > t2x6x8x8",
         "statistics", 6, 128},
        {"aten.softmax", "self=t4x8 dim=1 > t4x8", "plain", 4, 8},
        {"aten.sum", "self=t4x8 dim=[1] > t4", "plain", 4, 8},
        {"aten.sum", "self=t4x8 dim=[0] > t8", "columns", 8, 4},
        {"aten.cumsum", "self=t4x8 dim=1 > t4x8", "order", 0, 0},
        {"aten.max_pool2d", "self=t2x6x8x8 kernel_size=[2,2] > t2x6x4x4", "window", 0, 0},
        {"aten.embedding", "weight=w100x8 indices=t4/int64 > t4x8", "plain", 0, 0},
        {"aten.index_add", "self=t100x8 dim=0 index=t4/int64 source=t4x8 > t100x8", "scatter", 0,
         0},
        {"aten.clone", "self=t4x8 > t4x8", "plain", 0, 0},
        {"aten.zeros_like", "self=t4x8 > t4x8", "fill", 0, 0},
    };
    struct pyro_op_work work;

    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        assert_true(describe(&work, examples[i].op, examples[i].text));
        assert_string_equal(pyro_work_form_name((pyro_work_form)work.form), examples[i].form);
        assert_int_equal(work.m, examples[i].m);
        assert_int_equal(work.n, examples[i].n);
    }
}

static void test_forms_of_gradients(void **state)
{
    (void)state;
    assert_int_equal(pyro_work_form_of_backward(PYRO_WORK_NORM, PYRO_FORM_PLAIN),
                     PYRO_FORM_GRADIENT);
    assert_int_equal(pyro_work_form_of_backward(PYRO_WORK_NORM, PYRO_FORM_STATISTICS),
                     PYRO_FORM_STATISTICS_GRADIENT);
    assert_int_equal(pyro_work_form_of_backward(PYRO_WORK_EMBEDDING, PYRO_FORM_PLAIN),
                     PYRO_FORM_SCATTER);
    assert_int_equal(pyro_work_form_of_backward(PYRO_WORK_CONV, PYRO_FORM_GROUPED),
                     PYRO_FORM_GROUPED);
}

/* Projections and attention in one op are described as a product. */
static void test_a_fused_block(void **state)
{
    (void)state;
    struct pyro_op_work work;

    assert_true(describe(&work, "aten._native_multi_head_attention",
                         "query=t8x16x64 key=t8x16x64 value=t8x16x64 embed_dim=64 num_head=4 "
                         "qkv_weight=w192x64 qkv_bias=w192 proj_weight=w64x64 proj_bias=w64 > "
                         "t8x16x64"));
    assert_string_equal(work.kind, "gemm");
    assert_int_equal(work.m, 128);
    assert_int_equal(work.n, 64);
}

static void test_no_work(void **state)
{
    (void)state;
    struct pyro_op_work work;

    assert_false(describe(&work, "aten.view", "self=t4x8 size=[32] > t32"));
}

static void test_names_of_kinds(void **state)
{
    (void)state;
    for (int kind = 0; kind < PYRO_WORK_KIND_COUNT; kind++)
        assert_int_equal(pyro_work_kind_from_name(pyro_work_kind_name((pyro_work_kind)kind)), kind);
    assert_int_equal(pyro_work_kind_from_name(""), PYRO_WORK_KIND_COUNT);
    for (int form = 0; form < PYRO_FORM_COUNT; form++)
        assert_int_equal(pyro_work_form_from_name(pyro_work_form_name((pyro_work_form)form)), form);
    assert_int_equal(pyro_work_form_from_name("plane"), PYRO_FORM_COUNT);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_products),
    cmocka_unit_test(test_convolution_as_a_product),
    cmocka_unit_test(test_groups_and_gradients),
    cmocka_unit_test(test_attention),
    cmocka_unit_test(test_other_kinds),
    cmocka_unit_test(test_forms),
    cmocka_unit_test(test_forms_of_gradients),
    cmocka_unit_test(test_a_fused_block),
    cmocka_unit_test(test_no_work),
    cmocka_unit_test(test_names_of_kinds),
};

UNIT_TESTS(tests, NULL, NULL)
