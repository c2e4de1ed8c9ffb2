/* Tests of which calls are nodes: repeated blocks, leaves, functions. */
#include "dataflow/granularity.h"

#include "flow_maker.h"
#include "unit.h"
#include <stdio.h>

/* A module with one leaf that computes. */
static uint32_t inner(pyro_program *program, uint32_t parent, const char *path,
                      const char *class_name)
{
    char leaf[64] = "";
    uint32_t call = make_call(program, parent, path, class_name);
    strcat(strcat(leaf, path), ".fc");
    make_step(program, make_call(program, call, leaf, "Linear"), "aten::linear", 4, 1, NO_MORE);
    return call;
}

static void expect_nodes(pyro_program *program, pyro_granularity granularity, const char *names)
{
    pyro_dataflow *graph = make_graph(program, granularity);
    expect_graph(graph, names, "");
    pyro_dataflow_free(graph);
}

static void test_blocks_of_a_list(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    make_step(program, make_call(program, 0, "stem", "Conv2d"), "aten::conv2d", 4, 1, NO_MORE);
    inner(program, 0, "blocks.0", "Block"); /* the list itself is never called */
    inner(program, 0, "blocks.1", "Block");
    inner(program, 0, "head", "Head"); /* one of its kind: opened */
    expect_nodes(program, PYRO_GRANULARITY_MODULE, "stem blocks.0 blocks.1 head.fc");
    expect_nodes(program, PYRO_GRANULARITY_LAYER, "stem blocks.0.fc blocks.1.fc head.fc");
    expect_nodes(program, PYRO_GRANULARITY_OP,
                 "stem/conv2d blocks.0.fc/linear blocks.1.fc/linear head.fc/linear");
    pyro_program_free(program);
}

static void test_a_class_that_is_a_block_is_one_everywhere(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    uint32_t stage = make_call(program, 0, "a", "Sequential");
    inner(program, stage, "a.0", "Block");
    stage = make_call(program, 0, "b", "Sequential");
    inner(program, stage, "b.0", "Block");
    inner(program, stage, "b.1", "Block");
    expect_nodes(program, PYRO_GRANULARITY_MODULE, "a.0 b.0 b.1");
    pyro_program_free(program);
}

static void test_the_outermost_block_counts(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    for (int i = 0; i < 2; i++) {
        const char *paths[] = {"layers.0", "layers.1"};
        char expert[64];
        uint32_t layer = make_call(program, 0, paths[i], "Layer");
        for (char e = '0'; e < '2'; e++) {
            snprintf(expert, sizeof expert, "%s.experts.%c", paths[i], e);
            inner(program, layer, expert, "Expert");
        }
    }
    expect_nodes(program, PYRO_GRANULARITY_MODULE, "layers.0 layers.1");
    pyro_program_free(program);
}

static void test_attributes_of_one_class(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    inner(program, 0, "down1", "Down");
    inner(program, 0, "down2", "Down");
    expect_nodes(program, PYRO_GRANULARITY_MODULE, "down1 down2");
    pyro_program_free(program);

    /* An encoder and a decoder of one class contain the blocks: they are opened. */
    program = make_program();
    for (int i = 0; i < 2; i++) {
        const char *stacks[] = {"encoder", "decoder"};
        char block[64];
        uint32_t stack = make_call(program, 0, stacks[i], "Stack");
        for (char b = '0'; b < '2'; b++) {
            snprintf(block, sizeof block, "%s.block.%c", stacks[i], b);
            inner(program, stack, block, "Block");
        }
    }
    expect_nodes(program, PYRO_GRANULARITY_MODULE,
                 "encoder.block.0 encoder.block.1 decoder.block.0 decoder.block.1");
    pyro_program_free(program);
}

/* Three stages that contain pairs: the block is what repeats more often. */
static void test_attributes_that_hold_less(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    for (int i = 0; i < 3; i++) {
        const char *stages[] = {"stage1", "stage2", "stage3"};
        char pair[64];
        uint32_t stage = make_call(program, 0, stages[i], "Stage");
        for (char b = '0'; b < '2'; b++) {
            snprintf(pair, sizeof pair, "%s.branch.%c", stages[i], b);
            inner(program, stage, pair, "Conv");
        }
    }
    expect_nodes(program, PYRO_GRANULARITY_MODULE, "stage1 stage2 stage3");
    pyro_program_free(program);
}

static void test_a_model_that_is_a_leaf(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    make_step(program, 0, "aten::relu", 4, 1, NO_MORE);
    expect_nodes(program, PYRO_GRANULARITY_MODULE, "(model)");
    pyro_program_free(program);
}

static void test_nothing_runs_in_an_identity(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    make_call(program, 0, "identity", "Identity");
    make_step(program, make_call(program, 0, "act", "ReLU"), "aten::relu", 4, 1, NO_MORE);
    expect_nodes(program, PYRO_GRANULARITY_LAYER, "act");
    pyro_program_free(program);
}

static void test_functions(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    uint32_t layer = make_call(program, 0, "attention", "Attention");
    uint32_t several = make_function(program, layer, "torch.nn.functional.attend");
    make_step(program, several, "aten::linear", 4, 1, NO_MORE);
    make_step(program, several, "aten::softmax", 4, 1, NO_MORE);
    make_step(program, make_function(program, layer, "torch.nn.functional.relu"), "aten::relu", 4,
              1, NO_MORE);
    make_function(program, layer, "torch.nn.functional.nothing");
    expect_nodes(program, PYRO_GRANULARITY_OP, "attention/attend attention/relu");
    expect_nodes(program, PYRO_GRANULARITY_LAYER, "attention");
    pyro_dataflow *graph;
    pyro_dataflow_options aten = {PYRO_GRANULARITY_OP, PYRO_LEVEL_ATEN};
    assert_int_equal(pyro_dataflow_build(&graph, program, &aten, NULL), PYRO_OK);
    expect_graph(graph, "attention/linear attention/softmax attention/relu", "");
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_blocks_of_a_list),
    cmocka_unit_test(test_a_class_that_is_a_block_is_one_everywhere),
    cmocka_unit_test(test_the_outermost_block_counts),
    cmocka_unit_test(test_attributes_of_one_class),
    cmocka_unit_test(test_attributes_that_hold_less),
    cmocka_unit_test(test_a_model_that_is_a_leaf),
    cmocka_unit_test(test_nothing_runs_in_an_identity),
    cmocka_unit_test(test_functions),
};

UNIT_TESTS(tests, NULL, NULL)
