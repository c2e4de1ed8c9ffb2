/* Tests of graph/cost/walk.c: the caller's rules, subgraphs, views, and what is not counted. */
#include "priced.h"
#include "unit.h"
#include <stdio.h>

/* The arguments of a custom rule, and its result. */
typedef struct asked {
    int answer, calls;
    int64_t macs, flops;
    bool silent;
} asked;

static int answer_rule(void *user, const pyro_op_view *op, int64_t *macs, int64_t *other_flops,
                       pyro_error *error)
{
    asked *asked = user;
    asked->calls++;
    if (strcmp(op->op, "mylib.mix.default"))
        return 0;
    assert_int_equal(op->input_count, 2);
    assert_int_equal(op->output_count, 1);
    assert_string_equal(op->inputs[0].name, "left");
    assert_int_equal(op->inputs[0].rank, 2);
    assert_int_equal(op->inputs[0].dims[1], 8);
    assert_string_equal(op->inputs[0].dtype, "float32");
    assert_false(op->inputs[0].is_weight);
    assert_true(op->inputs[1].is_weight);
    assert_int_equal(op->outputs[0].dims[0], 2);
    *macs = asked->macs;
    *other_flops = asked->flops;
    if (asked->answer < 0 && !asked->silent) {
        error->code = PYRO_ERROR_ARGUMENT;
        snprintf(error->message, sizeof error->message, "no price for mix");
    }
    return asked->answer;
}

static pyro_model *custom_model(void)
{
    program p = {0};
    program_input(&p, "x", "2 8");
    program_parameter(&p, "w", "mix.weight", "8 8");
    program_tensor(&p, "y", "2 8");
    program_tensor(&p, "z", "2 8");
    program_node(&p, "mylib.mix.default", "mix", "left=%x right=%w", "%y");
    program_node(&p, "aten.relu.default", "", "self=%y", "%z");
    return open_program(&p);
}

static void test_custom_rules(void **unused)
{
    (void)unused;
    pyro_model *model = custom_model();
    asked asked = {.answer = 1, .macs = 100, .flops = 7};
    size_t count;
    for (int c = 0; c < PYRO_CONVENTION_COUNT; c++) {
        static const int64_t flops[] = {207 + 16, 200, 100, 100};
        pyro_cost *cost = price(model, (pyro_cost_options){.convention = (pyro_convention)c,
                                                           .rule = answer_rule,
                                                           .rule_user = &asked});
        assert_int_equal(pyro_cost_total(cost)->work.macs, 100);
        assert_int_equal(pyro_cost_total(cost)->work.flops, flops[c]);
        assert_int_equal(find_node(cost, "y")->work.weight_read_bytes, 256);
        assert_int_equal(find_node(cost, "y")->work.written_bytes, 64);
        pyro_cost_uncounted(cost, &count);
        assert_int_equal(count, 0);
        assert_true(pyro_cost_coverage(cost) == 1);
        pyro_cost_free(cost);
    }
    assert_int_equal(asked.calls, 2 * PYRO_CONVENTION_COUNT);

    asked.answer = 0; /* declined, and not in the table either */
    pyro_cost *cost = price(model, (pyro_cost_options){.rule = answer_rule, .rule_user = &asked});
    const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);
    assert_int_equal(count, 1);
    assert_string_equal(uncounted[0].op, "mylib.mix");
    assert_string_equal(uncounted[0].reason, "no rule");
    assert_int_equal(uncounted[0].count, 1);
    assert_true(pyro_cost_coverage(cost) == 0.5);
    pyro_cost_free(cost);

    asked.answer = -3;
    pyro_cost_options options = {.rule = answer_rule, .rule_user = &asked};
    expect_failure(model, options, PYRO_ERROR_FORMAT, "no price for mix");
    asked.silent = true;
    expect_failure(model, options, PYRO_ERROR_FORMAT,
                   "the custom rule failed for 'mylib.mix.default'");
    asked.answer = 1;
    asked.macs = -1;
    expect_failure(model, options, PYRO_ERROR_ARGUMENT, "negative");
    asked.macs = INT64_MAX;
    expect_failure(model, options, PYRO_ERROR_LIMIT, "is too large");
    pyro_model_close(model);
}

/* A linear layer (`factor` outputs per row) or a GELU as the body of a higher-order operator. */
static void add_body(pyro_buf *out, const char *target, const char *weights, const char *result)
{
    program body = {0};
    program_input(&body, "a", "4 16");
    program_input(&body, "w", weights);
    program_tensor(&body, "r", result);
    program_node(&body, target, "inner", "input=%a weight=%w", "%r");
    pyro_buf_adds(out, "{\"as_graph\":{\"graph\":");
    program_add_graph(&body, out);
    pyro_buf_adds(out, "}}");
    program_free(&body);
}

