/* Tests of base/version.c. */
#include <pyrometer/version.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_version(void **state)
{
    (void)state;
    assert_string_equal(pyro_version(), PYRO_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_version)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
