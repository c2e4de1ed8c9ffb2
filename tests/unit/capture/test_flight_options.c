/* Options of the flight recorder as people write them: triggers, amounts. */
#include "unit.h"

#include <pyrometer/capture.h>
#include <signal.h>
#include <string.h>

static void test_options(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",        "slow",        "slow-step:", "slow-step:2", "slow-step:0.5x", "slow-step:x",
        "SIGKILL", "oom,sigusr1", "USR1"};
    pyro_flight_options options = {0};
    assert_int_equal(pyro_flight_parse_triggers(
                         &options, "slow-step:1.5x,oom,exception,SIGUSR2,SIGTERM,signal", NULL),
                     PYRO_OK);
    assert_true(options.slow_factor == 1.5 && options.on_out_of_memory && options.on_exception);
    assert_int_equal(options.signals[0], SIGUSR2);
    assert_int_equal(options.signals[1], SIGTERM);
    assert_int_equal(options.signals[2], 0);
    assert_false(pyro_flight_rests(&options));
    options = (pyro_flight_options){0};
    assert_int_equal(pyro_flight_parse_triggers(&options, "slow-step:250ms", NULL), PYRO_OK);
    assert_int_equal(options.slow_ns, 250000000);
    options = (pyro_flight_options){0};
    assert_int_equal(pyro_flight_parse_triggers(&options, "cuda-profiler", NULL), PYRO_OK);
    assert_true(pyro_flight_rests(&options));
    assert_int_equal(pyro_flight_parse_keep(&options, "30s", NULL), PYRO_OK);
    assert_false(pyro_flight_rests(&options)); /* the rest is wanted too */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options = (pyro_flight_options){0};
        if (pyro_flight_parse_triggers(&options, bad[i], NULL) == PYRO_OK)
            fail_msg("%s is no trigger", bad[i]);
    }
}

static void test_spaces_around_commas(void **state)
{
    (void)state;
    pyro_flight_options options = {0};
    assert_int_equal(pyro_flight_parse_triggers(&options, " slow-step, oom ,SIGTERM , ", NULL),
                     PYRO_OK);
    assert_true(options.slow_factor == 2 && options.on_out_of_memory);
    assert_int_equal(options.signals[0], SIGTERM);
    assert_int_equal(pyro_flight_parse_triggers(&options, "slow step", NULL), PYRO_ERROR_ARGUMENT);
    options = (pyro_flight_options){0};
    assert_int_equal(pyro_flight_parse_triggers(&options, " , ", NULL), PYRO_ERROR_ARGUMENT);
}

static void test_all_signals_together(void **state)
{
    (void)state;
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGUSR1};
    pyro_flight_options options = {0};
    assert_int_equal(pyro_flight_parse_triggers(
                         &options, "SIGINT,SIGTERM,SIGHUP,signal,SIGUSR1,SIGUSR1,SIGINT", NULL),
                     PYRO_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_int_equal(options.signals[i], wanted[i]);
}

static void test_amounts_to_keep(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "30",           "s",        "-1s", "0s", "1e9h",
                                      "0 steps", "200001 steps", "3 stepss", "1d"};
    pyro_flight_options options = {0};
    assert_int_equal(pyro_flight_parse_keep(&options, "30s", NULL), PYRO_OK);
    assert_int_equal(options.keep_ns, 30000000000);
    assert_int_equal(pyro_flight_parse_keep(&options, "1.5 ms", NULL), PYRO_OK);
    assert_int_equal(options.keep_ns, 1500000);
    assert_int_equal(pyro_flight_parse_keep(&options, "200 steps", NULL), PYRO_OK);
    assert_int_equal(options.keep_ns, 0);
    assert_int_equal(options.keep_steps, 200);
    assert_int_equal(pyro_flight_parse_keep(&options, "2m", NULL), PYRO_OK);
    assert_int_equal(options.keep_ns, 120000000000);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (pyro_flight_parse_keep(&options, bad[i], NULL) == PYRO_OK)
            fail_msg("%s is no amount", bad[i]);
    static const char *const nothing[] = {"0s", "0 steps", "0"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        pyro_error error;
        pyro_error_clear(&error);
        pyro_flight_parse_keep(&options, nothing[i], &error);
        assert_non_null(strstr(error.message, "keeps nothing"));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_options),
    cmocka_unit_test(test_spaces_around_commas),
    cmocka_unit_test(test_all_signals_together),
    cmocka_unit_test(test_amounts_to_keep),
};

UNIT_TESTS(tests, NULL, NULL)
