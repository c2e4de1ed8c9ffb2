/* Tests of graph/sizes.c: requests for other sizes, what the file allows, and their effects. */
#include "graph/model.h"

#include "fail_alloc.h"
#include "priced.h"
#include "unit.h"
#include <stdio.h>

/* Two inputs that share the batch s0; other sizes of the second depend on each other. */
static pyro_model *two_inputs(void)
{
    program p = {0};
    program_range(&p, "s0", 2, 64);
    program_range(&p, "s1", 4, 1000);
    program_input(&p, "image", "s0@2 3 s1@32 2*s1@64");
    program_input(&p, "ids", "s0@2 8*s2@16 5");
    program_parameter(&p, "weight", "conv.weight", "8 3 3 3");
    program_tensor(&p, "out", "s0@2 8 (s1-1)//2+1@16 s1@32");
    program_tensor(&p, "small", "s1-10@22");
    program_node(&p, "aten.conv2d.default", "conv", "input=%image weight=%weight", "%out");
    program_node(&p, "aten.relu.default", "", "self=%ids", "%small");
    return open_program(&p);
}

typedef struct wish {
    const char *input;
    size_t rank;
    int64_t dims[5];
} wish;

static int set(pyro_model *model, wish wish, pyro_error *error)
{
    pyro_error_clear(error);
    return pyro_model_set_shape(model, wish.input, wish.dims, wish.rank, error);
}

static void expect_set(pyro_model *model, wish wish)
{
    pyro_error error;
    if (set(model, wish, &error) < 0)
        fail_msg("%s", error.message);
}

/* The request is rejected with a message that contains `words`, and changes nothing. */
static void expect_refused(pyro_model *model, wish wish, const char *words)
{
    pyro_error error;
    pyro_symbol before[8];
    size_t count = model->exprs.symbol_count;
    assert_true(count <= 8);
    memcpy(before, model->exprs.symbols, count * sizeof *before);
    assert_int_equal(set(model, wish, &error), PYRO_ERROR_ARGUMENT);
    assert_int_equal(error.code, PYRO_ERROR_ARGUMENT);
    if (!strstr(error.message, words))
        fail_msg("'%s' is not in: %s", words, error.message);
    assert_memory_equal(before, model->exprs.symbols, count * sizeof *before);
}

/* The shape of an input from the public API, as text: "2x3x32x64". */
static void expect_shape(pyro_model *model, size_t index, const char *expected)
{
    pyro_input input;
    pyro_error error;
    char text[200] = "";
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_input(model, index, &input, &error), PYRO_OK);
    for (size_t d = 0; d < input.rank; d++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", d ? "x" : "",
                 (long long)input.dims[d]);
    assert_string_equal(text, expected);
}

/* The shape of a node's output in the priced model. */
static void expect_node(pyro_model *model, const char *name, const char *expected)
{
    pyro_cost *cost;
    pyro_error error;
    size_t count;
    pyro_error_clear(&error);
    if (pyro_cost_compute(&cost, model, NULL, &error) < 0)
        fail_msg("%s", error.message);
    const pyro_cost_node *nodes = pyro_cost_nodes(cost, &count);
    const char *shape = NULL;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(nodes[i].name, name))
            shape = nodes[i].shape;
    assert_non_null(shape);
    assert_string_equal(shape, expected);
    pyro_cost_free(cost);
}

static void expect_cost_refused(pyro_model *model, const char *words)
{
    pyro_cost *cost;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), PYRO_ERROR_ARGUMENT);
    if (!strstr(error.message, words))
        fail_msg("'%s' is not in: %s", words, error.message);
}

static void test_as_exported(void **unused)
{
    (void)unused;
    pyro_input input;
    pyro_error error;
    pyro_model *model = two_inputs();
    pyro_error_clear(&error);
    expect_shape(model, 0, "2x3x32x64");
    expect_shape(model, 1, "2x16x5");
    expect_node(model, "out", "2x8x16x32");
    assert_int_equal(pyro_model_input_count(model), 2);
    assert_int_equal(pyro_model_input(model, 0, &input, &error), PYRO_OK);
    assert_string_equal(input.name, "image");
    assert_string_equal(input.dtype, "float32");
    assert_string_equal(input.symbols[0], "s0");
    assert_null(input.symbols[1]);
    assert_string_equal(input.symbols[3], "2*s1");
    assert_int_equal(pyro_model_input(model, 2, &input, &error), PYRO_ERROR_NOT_FOUND);
    pyro_model_close(model);
}

