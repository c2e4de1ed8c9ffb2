/* Tests of base/version.c. */
#include "unit.h"

#include <pyrometer/version.h>

#include <stddef.h>

static void test_version(void **state)
{
    (void)state;
    assert_string_equal(pyro_version(), PYRO_VERSION);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_version)};

UNIT_TESTS(tests, NULL, NULL)
