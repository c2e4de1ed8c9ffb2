/* Tests of the ONNX reader as a whole: costs of small files, and damaged ones. */
#include "read/onnx/onnx.h"

#include "fail_alloc.h"
#include "unit.h"
#include <pyrometer/pyrometer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    char *data;
    size_t size;
} bytes;

static const char *file_path(const char *name)
{
    static char path[4096];
    const char *folder = getenv("PYRO_TEST_FILES");
    snprintf(path, sizeof path, "%s/onnx/%s", folder ? folder : "tests/files", name);
    return path;
}

static bytes read_file(const char *name)
{
    bytes out = {NULL, 0};
    FILE *file = fopen(file_path(name), "rb");
    if (!file)
        fail_msg("%s is missing", file_path(name));
    fseek(file, 0, SEEK_END);
    out.size = (size_t)ftell(file);
    rewind(file);
    out.data = malloc(out.size + 1);
    assert_int_equal(fread(out.data, 1, out.size, file), out.size);
    fclose(file);
    return out;
}

/* The MACs of a model, or the negative status of a failure, which must come with its reason. */
static int64_t macs_of(const void *data, size_t size, pyro_error *error)
{
    pyro_model *model;
    pyro_cost *cost = NULL;
    pyro_error_clear(error);
    int64_t status = pyro_model_open_memory(&model, data, size, "test.onnx", error);
    if (status == PYRO_OK) {
        status = pyro_cost_compute(&cost, model, NULL, error);
        if (status == PYRO_OK)
            status = pyro_cost_total(cost)->work.macs;
        pyro_cost_free(cost);
        pyro_model_close(model);
    }
    if (status < 0 && (error->code != status || !error->message[0]))
        fail_msg("%lld, '%s'", (long long)status, error->message);
    return status;
}

static void test_good_files(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        int64_t macs;
    } files[] = {
        {"good-1-layers.onnx", 8 * 27 * 16 * 16 + 80},
        {"good-3-functions.onnx", 2 * 6 * 6 * 6},
        {"good-4-control.onnx", (1 + 5 + 7) * 4 * 4 * 4},
        {"good-5-quantized.onnx", 4 * 16 * 8},
        {"good-6-external.onnx", 1000 * 1000},
        {"good-7-oldest.onnx", 8 * 27 * 16 * 16 + 80},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bytes file = read_file(files[i].name);
        pyro_error error;
        if (macs_of(file.data, file.size, &error) != files[i].macs)
            fail_msg("%s: %lld MACs; %s", files[i].name,
                     (long long)macs_of(file.data, file.size, &error), error.message);
        free(file.data);
    }
}

/* A shape that the graph computes follows the user's sizes. */
static void test_sizes(void **unused)
{
    (void)unused;
    static const int64_t dims[] = {7, 6, 4}, wrong[] = {7, 5, 4};
    pyro_model *model;
    pyro_cost *cost;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_open(&model, file_path("good-2-computed-shapes.onnx"), &error), 0);
    assert_int_equal(pyro_model_set_shape(model, "x", dims, 3, &error), 0);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), 0);
    assert_int_equal(pyro_cost_total(cost)->work.macs, 7 * 24 * 5);
    pyro_cost_free(cost);
    pyro_model_close(model);
    assert_int_equal(pyro_model_open(&model, file_path("good-2-computed-shapes.onnx"), &error), 0);
    assert_int_equal(pyro_model_set_shape(model, "x", wrong, 3, &error), 0);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "do not match"));
    pyro_model_close(model);
}