/* A model whose one operator has the bodies in `args`; x is 7x4x16. */
static pyro_model *control_model(const char *target, pyro_buf *args)
{
    program p = {0};
    program_input(&p, "x", "7 4 16");
    program_input(&p, "state", "4 16");
    program_parameter(&p, "w", "inner.weight", "16 16");
    program_tensor(&p, "y", "4 16");
    program_node(&p, target, "outer", args->data, "%y");
    pyro_buf_free(args);
    return open_program(&p);
}

static void test_cond_takes_the_costlier_branch(void **unused)
{
    (void)unused;
    for (int order = 0; order < 2; order++) {
        pyro_buf args = PYRO_BUF_INIT;
        pyro_buf_adds(&args, "=%x =");
        add_body(&args, order ? "aten.linear.default" : "aten.gelu.default", "16 16", "4 16");
        pyro_buf_adds(&args, " =");
        add_body(&args, order ? "aten.gelu.default" : "aten.linear.default", "16 16", "4 16");
        pyro_buf_adds(&args, " =[%state,%w]");
        pyro_model *model = control_model("higher_order.cond", &args);
        for (int c = 0; c < PYRO_CONVENTION_COUNT; c++) {
            size_t count;
            pyro_cost *cost = price(
                model, (pyro_cost_options){.convention = (pyro_convention)c, .depth = -1});
            assert_int_equal(pyro_cost_total(cost)->work.macs, 4 * 16 * 16);
            assert_int_equal(find_node(cost, "r")->work.weight_read_bytes, 1024);
            assert_string_equal(find_node(cost, "r")->layer, "inner");
            assert_string_equal(find_node(cost, "y")->category, "control");
            const char *const *notes = pyro_cost_notes(cost, &count);
            assert_int_equal(count, 1);
            assert_non_null(strstr(notes[0], "cond: only the branch with more FLOPs"));
            pyro_cost_free(cost);
        }
        pyro_model_close(model);
    }
}

/* Attention is nothing to fvcore, and the only thing that counts here. */
static void test_macs_of_cond_in_every_convention(void **unused)
{
    (void)unused;
    program p = {0}, heavy = {0}, light = {0};
    pyro_buf args = PYRO_BUF_INIT;
    program_input(&heavy, "q", "1 1 64 16");
    program_tensor(&heavy, "r", "1 1 64 16");
    program_node(&heavy, "aten.scaled_dot_product_attention.default", "",
                 "query=%q key=%q value=%q", "%r");
    program_input(&light, "q", "1 1 64 16");
    program_tensor(&light, "r", "1 1 64 16");
    program_node(&light, "aten.matmul.default", "", "self=%q other=%q", "%r");
    pyro_buf_adds(&args, "=%q ={\"as_graph\":{\"graph\":");
    program_add_graph(&heavy, &args);
    pyro_buf_adds(&args, "}} ={\"as_graph\":{\"graph\":");
    program_add_graph(&light, &args);
    pyro_buf_adds(&args, "}} =[%q]");
    program_input(&p, "q", "1 1 64 16");
    program_tensor(&p, "y", "1 1 64 16");
    program_node(&p, "higher_order.cond", "", args.data, "%y");
    pyro_model *model = open_program(&p);
    for (int c = 0; c < PYRO_CONVENTION_COUNT; c++) {
        pyro_cost *cost = price(model, (pyro_cost_options){.convention = (pyro_convention)c});
        assert_int_equal(pyro_cost_total(cost)->work.macs, 64 * 64 * 32);
        pyro_cost_free(cost);
    }
    pyro_model_close(model);
    pyro_buf_free(&args);
    program_free(&heavy);
    program_free(&light);
}

static void expect_loop(const char *target, const char *before, const char *after, int64_t times,
                        const char *uncounted_reason)
{
    pyro_buf args = PYRO_BUF_INIT;
    size_t count;
    pyro_buf_addf(&args, "%s=", before);
    add_body(&args, "aten.linear.default", "16 16", "4 16");
    pyro_buf_addf(&args, " %s", after);
    pyro_model *model = control_model(target, &args);
    pyro_cost *cost = price_full(model);
    assert_int_equal(find_node(cost, "r")->times, times);
    assert_int_equal(pyro_cost_total(cost)->work.macs, times * 4 * 16 * 16);
    const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);
    assert_int_equal(count, uncounted_reason != NULL);
    if (uncounted_reason)
        assert_non_null(strstr(uncounted[0].reason, uncounted_reason));
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_loops(void **unused)
{
    (void)unused;
    expect_loop("higher_order.scan", "", "=[%state] =[%x] =[%w]", 7, NULL);
    expect_loop("higher_order.map_impl", "", "=[%x] =[%w]", 7, NULL);
    expect_loop("higher_order.while_loop", "", "=[%state] =[%w]", 1, "how often it runs");
    expect_loop("higher_order.wrap_with_set_grad_enabled", "=false ", "=%state =%w", 1, NULL);
    expect_loop("mylib.with_a_body.default", "", "=%state", 1, NULL);
}

