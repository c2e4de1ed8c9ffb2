/* Tests of graph/embedding_bounds.c: tables indexed by position, and the longest valid input. */
#include "graph/embedding_bounds.h"

#include "priced.h"
#include "unit.h"

/* Tokens of length s0; "base" counts them from 0, and "mask" says which are not 1. */
static void begin(program *p)
{
    *p = (program){0};
    program_range(p, "s0", 1, 100000);
    program_input(p, "ids", "2 s0@4");
    program_parameter(p, "rows", "table.weight", "16 8");
    program_number(p, "length", "s0@4");
    program_tensor(p, "base", "s0@4");
    program_tensor(p, "mask", "2 s0@4");
    program_tensor(p, "pos", "2 s0@4");
    program_tensor(p, "out", "2 s0@4 8");
    program_node(p, "aten.sym_size.int", "", "self=%ids dim=1", "@length");
    program_node(p, "aten.arange.default", "", "end=@length", "%base");
    program_node(p, "aten.ne.Scalar", "", "self=%ids other=1", "%mask");
}

static int check_length(pyro_model *model, int64_t length, pyro_error *error)
{
    const int64_t dims[] = {2, length};
    pyro_error_clear(error);
    assert_int_equal(pyro_model_set_shape(model, "ids", dims, 2, error), PYRO_OK);
    return pyro_model_check_indices(model, error);
}

/* Frees the program; `longest` is the longest valid input, 0: no limit. */
static void expect_longest(program *p, int64_t longest, const char *what)
{
    pyro_error error;
    pyro_model *model = open_program(p);
    if (check_length(model, longest ? longest : 5000, &error) < 0)
        fail_msg("%s: %s", what, error.message);
    pyro_model_close(model);
}

static void expect_refused(program *p, int64_t length, const char *words)
{
    pyro_error error;
    pyro_model *model = open_program(p);
    assert_int_equal(check_length(model, length, &error), PYRO_ERROR_ARGUMENT);
    if (!strstr(error.message, words))
        fail_msg("'%s' is not in: %s", words, error.message);
    pyro_model_close(model);
}

/* The op that computes indices from positions, and the longest input for a table of 16 rows. */
static const struct {
    const char *target, *args;
    int64_t longest;
} ways[] = {
    {"aten.unsqueeze.default", "self=%base dim=0", 16},
    {"aten.add.Tensor", "self=%base other=2", 14},
    {"aten.add.Tensor", "self=%base other=@length", 8},
    {"aten.sub.Tensor", "self=%base other=3", 19},
    {"aten.mul.Tensor", "self=%base other=3", 6},
    {"aten.mul.Tensor", "self=%base other=%mask", 16},
    {"aten.cumsum.default", "self=%mask dim=1", 15},
    {"aten.slice.Tensor", "self=%base dim=0 start=2 end=9223372036854775807", 16},
    {"aten.slice.Tensor", "self=%base dim=0 start=2", 16},
    {"aten.arange.start", "start=3 end=@length", 16},
    {"aten.clamp.default", "self=%base min=0", 16},
    /* Unknown indices, or indices bounded for any length of the input. */
    {"aten.slice.Tensor", "self=%base dim=0 start=0 end=4", 0},
    {"aten.clamp.default", "self=%base min=0 max=15", 0},
    {"aten.remainder.Scalar", "self=%base other=16", 0},
    {"aten.add.Tensor", "self=%base other=%base", 0},
    {"aten.add.Tensor", "self=%base other=1 alpha=-9", 0},
    {"aten.cumsum.default", "self=%base dim=0", 0},
    {"aten.arange.start_step", "start=0 end=@length step=1000", 0},
    {"aten.clone.default", "self=%ids", 0},
    {"aten.zeros_like.default", "self=%ids", 0},
};

static void test_ways_of_counting(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int is_too_long = 0; is_too_long < (ways[i].longest ? 2 : 1); is_too_long++) {
            program p;
            begin(&p);
            program_node(&p, ways[i].target, "", ways[i].args, "%pos");
            program_node(&p, "aten.embedding.default", "table", "weight=%rows indices=%pos",
                         "%out");
            if (is_too_long)
                expect_refused(&p, ways[i].longest + 1, "rows 0 to 15");
            else
                expect_longest(&p, ways[i].longest, ways[i].args);
        }
}

static void test_ways_of_looking_up(void **unused)
{
    (void)unused;
    static const struct {
        const char *target, *args;
    } lookups[] = {
        {"aten.index.Tensor", "self=%rows indices=[%base]"},
        {"aten.index_select.default", "self=%rows dim=0 index=%base"},
        {"aten.gather.default", "self=%rows dim=-2 index=%base"},
    };
    for (size_t i = 0; i < sizeof lookups / sizeof *lookups; i++) {
        program p;
        begin(&p);
        program_node(&p, lookups[i].target, "table", lookups[i].args, "%out");
        expect_longest(&p, 16, lookups[i].target);
        begin(&p);
        program_node(&p, lookups[i].target, "table", lookups[i].args, "%out");
        expect_refused(&p, 17, "looks up row 16 of 'rows' (layer 'table')");
    }
}

/* Overwritten values become unknown; operators with Python's names write nothing. */
static void test_written_over(void **unused)
{
    (void)unused;
    program p;
    begin(&p);
    program_tensor(&p, "other", "s0@4");
    program_node(&p, "aten.fill_.Scalar", "", "self=%base value=0", "%other");
    program_node(&p, "aten.embedding.default", "", "weight=%rows indices=%base", "%out");
    expect_longest(&p, 0, "written over");
    begin(&p);
    program_node(&p, "aten.copy_.default", "", "self=%base src=%ids", "");
    program_node(&p, "aten.embedding.default", "", "weight=%rows indices=%base", "%out");
    expect_longest(&p, 0, "written over, without a result");
    begin(&p);
    program_tensor(&p, "other", "s0@4");
    program_node(&p, "aten.__and__.Tensor", "", "self=%base other=%base", "%other");
    program_node(&p, "aten.embedding.default", "", "weight=%rows indices=%base", "%out");
    expect_refused(&p, 17, "row 16");
}

static void test_cost_refuses(void **unused)
{
    (void)unused;
    const int64_t dims[] = {2, 17};
    pyro_error error;
    program p;
    begin(&p);
    program_node(&p, "aten.embedding.default", "table", "weight=%rows indices=%base", "%out");
    pyro_model *model = open_program(&p);
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_shape(model, "ids", dims, 2, &error), PYRO_OK);
    expect_failure(model, (pyro_cost_options){.depth = -1}, PYRO_ERROR_ARGUMENT, "row 16");
    pyro_model_close(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_ways_of_counting),
    cmocka_unit_test(test_ways_of_looking_up),
    cmocka_unit_test(test_written_over),
    cmocka_unit_test(test_cost_refuses),
};

UNIT_TESTS(tests, NULL, NULL)
