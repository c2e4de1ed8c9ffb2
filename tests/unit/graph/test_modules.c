/* Tests of graph/modules.c: the tree built from dotted paths and module stacks. */
#include "graph/model.h"

#include "base/containers/buf.h"
#include "fail_alloc.h"
#include "unit.h"
#include <string.h>
#include <time.h>

static uint32_t of_stack(pyro_model *model, const char *stack)
{
    uint32_t module = pyro_model_place_of_stack(model, stack, strlen(stack)).module;
    assert_int_not_equal(module, PYRO_NO_VALUE);
    return module;
}

/* Checks the path, class and depth of the module that a stack leads to. */
static void expect(const char *stack, const char *path, const char *class_name, uint32_t depth)
{
    pyro_model *model = pyro_model_new();
    assert_non_null(model);
    const pyro_module *module = &model->modules[of_stack(model, stack)];
    assert_string_equal(module->path, path);
    assert_string_equal(module->class_name, class_name);
    assert_int_equal(module->depth, depth);
    pyro_model_close(model);
}

static void test_paths(void **unused)
{
    (void)unused;
    pyro_model *model = pyro_model_new();
    assert_int_equal(pyro_model_module(model, "", 0), 0);
    uint32_t leaf = pyro_model_module(model, "layer1.0.conv1", 14);
    assert_int_equal(model->module_count, 4);
    assert_int_equal(model->modules[leaf].depth, 3);
    uint32_t block = model->modules[leaf].parent;
    assert_string_equal(model->modules[block].path, "layer1.0");
    assert_string_equal(model->modules[model->modules[block].parent].path, "layer1");
    assert_int_equal(model->modules[model->modules[block].parent].parent, 0);
    assert_int_equal(pyro_model_module(model, "layer1.0", 8), block);
    assert_int_equal(pyro_model_module(model, "layer1.0.conv1", 14), leaf);
    uint32_t sibling = pyro_model_module(model, "layer1.0.conv10", 15);
    assert_int_not_equal(sibling, leaf);
    assert_int_equal(model->modules[sibling].parent, block);
    pyro_model_close(model);
}

static void test_odd_paths(void **unused)
{
    (void)unused;
    static const char *const paths[] = {".", "..", ".a", "a.", "a..b", "...a...", " ", "a b.c/d"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        pyro_model *model = pyro_model_new();
        uint32_t module = pyro_model_module(model, paths[i], strlen(paths[i]));
        assert_string_equal(model->modules[module].path, paths[i]);
        for (uint32_t m = module; m; m = model->modules[m].parent)
            assert_true(model->modules[m].depth ==
                        model->modules[model->modules[m].parent].depth + 1);
        pyro_model_close(model);
    }
}

static void test_stacks(void **unused)
{
    (void)unused;
    expect("", "", "", 0);
    expect("L__self__,,test.Model", "", "Model", 0);
    expect("L__self__,,torchvision.models.resnet.ResNet;L__self__conv1,conv1,"
           "torch.nn.modules.conv.Conv2d",
           "conv1", "Conv2d", 1);
    expect("L__self__,,M;L__self__layer1,layer1,torch.nn.modules.container.Sequential;"
           "L__self__layer1.0,layer1.0,m.Block;L__self__layer1.0.conv1,layer1.0.conv1,m.Conv2d",
           "layer1.0.conv1", "Conv2d", 3);
    expect("L__self__,,M;L__self__relu@1,relu@1,torch.nn.modules.activation.ReLU", "relu", "ReLU",
           1);
    expect("L__self__,,M;L__self__a@b,a@b,m.C", "a@b", "C", 1);
    expect("L__self__,,M;L__self__@12,@12,m.C", "", "M", 0);
    expect("L__self__,,M;L__self__a,a,NoDots", "a", "NoDots", 1);
    expect("L__self__,,M;L__self__a,a,m.outer.<locals>.C", "a", "C", 1);
    expect("L__self__,,M;L__self__a,a,", "a", "", 1);
}

/* Strict export writes paths as Python finds them, and keys that are numbers. */
static void test_strict_paths(void **unused)
{
    (void)unused;
    expect("L__self__,L['self'],test.Model", "", "Model", 0);
    expect("L__self__,L['self'],M;L__self__layer1,L['self'].layer1[0]._modules['conv1'],m.Conv2d",
           "layer1.0.conv1", "Conv2d", 3);
    expect("L['self'],L['self'],M;L['self'].a,L['self']._modules['a'],m.A", "a", "A", 1);
    expect("94230,,test.Model;94231,layer1.0,m.Block", "layer1.0", "Block", 2);
}

/* A path may contain the separator of entries; "key,path,class" then repeats it. */
static void test_odd_characters(void **unused)
{
    (void)unused;
    expect("L__self__,,M;L__self__a;b,a;b,m.C", "a;b", "C", 1);
    expect("L__self__,,M;L__self__a,b,a,b,m.C", "a,b", "C", 1);
    expect("L__self__,,M;L__self__caf\xc3\xa9,caf\xc3\xa9,m.C", "caf\xc3\xa9", "C", 1);
    expect("L__self__,,M;L__self__a b,a b,m.C", "a b", "C", 1);
}

