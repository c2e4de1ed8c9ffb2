/*
 * Declarations for a unit test file. The file ends in UNIT_TESTS(tests, set_up, tear_down), which
 * registers it with the runner (runner.c) of its room's executable; no other list names it.
 */
#ifndef PYRO_TESTS_UNIT_H
#define PYRO_TESTS_UNIT_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One test file. */
typedef struct unit_file {
    const char *path; /* __FILE__ */
    const struct CMUnitTest *tests;
    size_t count;
    CMFixtureFunction set_up, tear_down; /* before the first and after the last test, or NULL */
    struct unit_file *next;
} unit_file;

/* Adds a file to the executable's list. Called before main; the file must stay valid. */
void unit_register(unit_file *file);

#define UNIT_TESTS(array, before_all, after_all) \
    __attribute__((constructor)) static void register_unit_tests(void) \
    { \
        static unit_file this_file = {.path = __FILE__, \
                                      .tests = array, \
                                      .count = sizeof array / sizeof *array, \
                                      .set_up = before_all, \
                                      .tear_down = after_all}; \
        unit_register(&this_file); \
    }

#endif
