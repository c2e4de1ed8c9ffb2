/* Tests of history/database/location.c. */
#include "unit.h"

#include "history/database/location.h"

#include <pyrometer/error.h>

#include <stdlib.h>
#include <string.h>

static void test_no_password_is_shown(void **state)
{
    static const struct {
        const char *location, *masked, *name;
    } rows[] = {
        {"postgresql://u:secret@h:1/d", "postgresql://u:******@h:1/d", "postgresql://u@h:1/d"},
        {"postgresql://u:se?ret@h/d", "postgresql://u:******@h/d", "postgresql://u@h/d"},
        {"postgresql://u:s@cret@h/d", "postgresql://u:******@h/d", "postgresql://u@h/d"},
        {"postgresql://u@h/d?sslmode=x&password=secret&a=b@c",
         "postgresql://u@h/d?sslmode=x&password=******&a=b@c", "postgresql://u@h/d"},
        {"postgresql://h/d?password=&sslpassword=secret",
         "postgresql://h/d?password=&sslpassword=******", "postgresql://h/d"},
        {"postgresql://h:5432/d", "postgresql://h:5432/d", "postgresql://h:5432/d"},
        {"postgresql://", "postgresql://", "postgresql://"},
        {"://:@", "://:@", "://@"},
        {"folder/a:b@c.db", "folder/a:b@c.db", "folder/a:b@c.db"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *copy = strdup(rows[i].location), *name = pyro_location_name(rows[i].location);

        pyro_location_mask(copy);
        assert_string_equal(copy, rows[i].masked);
        assert_string_equal(name, rows[i].name);
        free(copy);
        free(name);
    }
}

static void test_check(void **state)
{
    static const char *const good[] = {"postgresql://h/d", "postgres://u:a%40b@h/d",
                                       "postgresql://u:se?ret@h/d", "postgresql:///d?host=%2Ftmp"};
    static const char *const bad[] = {
        "mysql://u:secret@h/d",         "://",
        "postgresql://u:secret%@h/d",   "postgresql://u:secret%00@h/d",
        "postgresql://u:x@secret@h/d",  "postgresql://u:x/secret@h/d",
        "postgresql://u:secret%zz@h/d", "http://secret"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(pyro_location_check(good[i], NULL), PYRO_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pyro_error error;

        pyro_error_clear(&error);
        assert_int_not_equal(pyro_location_check(bad[i], &error), PYRO_OK);
        assert_null(strstr(error.message, "secret"));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_no_password_is_shown),
    cmocka_unit_test(test_check),
};

UNIT_TESTS(tests, NULL, NULL)
