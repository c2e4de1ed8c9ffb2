/*
 * The main of every unit test executable: runs all registered test files,
 * or the named ones, and reports failures at the end. A crash, a sanitizer's report or a
 * call of exit() names the file that was running; cmocka's last line before it names the test.
 */
#include "fail_alloc.h"
#include "fake_clock.h"
#include "process_state.h"
#include "unit.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Provided by the sanitizers' runtimes. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static unit_file *files;
static const char *running; /* the path of the file whose tests run */

static int usage(const char *program, FILE *to)
{
    fprintf(to,
            "usage: %s [--list] [FILE | FILE:TEST]...\n"
            "Runs the unit tests of %s, or those named; * and ? are wildcards.\n",
            program, UNIT_ROOM);
    return to == stderr ? 2 : 0;
}

/* tests/unit/trace/joins/test_order.c is joins/order in the executable of src/trace. */
static const char *file_name(const char *path, char name[256])
{
    static const char room[] = "/unit/" UNIT_ROOM "/";
    const char *below = strstr(path, room);
    below = below ? below + sizeof room - 1 : path;
    const char *base = strrchr(below, '/');
    base = base ? base + 1 : below;
    int folder = (int)(base - below);
    if (strncmp(base, "test_", 5) == 0)
        base += 5;
    int length = (int)strcspn(base, ".");
    snprintf(name, 256, "%.*s%.*s", folder, below, length, base);
    return name;
}

/* In order of their paths, because the linker decides the order of constructors. */
void unit_register(unit_file *file)
{
    unit_file **place = &files;
    while (*place && strcmp((*place)->path, file->path) < 0)
        place = &(*place)->next;
    file->next = *place;
    *place = file;
}

/* Calls only functions that are safe in a signal handler. */
static void name_what_ran(void)
{
    const char *path = running;
    if (!path)
        return;
    running = NULL;
    if (write(STDERR_FILENO, "\nDied while running ", 20) < 0 ||
        write(STDERR_FILENO, path, strlen(path)) < 0 ||
        write(STDERR_FILENO, "; the last [ RUN ] above is the test\n", 37) < 0)
        return;
}

static void on_abort(int number)
{
    name_what_ran();
    signal(number, SIG_DFL);
    raise(number);
}

/* A test that calls exit() would hide all tests after it. */
static void on_exit_within(void)
{
    if (running) {
        name_what_ran();
        _exit(1);
    }
}

static bool matches(const char *pattern, const char *file, const char *test)
{
    const char *colon = strchr(pattern, ':');
    if (!colon)
        return fnmatch(pattern, file, 0) == 0;
    char of_file[256];
    snprintf(of_file, sizeof of_file, "%.*s", (int)(colon - pattern), pattern);
    return fnmatch(of_file, file, 0) == 0 && fnmatch(colon + 1, test, 0) == 0;
}

static bool is_wanted(const char *file, const char *test, char **patterns, bool *used)
{
    bool wanted = !*patterns;
    for (size_t i = 0; patterns[i]; i++)
        if (matches(patterns[i], file, test))
            wanted = used[i] = true;
    return wanted;
}

/* The selected tests of the file, to be freed; their number in *count. */
static struct CMUnitTest *choose(const unit_file *file, char **patterns, bool *used, size_t *count)
{
    char name[256];
    file_name(file->path, name);
    struct CMUnitTest *chosen = calloc(file->count, sizeof *chosen);
    *count = 0;
    for (size_t i = 0; chosen && i < file->count; i++)
        if (is_wanted(name, file->tests[i].name, patterns, used))
            chosen[(*count)++] = file->tests[i];
    return chosen;
}

/* Returns the number of failed tests; a failed set-up counts as one. */
static int run_file(const unit_file *file, const struct CMUnitTest *tests, size_t count)
{
    char name[256];
    process_state *state = process_state_save();
    if (!state)
        return 1;
    printf("== %s\n", file_name(file->path, name));
    running = file->path;
    int failed = _cmocka_run_group_tests(name, tests, count, file->set_up, file->tear_down);
    running = NULL;
    /* A failed test may have left these set. */
    fail_alloc_after(-1);
    fake_clock_set(0);
    if (process_state_restore(state) != 0) {
        fprintf(stderr, "%s: the process cannot be put back as it was\n", name);
        failed = failed ? failed : 1;
    }
    return failed < 0 ? 1 : failed;
}

static void list_tests(const unit_file *file, const struct CMUnitTest *tests, size_t count)
{
    char name[256];
    file_name(file->path, name);
    for (size_t i = 0; i < count; i++)
        printf("%s:%s\n", name, tests[i].name);
}

/* Runs or lists the selected tests; `failures` gets the failures per file. */
static int run_all(char **patterns, bool *used, bool list, int *failures)
{
    int total = 0;
    for (const unit_file *file = files; file; file = file->next, failures++) {
        size_t count;
        struct CMUnitTest *tests = choose(file, patterns, used, &count);
        if (list)
            list_tests(file, tests, count);
        else if (count)
            total += *failures = run_file(file, tests, count);
        free(tests);
    }
    return total;
}

static void report(const char *program, const int *failures, int total)
{
    if (total == 0)
        return;
    printf("\n%d failed:\n", total);
    for (const unit_file *file = files; file; file = file->next, failures++) {
        char name[256];
        if (*failures)
            printf("  %s %s   (%d in %s)\n", program, file_name(file->path, name), *failures,
                   file->path);
    }
}

/* Environment variables for the tests, unless the caller has set them. */
static void set_environment(void)
{
    setenv("PYRO_TEST_FILES", UNIT_TEST_FILES, 0);
    setenv("PYRO_NVML", UNIT_NVML_STUB, 0);
    /* No models from the user's registry. */
    setenv("XDG_DATA_HOME", UNIT_DATA_HOME, 1);
}

int main(int argc, char **argv)
{
    bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
    if (argc > 1 && argv[1][0] == '-' && !list)
        return usage(argv[0], strcmp(argv[1], "--help") == 0 ? stdout : stderr);
    char **patterns = argv + 1 + list;
    size_t file_count = 0;
    for (const unit_file *file = files; file; file = file->next)
        file_count++;
    bool *used = calloc((size_t)argc, sizeof *used);
    int *failures = calloc(file_count + 1, sizeof *failures);
    if (!used || !failures)
        return 2;

    /* Keeps lines before a crash, in order with those of stderr. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    set_environment();
    signal(SIGABRT, on_abort);
    atexit(on_exit_within);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(name_what_ran);

    int total = run_all(patterns, used, list, failures);
    report(argv[0], failures, total);
    for (size_t i = 0; patterns[i]; i++)
        if (!used[i]) {
            fprintf(stderr, "%s: no such tests; --list names them\n", patterns[i]);
            total++;
        }
    free(used);
    free(failures);
    return total ? 1 : 0;
}
