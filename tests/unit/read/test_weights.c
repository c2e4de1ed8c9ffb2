/* Tests of files that are only weights: safetensors, GGUF and archives of torch. */
#include "read/weights.h"

#include "unit.h"
#include <pyrometer/pyrometer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *file_path(const char *name)
{
    static char path[4096];
    const char *folder = getenv("PYRO_TEST_FILES");
    snprintf(path, sizeof path, "%s/weights/%s", folder ? folder : "tests/files", name);
    return path;
}

static void expect_totals(const char *name, int64_t values, int64_t bytes)
{
    pyro_model *model;
    pyro_cost *cost;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_model_open(&model, file_path(name), &error) < 0)
        fail_msg("%s: %s", name, error.message);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), 0);
    assert_int_equal(pyro_cost_total(cost)->work.params, values);
    assert_int_equal(pyro_cost_param_bytes(cost), bytes);
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_good_files(void **unused)
{
    (void)unused;
    expect_totals("good-1.safetensors", 68, 144);
    /* Q4_K: 144 bytes, Q6_K: 210 bytes per 256 values */
    expect_totals("good-2.gguf", 256 * 8 + 256 * 16 + 256, 8 * 144 + 16 * 210 + 256 * 4);
    /* One weight with two names; what the code declares as a buffer, and running statistics. */
    expect_totals("good-4-script.pt", 32, 128);
    expect_totals("good-5-state.pth", 24, 48);
}

/* Metadata that describes a decoder gives its graph; the bytes are those of the blocks. */
static void test_graph(void **unused)
{
    (void)unused;
    enum { HIDDEN = 64, INNER = 128, VOCABULARY = 100, NARROW = 32, TOKENS = 128 };
    int64_t four_bits = VOCABULARY * HIDDEN + 2 * HIDDEN * HIDDEN + HIDDEN * NARROW +
                        2 * HIDDEN * INNER;
    int64_t eight_bits = VOCABULARY * HIDDEN + HIDDEN * NARROW + HIDDEN * INNER;
    expect_totals("good-3-graph.gguf", four_bits + eight_bits + 3 * HIDDEN,
                  four_bits / 32 * 18 + eight_bits / 32 * 34 + 3 * HIDDEN * 4);
    pyro_model *model;
    pyro_cost *cost;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_open(&model, file_path("good-3-graph.gguf"), &error), 0);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), 0);
    /* All matrices but the table, and scores and their sums of all heads. */
    int64_t matrices = four_bits + eight_bits - VOCABULARY * HIDDEN;
    assert_int_equal(pyro_cost_total(cost)->work.macs,
                     TOKENS * matrices + 2 * TOKENS * TOKENS * HIDDEN);
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_bad_files(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *words;
    } files[] = {
        {"bad-1-truncated.safetensors", "truncated"},
        {"bad-2-header.safetensors", "header"},
        {"bad-3-offsets.safetensors", "offsets"},
        {"bad-4-overlap.safetensors", "overlap"},
        {"bad-5-type.safetensors", "type"},
        {"bad-6-truncated.gguf", "truncated"},
        {"bad-7-unknown-type.gguf", "unknown type 99"},
        {"bad-8-version.gguf", "version 9"},
        {"bad-9-blocks.gguf", "whole blocks"},
        {"bad-10-storage.pth", "unknown type"},
        {"bad-11-sizes.pth", "too large"},
        {"bad-12-data.gguf", "truncated"},
        {"bad-13-overlap.gguf", "overlap"},
        {"bad-14-alignment.gguf", "alignment"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        pyro_model *model;
        pyro_error error;
        pyro_error_clear(&error);
        assert_true(pyro_model_open(&model, file_path(files[i].name), &error) < 0);
        if (!strstr(error.message, files[i].words))
            fail_msg("%s: '%s' is not in: %s", files[i].name, files[i].words, error.message);
    }
}

/* Every cut is refused, and no flipped bit of a header crashes. */
static void test_damage(void **unused)
{
    (void)unused;
    static const char *const names[] = {"good-1.safetensors", "good-2.gguf", "good-3-graph.gguf",
                                        "good-4-script.pt", "good-5-state.pth"};
    enum { HEADER = 1200, DATA_STEP = 97 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static char data[65536], copy[65536];
        FILE *file = fopen(file_path(names[i]), "rb");
        assert_non_null(file);
        size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        assert_in_range(size, 1, sizeof data - 1);
        size_t header = size < HEADER ? size : HEADER;
        for (size_t change = 0; change < size + 8 * header;
             change += change < header || change >= size ? 1 : DATA_STEP) {
            pyro_model *model;
            pyro_error error;
            pyro_error_clear(&error);
            size_t length = change < size ? change : size, bit = change - size;
            memcpy(copy, data, size);
            if (change >= size)
                copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
            int status = pyro_model_open_memory(&model, copy, length, "x", &error);
            if (status == PYRO_OK)
                pyro_model_close(model);
            else
                assert_true(error.message[0] != 0);
            if (change + 40 < size)
                assert_true(status < 0);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_good_files),
    cmocka_unit_test(test_graph),
    cmocka_unit_test(test_bad_files),
    cmocka_unit_test(test_damage),
};

UNIT_TESTS(tests, NULL, NULL)