static void test_damaged_stacks(void **unused)
{
    (void)unused;
    static const char *const stacks[] = {
        ",",
        ",,",
        ",,,,,,",
        ";",
        ";;;;",
        ";,;,;,",
        "L__self__",
        "L__self__,",
        "L['self'",
        "L['self']",
        "L['self'],L['self",
        "L['self'],L['self']._modules[,m",
        "x,L['self'][[[...'']]],c",
        "L__self__,@,c",
        "L__self__,@@1@2,c",
        "a,b",
        "a,b,c,d,e;f,g,h",
        "\xff,\xfe,\xfd",
        "9,;9,;9,",
        "L['self'],L['self']_modules[,c",
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        pyro_model *model = pyro_model_new();
        uint32_t module = of_stack(model, stacks[i]);
        assert_true(module < model->module_count);
        assert_int_equal(of_stack(model, stacks[i]), module);
        pyro_model_close(model);
    }
}

static void test_first_class_wins(void **unused)
{
    (void)unused;
    pyro_model *model = pyro_model_new();
    uint32_t first = of_stack(model, "L__self__,,M;L__self__a,a,m.First");
    uint32_t again = of_stack(model, "L__self__,,M;L__self__a,a,m.Second");
    assert_int_equal(first, again);
    assert_string_equal(model->modules[first].class_name, "First");
    assert_string_equal(model->modules[0].class_name, "M");
    pyro_model_close(model);
}

/* Memory and time must stay linear in the size of the file. */
static void test_bombs(void **unused)
{
    (void)unused;
    static const struct {
        const char *begin, *repeated, *end;
        size_t count;
    } bombs[] = {
        {"L__self__,", ".", ",m.C", 1000000},
        {"L__self__,", "a.", ",m.C", 1000000},
        {"L__self__,", ";", ",m.C", 1000000},
        {"L__self__,", ";;,", ",m.C", 1000000},
        {"L__self__,", ",", ",m.C", 1000000},
        {"L__self__,L['self']", "[", ",m.C", 1000000},
        {"L__self__,L['self']", "_modules[", ",m.C", 200000},
        {"", "L__self__,a,b;", "", 100000},
        {"", "1,", "", 1000000},
        {"", "1;", "", 1000000},
        {"L__self__,a,", "m.", "C", 1000000},
    };
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        pyro_buf stack = PYRO_BUF_INIT;
        pyro_buf_adds(&stack, bombs[i].begin);
        for (size_t n = 0; n < bombs[i].count; n++)
            pyro_buf_adds(&stack, bombs[i].repeated);
        pyro_buf_adds(&stack, bombs[i].end);
        pyro_model *model = pyro_model_new();
        clock_t begin = clock();
        of_stack(model, stack.data);
        if (clock() - begin > 5 * CLOCKS_PER_SEC)
            fail_msg("%s %s took too long", bombs[i].begin, bombs[i].repeated);
        assert_true(model->arena.total_bytes < 8 * stack.length + (1 << 20));
        pyro_model_close(model);
        pyro_buf_free(&stack);
    }
}

/* The dots at the end of a long path: every ancestor would be almost as long. */
static void test_long_path_with_late_dots(void **unused)
{
    (void)unused;
    pyro_buf path = PYRO_BUF_INIT;
    pyro_model *model = pyro_model_new();
    pyro_buf_fill(&path, 'a', 1 << 20);
    for (int i = 0; i < 500; i++)
        pyro_buf_adds(&path, ".b");
    uint32_t module = pyro_model_module(model, path.data, path.length);
    assert_int_not_equal(module, PYRO_NO_VALUE);
    assert_int_equal(strlen(model->modules[module].path), path.length);
    assert_true(model->arena.total_bytes < (size_t)8 << 20);
    pyro_model_close(model);
    pyro_buf_free(&path);
}

static void test_without_memory(void **unused)
{
    (void)unused;
    static const char stack[] = "L__self__,L['self'],M;L__self__a,L['self'].a[0]._modules['b'],m.C";
    bool whole = false;
    for (long n = 0; !whole; n++) {
        fail_alloc_after(n);
        pyro_model *model = pyro_model_new();
        uint32_t module = PYRO_NO_VALUE;
        if (model)
            module = pyro_model_place_of_stack(model, stack, sizeof stack - 1).module;
        whole = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        assert_true(!whole || module != PYRO_NO_VALUE);
        if (module != PYRO_NO_VALUE)
            assert_string_equal(model->modules[module].path, "a.0.b");
        pyro_model_close(model);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_paths),
    cmocka_unit_test(test_odd_paths),
    cmocka_unit_test(test_stacks),
    cmocka_unit_test(test_strict_paths),
    cmocka_unit_test(test_odd_characters),
    cmocka_unit_test(test_damaged_stacks),
    cmocka_unit_test(test_first_class_wins),
    cmocka_unit_test(test_bombs),
    cmocka_unit_test(test_long_path_with_late_dots),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
