/* Tests of cli/output.c: a file is written completely or not at all. */
#include "cli/output.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pyrometer-test-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *entries = opendir(folder);

    for (struct dirent *entry; entries && (entry = readdir(entries));)
        unlink(entry->d_name);
    closedir(entries);
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *entries = opendir(".");

    assert_non_null(entries);
    while (readdir(entries))
        count++;
    closedir(entries);
    return count - 2;
}

static void check_content(const char *path, const char *expected)
{
    char content[64] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_true(fread(content, 1, sizeof content - 1, file) > 0);
    fclose(file);
    assert_string_equal(content, expected);
}

static void test_new_and_replaced(void **state)
{
    (void)state;
    struct stat status;

    assert_int_equal(pyro_output_file("a.json", "first", 5, NULL), PYRO_OK);
    check_content("a.json", "first");
    assert_int_equal(chmod("a.json", 0640), 0);
    assert_int_equal(pyro_output_file("a.json", "2", 1, NULL), PYRO_OK);
    check_content("a.json", "2");
    assert_int_equal(stat("a.json", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_int_equal(count_files(), 1);
}

static void test_link_stays(void **state)
{
    (void)state;
    struct stat status;

    assert_int_equal(pyro_output_file("real", "x", 1, NULL), PYRO_OK);
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(pyro_output_file("link", "through", 7, NULL), PYRO_OK);
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    check_content("real", "through");
}

static void test_failures_leave_nothing(void **state)
{
    (void)state;
    pyro_error error;

    assert_int_equal(pyro_output_file("kept", "old", 3, NULL), PYRO_OK);
    size_t before = count_files();
    pyro_error_clear(&error);
    assert_int_equal(pyro_output_file("none/a", "x", 1, &error), PYRO_ERROR_IO);
    assert_string_equal(error.message, "cannot write: No such file or directory");
    pyro_error_clear(&error);
    assert_int_equal(pyro_output_file(".", "x", 1, &error), PYRO_ERROR_IO);
    assert_string_equal(error.message, "cannot write: Is a directory");
    pyro_error_clear(&error);
    assert_int_equal(pyro_output_file("/dev/full", "x", 1, &error), PYRO_ERROR_IO);
    assert_string_equal(error.message, "cannot write: No space left on device");
    assert_int_equal(pyro_output_file("", "x", 1, NULL), PYRO_ERROR_ARGUMENT);
    assert_int_equal(count_files(), before);
    check_content("kept", "old");
}

static void test_devices_are_written_to(void **state)
{
    (void)state;
    struct stat status;

    assert_int_equal(pyro_output_file("/dev/null", "x", 1, NULL), PYRO_OK);
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
}

static void test_width(void **state)
{
    (void)state;
    setenv("COLUMNS", "100", 1);
    assert_int_equal(pyro_output_width(true), 100);
    assert_true(pyro_output_width(false) > 1000);
    setenv("COLUMNS", "1", 1);
    assert_int_equal(pyro_output_width(true), 40);
    setenv("COLUMNS", "99999999999999999999", 1);
    assert_true(pyro_output_width(true) > 1000);
    setenv("COLUMNS", "wide", 1);
    assert_true(pyro_output_width(true) >= 40);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_new_and_replaced),
    cmocka_unit_test(test_link_stays),
    cmocka_unit_test(test_failures_leave_nothing),
    cmocka_unit_test(test_devices_are_written_to),
    cmocka_unit_test(test_width),
};

UNIT_TESTS(tests, make_folder, remove_folder)
