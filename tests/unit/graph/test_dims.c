/* Tests of a file's sizes: which may change, errors for invalid requests, caches. */
#include "base/containers/buf.h"
#include "base/zip/write.h"
#include "program.h"
#include "unit.h"
#include <pyrometer/pyrometer.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static pyro_model *open_archive(program *p, const char *extra)
{
    pyro_buf archive = PYRO_BUF_INIT;
    pyro_zip_writer writer;
    pyro_model *model;
    pyro_error error;
    const char *json = program_json(p);
    pyro_zip_write_begin(&writer, &archive);
    pyro_zip_write_member(&writer, "models/m.json", json, strlen(json));
    pyro_zip_write_member(&writer, "extra/pyrometer.json", extra, strlen(extra));
    assert_true(pyro_zip_write_end(&writer));
    pyro_error_clear(&error);
    if (pyro_model_open_memory(&model, archive.data, archive.length, "test", &error) != PYRO_OK)
        fail_msg("%s", error.message);
    pyro_buf_free(&archive);
    program_free(p);
    return model;
}

static void expect_error(int status, const pyro_error *error, const char *words)
{
    assert_int_equal(status, PYRO_ERROR_ARGUMENT);
    if (!strstr(error->message, words))
        fail_msg("'%s' is not in: %s", words, error->message);
}

static pyro_model *windowed(void)
{
    program p = {0};
    program_input(&p, "x", "s0@2 3 32*s1@64 48");
    program_tensor(&p, "y", "s0@2 3 32*s1@64 48");
    program_node(&p, "aten.relu.default", "", "self=%x", "%y");
    program_range(&p, "s0", 2, 16);
    return open_archive(
        &p, "{\"name\":\"win\",\"family\":\"f\",\"task\":\"t\",\"params\":7,\"dims\":["
            "{\"input\":\"x\",\"axis\":0,\"what\":\"batch\",\"min\":1,\"max\":16},"
            "{\"input\":\"x\",\"axis\":2,\"what\":\"height\",\"min\":32,\"multiple\":32}],"
            "\"variants\":[{\"size\":48,\"model\":\"win\"},{\"size\":96,\"model\":\"win_96\"}],"
            "\"default_shapes\":{\"x\":[1,3,64,48]},\"source\":{\"package\":\"p\",\"version\":"
            "\"1\",\"builder\":\"p.win()\"},\"params_source\":\"a paper\"}");
}

static void test_facts(void **unused)
{
    (void)unused;
    pyro_model *model = windowed();
    const pyro_facts *facts = pyro_model_facts(model);
    assert_string_equal(facts->name, "win");
    assert_string_equal(facts->family, "f");
    assert_string_equal(facts->task, "t");
    assert_string_equal(facts->params_source, "a paper");
    assert_string_equal(facts->builder, "p.win()");
    assert_string_equal(facts->variants, "win_96 (96)");
    assert_int_equal(facts->params, 7);
    assert_int_equal(facts->published_params, -1);
    assert_int_equal(facts->shape_count, 1);
    assert_int_equal(facts->shapes[0].dims[2], 64);
    assert_int_equal(pyro_model_origin(model), PYRO_ORIGIN_FILE);
    pyro_model_close(model);
}

static int set(pyro_model *model, int64_t a, int64_t b, int64_t c, int64_t d, pyro_error *error)
{
    const int64_t dims[] = {a, b, c, d};
    pyro_error_clear(error);
    return pyro_model_set_shape(model, NULL, dims, 4, error);
}

static void test_wishes(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_model *model = windowed();
    expect_error(
        set(model, 1, 3, 100, 48, &error), &error,
        "height cannot be 100: it must be a multiple of 32, 32 or more (such as 96); valid "
        "shapes are [batch, 3, height, 48] (batch 1 to 16; height a multiple of 32, 32 or "
        "more)");
    expect_error(set(model, 1, 3, 5, 48, &error), &error, "(such as 32)");
    expect_error(set(model, 17, 3, 64, 48, &error), &error,
                 "batch cannot be 17: it must be 1 to 16");
    expect_error(set(model, 1, 3, 64, 96, &error), &error,
                 "dim 3 is fixed at 48, not 96; valid shapes are [batch, 3, height, 48]");
    assert_non_null(strstr(error.message, "models for other sizes: win_96 (96)"));
    assert_int_equal(set(model, 16, 3, 128, 48, &error), PYRO_OK);
    pyro_model_close(model);

    model = windowed();
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_kind(model, "height", 320, &error), PYRO_OK);
    expect_error(pyro_model_set_kind(model, "width", 96, &error), &error,
                 "no variable width length");
    pyro_model_close(model);
}

