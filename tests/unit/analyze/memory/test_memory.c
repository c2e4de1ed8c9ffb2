/* Memory: curve, peak, owners at the peak, growth between steps. */
#include "analyze_maker.h"
#include "unit.h"

static const pyro_memory_holder *find_holder(const pyro_memory_device *device, const char *op)
{
    for (size_t i = 0; i < device->holder_count; i++) {
        if (strcmp(device->holders[i].op, op) == 0)
            return &device->holders[i];
    }
    return NULL;
}

static void check_holders_add_up(const pyro_memory_device *device)
{
    int64_t sum = 0;
    for (size_t i = 0; i < device->holder_count; i++)
        sum += device->holders[i].bytes;
    assert_int_equal(sum, device->peak_bytes);
}

static void test_peak_and_holders(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::conv2d", 1, 100, 100);
    maker_host(&maker, "cpu_op", "aten::empty", 1, 120, 20);
    maker_memory(&maker, 1, 130, 0x1000, 400, 1400); /* 1000 were there before */
    maker_memory(&maker, 1, 150, 0x2000, 300, 1700);
    maker_memory(&maker, 1, 160, 0x2000, -300, 1400);
    maker_memory(&maker, 1, 170, 0x2000, 500, 1900); /* a reused address: the peak */
    maker_memory(&maker, 1, 300, 0x1000, -400, 1500);
    maker_memory(&maker, 1, 310, 0x9000, -700, 800); /* allocated before the trace */
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_true(analysis->has_memory);
    assert_int_equal(analysis->memory_count, 1);
    const pyro_memory_device *device = &analysis->memory[0];
    assert_string_equal(device->device, "cuda:0");
    assert_int_equal(device->peak_bytes, 1900);
    assert_int_equal(device->peak_reserved_bytes, 2900);
    assert_int_equal(device->peak_time_ns, MAKER_BASE_NS + 170);
    assert_int_equal(device->allocations, 3);
    assert_int_equal(device->frees, 3);
    assert_int_equal(device->allocated_bytes, 1200);
    assert_int_equal(device->curve_count, 6);
    assert_int_equal(device->curve[5].allocated_bytes, 800);
    check_holders_add_up(device);
    assert_int_equal(device->holder_count, 3);
    assert_string_equal(device->holders[0].op, "(before the trace)");
    assert_int_equal(device->holders[0].bytes, 1000);
    assert_int_equal(find_holder(device, "aten::conv2d")->bytes, 500);
    assert_int_equal(find_holder(device, "aten::empty")->bytes, 400);
    assert_int_equal(find_holder(device, "aten::empty")->blocks, 1);
    maker_end(&maker);
}

/* Without totals, the sum of the events is used; it never falls below 0. */
static void test_without_totals(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::a", 1, 0, 1000);
    maker_memory(&maker, 1, 10, 0x9000, -500, -1);
    maker_memory(&maker, 1, 20, 0x1000, 800, -1);
    maker_memory(&maker, 1, 30, 0x1000, -800, -1);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    const pyro_memory_device *device = &analysis->memory[0];
    assert_int_equal(device->peak_bytes, 800);
    assert_int_equal(device->peak_reserved_bytes, -1);
    assert_int_equal(device->curve[0].allocated_bytes, 0);
    assert_int_equal(device->curve[1].allocated_bytes, 800);
    check_holders_add_up(device);
    maker_end(&maker);
}

/* Traces of 2021 have no addresses: the last block of a size is freed first. */
static void test_without_addresses(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::a", 1, 0, 15);
    maker_host(&maker, "cpu_op", "aten::b", 1, 18, 8);
    maker_memory(&maker, 1, 10, 0, 100, -1);
    maker_memory(&maker, 1, 20, 0, 100, -1);
    maker_memory(&maker, 1, 25, 0, -100, -1);
    maker_memory(&maker, 1, 30, 0, 250, -1); /* the peak */
    maker_memory(&maker, 1, 40, 0, -100, -1);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    const pyro_memory_device *device = &analysis->memory[0];
    assert_int_equal(device->peak_bytes, 350);
    assert_int_equal(device->holder_count, 2);
    assert_int_equal(find_holder(device, "aten::a")->bytes, 100);
    assert_int_equal(find_holder(device, "")->bytes, 250);
    check_holders_add_up(device);
    maker_end(&maker);
}

