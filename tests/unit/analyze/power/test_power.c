/* Tests of analyze/power/power.c: energy of steps and tokens, its limits, throttled steps. */
#include "analyze_maker.h"
#include "unit.h"

#include <math.h>

#define MS INT64_C(1000000)

static void add_counter(maker *maker, const char *name, int64_t time_ns, const char *args)
{
    int64_t ts = time_ns + MAKER_BASE_NS;
    pyro_buf_addf(&maker->text,
                  "{\"ph\":\"C\",\"name\":\"%s\",\"pid\":0,\"tid\":0,\"ts\":%lld.%03lld,"
                  "\"args\":{%s}},\n",
                  name, (long long)(ts / 1000), (long long)(ts % 1000), args);
}

static void add_sample(maker *maker, int64_t time_ns, double power_w, double energy_j, bool is_hot)
{
    char text[80];
    snprintf(text, sizeof text, "\"W\":%g", power_w);
    add_counter(maker, "GPU power", time_ns, text);
    if (energy_j >= 0) {
        snprintf(text, sizeof text, "\"J\":%.3f", energy_j);
        add_counter(maker, "GPU energy", time_ns, text);
    }
    add_counter(maker, "GPU clock", time_ns, is_hot ? "\"SM MHz\":1200" : "\"SM MHz\":1980");
    add_counter(maker, "GPU throttle", time_ns,
                is_hot ? "\"heat\":1,\"hardware\":0,\"power cap\":0"
                       : "\"heat\":0,\"hardware\":0,\"power cap\":1");
}

/* Steps of 500 ms; the device works through each, and lags by `lag_ns`. */
static void add_steps(maker *maker, int count, int64_t lag_ns)
{
    for (int i = 0; i < count; i++) {
        maker_step(maker, i, i * 500 * MS, 500 * MS);
        maker_kernel(maker, "gemm", i * 500 * MS + lag_ns, 500 * MS, i * 500 * MS + 1000);
    }
}

static void test_energy_of_steps(void **state)
{
    maker maker;
    (void)state;
    maker_begin(&maker);
    add_steps(&maker, 2, 2000);
    for (int i = 0; i <= 10; i++) /* 400 W in the first step, 600 W in the second */
        add_sample(&maker, i * 100 * MS, i < 5 ? 400 : 600, i < 5 ? i * 40 : 200 + (i - 5) * 60,
                   i == 7);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->power_count, 2);
    const pyro_power_row *first = &analysis->power[0], *second = &analysis->power[1];
    assert_int_equal(first->step, 0);
    assert_int_equal(first->device, 0);
    assert_string_equal(first->energy_basis, "counter");
    assert_float_equal(first->energy_j, 200, 0.01);
    assert_float_equal(first->mean_power_w, 400, 0.1);
    assert_float_equal(first->energy_error_j, 40, 0.1); /* 100 ms of 400 W */
    assert_float_equal(second->energy_j, 300, 0.01);
    assert_true(first->max_power_w == 600); /* the sample at 500 ms lies in the lag of 2 us */
    assert_true(second->max_power_w == 600 && second->samples == 5);
    assert_true(first->throttled_share == 0 && second->throttled_share == 0.2);
    assert_true(second->min_clock_mhz == 1200 && second->tokens == -1);
    const pyro_power_summary *summary = &analysis->power_summary;
    assert_int_equal(summary->samples, 11);
    assert_int_equal(summary->interval_ns, 100 * MS);
    assert_int_equal(summary->update_ns, 100 * MS);
    assert_float_equal(summary->energy_j, 500, 0.01);
    assert_float_equal(summary->energy_per_step_j, 250, 0.01);
    assert_float_equal(summary->energy_error_j, 60, 0.1); /* the steps follow each other */
    assert_int_equal(summary->throttled_steps, 1);
    assert_true(summary->joules_per_token == -1);
    maker_end(&maker);
}

