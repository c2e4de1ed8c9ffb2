/* Tests of cli/inputs.c: outputs are compared with inputs by file, not by name. */
#include "cli/inputs.h"

#include "cli/output.h"
#include "unit.h"

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
    return mkdtemp(folder) && chdir(folder) == 0 && mkdir("in", 0777) == 0 &&
                   mkdir("in/deep", 0777) == 0
               ? 0
               : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"a",         "soft",    "hard",    "out", "a.devices.json",
                                        "in/deep/b", "in/deep", "in/fifo", "in"};
    (void)state;
    pyro_inputs_clear();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(names[i]);
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static int check(const char *path)
{
    pyro_error error;

    pyro_error_clear(&error);
    int status = pyro_inputs_check(path, &error);
    assert_true(status == PYRO_OK || strstr(error.message, "overwrite"));
    return status;
}

static void test_links_are_the_same_file(void **state)
{
    (void)state;
    make_file("a");
    make_file("a.devices.json");
    make_file("out");
    assert_int_equal(symlink("a", "soft"), 0);
    assert_int_equal(link("a", "hard"), 0);
    pyro_inputs_add("soft", true);
    assert_int_equal(check("a"), PYRO_ERROR_ARGUMENT);
    assert_int_equal(check("hard"), PYRO_ERROR_ARGUMENT);
    assert_int_equal(check("in/../soft"), PYRO_ERROR_ARGUMENT);
    assert_int_equal(check("out"), PYRO_OK);
    assert_int_equal(check("new"), PYRO_OK);
    assert_int_equal(check("/dev/null"), PYRO_OK);
}

static void test_words_that_name_files(void **state)
{
    static const char *const words[] = {"a:name", "x,a,y", "cat a > out", "--data=a"};
    (void)state;
    make_file("a");
    make_file("a.devices.json");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(check("a"), PYRO_OK);
        pyro_inputs_add(words[i], false);
        assert_int_equal(check("a"), PYRO_ERROR_ARGUMENT);
        assert_int_equal(check("a.devices.json"), PYRO_ERROR_ARGUMENT);
        pyro_inputs_clear();
    }
}

static void test_folders_hold_their_files(void **state)
{
    (void)state;
    make_file("in/deep/b");
    make_file("out");
    assert_int_equal(link("in/deep/b", "hard"), 0);
    assert_int_equal(mkfifo("in/fifo", 0666), 0);
    pyro_inputs_add("in", false);
    assert_int_equal(check("hard"), PYRO_OK);
    pyro_inputs_add("in", true);
    assert_int_equal(check("hard"), PYRO_ERROR_ARGUMENT);
    assert_int_equal(check("in/deep/b"), PYRO_ERROR_ARGUMENT);
    assert_int_equal(check("in/deep/new"), PYRO_OK);
    assert_int_equal(check("in/fifo"), PYRO_OK);
    assert_int_equal(check("out"), PYRO_OK);
}

static void test_nothing_is_written_over_an_input(void **state)
{
    char content[4] = "";
    pyro_error error;
    (void)state;

    make_file("a");
    assert_int_equal(link("a", "hard"), 0);
    pyro_inputs_add("a", false);
    pyro_error_clear(&error);
    assert_int_equal(pyro_output_file("hard", "new", 3, &error), PYRO_ERROR_ARGUMENT);
    FILE *file = fopen("hard", "r");
    assert_non_null(file);
    assert_int_equal(fread(content, 1, sizeof content, file), 1);
    fclose(file);
}

/* The row of an option with a file must say whether it reads or writes the file. */
static void test_every_option_that_writes_says_so(void **state)
{
    static const char *const inputs[] = {
        "model", "models", "model-path", "against", "python", "annotations", "provenance",
        "peaks", "db",     "merge",      "chips",   "learnt", "graph"};
    (void)state;
    for (size_t i = 0; pyro_commands[i]; i++) {
        const pyro_option_group *group = pyro_commands[i]->groups;

        for (; group && group->title; group++) {
            for (const pyro_option *option = group->options; option->long_name; option++) {
                bool is_input = false;

                for (size_t j = 0; j < sizeof inputs / sizeof *inputs; j++)
                    is_input = is_input || strcmp(option->long_name, inputs[j]) == 0;
                bool takes_file = option->completion != PYRO_COMPLETE_NOTHING;
                if (takes_file && is_input == (option->writes != PYRO_WRITES_NOTHING))
                    fail_msg("%s --%s", pyro_commands[i]->name, option->long_name);
            }
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_links_are_the_same_file, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(test_words_that_name_files, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(test_folders_hold_their_files, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(test_nothing_is_written_over_an_input, make_folder,
                                    remove_folder),
    cmocka_unit_test(test_every_option_that_writes_says_so),
};

UNIT_TESTS(tests, NULL, NULL)
