/* Tests of trace/joins/layers.c: instances, their paths, and layers that annotations name. */
#include "trace/joins/internal.h"

#include "trace_builder.h"
#include "unit.h"
#include <stddef.h>
#include <stdio.h>

static pyro_joins join(pyro_trace *trace, const char *layers_from)
{
    pyro_analysis_options options = {.step = -1, .layers_from = layers_from};
    pyro_joins joins;
    assert_int_equal(pyro_joins_make(&joins, trace, &options, NULL), PYRO_OK);
    return joins;
}

static void frame(pyro_trace *trace, const char *name, int64_t start, int64_t duration)
{
    build_slice(trace, PYRO_EVENT_PYTHON, 0, name, start, duration);
}

static void instances_have_paths(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    for (int step = 0; step < 2; step++) {
        frame(trace, "nn.Module: Net_0", step * 1000, 500);
        frame(trace, "nn.Module: Block_0", step * 1000 + 10, 100);
        frame(trace, "nn.Module: ReLU_0", step * 1000 + 20, 10);
        frame(trace, "nn.Module: Block_1", step * 1000 + 200, 100);
        frame(trace, "nn.Module: ReLU_0", step * 1000 + 210, 10);
        frame(trace, "nn.Module: Odd_name_12", step * 1000 + 230, 10);
    }
    pyro_joins joins = join(trace, NULL);
    static const char *const paths[] = {"Net_0", "Net_0.Block_0", "Net_0.Block_0.ReLU_0",
                                        "Net_0.Block_1", "Net_0.Block_1.Odd_name_12"};
    static const char *const classes[] = {"Net", "Block", "ReLU", "Block", "Odd_name"};
    assert_int_equal(joins.layer_count, 5);
    assert_int_equal(joins.call_count, 12);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(joins.layers[i].path, paths[i]);
        assert_string_equal(joins.layers[i].class_name, classes[i]);
    }
    assert_int_equal(joins.layers[2].depth, 2);
    assert_int_equal(joins.calls[4].layer, 2);
    assert_int_equal(joins.calls[4].parent, 3);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* Deep nesting makes no path long, and paths stay unique. */
static void deep_instances_have_short_paths(void **state)
{
    (void)state;
    enum { LEVELS = 20000 };
    pyro_trace *trace = build_trace(1, 0);
    for (int i = 0; i < LEVELS; i++) {
        char name[64];
        snprintf(name, sizeof name, "nn.Module: Block_%d", i);
        frame(trace, name, i, 4 * LEVELS - 2 * i);
    }
    pyro_joins joins = join(trace, NULL);
    assert_int_equal(joins.layer_count, LEVELS);
    assert_int_equal(joins.layers[LEVELS - 1].depth, LEVELS - 1);
    assert_true(strlen(joins.layers[LEVELS - 1].path) < 600);
    assert_true(joins.arena.total_bytes < (size_t)64 << 20);
    pyro_joins_free(&joins);
    built_free(trace);
}

static void annotate(pyro_trace *trace, const char *name, int64_t start, int64_t duration)
{
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, name, start, duration);
}

/* Labels of torchtitan need no option, and wrappers do not show. */
static void labels_name_layers(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    annotate(trace, "block::_orig_mod.layers.23", 0, 500);
    annotate(trace, "attention::layers.23._checkpoint_wrapped_module.attention", 10, 50);
    annotate(trace, "embedding::tok_embeddings", 600, 50);
    annotate(trace, "FSDP::pre_forward (layers.0)", 700, 50);
    annotate(trace, "c10d::allreduce.0", 800, 50);
    pyro_joins joins = join(trace, NULL);
    static const char *const paths[] = {"layers", "layers.23", "layers.23.attention",
                                        "tok_embeddings"};
    assert_int_equal(joins.layer_count, 4);
    assert_int_equal(joins.call_count, 3);
    assert_true(joins.layers_from_annotations);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(joins.layers[i].path, paths[i]);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* Frames say more than labels, and a namespace without an index is no label. */
static void other_annotations_name_no_layers(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    annotate(trace, "data::load_batch", 0, 500);
    annotate(trace, "block::layers two", 10, 50);
    pyro_joins joins = join(trace, NULL);
    assert_int_equal(joins.layer_count, 0);
    pyro_joins_free(&joins);
    annotate(trace, "block::layers.0", 600, 50);
    frame(trace, "nn.Module: Net_0", 700, 50);
    joins = join(trace, NULL);
    assert_int_equal(joins.layer_count, 1);
    assert_string_equal(joins.layers[0].path, "Net_0");
    pyro_joins_free(&joins);
    built_free(trace);
}

static void annotations_name_layers(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 1);
    frame(trace, "nn.Module: Net_0", 0, 500);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "fwd|layer1.0.conv1", 10, 50);
    build_op(trace, 0, "aten::conv2d", 15, 20, 1, 0);
    uint32_t kernel = build_kernel(trace, 0, 2, "conv", 20, 30, 5);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "fwd|layer1.0.conv1", 100, 50);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "other", 200, 50);
    build_op(trace, 1, "ConvolutionBackward0", 600, 20, 1, 1);
    uint32_t backward = build_kernel(trace, 1, 2, "conv", 610, 620, 5);
    pyro_joins joins = join(trace, "^fwd\\|(.*)$");
    static const char *const paths[] = {"layer1", "layer1.0", "layer1.0.conv1"};
    assert_int_equal(joins.layer_count, 3);
    assert_int_equal(joins.call_count, 2);
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(joins.layers[i].path, paths[i]);
        assert_int_equal(joins.layers[i].parent, i ? i - 1 : PYRO_NO_LAYER);
    }
    assert_int_equal(joins.calls[joins.call[kernel]].layer, 2);
    assert_int_equal(joins.call[backward], joins.call[kernel]);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* A pattern without matches keeps the frames; an invalid pattern is an error. */
static void expressions_that_do_not_serve(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    frame(trace, "nn.Module: Net_0", 0, 500);
    build_slice(trace, PYRO_EVENT_ANNOTATION, 0, "epoch", 10, 50);
    pyro_joins joins = join(trace, "^layer:(.*)");
    assert_int_equal(joins.layer_count, 1);
    assert_string_equal(joins.layers[0].path, "Net_0");
    pyro_joins_free(&joins);
    pyro_analysis_options options = {.step = -1, .layers_from = "(unclosed"};
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_joins_make(&joins, trace, &options, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "(unclosed"));
    built_free(trace);
}

/* The oldest traces have the user's ranges among the ops. */
static void annotations_may_be_ops(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 1);
    build_op(trace, 0, "layer:conv1", 10, 50, 0, 0);
    build_op(trace, 0, "aten::conv2d", 15, 20, 1, 0);
    uint32_t kernel = build_kernel(trace, 0, 1, "conv", 20, 30, 5);
    pyro_joins joins = join(trace, "^layer:(.*)$");
    assert_int_equal(joins.layer_count, 1);
    assert_string_equal(joins.layers[0].path, "conv1");
    assert_int_equal(joins.call[kernel], 0);
    pyro_joins_free(&joins);
    built_free(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(instances_have_paths),
    cmocka_unit_test(labels_name_layers),
    cmocka_unit_test(other_annotations_name_no_layers),
    cmocka_unit_test(deep_instances_have_short_paths),
    cmocka_unit_test(annotations_name_layers),
    cmocka_unit_test(expressions_that_do_not_serve),
    cmocka_unit_test(annotations_may_be_ops),
};

UNIT_TESTS(tests, NULL, NULL)