/* Two caches of which the file names one: both contain the past tokens. */
static void test_decode(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_cost *cost;
    pyro_decode decode;
    program p = {0};
    program_input(&p, "token", "s0@2 1");
    program_input(&p, "keys", "s0@2 4 s1@8 16");
    program_input(&p, "values", "s0@2 4 s1@8 16");
    program_input(&p, "float_mask", "s0@2 1 1 s1@8");
    program_tensor(&p, "y", "s0@2 4 s1@8 16");
    program_node(&p, "aten.add.Tensor", "", "self=%keys other=%values", "%y");
    pyro_model *model = open_archive(
        &p, "{\"dims\":[{\"input\":\"token\",\"axis\":0,\"what\":\"batch\"},"
            "{\"input\":\"keys\",\"axis\":2,\"what\":\"past\",\"min\":1,\"max\":100}],"
            "\"default_shapes\":{\"token\":[1,1],\"keys\":[1,4,10,16]}}");
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_kind(model, "past", 50, &error), PYRO_OK);
    assert_int_equal(pyro_model_set_batch(model, 3, &error), PYRO_OK);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), PYRO_OK);
    assert_true(pyro_cost_decode(cost, &decode));
    assert_int_equal(decode.past_tokens, 50);
    assert_int_equal(decode.sequences, 3);
    assert_int_equal(decode.cache_inputs, 2);
    assert_int_equal(decode.cache_read_bytes, 2 * 3 * 4 * 50 * 16 * 4);
    assert_int_equal(decode.cache_read_bytes_per_token, 2 * 4 * 50 * 16 * 4);
    assert_int_equal(decode.cache_bytes_per_past_token, 2 * 4 * 16 * 4);
    assert_int_equal(decode.cache_bytes, 2 * 3 * 4 * 51 * 16 * 4);
    pyro_cost_free(cost);
    pyro_cost_options options = {.dtype = "float16", .depth = -1};
    assert_int_equal(pyro_cost_compute(&cost, model, &options, &error), PYRO_OK);
    assert_true(pyro_cost_decode(cost, &decode));
    assert_int_equal(decode.cache_bytes_per_past_token, 2 * 4 * 16 * 2);
    pyro_cost_free(cost);
    expect_error(pyro_model_set_kind(model, "past", 101, &error), &error,
                 "past cannot be 101: it must be 1 to 100");
    pyro_model_close(model);

    model = windowed();
    pyro_error_clear(&error);
    assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), PYRO_OK);
    assert_false(pyro_cost_decode(cost, &decode));
    pyro_cost_free(cost);
    pyro_model_close(model);
}

/* A cache is preallocated: a new token is appended. Along another axis, or of a tensor that is no
   cache, a concatenation copies all. */