static void test_quantized_tensors(void **unused)
{
    (void)unused;
    pyro_model *model;
    pyro_cost *cost;
    pyro_error error;
    size_t count;
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_open(&model, file_path("good-5-quantized.onnx"), &error), 0);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), 0);
    const pyro_cost_node *nodes = pyro_cost_nodes(cost, &count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(nodes[i].op, "onnx.MatMul")) { /* one byte per value */
            assert_int_equal(nodes[i].work.activation_read_bytes, 4 * 16);
            assert_int_equal(nodes[i].work.weight_read_bytes, 16 * 8);
            assert_int_equal(nodes[i].work.written_bytes, 4 * 8);
        }
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_bad_files(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *words;
    } files[] = {
        {"bad-1-truncated.onnx", "truncated"},
        {"bad-2-cycle.onnx", "used before it is made"},
        {"bad-3-made-twice.onnx", "made twice"},
        {"bad-4-recursive-function.onnx", "calls itself"},
        {"bad-5-exponential-functions.onnx", "calls of functions"},
        {"bad-6-outside.onnx", "outside the folder"},
        {"bad-7-absurd-dims.onnx", "too large"},
        {"bad-8-deep.onnx", "nested more than"},
        {"bad-9-old.onnx", "opset 6"},
        {"bad-10-mismatch.onnx", "do not match"},
        {"bad-11-no-graph.onnx", "without a graph"},
        {"bad-12-loop.onnx", "runs 4611686018427387904 times"},
        {"bad-12-tile.onnx", "does not fit in 64 bits"},
        {"bad-12-reshape.onnx", "negative"},
        {"bad-12-stride.onnx", "'stride' has 0"},
        {"bad-12-groups.onnx", "'groups' must be 1 or more"},
        {"bad-12-dilation.onnx", "'dilation' has -1"},
        {"bad-12-padding.onnx", "padding"},
        {"bad-12-pool.onnx", "'stride' has 0"},
        {"bad-12-kernel.onnx", "'kernel_size' has 0"},
        {"bad-12-block.onnx", "'blocksize' must be 1 or more"},
        {"bad-12-shape.onnx", "negative"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bytes file = read_file(files[i].name);
        pyro_error error;
        assert_true(macs_of(file.data, file.size, &error) < 0);
        if (!strstr(error.message, files[i].words))
            fail_msg("%s: '%s' is not in: %s", files[i].name, files[i].words, error.message);
        free(file.data);
    }
}

/* No cut and no flipped bit crashes, and no cut before the list of functions is read. */
static void test_damage(void **unused)
{
    (void)unused;
    static const char *const names[] = {"good-3-functions.onnx", "good-4-control.onnx"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bytes file = read_file(names[i]);
        pyro_error error;
        for (size_t cut = 0; cut + 40 < file.size; cut++) {
            char *copy = malloc(cut + 1);
            memcpy(copy, file.data, cut);
            if (macs_of(copy, cut, &error) >= 0 && i > 0)
                fail_msg("%s cut at byte %zu was read", names[i], cut);
            free(copy);
        }
        for (size_t bit = 0; bit < 8 * file.size; bit++) {
            file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << bit % 8);
            macs_of(file.data, file.size, &error);
            file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << bit % 8);
        }
        free(file.data);
    }
}

static void test_without_memory(void **unused)
{
    (void)unused;
    static const char *const names[] = {"good-1-layers.onnx", "good-3-functions.onnx",
                                        "good-4-control.onnx"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bytes file = read_file(names[i]);
        bool whole = false;
        for (long n = 0; !whole; n++) {
            pyro_model *model;
            pyro_cost *cost;
            pyro_error error;
            pyro_error_clear(&error);
            fail_alloc_after(n);
            int status = pyro_model_open_memory(&model, file.data, file.size, "x", &error);
            if (status == PYRO_OK) {
                status = pyro_cost_compute(&cost, model, NULL, &error);
                if (status == PYRO_OK)
                    pyro_cost_free(cost);
                pyro_model_close(model);
            }
            whole = fail_alloc_failures() == 0;
            fail_alloc_after(-1);
            if (whole && status != PYRO_OK)
                fail_msg("%s: %s", names[i], error.message);
        }
        free(file.data);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_good_files),
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_quantized_tensors),
    cmocka_unit_test(test_bad_files),
    cmocka_unit_test(test_damage),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
