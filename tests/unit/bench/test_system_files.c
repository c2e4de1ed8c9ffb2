/* Tests of bench/system_files.c. */
#include "bench/system_files.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_values(void **state)
{
    static const char text[] = "model name\t: A \"B\"\nMemTotalX: 1\nMemTotal:   42 kB\nempty:\n";
    char value[8];

    (void)state;
    assert_true(pyro_system_value(text, "MemTotal", value, sizeof value));
    assert_string_equal(value, "42 kB");
    assert_int_equal(pyro_system_number(text, "MemTotal"), 42);
    assert_int_equal(pyro_system_number(text, "MemFree"), -1);
    assert_false(pyro_system_value("empty:", "empty", value, sizeof value));
    assert_true(pyro_system_value("key: a value that is long", "key", value, sizeof value));
    assert_string_equal(value, "a value");
}

static void test_files(void **state)
{
    char path[] = "/tmp/pyro-system-XXXXXX", text[8];
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_false(pyro_system_line(path, text, sizeof text));
    assert_int_equal(write(fd, "first\nsecond\n", 13), 13);
    close(fd);
    assert_true(pyro_system_text(path, text, sizeof text));
    assert_string_equal(text, "first\ns");
    assert_true(pyro_system_line(path, text, sizeof text));
    assert_string_equal(text, "first");
    unlink(path);
    assert_false(pyro_system_text(path, text, sizeof text));
    assert_string_equal(text, "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_values),
    cmocka_unit_test(test_files),
};

UNIT_TESTS(tests, NULL, NULL)
