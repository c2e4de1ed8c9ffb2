/* Tests of training steps: work, bytes and memory of small files, counted by hand. */
#include "fail_alloc.h"
#include "unit.h"
#include <pyrometer/pyrometer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pyro_model *open_file(const char *name)
{
    char path[4096];
    const char *folder = getenv("PYRO_TEST_FILES");
    pyro_model *model;
    pyro_error error;
    pyro_error_clear(&error);
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "tests/files", name);
    if (pyro_model_open(&model, path, &error) < 0)
        fail_msg("%s: %s", name, error.message);
    return model;
}

static pyro_train *train_with(pyro_model *model, const pyro_train_options *options)
{
    pyro_train *train;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_train_compute(&train, model, NULL, options, &error) < 0)
        fail_msg("%s", error.message);
    return train;
}

/* Batch 2: linear 8 to 16, ReLU, linear 16 to 4. The input gets no gradient. */
static void test_work(void **unused)
{
    (void)unused;
    pyro_model *model = open_file("good-10-static.pt2");
    pyro_train *train = train_with(model, NULL);
    const pyro_train_total *total = pyro_train_get_total(train);
    assert_int_equal(total->forward.macs, 2 * 8 * 16 + 2 * 16 * 4);
    assert_int_equal(total->backward.macs, 2 * 8 * 16 + 2 * (2 * 16 * 4));
    assert_int_equal(total->recompute.macs, 0);
    assert_int_equal(total->trainable_params, 8 * 16 + 16 + 16 * 4 + 4);
    assert_int_equal(total->frozen_params, 0);
    assert_int_equal(total->gradient_bytes, 4 * total->trainable_params);
    assert_int_equal(total->optimizer.flops, 2 * total->trainable_params);
    assert_int_equal(total->macs, total->forward.macs + total->backward.macs);
    pyro_train_free(train);
    pyro_model_close(model);
}

/*
 * Kept are the ReLU's output and the model's. The peak is in the backward of the first layer: the
 * output, the gradient of the hidden values and those of all parameters.
 */
static void test_memory(void **unused)
{
    (void)unused;
    pyro_model *model = open_file("good-10-static.pt2");
    pyro_train *train = train_with(model, NULL);
    const pyro_train_total *total = pyro_train_get_total(train);
    size_t count, alive_count;
    const pyro_memory_step *curve = pyro_train_curve(train, &count);
    const pyro_memory_item *alive = pyro_train_alive(train, &alive_count);
    assert_int_equal(total->saved_activation_bytes, 2 * 16 * 4 + 2 * 4 * 4);
    assert_int_equal(total->peak_bytes, 848 + 64 + 32 + 128 + 848);
    assert_int_equal(count, 7);
    assert_int_equal(pyro_train_peak(train), 5);
    assert_int_equal(curve[5].bytes, total->peak_bytes);
    assert_int_equal(curve[5].phase, PYRO_TRAIN_BACKWARD);
    assert_string_equal(curve[5].node, "first");
    assert_int_equal(curve[6].phase, PYRO_TRAIN_OPTIMIZER);
    int64_t sum = 0;
    for (size_t i = 0; i < alive_count; i++)
        sum += alive[i].bytes;
    assert_int_equal(sum, total->peak_bytes);
    pyro_train_free(train);
    pyro_model_close(model);
}

/* Layers and operator types each sum to the step. */
static void test_rows(void **unused)
{
    (void)unused;
    pyro_model *model = open_file("onnx/good-1-layers.onnx");
    pyro_train *train = train_with(model, &(pyro_train_options){.optimizer = PYRO_OPTIMIZER_ADAMW});
    const pyro_train_total *total = pyro_train_get_total(train);
    size_t counts[3];
    const pyro_train_row *tables[] = {pyro_train_layers(train, &counts[0]),
                                      pyro_train_operators(train, &counts[1]),
                                      pyro_train_nodes(train, &counts[2])};
    for (size_t t = 0; t < 3; t++) {
        int64_t forward = 0, backward = 0, saved = 0;
        for (size_t i = 0; i < counts[t]; i++) {
            forward += tables[t][i].forward.flops;
            backward += tables[t][i].backward.flops;
            saved += tables[t][i].saved_bytes;
        }
        assert_int_equal(forward, total->forward.flops);
        assert_int_equal(backward, total->backward.flops);
        assert_int_equal(saved, total->saved_activation_bytes);
    }
    int64_t states = 0;
    for (size_t i = 0; i < counts[0]; i++)
        states += tables[0][i].state_bytes;
    assert_int_equal(states, total->optimizer_state_bytes);
    assert_int_equal(states, 2 * total->gradient_bytes);
    pyro_train_free(train);
    pyro_model_close(model);
}

/* A frozen first layer needs no backward at all; the second one no gradient of its input. */
static void test_freeze(void **unused)
{
    (void)unused;
    pyro_model *model = open_file("good-10-static.pt2");
    pyro_train *train = train_with(model, &(pyro_train_options){.freeze = "^first"});
    const pyro_train_total *total = pyro_train_get_total(train);
    assert_int_equal(total->backward.macs, 2 * 16 * 4);
    assert_int_equal(total->frozen_params, 8 * 16 + 16);
    assert_int_equal(total->gradient_bytes, 4 * (16 * 4 + 4));
    pyro_train_free(train);
    train = train_with(model, &(pyro_train_options){.freeze = "."});
    size_t count;
    assert_int_equal(pyro_train_get_total(train)->backward.macs, 0);
    assert_int_equal(pyro_train_get_total(train)->gradient_bytes, 0);
    pyro_train_notes(train, &count);
    assert_int_equal(count, 1);
    pyro_train_free(train);
    pyro_model_close(model);
}

