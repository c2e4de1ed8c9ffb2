/* Tests of analyze/prices.c, analyze/signature.c, graph/shapes.c and the rules of backward ops. */
#include "analyze/signature.h"
#include "analyze_maker.h"

#include "graph/shapes/shapes.h"
#include "unit.h"

/* FLOPs and bytes of one op of a trace. */
static void price(const char *name, const char *dims, const char *types, const char *values,
                  int64_t *flops, int64_t *bytes)
{
    maker maker;
    char args[1000];
    snprintf(args, sizeof args, "\"Input Dims\":%s,\"Input type\":%s,\"Concrete Inputs\":%s", dims,
             types, values);
    maker_begin(&maker);
    maker_event(&maker, "cpu_op", name, 100, 1, 0, 100, args);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->op_count, 1);
    *flops = analysis->ops[0].flops;
    *bytes = analysis->ops[0].bytes;
    maker_end(&maker);
}

typedef struct example {
    const char *name, *dims, *types, *values;
    int64_t flops, bytes;
} example;

static void check(const example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t flops, bytes;
        const example *e = &examples[i];
        price(e->name, e->dims, e->types, e->values, &flops, &bytes);
        if (flops != e->flops || bytes != e->bytes)
            fail_msg("%s: %lld FLOPs, %lld bytes", e->name, (long long)flops, (long long)bytes);
    }
}

#define CHECK(examples) check(examples, sizeof(examples) / sizeof *(examples))

static void test_forward(void **state)
{
    (void)state;
    static const example examples[] = {
        /* torch's example values: 240 and 28,800 */
        {"aten::mm", "[[4,5],[5,6]]", "[\"float\",\"float\"]", "[\"\",\"\"]", 240,
         4 * (20 + 30 + 24)},
        {"aten::conv2d", "[[2,3,6,6],[6,3,4,4],[],[],[],[],[]]",
         "[\"float\",\"float\",\"\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\"]",
         "[\"\",\"\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"1\"]", 28800, 4 * (216 + 288 + 300)},
        /* a stride of 2 over 7x7 with a bias; arguments in cuDNN's order */
        {"aten::cudnn_convolution", "[[1,2,7,7],[4,2,3,3],[],[],[],[]]",
         "[\"c10::Half\",\"c10::Half\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\"]",
         "[\"\",\"\",\"[0, 0]\",\"[2, 2]\",\"[1, 1]\",\"1\"]", 2 * 9 * 72, 2 * (98 + 72 + 36)},
        {"aten::convolution", "[[1,4,5,5],[4,2,3,3],[],[],[],[],[],[],[]]",
         "[\"float\",\"float\",\"\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\","
         "\"ScalarList\",\"Scalar\"]",
         "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"True\",\"[1, 1]\",\"2\"]", 2 * 25 * 72,
         4 * (100 + 72 + 4 * 10 * 10)},
        {"aten::linear", "[[2,3,8],[16,8],[16]]",
         "[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\"]", "[\"\",\"\",\"\"]",
         2 * 6 * 8 * 16 + 96, 2 * (48 + 128 + 16 + 96)},
        {"aten::addmm", "[[6],[4,5],[5,6],[],[]]",
         "[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]", "[\"\",\"\",\"\",\"1\",\"1\"]",
         240 + 24, 4 * (6 + 20 + 30 + 24)},
        {"aten::layer_norm", "[[2,8],[],[8],[8],[],[]]",
         "[\"float\",\"ScalarList\",\"float\",\"float\",\"Scalar\",\"Scalar\"]",
         "[\"\",\"[8]\",\"\",\"\",\"1e-05\",\"True\"]", 16 * 7, 4 * (16 + 8 + 8 + 16)},
        {"aten::add_", "[[4,8],[8],[]]", "[\"float\",\"float\",\"Scalar\"]", "[\"\",\"\",\"1\"]",
         32, 4 * (32 + 8 + 32)},
        {"aten::eq", "[[4,8],[]]", "[\"long int\",\"Scalar\"]", "[\"\",\"1\"]", 32, 8 * 32 + 32},
        {"aten::max_pool2d", "[[1,2,7,7],[],[],[],[],[]]",
         "[\"float\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\"]",
         "[\"\",\"[3, 3]\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\"]", 2 * 16 * 9, 4 * (98 + 32)},
        {"aten::cat", "[[[1,4],[3,4]],[]]", "[\"TensorList\",\"Scalar\"]", "[\"\",\"0\"]", 0, -1},
        {"aten::embedding", "[[1000,8],[2,3],[],[],[]]",
         "[\"float\",\"long int\",\"Scalar\",\"Scalar\",\"Scalar\"]",
         "[\"\",\"\",\"-1\",\"False\",\"False\"]", 0, 4 * 48 + 8 * 6 + 4 * 48},
        {"aten::sum", "[[4,8],[],[],[]]", "[\"float\",\"ScalarList\",\"Scalar\",\"\"]",
         "[\"\",\"[-1]\",\"True\",\"\"]", 32, 4 * (32 + 4)},
        {"aten::to", "[[4,8],[],[],[],[]]", "[\"float\",\"Scalar\",\"Scalar\",\"Scalar\",\"\"]",
         "[\"\",\"15\",\"False\",\"False\",\"\"]", 0, 32 * 4 + 32 * 2},
        {"aten::view", "[[4,8],[]]", "[\"float\",\"ScalarList\"]", "[\"\",\"[32]\"]", 0, 0},
        {"aten::scaled_dot_product_attention",
         "[[4,8,128,64],[4,8,128,64],[4,8,128,64],[],[],[],[],[]]",
         "[\"float\",\"float\",\"float\",\"\",\"Scalar\",\"Scalar\",\"\",\"Scalar\"]",
         "[\"\",\"\",\"\",\"\",\"0.\",\"False\",\"\",\"False\"]", 134217728 + 6 * 524288,
         4 * 4 * 262144},
    };
    CHECK(examples);
}

