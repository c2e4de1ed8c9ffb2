/* Tests of trace/joins/layers_of_model.c: instances of a trace against the modules of a model. */
#include "trace/joins/internal.h"

#include "graph/model.h"
#include "trace_builder.h"
#include "unit.h"
#include <stddef.h>
#include <stdio.h>

/* Lines of "class" at a depth, for a trace, or of "path class", for a model. */
typedef struct line {
    int depth;
    const char *name;
} line;

typedef struct module_line {
    const char *path, *class_name;
} module_line;

static pyro_model *make_model(const module_line *lines, size_t count)
{
    pyro_model *model = pyro_model_new();
    assert_non_null(model);
    for (size_t i = 0; i < count; i++) {
        uint32_t module = pyro_model_module(model, lines[i].path, strlen(lines[i].path));
        model->modules[module].class_name = lines[i].class_name;
    }
    return model;
}

/* Instances in the order of their calls, nested by depth. */
static pyro_trace *make_trace(const line *lines, size_t count)
{
    pyro_trace *trace = build_trace(1, 0);
    for (size_t i = 0; i < count; i++) {
        size_t end = i + 1;
        while (end < count && lines[end].depth > lines[i].depth)
            end++;
        build_slice(trace, PYRO_EVENT_PYTHON, 0, lines[i].name, (int64_t)i * 100,
                    (int64_t)(end - i) * 100 - lines[i].depth - 1);
    }
    return trace;
}

static void check(const line *lines, size_t count, const module_line *modules, size_t module_count,
                  const char *const *paths)
{
    pyro_trace *trace = make_trace(lines, count);
    pyro_analysis_options options = {.step = -1, .model = make_model(modules, module_count)};
    pyro_joins joins;
    assert_int_equal(pyro_joins_make(&joins, trace, &options, NULL), PYRO_OK);
    assert_int_equal(joins.layer_count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(joins.layers[i].path, paths[i]);
    pyro_joins_free(&joins);
    pyro_model_close(options.model);
    built_free(trace);
}

#define CHECK(lines, modules, paths) \
    check(lines, sizeof(lines) / sizeof *(lines), modules, sizeof(modules) / sizeof *(modules), \
          paths)

static const module_line transformer[] = {
    {"", "Net"},
    {"embed", "Embedding"},
    {"blocks.0", "Block"},
    {"blocks.0.norm", "LayerNorm"},
    {"blocks.0.q", "Linear"},
    {"blocks.0.k", "Linear"},
    {"blocks.1", "Block"},
    {"blocks.1.norm", "LayerNorm"},
    {"blocks.1.q", "Linear"},
    {"blocks.1.k", "Linear"},
    {"head", "Linear"},
};

/* A module list is never called and has no frame; an identity has no node in the model. */
static void lists_are_skipped(void **state)
{
    (void)state;
    static const line lines[] = {
        {0, "nn.Module: Net_0"},       {1, "nn.Module: Embedding_0"}, {1, "nn.Module: Block_0"},
        {2, "nn.Module: LayerNorm_0"}, {2, "nn.Module: Linear_0"},    {2, "nn.Module: Identity_0"},
        {2, "nn.Module: Linear_1"},    {1, "nn.Module: Block_1"},     {2, "nn.Module: LayerNorm_1"},
        {2, "nn.Module: Linear_2"},    {2, "nn.Module: Linear_3"},    {1, "nn.Module: Linear_4"},
        {0, "nn.Module: MSELoss_0"},
    };
    static const char *const paths[] = {
        "",
        "embed",
        "blocks.0",
        "blocks.0.norm",
        "blocks.0.q",
        "blocks.0.Identity_0",
        "blocks.0.k",
        "blocks.1",
        "blocks.1.norm",
        "blocks.1.q",
        "blocks.1.k",
        "head",
        "MSELoss_0",
    };
    CHECK(lines, transformer, paths);
}

/* Wrappers keep their own names, and modules inside keep the model's. */
static void wrappers_are_skipped(void **state)
{
    (void)state;
    static const line lines[] = {
        {0, "nn.Module: DistributedDataParallel_0"},
        {1, "nn.Module: Net_0"},
        {2, "nn.Module: Embedding_0"},
        {2, "nn.Module: CheckpointWrapper_0"},
        {3, "nn.Module: FSDPBlock_0"},
        {4, "nn.Module: LayerNorm_0"},
        {4, "nn.Module: Linear_0"},
        {4, "nn.Module: Linear_1"},
        {2, "nn.Module: Linear_2"},
    };
    static const char *const paths[] = {
        "DistributedDataParallel_0",
        "",
        "embed",
        "CheckpointWrapper_0",
        "blocks.0",
        "blocks.0.norm",
        "blocks.0.q",
        "blocks.0.k",
        "head",
    };
    CHECK(lines, transformer, paths);
}

/* Only part of the model runs, or the model runs inside a larger one, or as a subclass. */
static void parts_and_subclasses_fit(void **state)
{
    (void)state;
    static const line part[] = {
        {0, "nn.Module: Block_0"}, {1, "nn.Module: LayerNorm_0"}, {1, "nn.Module: Linear_0"}};
    static const char *const part_paths[] = {"blocks.0", "blocks.0.norm", "blocks.0.q"};
    CHECK(part, transformer, part_paths);
    static const line subclass[] = {
        {0, "nn.Module: MyNet_0"}, {1, "nn.Module: Embedding_0"}, {1, "nn.Module: Linear_0"}};
    static const char *const subclass_paths[] = {"", "embed", "head"};
    CHECK(subclass, transformer, subclass_paths);
}

/* A different model gives no names, or few, and no path twice. */
static void other_models_do_no_harm(void **state)
{
    (void)state;
    static const module_line other[] = {{"", "Other"}, {"A_0", "Conv2d"}};
    static const line lines[] = {{0, "nn.Module: Conv2d_0"}, {0, "nn.Module: A_0"}};
    static const char *const paths[] = {"A_0", "A_0#2"};
    CHECK(lines, other, paths);
}

/* Thousands of unmatched children on both sides take little time. */
static void wide_trees_are_bounded(void **state)
{
    (void)state;
    enum { WIDTH = 20000 };
    pyro_trace *trace = build_trace(1, 0);
    pyro_model *model = pyro_model_new();
    char text[64];
    for (int i = 0; i < WIDTH; i++) {
        snprintf(text, sizeof text, "nn.Module: %s_%d", i % 2 ? "A" : "B", i);
        build_slice(trace, PYRO_EVENT_PYTHON, 0, text, i * 10, 5);
        snprintf(text, sizeof text, "m%d", i);
        uint32_t module = pyro_model_module(model, text, strlen(text));
        model->modules[module].class_name = i % 3 ? "C" : "A";
    }
    pyro_analysis_options options = {.step = -1, .model = model};
    pyro_joins joins;
    assert_int_equal(pyro_joins_make(&joins, trace, &options, NULL), PYRO_OK);
    assert_int_equal(joins.layer_count, WIDTH);
    pyro_joins_free(&joins);
    pyro_model_close(model);
    built_free(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(lists_are_skipped),        cmocka_unit_test(wrappers_are_skipped),
    cmocka_unit_test(parts_and_subclasses_fit), cmocka_unit_test(other_models_do_no_harm),
    cmocka_unit_test(wide_trees_are_bounded),
};

UNIT_TESTS(tests, NULL, NULL)
