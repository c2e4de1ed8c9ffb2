/* Tests of bench/memory_sampler.c. */
#include "fail_alloc.h"
#include "unit.h"

#include <pyrometer/bench.h>

#include <math.h>
#include <unistd.h>

static void test_there_is_always_a_sample(void **state)
{
    pyro_memory_sampler *sampler;

    (void)state;
    if (access("/proc/self/statm", R_OK) != 0)
        skip();
    assert_int_equal(pyro_memory_sampler_start(&sampler, 3600 * INT64_C(1000000000), NULL),
                     PYRO_OK);
    pyro_memory_samples samples = pyro_memory_sampler_stop(sampler);
    assert_int_equal(samples.count, 1);
    assert_true(samples.mean_bytes > 0);
    assert_true((double)samples.max_bytes == samples.mean_bytes);
}

static void test_many_samples(void **state)
{
    pyro_memory_sampler *sampler;

    (void)state;
    if (access("/proc/self/statm", R_OK) != 0)
        skip();
    assert_int_equal(pyro_memory_sampler_start(&sampler, 1000, NULL), PYRO_OK);
    usleep(20000);
    pyro_memory_samples samples = pyro_memory_sampler_stop(sampler);
    assert_true(samples.count >= 1);
    assert_true(samples.mean_bytes <= (double)samples.max_bytes);
}

static void test_without_memory(void **state)
{
    pyro_memory_sampler *sampler;

    (void)state;
    fail_alloc_after(0);
    int status = pyro_memory_sampler_start(&sampler, 0, NULL);
    fail_alloc_after(-1);
    assert_int_equal(status, PYRO_ERROR_MEMORY);
    assert_null(sampler);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_there_is_always_a_sample),
    cmocka_unit_test(test_many_samples),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
