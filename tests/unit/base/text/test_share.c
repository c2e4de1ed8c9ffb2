/* Tests of base/text/share.c. */
#include "unit.h"
#include <pyrometer/share.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

static double parsed(const char *text)
{
    double share = -1;

    assert_int_equal(pyro_share_parse(&share, text, NULL), PYRO_OK);
    return share;
}

static void test_percent_and_share_of_one_agree(void **state)
{
    (void)state;
    assert_float_equal(parsed("10%"), 0.1, 1e-12);
    assert_float_equal(parsed("0.1"), 0.1, 1e-12);
    assert_float_equal(parsed(".1"), 0.1, 1e-12);
    assert_float_equal(parsed("0.1%"), 0.001, 1e-12);
    assert_float_equal(parsed("2 %"), 0.02, 1e-12);
    assert_float_equal(parsed("1000%"), 10, 1e-12);
    assert_float_equal(parsed("0"), 0, 0);
    assert_float_equal(parsed("1e-3"), 0.001, 1e-12);
}

static void test_numbers_from_one_on_need_a_percent_sign(void **state)
{
    static const char *const texts[] = {"1", "2", "5.0", "10", "100"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double share = -1;
        pyro_error error;

        pyro_error_clear(&error);
        assert_int_equal(pyro_share_parse(&share, texts[i], &error), PYRO_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "% (a number without % is a share of 1"));
        assert_float_equal(share, -1, 0);
    }
}

static void test_other_texts_are_refused(void **state)
{
    static const char *const texts[] = {"",     "ten", "%",     "10%%", "1001%", "-1%",   "-0.1",
                                        "inf%", "nan", "0x10%", " 10%", "10 5%", "1e400%"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(pyro_share_parse(&(double){0}, texts[i], NULL), PYRO_ERROR_ARGUMENT);
}

static void test_numbers_of_programs_follow_the_same_rule(void **state)
{
    (void)state;
    assert_int_equal(pyro_share_check(0.02, NULL), PYRO_OK);
    assert_int_equal(pyro_share_check(0, NULL), PYRO_OK);
    assert_int_equal(pyro_share_check(2, NULL), PYRO_ERROR_ARGUMENT);
    assert_int_equal(pyro_share_check(-0.1, NULL), PYRO_ERROR_ARGUMENT);
    assert_int_equal(pyro_share_check((double)NAN, NULL), PYRO_ERROR_ARGUMENT);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_percent_and_share_of_one_agree),
    cmocka_unit_test(test_numbers_from_one_on_need_a_percent_sign),
    cmocka_unit_test(test_other_texts_are_refused),
    cmocka_unit_test(test_numbers_of_programs_follow_the_same_rule),
};

UNIT_TESTS(tests, NULL, NULL)