/* Rank 2 beside the second layer: x A B, with A [16, 2] and B [2, 4]. */
static void test_lora(void **unused)
{
    (void)unused;
    pyro_model *model = open_file("good-10-static.pt2");
    pyro_train *train = train_with(model, &(pyro_train_options){.lora = "2:second"});
    const pyro_train_total *total = pyro_train_get_total(train);
    assert_int_equal(total->lora_params, 2 * (16 + 4));
    assert_int_equal(total->trainable_params, total->lora_params);
    assert_int_equal(total->frozen_params, 212);
    assert_int_equal(total->forward.macs, 384 + 2 * 2 * (16 + 4));
    /* Gradients of A and B and of the values between; the input needs none. */
    assert_int_equal(total->backward.macs, 2 * (2 * 2 * (16 + 4)) - 2 * 2 * 16);
    assert_int_equal(total->gradient_bytes, 4 * total->lora_params);
    pyro_train_free(train);
    pyro_model_close(model);
}

static int64_t state_bytes(pyro_model *model, pyro_optimizer optimizer, pyro_precision precision)
{
    pyro_train *train = train_with(
        model, &(pyro_train_options){.optimizer = optimizer, .precision = precision});
    int64_t bytes = pyro_train_get_total(train)->optimizer_state_bytes;
    pyro_train_free(train);
    return bytes;
}

static void test_optimizers(void **unused)
{
    (void)unused;
    pyro_model *model = open_file("good-10-static.pt2");
    assert_int_equal(state_bytes(model, PYRO_OPTIMIZER_SGD, PYRO_PRECISION_FILE), 0);
    assert_int_equal(state_bytes(model, PYRO_OPTIMIZER_ADAM, PYRO_PRECISION_FILE), 2 * 4 * 212);
    assert_int_equal(state_bytes(model, PYRO_OPTIMIZER_ADAMW, PYRO_PRECISION_BF16), 2 * 2 * 212);
    assert_int_equal(state_bytes(model, PYRO_OPTIMIZER_LION, PYRO_PRECISION_FP32), 4 * 212);
    /* Rows and columns of two matrices; vectors in full. */
    assert_int_equal(state_bytes(model, PYRO_OPTIMIZER_ADAFACTOR, PYRO_PRECISION_FILE),
                     4 * (16 + 8 + 16 + 4 + 16 + 4));
    /* Below 4,096 values the states are float32. */
    assert_int_equal(state_bytes(model, PYRO_OPTIMIZER_ADAM8BIT, PYRO_PRECISION_FILE), 2 * 4 * 212);
    pyro_model_close(model);
}

static void test_mixed_precision(void **unused)
{
    (void)unused;
    pyro_model *model = open_file("good-10-static.pt2");
    pyro_train *train = train_with(model,
                                   &(pyro_train_options){.precision = PYRO_PRECISION_BF16_MIXED});
    const pyro_train_total *total = pyro_train_get_total(train);
    assert_int_equal(total->master_weight_bytes, 4 * 212);
    assert_int_equal(total->weight_bytes, 2 * 212);
    assert_int_equal(total->gradient_bytes, 4 * 212);
    /* The ReLU's output and the model's in bfloat16, and the copy of the input. */
    assert_int_equal(total->saved_activation_bytes, 2 * (2 * 16 + 2 * 4 + 2 * 8));
    pyro_train_free(train);
    pyro_model_close(model);
}

static void test_invalid_options(void **unused)
{
    (void)unused;
    static const pyro_train_options invalid[] = {
        {.freeze = "["},
        {.lora = "q_proj"},
        {.lora = "0:q_proj"},
        {.lora = "8:"},
        {.lora = "8:("},
        {.optimizer = PYRO_OPTIMIZER_COUNT},
        {.precision = PYRO_PRECISION_COUNT},
        {.checkpoint = PYRO_CHECKPOINT_COUNT},
    };
    pyro_model *model = open_file("good-10-static.pt2");
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        pyro_train *train = NULL;
        pyro_error error;
        pyro_error_clear(&error);
        assert_int_equal(pyro_train_compute(&train, model, NULL, &invalid[i], &error),
                         PYRO_ERROR_ARGUMENT);
        assert_null(train);
        assert_true(strlen(error.message) > 0);
    }
    pyro_model_close(model);
}

static void test_without_memory(void **unused)
{
    (void)unused;
    pyro_model *model = open_file("good-10-static.pt2");
    pyro_train_options options = {.freeze = "bias", .checkpoint = PYRO_CHECKPOINT_FULL};
    bool whole = false;
    for (long n = 0; !whole; n++) {
        pyro_train *train = NULL;
        pyro_error error;
        pyro_error_clear(&error);
        fail_alloc_after(n);
        int status = pyro_train_compute(&train, model, NULL, &options, &error);
        whole = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        if (whole)
            assert_int_equal(status, PYRO_OK);
        else if (status == PYRO_OK) /* regcomp of the C library may do without */
            assert_non_null(train);
        pyro_train_free(train);
    }
    pyro_model_close(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_work),
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_freeze),
    cmocka_unit_test(test_lora),
    cmocka_unit_test(test_optimizers),
    cmocka_unit_test(test_mixed_precision),
    cmocka_unit_test(test_invalid_options),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