static void test_backward(void **state)
{
    (void)state;
    static const char types[] =
        "[\"float\",\"float\",\"float\",\"ScalarList\",\"ScalarList\",\"ScalarList\","
        "\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\",\"ScalarList\"]";
    static const char dims[] = "[[2,6,5,5],[2,3,6,6],[6,3,4,4],[],[],[],[],[],[],[],[]]";
#define VALUES(mask) \
    "[\"\",\"\",\"\",\"[6]\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\",\"" mask \
    "\"]"
    static const example examples[] = {
        {"aten::convolution_backward", dims, types, VALUES("[True, True, False]"), 57600,
         4 * (300 + 216 + 288 + 216 + 288)},
        {"aten::convolution_backward", dims, types, VALUES("[False, True, False]"), 28800,
         4 * (300 + 216 + 288 + 288)},
        {"aten::convolution_backward", dims, types, VALUES("[False, True, True]"), 28800 + 300,
         4 * (300 + 216 + 288 + 288)},
        /* depthwise: the true gradient, not one over all channels */
        {"aten::convolution_backward", "[[1,8,4,4],[1,8,4,4],[8,1,3,3],[],[],[],[],[],[],[],[]]",
         types,
         "[\"\",\"\",\"\",\"[0]\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"8\","
         "\"[True, True, False]\"]",
         2 * 2 * 16 * 72, 4 * (128 + 128 + 72 + 128 + 72)},
        {"aten::threshold_backward", "[[4,8],[4,8],[]]", "[\"float\",\"float\",\"Scalar\"]",
         "[\"\",\"\",\"0\"]", 32, 4 * 96},
        {"aten::_scaled_dot_product_efficient_attention_backward",
         "[[1,2,4,8],[1,2,4,8],[1,2,4,8],[1,2,4,8]]", "[\"float\",\"float\",\"float\",\"float\"]",
         "[\"\",\"\",\"\",\"\"]", 2 * 32 * 40 + 32 * 12, 4 * 64 * 5},
        {"aten::max_pool2d_with_indices_backward", "[[1,2,4,4],[1,2,8,8],[],[],[],[],[],[1,2,4,4]]",
         "[\"float\",\"float\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\","
         "\"long int\"]",
         "[\"\",\"\",\"[2, 2]\",\"[2, 2]\",\"[0, 0]\",\"[1, 1]\",\"False\",\"\"]", 32,
         4 * 32 + 4 * 128 + 8 * 32 + 4 * 128},
        {"aten::embedding_dense_backward", "[[2,3,8],[2,3],[],[],[]]",
         "[\"float\",\"long int\",\"Scalar\",\"Scalar\",\"Scalar\"]",
         "[\"\",\"\",\"100\",\"-1\",\"False\"]", 48, 4 * 48 + 8 * 6 + 4 * 800},
    };
#undef VALUES
    CHECK(examples);
}

