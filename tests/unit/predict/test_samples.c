/* Tests of predict/samples.c: which ops of a trace become samples, and with which times. */
#include "predict/samples.h"

#include "analyze_maker.h"

#define MM \
    "\"Input Dims\":[[1024,1024],[1024,1024]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]," \
    "\"Concrete Inputs\":[\"\",\"\"]"
#define LINEAR \
    "\"Input Dims\":[[1024,1024],[1024,1024],[]],\"Input type\":[\"float\",\"float\",\"\"]," \
    "\"Concrete Inputs\":[\"\",\"\",\"\"]"

static void op(maker *maker, const char *name, int64_t start_ns, int64_t duration_ns,
               const char *args)
{
    maker_event(maker, "cpu_op", name, 100, 1, start_ns, duration_ns, args);
}

static int learn(maker *maker, pyro_efficiency_table *table, const char *chip, pyro_learnt *learnt,
                 pyro_error *error)
{
    pyro_error_clear(error);
    maker_analyze(maker, NULL);
    return pyro_efficiency_learn(table, maker->trace, chip, learnt, error);
}

static void test_median_of_device_times(void **state)
{
    (void)state;
    static const int64_t times[] = {30000, 10000, 90000};
    pyro_efficiency_table *table = pyro_efficiency_new();
    pyro_learnt learnt;
    pyro_error error;
    maker maker;
    size_t count;

    maker_begin(&maker);
    for (int i = 0; i < 3; i++) {
        int64_t at = 200000 * i;
        op(&maker, "aten::mm", at, 20000, MM);
        maker_kernel(&maker, "gemm_a", at + 20000, times[i] - 4000, at + 1000);
        maker_kernel(&maker, "gemm_b", at + 150000, 4000, at + 3000);
    }
    assert_int_equal(learn(&maker, table, NULL, &learnt, &error), PYRO_OK);
    assert_string_equal(learnt.chip, "H200 SXM");
    assert_int_equal(learnt.samples, 1);
    assert_int_equal(learnt.calls, 3);
    assert_int_equal(learnt.time_ns, 130000);
    assert_true(learnt.on_device);
    const pyro_efficiency_row *rows = pyro_efficiency_rows(table, &count);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].least_ns, 30000);
    maker_end(&maker);
    pyro_efficiency_free(table);
}

static void test_the_outermost_op_owns_the_time(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    pyro_learnt learnt;
    pyro_error error;
    maker maker;
    size_t count;

    maker_begin(&maker);
    op(&maker, "aten::linear", 0, 40000, LINEAR);
    op(&maker, "aten::mm", 5000, 20000,
       "\"Input Dims\":[[1024,1024],[1024,1024]],\"Input type\":[\"float\",\"float\"],"
       "\"Concrete Inputs\":[\"\",\"\"]");
    maker_kernel(&maker, "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_tensor16x8x8_kernel", 30000, 50000,
                 6000);
    assert_int_equal(learn(&maker, table, NULL, &learnt, &error), PYRO_OK);
    const pyro_efficiency_row *rows = pyro_efficiency_rows(table, &count);
    assert_int_equal(count, 1);
    assert_string_equal(pyro_efficiency_dtype_name(rows[0].dtype), "tf32");
    assert_int_equal(rows[0].most_ns, 50000);
    maker_end(&maker);
    pyro_efficiency_free(table);
}

/* Of a block of projections and attention, the parts are samples. */
static void test_a_fused_block_is_its_parts(void **state)
{
    (void)state;
    static const char block[] =
        "\"Input Dims\":[[8,197,768],[8,197,768],[8,197,768],[],[],[2304,768],[2304],[768,768],"
        "[768],[],[],[],[]],\"Input type\":[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\","
        "\"float\",\"float\",\"float\",\"float\",\"\",\"Scalar\",\"Scalar\",\"\"],"
        "\"Concrete Inputs\":[\"\",\"\",\"\",\"768\",\"12\",\"\",\"\",\"\",\"\",\"\",\"False\","
        "\"True\",\"\"]";
    pyro_efficiency_table *table = pyro_efficiency_new();
    pyro_learnt learnt;
    pyro_error error;
    maker maker;
    size_t count;

    maker_begin(&maker);
    op(&maker, "aten::_native_multi_head_attention", 0, 60000, block);
    op(&maker, "aten::linear", 5000, 20000, LINEAR);
    maker_kernel(&maker, "gemm", 70000, 50000, 6000);
    assert_int_equal(learn(&maker, table, NULL, &learnt, &error), PYRO_OK);
    const pyro_efficiency_row *rows = pyro_efficiency_rows(table, &count);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].most_ns, 50000);
    assert_int_equal(rows[0].sizes[PYRO_SIZE_M], 20); /* of the linear layer */
    maker_end(&maker);
    pyro_efficiency_free(table);
}

static void test_impossible_times_are_left_out(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    pyro_learnt learnt;
    pyro_error error;
    maker maker;

    maker_begin(&maker);
    op(&maker, "aten::mm", 0, 20000, MM); /* at least 2.2 us on an H200 */
    maker_kernel(&maker, "gemm", 20000, 1000, 1000);
    assert_int_equal(learn(&maker, table, NULL, &learnt, &error), PYRO_ERROR_UNSUPPORTED);
    assert_int_equal(learnt.impossible, 1);
    assert_non_null(strstr(error.message, "missing"));
    maker_end(&maker);
    pyro_efficiency_free(table);
}

static void test_traces_that_say_too_little(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    pyro_learnt learnt;
    pyro_error error;
    maker maker;

    maker_begin(&maker);
    op(&maker, "aten::mm", 0, 20000, "");
    maker_kernel(&maker, "gemm", 20000, 10000, 1000);
    assert_int_equal(learn(&maker, table, NULL, &learnt, &error), PYRO_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "shapes"));
    maker_end(&maker);

    maker_begin(&maker); /* on a processor that the trace does not name */
    op(&maker, "aten::mm", 0, 900000, MM);
    assert_int_equal(learn(&maker, table, NULL, &learnt, &error), PYRO_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "--chip"));
    assert_int_equal(learn(&maker, table, "my processor", &learnt, &error), PYRO_OK);
    assert_string_equal(learnt.chip, "my processor");
    assert_false(learnt.on_device);
    maker_end(&maker);
    pyro_efficiency_free(table);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_median_of_device_times),
    cmocka_unit_test(test_the_outermost_op_owns_the_time),
    cmocka_unit_test(test_a_fused_block_is_its_parts),
    cmocka_unit_test(test_impossible_times_are_left_out),
    cmocka_unit_test(test_traces_that_say_too_little),
};

UNIT_TESTS(tests, NULL, NULL)