static void test_everything_follows(void **unused)
{
    (void)unused;
    pyro_model *model = two_inputs();
    expect_set(model, (wish){"image", 4, {7, 3, 41, 82}});
    expect_shape(model, 0, "7x3x41x82");
    expect_shape(model, 1, "7x16x5");
    expect_node(model, "out", "7x8x21x41");
    expect_set(model, (wish){"ids", 3, {7, 48, 5}});
    expect_shape(model, 1, "7x48x5");
    pyro_model_close(model);
    model = two_inputs();
    expect_set(model, (wish){NULL, 4, {3, 3, 50, 100}}); /* the first input */
    expect_shape(model, 0, "3x3x50x100");
    pyro_model_close(model);
}

static void test_refusals(void **unused)
{
    (void)unused;
    pyro_model *model = two_inputs();
    expect_refused(model, (wish){"image", 4, {4, 5, 32, 64}},
                   "input 'image': dim 1 is fixed at 3 in the file, not 5 (first used by "
                   "aten.conv2d.default in conv)");
    expect_refused(model, (wish){"image", 4, {65, 3, 32, 64}},
                   "input 'image': dim 0: size s0 must be 1 to 64, not 65");
    expect_refused(model, (wish){"image", 4, {4, 3, 3, 6}}, "size s1 must be 4 to 1000, not 3");
    expect_refused(model, (wish){"image", 4, {4, 3, 32, 65}},
                   "input 'image': dim 3 cannot be 65: it must be of the form 2*s1");
    expect_refused(model, (wish){"image", 4, {4, 3, 32, 66}}, "dim 3 cannot be 66");
    expect_refused(model, (wish){"ids", 3, {4, 17, 5}}, "dim 1 cannot be 17");
    expect_refused(model, (wish){"ids", 3, {4, 16, 6}}, "dim 2 is fixed at 5");
    expect_refused(model, (wish){"image", 3, {4, 3, 32}}, "has 4 dims in the file, not 3");
    expect_refused(model, (wish){"nobody", 1, {4}},
                   "unknown input 'nobody'; the model has image, ids");
    expect_refused(model, (wish){"ids", 3, {-4, 16, 5}}, "dim 0 cannot be -4");
    expect_refused(model, (wish){"image", 4, {4, -3, 32, 64}}, "dim 1 cannot be -3");
    expect_refused(model, (wish){"ids", 3, {4, INT64_MIN, 5}}, "dim 1 cannot be");
    expect_refused(model, (wish){"ids", 3, {4, INT64_MAX, 5}}, "dim 1 cannot be");
    expect_shape(model, 0, "2x3x32x64");
    expect_node(model, "out", "2x8x16x32");
    pyro_model_close(model);
}

static void test_contradiction(void **unused)
{
    (void)unused;
    pyro_model *model = two_inputs();
    expect_set(model, (wish){"image", 4, {7, 3, 41, 82}});
    expect_refused(
        model, (wish){"ids", 3, {8, 16, 5}},
        "input 'ids': dim 0: 8 contradicts another size: the file ties both to s0, which "
        "is 7 already");
    expect_set(model, (wish){"image", 4, {7, 3, 41, 82}}); /* the same again is fine */
    expect_shape(model, 0, "7x3x41x82");
    pyro_model_close(model);
}

/* Export never allows 1 where it saw 2, although the graph is the same. */
static void test_batch_of_one(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_model *model = two_inputs();
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_batch(model, 1, &error), PYRO_OK);
    expect_shape(model, 0, "1x3x32x64");
    expect_shape(model, 1, "1x16x5");
    expect_node(model, "out", "1x8x16x32");
    pyro_model_close(model);
}

static void test_batch(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_model *model = two_inputs();
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_batch(model, 65, &error), PYRO_ERROR_ARGUMENT);
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_batch(model, -1, &error), PYRO_ERROR_ARGUMENT);
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_batch(model, 0, &error), PYRO_ERROR_ARGUMENT);
    pyro_error_clear(&error);
    expect_shape(model, 0, "2x3x32x64");
    assert_int_equal(pyro_model_set_batch(model, 64, &error), PYRO_OK);
    expect_shape(model, 1, "64x16x5");
    pyro_model_close(model);

    program scalar = {0};
    program_input(&scalar, "x", "");
    model = open_program(&scalar);
    assert_int_equal(pyro_model_set_batch(model, 4, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "no input of the model has a batch dim"));
    pyro_model_close(model);

    program fixed = {0};
    program_input(&fixed, "x", "2 8");
    model = open_program(&fixed);
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_batch(model, 4, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "input 'x': dim 0 is fixed at 2 in the file, not 4"));
    assert_non_null(strstr(error.message, "dynamic_shapes"));
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_batch(model, 2, &error), PYRO_OK);
    pyro_model_close(model);
}

