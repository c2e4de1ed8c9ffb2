/* Tests of the progress line: its text, and that it fits its width. */
#include "cli/progress.h"
#include "unit.h"

#include <stddef.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
#define MIB (INT64_C(1) << 20)

static void expect_line(int64_t done, int64_t total, int64_t elapsed_ns, int width,
                        const char *expected)
{
    pyro_buf line = PYRO_BUF_INIT;

    pyro_progress_line(&line, "runs/a.json", done, total, elapsed_ns, width);
    assert_int_equal(line.length, strlen(expected));
    assert_memory_equal(line.data, expected, line.length);
    pyro_buf_free(&line);
}

static void test_lines(void **state)
{
    (void)state;
    expect_line(500 * MIB, 1000 * MIB, 2 * SECOND, 80,
                "[##########..........]  50%  500.0 MiB  250.0 MiB/s  0:02 left");
    expect_line(500 * MIB, 1000 * MIB, 2 * SECOND, 120,
                "a.json  [##########..........]  50%  500.0 MiB  250.0 MiB/s  0:02 left");
    expect_line(500 * MIB, -1, 2 * SECOND, 80, "500.0 MiB  250.0 MiB/s");
    expect_line(MIB, 600 * MIB, SECOND, 80,
                "[....................]   0%  1.00 MiB  1.00 MiB/s  9:59 left");
    expect_line(500 * MIB, 1000 * MIB, 2 * SECOND, 20, "[##########........");
    expect_line(0, 0, 0, 80, "0 B  0 B/s");
    expect_line(3, 2, SECOND, 80, "3 B  3 B/s");
}

/* Standard error of a test is no terminal, so nothing may be printed. */
static void test_silent_in_a_pipe(void **state)
{
    (void)state;
    pyro_progress progress;

    pyro_progress_begin(&progress, "a.json", true);
    assert_false(progress.enabled);
    progress.start_ns -= 10 * SECOND;
    pyro_progress_update(&progress, 1, 2);
    assert_false(progress.shown);
    pyro_progress_end(&progress);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lines),
    cmocka_unit_test(test_silent_in_a_pipe),
};

UNIT_TESTS(tests, NULL, NULL)