/* Without the counter the area below the power is used; two samples are too far away for it. */
static void test_without_the_counter(void **state)
{
    maker maker;
    (void)state;
    maker_begin(&maker);
    add_steps(&maker, 3, 2000);
    for (int i = 0; i <= 10; i++)
        add_sample(&maker, i * 100 * MS, 300, -1, false);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_string_equal(analysis->power[0].energy_basis, "power");
    assert_float_equal(analysis->power[0].energy_j, 150, 0.01);
    assert_int_equal(analysis->power_count, 3);
    assert_true(analysis->power[2].energy_j == -1); /* the samples end before the step does */
    assert_float_equal(analysis->power_summary.energy_per_step_j, 150, 0.01);
    maker_end(&maker);
}

/* A step belongs to the time in which the device runs it, not to that of the host. */
static void test_a_device_that_lags(void **state)
{
    maker maker;
    (void)state;
    maker_begin(&maker);
    add_steps(&maker, 2, 500 * MS);
    for (int i = 0; i <= 15; i++)
        add_sample(&maker, i * 100 * MS, 100, i <= 10 ? i * 10 : 100 + (i - 10) * 50, false);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->power[0].start_ns, 500 * MS + MAKER_BASE_NS);
    assert_float_equal(analysis->power[0].energy_j, 50, 0.01);
    assert_float_equal(analysis->power[1].energy_j, 250, 0.01);
    maker_end(&maker);
}

/* Steps shorter than the interval share samples, and have a larger error than energy. */
static void test_short_steps(void **state)
{
    maker maker;
    (void)state;
    maker_begin(&maker);
    for (int i = 0; i < 20; i++) {
        maker_step(&maker, i, i * 10 * MS, 10 * MS);
        maker_kernel(&maker, "gemm", i * 10 * MS + 2000, 9 * MS, i * 10 * MS + 1000);
    }
    for (int i = 0; i <= 2; i++)
        add_sample(&maker, i * 100 * MS, 500, i * 50, i == 1);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->power_count, 20);
    assert_float_equal(analysis->power[3].energy_j, 5, 0.01);
    assert_float_equal(analysis->power[3].energy_error_j, 50, 0.1);
    assert_true(analysis->power[3].samples == 0 && analysis->power[3].max_power_w == -1);
    assert_int_equal(analysis->power_summary.throttled_steps, 11); /* until the next sample */
    assert_float_equal(analysis->power_summary.energy_error_j, 50, 0.1);
    maker_end(&maker);
}

static void test_tokens(void **state)
{
    maker maker;
    (void)state;
    maker_begin(&maker);
    for (int i = 0; i < 4; i++) {
        maker_host(&maker, "user_annotation", "execute_context_0(0)_generation_8(8)", 1,
                   i * 100 * MS, 99 * MS);
        maker_kernel(&maker, "gemm", i * 100 * MS + 2000, 98 * MS, i * 100 * MS + 1000);
    }
    for (int i = 0; i <= 40; i++)
        add_sample(&maker, i * 10 * MS, 400, i * 4, false);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->serving_count, 4);
    assert_int_equal(analysis->power[1].tokens, 8);
    assert_float_equal(analysis->power[1].joules_per_token, analysis->power[1].energy_j / 8, 1e-9);
    assert_float_equal(analysis->power_summary.joules_per_token, 5, 0.1);
    maker_end(&maker);
}

static void test_nothing(void **state)
{
    maker maker;
    (void)state;
    maker_begin(&maker);
    add_steps(&maker, 2, 1000);
    add_counter(&maker, "GPU power", 10, "\"kW\":3"); /* of somebody else */
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->power_count, 0);
    assert_int_equal(analysis->power_summary.samples, 0);
    assert_true(analysis->power_summary.mean_power_w == -1);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_energy_of_steps),
    cmocka_unit_test(test_without_the_counter),
    cmocka_unit_test(test_a_device_that_lags),
    cmocka_unit_test(test_short_steps),
    cmocka_unit_test(test_tokens),
    cmocka_unit_test(test_nothing),
};

UNIT_TESTS(tests, NULL, NULL)