/* A transposed tensor is copied only if it must be contiguous. */
static void test_strided_views(void **unused)
{
    (void)unused;
    program p = {0};
    program_input(&p, "x", "4 8");
    program_tensor(&p, "t", "8 4");
    program_tensor(&p, "u", "8 1 4");
    program_tensor(&p, "f", "32");
    program_tensor(&p, "g", "4 8");
    program_tensor(&p, "d", "32");
    program_node(&p, "aten.transpose.int", "", "self=%x", "%t");
    program_node(&p, "aten.unsqueeze.default", "", "self=%t", "%u");
    program_node(&p, "aten.reshape.default", "", "self=%u", "%f");
    program_node(&p, "aten.reshape.default", "", "self=%f", "%g");
    program_node(&p, "aten.reshape.default", "", "self=%x", "%d");
    pyro_model *model = open_program(&p);
    pyro_cost *cost = price_full(model);
    assert_int_equal(find_node(cost, "f")->work.written_bytes, 128);
    assert_string_equal(find_node(cost, "f")->category, "memory");
    assert_int_equal(find_node(cost, "g")->work.written_bytes, 0);
    assert_int_equal(find_node(cost, "d")->work.written_bytes, 0);
    assert_string_equal(find_node(cost, "d")->category, "view");
    assert_int_equal(pyro_cost_total(cost)->memory_bytes, 256);
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_what_is_not_counted(void **unused)
{
    (void)unused;
    program p = {0};
    program_input(&p, "x", "4 8");
    program_tensor(&p, "a", "4 8");
    program_tensor(&p, "b", "4 8");
    program_tensor(&p, "c", "u0 8");
    program_tensor(&p, "d", "u0 8");
    program_tensor(&p, "e", "4 8");
    program_tensor(&p, "f", "4 8");
    program_node(&p, "mylib.one.default", "", "self=%x", "%a");
    program_node(&p, "mylib.one.default", "", "self=%a", "%b");
    program_node(&p, "aten.masked_select.default", "", "self=%x", "%c");
    program_node(&p, "aten.relu.default", "", "self=%c", "%d");
    program_node(&p, "aten.conv2d.default", "", "input=%x", "%e");
    program_node(&p, "math.floor", "", "=%x", "%f"); /* makes a tensor: no host computation */
    pyro_model *model = open_program(&p);
    pyro_cost *cost = price_full(model);
    size_t count;
    const pyro_uncounted *rows = pyro_cost_uncounted(cost, &count);
    assert_int_equal(count, 5);
    assert_string_equal(rows[0].op, "mylib.one");
    assert_string_equal(rows[0].reason, "no rule");
    assert_int_equal(rows[0].count, 2);
    assert_string_equal(rows[1].op, "aten.masked_select");
    assert_non_null(strstr(rows[1].reason, "size depends on data: u0"));
    assert_string_equal(rows[2].op, "aten.relu");
    assert_string_equal(rows[3].op, "aten.conv2d");
    assert_string_equal(rows[3].reason, "its arguments are not understood");
    assert_string_equal(rows[4].op, "math.floor");
    assert_true(pyro_cost_coverage(cost) == 0);
    assert_string_equal(find_node(cost, "a")->category, "uncounted");
    pyro_cost_free(cost);

    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_size(model, "u0", 3, &error), PYRO_OK);
    cost = price_full(model);
    assert_string_equal(find_node(cost, "d")->shape, "3x8");
    assert_int_equal(find_node(cost, "d")->work.flops, 24);
    pyro_cost_uncounted(cost, &count);
    assert_int_equal(count, 3);
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_custom_rules),
    cmocka_unit_test(test_cond_takes_the_costlier_branch),
    cmocka_unit_test(test_macs_of_cond_in_every_convention),
    cmocka_unit_test(test_loops),
    cmocka_unit_test(test_strided_views),
    cmocka_unit_test(test_what_is_not_counted),
};

UNIT_TESTS(tests, NULL, NULL)
