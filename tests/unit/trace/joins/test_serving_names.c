/* Tests of trace/joins/serving_names.c: both grammars, and names that only look like them. */
#include "trace/joins/joins.h"

#include "unit.h"

static void check_load(const pyro_serving_load *load, int64_t requests, int64_t sq, int64_t sk,
                       int64_t sqsq, int64_t sqsk)
{
    assert_int_equal(load->requests, requests);
    assert_int_equal(load->sq, sq);
    assert_int_equal(load->sk, sk);
    assert_int_equal(load->sqsq, sqsq);
    assert_int_equal(load->sqsk, sqsk);
}

static void names_of_vllm(void **state)
{
    (void)state;
    pyro_serving_mark mark;
    assert_true(pyro_parse_serving("execute_context_3(700)_generation_2(2)", &mark));
    assert_int_equal(mark.kind, PYRO_SERVING_MIXED);
    check_load(&mark.context, 3, 700, -1, -1, -1);
    check_load(&mark.generation, 2, 2, -1, -1, -1);
    assert_true(pyro_parse_serving("execute_context_1(888_788544)_generation_0(0)", &mark));
    assert_int_equal(mark.kind, PYRO_SERVING_PREFILL);
    check_load(&mark.context, 1, 888, -1, 788544, -1);
    check_load(&mark.generation, 0, 0, 0, 0, 0);
    assert_true(pyro_parse_serving("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32("
                                   "sq32sk32785sqsq32sqsk32785)",
                                   &mark));
    assert_int_equal(mark.kind, PYRO_SERVING_DECODE);
    assert_false(mark.is_sglang);
    check_load(&mark.generation, 32, 32, 32785, 32, 32785);
}

static void names_of_sglang(void **state)
{
    (void)state;
    pyro_serving_mark mark;
    assert_true(pyro_parse_serving("step[EXTEND bs=1 toks=1025]", &mark));
    assert_int_equal(mark.kind, PYRO_SERVING_PREFILL);
    check_load(&mark.context, 1, 1025, -1, -1, -1);
    check_load(&mark.generation, 0, 0, 0, 0, 0);
    assert_true(pyro_parse_serving(
        "step[DECODE bs=64 g_sq=64 g_sqsq=64 g_sqsk=100032 g_sk=100032 new=1]", &mark));
    assert_int_equal(mark.kind, PYRO_SERVING_DECODE);
    assert_true(mark.is_sglang);
    check_load(&mark.generation, 64, 64, 100032, 64, 100032);
    assert_true(pyro_parse_serving("step[TARGET_VERIFY bs=2]", &mark));
    assert_int_equal(mark.kind, PYRO_SERVING_VERIFY);
    check_load(&mark.generation, 2, -1, -1, -1, -1);
    assert_true(pyro_parse_serving("step[MIXED bs=3 c=1 g=2 c_sq=9 g_sq=2]", &mark));
    check_load(&mark.context, 1, 9, -1, -1, -1);
    check_load(&mark.generation, 2, 2, -1, -1, -1);
}

static void other_names(void **state)
{
    static const char *const names[] = {
        "",
        "execute_model",
        "execute_context_1(888)",
        "execute_context_(1)_generation_2(2)",
        "execute_context_1(1)_generation_2(2)x",
        "execute_context_0(0)_generation_0(0)",
        "execute_context_1(9999999999999999999999)_generation_2(2)",
        "step[1]",
        "step[DECODE]",
        "step[DECODE bs=]",
        "step[DECODE bs=4",
        "step[DECODE bs=4]x",
        "step[IDLE bs=0]",
        "steps",
    };
    (void)state;
    pyro_serving_mark mark;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (pyro_parse_serving(names[i], &mark))
            fail_msg("'%s' is no step", names[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_of_vllm),
    cmocka_unit_test(names_of_sglang),
    cmocka_unit_test(other_names),
};

UNIT_TESTS(tests, NULL, NULL)
