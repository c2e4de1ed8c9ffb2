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
        assert_true(work.m == 0 && work.n == 0 && work.k == 0);
        assert_true(work.bytes > 0);
    }
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
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_products),
    cmocka_unit_test(test_convolution_as_a_product),
    cmocka_unit_test(test_groups_and_gradients),
    cmocka_unit_test(test_attention),
    cmocka_unit_test(test_other_kinds),
    cmocka_unit_test(test_no_work),
    cmocka_unit_test(test_names_of_kinds),
};

UNIT_TESTS(tests, NULL, NULL)
