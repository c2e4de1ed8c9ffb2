/* Tests of map/: estimates, sums, several devices, batches, calibration. */
#include "map/internal.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pyro_mapper *new_mapper(const char *name, const pyro_mapper_options *options)
{
    pyro_mapper *mapper = NULL;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_mapper_new(&mapper, &name, 1, options, &error) != PYRO_OK)
        fail_msg("%s", error.message);
    return mapper;
}

static const pyro_mapper_options sheet_only = {.without_learnt = true, .without_calibration = true};

static pyro_mapping *map_model(const pyro_mapper *mapper, const char *name, int64_t batch,
                               const pyro_map_options *options)
{
    const pyro_cost_options pricing = {.depth = -1};
    pyro_mapping *mapping = NULL;
    pyro_model *model = NULL;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_model_open(&model, name, &error), PYRO_OK);
    assert_int_equal(pyro_model_set_batch(model, batch, &error), PYRO_OK);
    if (pyro_map_model(&mapping, mapper, model, &pricing, options, &error) != PYRO_OK)
        fail_msg("%s", error.message);
    pyro_model_close(model);
    return mapping;
}

/* Layers add up to the device's time, the range contains the point, and no bound exceeds it. */
static void test_sums(void **state)
{
    (void)state;
    pyro_mapper *mapper = new_mapper("h100", &sheet_only);
    pyro_mapping *mapping = map_model(mapper, "resnet18", 8, NULL);
    const pyro_map_chip *chip = &mapping->chips[0];
    double time = 0, flops = 0;
    for (size_t i = 0; i < chip->layer_count; i++) {
        const pyro_map_row *row = &chip->layers[i];
        time += row->time_ns;
        flops += row->flops;
        assert_true(row->low_ns <= row->time_ns && row->time_ns <= row->high_ns);
        assert_true(row->least_ns <= row->time_ns);
    }
    assert_float_equal(time, chip->device_ns, 1e-6 * time);
    assert_float_equal(flops, chip->total.flops, 1e-6 * flops);
    time = 0;
    for (size_t i = 0; i < chip->kind_count; i++) {
        time += chip->kinds[i].time_ns;
        assert_true(i == 0 || chip->kinds[i].time_ns <= chip->kinds[i - 1].time_ns);
    }
    assert_string_equal(chip->kinds[0].kind, "conv");
    assert_float_equal(time, chip->device_ns, 1e-6 * time);
    assert_float_equal(chip->known_ns[PYRO_MAP_DATA_SHEET], chip->device_ns, 1e-6 * time);
    assert_true(chip->total.time_ns >= chip->device_ns && chip->fits);
    assert_true(chip->total.utilisation > 0 && chip->total.utilisation < 1);
    assert_true(chip->total.energy_joules > 0);
    assert_int_equal(mapping->batch, 8);
    pyro_mapping_free(mapping);
    pyro_mapper_free(mapper);
}

/* A batch of 1 is bound by launches, a large one is not and saturates. With a host that takes a
 * second per op, the largest batch that fits is always the fastest: not saturated. */
static void test_batches(void **state)
{
    (void)state;
    const pyro_map_options options = {.find_saturation = true};
    const pyro_mapper_options slow_host = {
        .without_learnt = true, .without_calibration = true, .host_ns = 1e9};
    pyro_mapper *mapper = new_mapper("h100", &sheet_only), *slow = new_mapper("h100", &slow_host);
    pyro_mapping *waiting = map_model(slow, "mobilenet_v2", 1, &options);
    pyro_mapping *small = map_model(mapper, "mobilenet_v2", 1, &options);
    pyro_mapping *large = map_model(mapper, "mobilenet_v2", 256, NULL);
    assert_int_equal(small->chips[0].total.bound, PYRO_MAP_LAUNCH);
    assert_int_not_equal(large->chips[0].total.bound, PYRO_MAP_LAUNCH);
    assert_true(small->chips[0].saturating_batch > 1 && small->chips[0].saturating_batch < 4096);
    assert_true(small->chips[0].is_saturated);
    assert_true(waiting->chips[0].saturating_batch >= 2048 && !waiting->chips[0].is_saturated);
    assert_true(large->chips[0].samples_per_s > small->chips[0].samples_per_s);
    pyro_mapping_free(waiting);
    pyro_mapper_free(slow);
    pyro_mapping_free(small);
    pyro_mapping_free(large);
    pyro_mapper_free(mapper);
}

/* The host's time per op can be given, and CUDA graphs hide it. */
static void test_host_time(void **state)
{
    (void)state;
    const pyro_mapper_options slow_host = {
        .without_learnt = true, .without_calibration = true, .host_ns = 40000};
    const pyro_map_options graphs = {.graphs = true};
    pyro_mapper *mapper = new_mapper("h100", &sheet_only), *slow = new_mapper("h100", &slow_host);
    pyro_mapping *usual = map_model(mapper, "resnet18", 1, NULL);
    pyro_mapping *slower = map_model(slow, "resnet18", 1, NULL);
    pyro_mapping *hidden = map_model(slow, "resnet18", 1, &graphs);
    assert_float_equal(usual->chips[0].launch_ns, 10000 * usual->chips[0].total.kernels, 1);
    assert_float_equal(slower->chips[0].total.time_ns, 4 * usual->chips[0].launch_ns, 1);
    assert_int_equal(slower->chips[0].total.bound, PYRO_MAP_LAUNCH);
    assert_float_equal(hidden->chips[0].total.time_ns, hidden->chips[0].device_ns, 1);
    pyro_mapping_free(usual);
    pyro_mapping_free(slower);
    pyro_mapping_free(hidden);
    pyro_mapper_free(mapper);
    pyro_mapper_free(slow);
}

