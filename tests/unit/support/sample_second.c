/* A second file in the process of sample_first.c, whose changes must be undone. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
    assert_int_not_equal(umask(022), 0123);
    assert_ptr_equal(signal(SIGUSR1, SIG_DFL), SIG_DFL);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    struct rlimit size;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &size), 0);
    assert_true(size.rlim_cur > 4096);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_finds_the_process_as_it_was),
};

UNIT_TESTS(tests, NULL, NULL)
