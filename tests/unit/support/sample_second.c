/* A second file in the process of sample_first.c, whose changes must be undone. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_finds_the_process_as_it_was(void **state)
{
    (void)state;
    char folder[4096];
    void *memory = malloc(1);
    assert_non_null(memory);
    free(memory);
    assert_null(getenv("SAMPLE_LEFT"));
    assert_non_null(getcwd(folder, sizeof folder));
    assert_string_not_equal(folder, "/");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_finds_the_process_as_it_was),
};

UNIT_TESTS(tests, NULL, NULL)
