/* Tests of programs: statistics of durations, and shapes. */
#include "flow_maker.h"
#include "unit.h"

static void test_quantiles(void **state)
{
    (void)state;
    pyro_samples samples = {0};
    pyro_samples_finish(&samples);
    assert_int_equal(samples.median_ns, -1);
    assert_int_equal(samples.total_ns, -1);
    for (int64_t i = 20; i > 0; i--)
        assert_true(pyro_samples_add(&samples, i * 10));
    pyro_samples_finish(&samples);
    assert_int_equal(samples.total_ns, 2100);
    assert_int_equal(samples.median_ns, 105);
    assert_int_equal(samples.p95_ns, 191); /* 190.5, between 190 and 200 */
    free(samples.items);
    samples = (pyro_samples){0};
    assert_true(pyro_samples_add(&samples, 7));
    pyro_samples_finish(&samples);
    assert_int_equal(samples.median_ns, 7);
    assert_int_equal(samples.p95_ns, -1); /* one sample gives no p95 */
    free(samples.items);
}

static void test_shapes(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    pyro_graph_tensor tensor;
    const int64_t dims[] = {3, 5}, open[] = {3, -1}, huge[] = {INT64_MAX / 2, 4};
    assert_true(pyro_program_shape(program, &tensor, dims, 2, 4));
    assert_int_equal(tensor.bytes, 60);
    assert_true(pyro_program_shape(program, &tensor, dims, 0, 8));
    assert_int_equal(tensor.bytes, 8);
    assert_true(pyro_program_shape(program, &tensor, open, 2, 4));
    assert_int_equal(tensor.bytes, -1);
    assert_true(pyro_program_shape(program, &tensor, huge, 2, 4));
    assert_int_equal(tensor.bytes, -1);
    pyro_program_free(program);
    pyro_program_free(NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_quantiles),
    cmocka_unit_test(test_shapes),
};

UNIT_TESTS(tests, NULL, NULL)
