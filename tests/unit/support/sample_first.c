/* Tests that pass, fail or end the process as SAMPLE says; check_runner.py checks the output. */
#include "fail_alloc.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_changes_the_process(void **state)
{
    (void)state;
    assert_int_equal(setenv("SAMPLE_LEFT", "1", 1), 0);
    assert_int_equal(chdir("/"), 0);
    umask(0123);
    signal(SIGUSR1, SIG_IGN);
    assert_int_equal(close(STDIN_FILENO), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, RLIM_INFINITY}), 0);
    fail_alloc_after(0);
}

static void test_obeys(void **state)
{
    (void)state;
    const char *wish = getenv("SAMPLE");
    fail_alloc_after(-1);
    if (wish && strcmp(wish, "fail") == 0)
        fail_msg("as wished");
    if (wish && strcmp(wish, "abort") == 0)
        abort();
    if (wish && strcmp(wish, "exit") == 0)
        exit(0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_changes_the_process),
    cmocka_unit_test(test_obeys),
};

UNIT_TESTS(tests, NULL, NULL)
