/* Finding CUPTI: none, one that lacks functions, one that is too old. */
#include "device/cupti.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static pyro_cupti cupti;
static char reason[256];

static void test_the_stub_is_loaded(void **state)
{
    (void)state;
    setenv("PYRO_CUPTI", UNIT_CUPTI_STUB, 1);
    assert_int_equal(pyro_cupti_open(&cupti, reason, sizeof reason), PYRO_CUPTI_LOADED);
    assert_int_equal(cupti.version, 130001);
    assert_non_null(cupti.node_id);
    assert_string_equal(pyro_cupti_text(&cupti, PYRO_CUPTI_TAKEN),
                        "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
}

static void test_no_library(void **state)
{
    (void)state;
    setenv("PYRO_CUPTI", "/nowhere/libcupti.so", 1);
    assert_int_equal(pyro_cupti_open(&cupti, reason, sizeof reason), PYRO_CUPTI_MISSING);
    assert_non_null(strstr(reason, "was not found"));
}

/* A file that is no library. */
static void test_a_library_that_cannot_be_loaded(void **state)
{
    (void)state;
    setenv("PYRO_CUPTI", UNIT_TEST_FILES "/cupti/synthetic.records", 1);
    assert_int_equal(pyro_cupti_open(&cupti, reason, sizeof reason), PYRO_CUPTI_MISSING);
    assert_non_null(strstr(reason, "cannot be loaded"));
    assert_non_null(strstr(reason, "synthetic.records"));
    assert_null(strchr(reason, '\n'));
}

static void test_a_library_without_the_functions(void **state)
{
    (void)state;
    setenv("PYRO_CUPTI", UNIT_NVML_STUB, 1);
    assert_int_equal(pyro_cupti_open(&cupti, reason, sizeof reason), PYRO_CUPTI_INCOMPLETE);
    assert_non_null(strstr(reason, "cuptiGetVersion"));
}

static void test_an_old_version(void **state)
{
    (void)state;
    setenv("PYRO_CUPTI", UNIT_CUPTI_STUB, 1);
    setenv("PYRO_STUB_CUPTI", "old", 1);
    assert_int_equal(pyro_cupti_open(&cupti, reason, sizeof reason), PYRO_CUPTI_INCOMPLETE);
    assert_non_null(strstr(reason, "version 12"));
    unsetenv("PYRO_STUB_CUPTI");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_stub_is_loaded),
    cmocka_unit_test(test_no_library),
    cmocka_unit_test(test_a_library_that_cannot_be_loaded),
    cmocka_unit_test(test_a_library_without_the_functions),
    cmocka_unit_test(test_an_old_version),
};

UNIT_TESTS(tests, NULL, NULL)
