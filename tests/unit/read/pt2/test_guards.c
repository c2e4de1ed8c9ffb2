/* Tests of read/pt2/guards.c: sizes that would change the exported control flow are rejected. */
#include "graph/model.h"

#include "base/containers/buf.h"
#include "fail_alloc.h"
#include "unit.h"
#include <pyrometer/pyrometer.h>
#include <string.h>

/*
 * A ReLU of x, whose sizes are s0 (2 at export, at least 2) and 2*s1 (8 at export). Memory runs out
 * after that many allocations, or never if that is negative.
 */
static pyro_model *open_failing(const char *guards, long fail_after, pyro_error *error)
{
    pyro_buf json = PYRO_BUF_INIT;
    pyro_model *model = NULL;
    pyro_buf_addf(
        &json,
        "{\"graph_module\":{\"graph\":{\"inputs\":[{\"as_tensor\":{\"name\":\"x\"}}],\"outputs\":[],"
        "\"nodes\":[{\"target\":\"torch.ops.aten.relu.default\",\"inputs\":[{\"name\":\"self\","
        "\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}],\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],"
        "\"metadata\":{}}],\"tensor_values\":{\"x\":%s,\"y\":%s}},\"signature\":{\"input_specs\":"
        "[{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}]}},\"range_constraints\":"
        "{\"s0\":{\"min_val\":2,\"max_val\":null}},\"schema_version\":{\"major\":8,\"minor\":1},"
        "\"torch_version\":\"2.13.0\",\"guards_code\":%s}",
        "{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_str\":\"s0\",\"hint\":{\"as_int\":2}}},"
        "{\"as_expr\":{\"expr_str\":\"Mul(2,s1)\",\"hint\":{\"as_int\":8}}}]}",
        "{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_str\":\"s0\",\"hint\":{\"as_int\":2}}},"
        "{\"as_expr\":{\"expr_str\":\"Mul(2,s1)\",\"hint\":{\"as_int\":8}}}]}",
        guards);
    assert_false(json.failed);
    pyro_error_clear(error);
    fail_alloc_after(fail_after);
    int status = pyro_model_open_memory(&model, json.data, json.length, "guards.json", error);
    pyro_buf_free(&json);
    return status < 0 ? NULL : model;
}

static pyro_model *open_with(const char *guards, pyro_error *error)
{
    return open_failing(guards, -1, error);
}

/* Whether the model can be priced at those sizes; if not, the reason is in `error`. */
static bool is_priced(const char *guards, int64_t rows, int64_t columns, pyro_error *error)
{
    pyro_model *model = open_with(guards, error);
    pyro_cost *cost = NULL;
    const int64_t dims[] = {rows, columns};
    assert_non_null(model);
    assert_int_equal(pyro_model_set_shape(model, "x", dims, 2, error), PYRO_OK);
    int status = pyro_cost_compute(&cost, model, NULL, error);
    pyro_cost_free(cost);
    pyro_model_close(model);
    assert_true(status == PYRO_OK || status == PYRO_ERROR_ARGUMENT);
    return status == PYRO_OK;
}

static void test_a_broken_guard_is_refused(void **state)
{
    (void)state;
    pyro_error error;
    const char *guards = "[\"L['x'].size()[1] >= 6 and L['x'].size()[0] < 9\"]";
    assert_true(is_priced(guards, 2, 8, &error));
    assert_true(is_priced(guards, 8, 6, &error));
    assert_false(is_priced(guards, 2, 4, &error));
    assert_string_equal(error.message,
                        "at these sizes the model would run other operators than those in the "
                        "file, which requires (Mul(2,s1)) >= 6 & (s0) < 9");
    assert_false(is_priced(guards, 9, 8, &error));
}

static void test_expressions_of_symbols_are_guards_too(void **state)
{
    (void)state;
    pyro_error error;
    assert_true(is_priced("[\"Eq(Mod(s1,2),0)\"]", 2, 12, &error));
    assert_false(is_priced("[\"Eq(Mod(s1,2),0)\"]", 2, 10, &error));
    assert_true(is_priced("[\"s0 == 3 or s1 == 4\"]", 3, 10, &error));
    assert_false(is_priced("[\"s0 == 3 or s1 == 4\"]", 4, 10, &error));
}

static void test_what_is_about_layout_is_left_out(void **state)
{
    (void)state;
    pyro_error error;
    assert_true(is_priced("[\"(L['x'].size()[0]) != 1\", \"s1 - 3 != 0\"]", 1, 6, &error));
    /* Export uses no symbol for 1: the guard holds with 2 instead, so it is about that size. */
    assert_true(is_priced("[\"s0*s1 > s1\"]", 1, 8, &error));
    assert_false(is_priced("[\"s0*s1 > 20\"]", 1, 8, &error));
}

static void test_what_is_not_understood_is_left_out(void **state)
{
    (void)state;
    pyro_error error;
    assert_true(is_priced("[\"L['x'].stride()[0] > 9\", \"L['z'].size()[0] > 9\"]", 3, 4, &error));
    assert_true(is_priced("[\"L['x'].size()[7] > 9\", \"not s0\", \"L['x\", \"\"]", 3, 4, &error));
}

static void test_other_values_are_refused(void **state)
{
    (void)state;
    pyro_error error;
    assert_null(open_with("[1]", &error));
    assert_int_equal(error.code, PYRO_ERROR_FORMAT);
    assert_null(open_with("{}", &error));
    assert_int_equal(error.code, PYRO_ERROR_FORMAT);
}

static void test_without_memory(void **state)
{
    (void)state;
    bool whole = false;
    for (long n = 0; !whole; n++) {
        pyro_error error;
        pyro_model *model = open_failing("[\"L['x'].size()[1] >= 6\"]", n, &error);
        whole = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        assert_true(whole ? model != NULL : model || error.code == PYRO_ERROR_MEMORY);
        pyro_model_close(model);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_broken_guard_is_refused),
    cmocka_unit_test(test_expressions_of_symbols_are_guards_too),
    cmocka_unit_test(test_what_is_about_layout_is_left_out),
    cmocka_unit_test(test_what_is_not_understood_is_left_out),
    cmocka_unit_test(test_other_values_are_refused),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