static void test_training(void **state)
{
    (void)state;
    const pyro_map_options training = {.train = true};
    const pyro_map_options many = {.train = true, .gpus = 8, .parallel = PYRO_PARALLEL_SHARDED};
    const pyro_map_options fused = {.fused = true};
    pyro_mapper *mapper = new_mapper("h100", &sheet_only);
    pyro_mapping *forward = map_model(mapper, "resnet18", 64, NULL);
    pyro_mapping *step = map_model(mapper, "resnet18", 64, &training);
    pyro_mapping *shared = map_model(mapper, "resnet18", 64, &many);
    pyro_mapping *kernels = map_model(mapper, "resnet18", 64, &fused);
    assert_true(step->chips[0].total.flops > 2.5 * forward->chips[0].total.flops);
    assert_true(step->chips[0].memory_bytes > forward->chips[0].memory_bytes);
    assert_true(shared->chips[0].memory_bytes < step->chips[0].memory_bytes);
    assert_true(shared->chips[0].samples_per_s > 4 * step->chips[0].samples_per_s);
    assert_true(kernels->chips[0].total.kernels < forward->chips[0].total.kernels);
    assert_true(kernels->chips[0].total.bytes < forward->chips[0].total.bytes);
    pyro_mapping_free(forward);
    pyro_mapping_free(step);
    pyro_mapping_free(shared);
    pyro_mapping_free(kernels);
    pyro_mapper_free(mapper);
}

/* A kernel that calibration measured is predicted as measured. */
static void test_calibration(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schema\": \"pyrometer.peaks/2\", \"devices\": [{\"device\": \"cpu\", \"name\": \"P\", "
        "\"threads\": 2, \"bytes_per_s\": 1e10, \"float32_flops_per_s\": 1e11, \"kernels\": ["
        "{\"kind\": \"gemm\", \"dtype\": \"float32\", \"m\": 64, \"n\": 64, \"k\": 64, \"flops\": "
        "524288, \"bytes\": 49152, \"time_ns\": 12345},"
        "{\"kind\": \"unheard\", \"dtype\": \"float32\", \"m\": 1, \"n\": 1, \"k\": 1, \"flops\": 1, "
        "\"bytes\": 1, \"time_ns\": 1}]}]}";
    char path[] = "/tmp/pyro-peaks-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    const pyro_mapper_options options = {.without_learnt = true, .peaks = path};
    pyro_mapper *mapper = new_mapper("host", &options);
    struct pyro_op_work work = {.kind = "gemm",
                                .dtype = "float32",
                                .flops = 524288,
                                .bytes = 49152,
                                .m = 64,
                                .n = 64,
                                .k = 64};
    pyro_map_estimate estimate = pyro_map_estimate_work(mapper, &mapper->chips[0], &work);
    assert_int_equal(estimate.origin, PYRO_MAP_CALIBRATED);
    assert_float_equal(estimate.time_ns, 12345, 50);
    assert_string_equal(mapper->chips[0].key, "P, 2 threads");
    work.kind = "copy"; /* not measured: from the rates */
    estimate = pyro_map_estimate_work(mapper, &mapper->chips[0], &work);
    assert_true(estimate.time_ns > 4000 && estimate.spread > 0);
    pyro_mapper_free(mapper);
    unlink(path);
}

/* Tensor parallelism divides products; what it sums is behind attention and shrinking products. */
static void test_tensor_parallel(void **state)
{
    (void)state;
    const pyro_map_options options = {.gpus = 4, .parallel = PYRO_PARALLEL_TENSOR};
    pyro_mapper *mapper = new_mapper("h100", &sheet_only);
    pyro_mapping *one = map_model(mapper, "gpt2", 64, NULL);
    pyro_mapping *four = map_model(mapper, "gpt2", 64, &options);
    assert_true(four->chips[0].communication_ns > 0);
    assert_true(four->chips[0].device_ns < 0.6 * one->chips[0].device_ns);
    assert_string_equal(pyro_parallel_name(four->parallel), "tensor");
    pyro_mapping_free(one);
    pyro_mapping_free(four);
    pyro_mapper_free(mapper);
}

static void test_clock(void **state)
{
    (void)state;
    const pyro_mapper_options options = {.without_learnt = true,
                                         .without_calibration = true,
                                         .clock_share = 0.5,
                                         .power_cap_watts = 350};
    pyro_mapper *slow = new_mapper("h100", &options), *fast = new_mapper("h100", &sheet_only);
    assert_float_equal(slow->chips[0].chip.bf16_tflops,
                       fast->chips[0].chip.bf16_tflops * 0.5 * cbrt(0.5), 1e-6);
    assert_float_equal(slow->chips[0].chip.power_watts, 350, 1e-9);
    pyro_mapper_free(slow);
    pyro_mapper_free(fast);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sums),
    cmocka_unit_test(test_batches),
    cmocka_unit_test(test_host_time),
    cmocka_unit_test(test_training),
    cmocka_unit_test(test_calibration),
    cmocka_unit_test(test_clock),
    cmocka_unit_test(test_tensor_parallel),
};

UNIT_TESTS(tests, NULL, NULL)