static void test_appending_to_a_cache(void **unused)
{
    (void)unused;
    static const struct {
        const char *args, *sizes;
        int64_t read, written;
    } cases[] = {
        {"tensors=[%keys,%new] dim=2", "1 4 9 16", 4 * 16 * 4, 4 * 16 * 4},
        {"tensors=[%keys,%new] dim=-2", "1 4 9 16", 4 * 16 * 4, 4 * 16 * 4},
        {"tensors=[%new,%keys] dim=2", "1 4 9 16", 4 * 9 * 16 * 4, 4 * 9 * 16 * 4},
        {"tensors=[%keys,%keys] dim=1", "1 8 8 16", 4 * 8 * 16 * 4, 8 * 8 * 16 * 4},
        {"tensors=[%other,%new] dim=2", "1 4 9 16", 4 * 9 * 16 * 4, 4 * 9 * 16 * 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pyro_error error;
        pyro_cost *cost;
        program p = {0};
        program_input(&p, "keys", "1 4 s1@8 16");
        program_input(&p, "other", "1 4 8 16");
        program_input(&p, "new", "1 4 1 16");
        program_tensor(&p, "y", cases[i].sizes);
        program_node(&p, "aten.cat.default", "", cases[i].args, "%y");
        pyro_model *model = open_archive(
            &p, "{\"dims\":[{\"input\":\"keys\",\"axis\":2,\"what\":\"past\"}],"
                "\"default_shapes\":{\"keys\":[1,4,8,16]}}");
        pyro_error_clear(&error);
        assert_int_equal(pyro_cost_compute(&cost, model, NULL, &error), PYRO_OK);
        assert_int_equal(pyro_cost_total(cost)->work.activation_read_bytes, cases[i].read);
        assert_int_equal(pyro_cost_total(cost)->work.written_bytes, cases[i].written);
        pyro_cost_free(cost);
        pyro_model_close(model);
    }
}

/* In a file without names of sizes, rows of integers are sequences. */
static void test_plain_sequence(void **unused)
{
    (void)unused;
    pyro_error error;
    pyro_input input;
    program p = {0};
    program_placeholder(&p, "ids");
    pyro_buf_adds(&p.specs, "{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"ids\"}}}}");
    program_typed(&p, "ids", 5, "s0@2 s1@8");
    program_typed(&p, "y", 5, "s0@2 s1@8");
    program_node(&p, "aten.neg.default", "", "self=%ids", "%y");
    pyro_model *model = open_archive(&p, "{}");
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_set_kind(model, "sequence", 77, &error), PYRO_OK);
    assert_int_equal(pyro_model_input(model, 0, &input, &error), PYRO_OK);
    assert_int_equal(input.dims[1], 77);
    pyro_model_close(model);
}

/* Numbers and texts of the wrong kind are skipped; incomplete dims are rejected. */
static void test_odd_extras(void **unused)
{
    (void)unused;
    static const char *const refused[] = {
        "{\"dims\":{}}",
        "{\"dims\":[1]}",
        "{\"dims\":[{\"input\":\"x\",\"axis\":0}]}",
        "{\"dims\":[{\"what\":\"batch\",\"axis\":0}]}",
        "{\"dims\":[{\"input\":\"x\",\"what\":\"batch\",\"axis\":64}]}",
        "{\"variants\":[3]}",
        "{\"source\":3}",
        "{\"dims\":[",
    };
    for (size_t i = 0; i <= sizeof refused / sizeof *refused; i++) {
        bool last = i == sizeof refused / sizeof *refused;
        const char *extra = last ? "{\"family\":{},\"params\":\"many\",\"published_params\":-3,"
                                   "\"dims\":[{\"input\":\"x\",\"axis\":0,\"what\":\"batch\","
                                   "\"max\":null,\"multiple\":0}]}"
                                 : refused[i];
        program p = {0};
        pyro_buf archive = PYRO_BUF_INIT;
        pyro_zip_writer writer;
        pyro_model *model = NULL;
        pyro_error error;
        program_input(&p, "x", "s0@2 3");
        const char *json = program_json(&p);
        pyro_zip_write_begin(&writer, &archive);
        pyro_zip_write_member(&writer, "models/m.json", json, strlen(json));
        pyro_zip_write_member(&writer, "extra/pyrometer.json", extra, strlen(extra));
        assert_true(pyro_zip_write_end(&writer));
        pyro_error_clear(&error);
        int status = pyro_model_open_memory(&model, archive.data, archive.length, "x", &error);
        assert_int_equal(status, last ? PYRO_OK : PYRO_ERROR_FORMAT);
        if (last) {
            assert_int_equal(pyro_model_facts(model)->params, -1);
            assert_int_equal(pyro_model_facts(model)->published_params, -1);
            assert_int_equal(pyro_model_set_batch(model, 5, &error), PYRO_OK);
        }
        pyro_model_close(model);
        pyro_buf_free(&archive);
        program_free(&p);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_facts),
    cmocka_unit_test(test_wishes),
    cmocka_unit_test(test_appending_to_a_cache),
    cmocka_unit_test(test_decode),
    cmocka_unit_test(test_plain_sequence),
    cmocka_unit_test(test_odd_extras),
};

UNIT_TESTS(tests, NULL, NULL)