/* Unknown numbers are -1, never 0 and never a guess. */
static void test_unknown(void **state)
{
    (void)state;
    static const example examples[] = {
        {"my::op", "[[4,5]]", "[\"float\"]", "[\"\"]", -1, -1},
        {"aten::conv2d", "[[2,3,6,6],[6,3,4,4],[],[],[],[],[]]", "[\"float\",\"float\"]", "[]", -1,
         -1},
        {"aten::convolution_backward", "[[2,6,5,5],[2,3,6,6],[6,3,4,4]]", "[]", "[]", -1, -1},
        {"aten::mm", "[[4,5],[5,6]]", "[]", "[]", 240, -1},
        {"aten::mm", "[]", "[]", "[]", -1, -1},
        {"aten::mm", "[[4,5]", "[]", "[]", -1, -1},
        {"aten::mm", "[[-4,5],[5,6]]", "[]", "[]", -1, -1},
        {"aten::mm", "[[4294967296,4294967296],[4294967296,4294967296]]", "[]", "[]", -1, -1},
        {"aten::_foreach_mul_", "[[],[]]", "[\"TensorList\",\"Scalar\"]", "[\"\",\"1.\"]", -1, -1},
        {"torch::autograd::AccumulateGrad", "[[4,5]]", "[\"float\"]", "[\"\"]", -1, -1},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        int64_t flops, bytes;
        const example *e = &examples[i];
        if (strchr(e->dims, '[') && strlen(e->dims) == 6)
            continue; /* no JSON: rejected by the reader */
        price(e->name, e->dims, e->types, e->values, &flops, &bytes);
        if (flops != e->flops || bytes != e->bytes)
            fail_msg("%s %s: %lld FLOPs, %lld bytes", e->name, e->dims, (long long)flops,
                     (long long)bytes);
    }
}

/* Arbitrary texts are rejected without harm. */
static void test_hostile_signatures(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "[",
                                        "]",
                                        "[[",
                                        "[[]",
                                        "[[1,]]",
                                        "[[1 2]]",
                                        "[1]",
                                        "{}",
                                        "[\"",
                                        "[\"a",
                                        "[[[[]]]]",
                                        "[[9999999999999999999999]]",
                                        "[[1],[2",
                                        "[null, null]",
                                        "[[[1,2],null,[3]]]"};
    pyro_signature *signature = malloc(sizeof *signature);
    pyro_op_index index;
    pyro_output output;
    assert_non_null(signature);
    assert_true(pyro_op_index_init(&index));
    for (size_t o = 0; o < pyro_op_count; o++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            pyro_price price;
            const pyro_op *op = &pyro_ops[o];
            if (pyro_signature_read(signature, op, texts[i], texts[(i + 1) % 16],
                                    texts[(i + 5) % 16]) &&
                pyro_infer_output(&signature->call, &output))
                pyro_op_price(&signature->call, &price);
        }
    pyro_op_index_free(&index);
    free(signature);
}

/* Of nested ops, the innermost with a rule have the FLOPs, and the rest stays outside. */
static void test_nesting(void **state)
{
    (void)state;
    maker maker;
    static const char mm[] = "\"Input Dims\":[[4,5],[5,6]],\"Input type\":[\"float\",\"float\"]";
    maker_begin(&maker);
    maker_event(&maker, "cpu_op", "aten::matmul", 100, 1, 0, 100, mm);
    maker_event(&maker, "cpu_op", "aten::mm", 100, 1, 10, 50, mm);
    /* a reshape that copies: it has no price, but the copy inside has */
    maker_event(&maker, "cpu_op", "aten::reshape", 100, 1, 200, 100,
                "\"Input Dims\":[[4,5],[]],\"Input type\":[\"float\",\"ScalarList\"]");
    maker_event(&maker, "cpu_op", "aten::clone", 100, 1, 210, 50,
                "\"Input Dims\":[[4,5],[]],\"Input type\":[\"float\",\"Scalar\"]");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    for (size_t i = 0; i < analysis->op_count; i++) {
        const pyro_op_row *row = &analysis->ops[i];
        if (!strcmp(row->name, "aten::matmul")) {
            assert_int_equal(row->flops, 0);
            assert_true(row->flops_per_s < 0);
        }
        if (!strcmp(row->name, "aten::mm")) {
            assert_int_equal(row->flops, 240);
            assert_true(row->flops_per_s > 0);
            assert_string_equal(row->dtype, "float32");
        }
        if (!strcmp(row->name, "aten::clone"))
            assert_int_equal(row->bytes, 160);
    }
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
    cmocka_unit_test(test_unknown), cmocka_unit_test(test_hostile_signatures),
    cmocka_unit_test(test_nesting),
};

UNIT_TESTS(tests, NULL, NULL)