/* Inputs whose first dim differs from the first input's are not batched with it. */
static void test_batch_of_other_inputs(void **unused)
{
    (void)unused;
    pyro_error error;
    program p = {0};
    program_input(&p, "x", "s0@2 8");
    program_input(&p, "states", "s5@2 8");
    program_input(&p, "table", "s9@40 8");
    program_input(&p, "fixed", "2 8");
    pyro_model *model = open_program(&p);
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_batch(model, 6, &error), PYRO_OK);
    expect_shape(model, 0, "6x8");
    expect_shape(model, 1, "6x8");
    expect_shape(model, 2, "40x8");
    expect_shape(model, 3, "2x8");
    pyro_model_close(model);
}

static void test_symbols(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_model *model = two_inputs();
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_size(model, "s2", 9, &error), PYRO_OK);
    expect_shape(model, 1, "2x72x5");
    assert_int_equal(pyro_model_set_size(model, "s7", 9, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "unknown size 's7'; the model has: s0, s1"));
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_size(model, "s0", 100, &error), PYRO_ERROR_ARGUMENT);
    pyro_model_close(model);
}

static void test_too_small_and_unworkable(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_model *model = two_inputs();
    expect_set(model, (wish){"image", 4, {2, 3, 9, 18}});
    expect_cost_refused(model, "the input is too small: dim 0 of 'small'");
    pyro_model_close(model);

    program p = {0};
    program_input(&p, "x", "s0@4 8");
    program_tensor(&p, "y", "riddle(s0)@3 8");
    program_tensor(&p, "z", "s0//(s0-4)@7");
    program_tensor(&p, "w", "9223372036854775807*s0-4*9223372036854775807+4@4");
    program_node(&p, "aten.relu.default", "", "self=%x", "%y");
    program_node(&p, "aten.relu.default", "", "self=%y", "%z");
    model = open_program(&p);
    expect_node(model, "y", "3x8"); /* as exported, hints say it */
    expect_node(model, "z", "7");
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_batch(model, 5, &error), PYRO_OK);
    expect_cost_refused(model, "dim 0 of 'y' cannot be computed at these sizes: riddle(s0)");
    pyro_model_close(model);

    program negative = {0};
    program_input(&negative, "x", "s0@-4 8");
    program_node(&negative, "aten.sum.default", "", "self=%x", "");
    model = open_program(&negative);
    expect_cost_refused(model, "dim 0 of 'x'");
    pyro_model_close(model);
}

static void test_assertions(void **unused)
{
    (void)unused;
    pyro_error error;
    program p = {0};
    program_input(&p, "x", "s0@4 8");
    program_number(&p, "even", "Eq(Mod(s0,2),0)@1");
    program_node(&p, "aten._assert_scalar.default", "block.0", "self=@even assert_msg='even!'", "");
    /* The file makes the number; here it is an input of the graph. */
    program_comma(&p.inputs);
    pyro_buf_adds(&p.inputs, "{\"as_sym_int\":{\"as_name\":\"even\"}}");
    pyro_model *model = open_program(&p);
    pyro_cost *cost;
    pyro_error_clear(&error);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), PYRO_OK);
    pyro_cost_free(cost);
    assert_int_equal(pyro_model_set_batch(model, 5, &error), PYRO_OK);
    expect_cost_refused(model, "these sizes break a condition of the model: Eq(Mod(s0,2),0) "
                               "(asserted in layer 'block.0')");
    pyro_model_close(model);
}

static void test_without_memory(void **unused)
{
    (void)unused;
    bool whole = false;
    for (long n = 0; !whole; n++) {
        pyro_model *model = two_inputs();
        pyro_error error;
        pyro_error_clear(&error);
        fail_alloc_after(n);
        int64_t dims[] = {4, 3, 40, 80};
        int status = pyro_model_set_shape(model, "image", dims, 4, &error);
        if (status == PYRO_OK)
            status = pyro_model_set_batch(model, 4, &error);
        whole = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        assert_true(status == PYRO_ERROR_MEMORY || (whole && status == PYRO_OK));
        pyro_model_close(model);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_as_exported),
    cmocka_unit_test(test_everything_follows),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_contradiction),
    cmocka_unit_test(test_batch_of_one),
    cmocka_unit_test(test_batch),
    cmocka_unit_test(test_batch_of_other_inputs),
    cmocka_unit_test(test_symbols),
    cmocka_unit_test(test_too_small_and_unworkable),
    cmocka_unit_test(test_assertions),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
