/* Tests of analyze/device/kernels.c. */
#include "analyze_maker.h"
#include "unit.h"

static void kernel(maker *maker, const char *name, int64_t start, int64_t duration,
                   const char *more)
{
    maker_work(maker, "kernel", name, 0, 7, start, duration, start - 10, 5, more);
}

static void test_times(void **state)
{
    (void)state;
    maker maker;
    static const int64_t durations[] = {7, 3, 5, 4};
    maker_begin(&maker);
    for (int i = 0; i < 4; i++)
        kernel(&maker, "a", 1000 + i * 100, durations[i], "");
    for (int i = 0; i < 10; i++)
        kernel(&maker, "b", 100000 + i * 100000, i == 4 ? 61000 : 20000, "");
    kernel(&maker, "c", 5000000, 1, "");
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    assert_int_equal(a->kernel_row_count, 3);
    const pyro_kernel_row *b = &a->kernels[0], *row = &a->kernels[1];
    assert_string_equal(b->name, "b");
    assert_int_equal(b->total_ns, 241000);
    assert_int_equal(b->median_ns, 20000);
    assert_int_equal(b->outliers, 1); /* over three times the median and over 10 us */
    assert_string_equal(row->name, "a");
    assert_int_equal(row->calls, 4);
    assert_int_equal(row->total_ns, 19);
    assert_int_equal(row->min_ns, 3);
    assert_int_equal(row->max_ns, 7);
    assert_int_equal(row->median_ns, 4); /* between 4 and 5 */
    assert_int_equal(row->outliers, 0);
    assert_true(row->waves < 0);
    maker_end(&maker);
}

static void test_op_that_launches_most(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "cpu_op", "aten::mm", 1, 100, 50);
    kernel(&maker, "k", 120, 5, "");
    maker_host(&maker, "cpu_op", "aten::bmm", 1, 200, 100);
    kernel(&maker, "k", 220, 5, "");
    kernel(&maker, "k", 240, 5, "");
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    assert_string_equal(a->kernels[0].op, "aten::bmm");
    maker_end(&maker);
}

static void test_occupancy_and_waves(void **state)
{
    (void)state;
    static const char device[] =
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H200\",\"numSms\":132,"
        "\"computeMajor\":9,\"computeMinor\":0,"
        "\"maxThreadsPerMultiprocessor\":2048}],\"traceEvents\":[\n";
    maker maker;
    maker_begin(&maker);
    pyro_buf_reset(&maker.text);
    pyro_buf_adds(&maker.text, device);
    /* 128 registers x 256 threads: 2 blocks per multiprocessor, 264 in total */
    kernel(&maker, "a", 1000, 300,
           ",\"grid\":[528,1,1],\"block\":[256,1,1],\"registers per thread\":128,"
           "\"shared memory\":0,\"est. achieved occupancy %\":25");
    kernel(&maker, "a", 2000, 100,
           ",\"grid\":[132,1,1],\"block\":[256,1,1],\"registers per thread\":128,"
           "\"shared memory\":0,\"est. achieved occupancy %\":13");
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    assert_float_equal(a->kernels[0].occupancy_percent, 22, 1e-6);
    assert_float_equal(a->kernels[0].waves, (2 + 0.5) / 2, 1e-9);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_times),
    cmocka_unit_test(test_op_that_launches_most),
    cmocka_unit_test(test_occupancy_and_waves),
};

UNIT_TESTS(tests, NULL, NULL)