static void make_steps(maker *maker, int64_t leak_bytes)
{
    int64_t total = 5000;
    for (int i = 0; i < 6; i++) {
        int64_t start = i * 1000;
        maker_step(maker, i, start, 1000);
        maker_memory(maker, 1, start + 100, 0x1000 + i, 300 + leak_bytes, total + 300 + leak_bytes);
        maker_memory(maker, 1, start + 200, 0x1000 + i, -300, total + leak_bytes);
        total += leak_bytes;
    }
}

static void test_growth(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    make_steps(&maker, 64);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->memory[0].growth_bytes_per_step, 64);
    assert_float_equal(analysis->memory[0].growth_confidence, 1, 0);
    maker_end(&maker);
    maker_begin(&maker);
    make_steps(&maker, 0);
    analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->memory[0].growth_bytes_per_step, 0);
    assert_float_equal(analysis->memory[0].growth_confidence, 0, 0);
    /* One step: its own peak; a step begins with what was live. */
    pyro_analysis_options options = {.step = 3};
    analysis = maker_analyze(&maker, &options);
    assert_int_equal(analysis->memory[0].peak_bytes, 5300);
    assert_int_equal(analysis->memory[0].peak_time_ns, MAKER_BASE_NS + 3100);
    assert_int_equal(analysis->memory[0].curve_count, 2);
    assert_int_equal(analysis->memory[0].allocations, 1);
    maker_end(&maker);
}

static void test_long_curve_keeps_its_peak(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 1000000);
    for (int i = 0; i < 20001; i++)
        maker_memory(&maker, 1, i * 10, 0x1000 + i, i % 2 ? -8 : 8,
                     i == 7777 ? 99999
                     : i % 2   ? 0
                               : 8);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    const pyro_memory_device *device = &analysis->memory[0];
    bool has_peak = false;
    assert_true(device->curve_count > 1000 && device->curve_count <= 2000);
    for (size_t i = 0; i < device->curve_count; i++) {
        has_peak = has_peak || device->curve[i].allocated_bytes == 99999;
        if (i)
            assert_true(device->curve[i - 1].time_ns <= device->curve[i].time_ns);
    }
    assert_true(has_peak);
    assert_int_equal(device->curve[device->curve_count - 1].time_ns, MAKER_BASE_NS + 200000);
    maker_end(&maker);
}

/* The device runs behind the host: a step allocates before its time on the device begins. */
static void test_curve_of_a_step_on_the_device(void **state)
{
    enum { STEPS = 4, STEP_NS = 100000, EVENTS = 3000 };
    (void)state;
    maker maker;
    maker_begin(&maker);
    for (int step = 0; step < STEPS; step++) {
        int64_t start = (int64_t)step * STEP_NS;
        maker_step(&maker, step, start, STEP_NS);
        maker_kernel(&maker, "gemm", start + STEP_NS * 7 / 10, STEP_NS * 6 / 10, start + 10);
        for (int i = 0; step == 1 && i < EVENTS; i++)
            maker_memory(&maker, 1, start + 20 + i * 20, 0x1000 + i / 2, i % 2 ? -8 : 8,
                         i % 2 ? 0 : 8);
    }
    pyro_analysis_options options = {.step = 1};
    const pyro_analysis *analysis = maker_analyze(&maker, &options);
    assert_true(analysis->steps_on_device);
    const pyro_memory_device *device = &analysis->memory[0];
    assert_true(device->curve_count > 1000 && device->curve_count <= 2000);
    assert_int_equal(device->curve[0].time_ns, MAKER_BASE_NS + STEP_NS + 20);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_peak_and_holders),
    cmocka_unit_test(test_without_totals),
    cmocka_unit_test(test_without_addresses),
    cmocka_unit_test(test_growth),
    cmocka_unit_test(test_long_curve_keeps_its_peak),
    cmocka_unit_test(test_curve_of_a_step_on_the_device),
};

UNIT_TESTS(tests, NULL, NULL)
