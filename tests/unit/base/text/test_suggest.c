/* Tests of base/text/suggest.c. */
#include "base/text/suggest.h"
#include "unit.h"

#include <stdint.h>
#include <string.h>

static const char *nearest(const char *word)
{
    static const char *const known[] = {"cost", "diff", "convention", "color", "help"};
    pyro_suggestion suggestion = PYRO_SUGGESTION(word);

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        pyro_suggestion_offer(&suggestion, known[i]);
    return suggestion.nearest;
}

static void test_distance(void **state)
{
    (void)state;
    assert_int_equal(pyro_edit_distance("", ""), 0);
    assert_int_equal(pyro_edit_distance("", "abc"), 3);
    assert_int_equal(pyro_edit_distance("cost", "cost"), 0);
    assert_int_equal(pyro_edit_distance("cots", "cost"), 1);
    assert_int_equal(pyro_edit_distance("cst", "cost"), 1);
    assert_int_equal(pyro_edit_distance("costs", "cost"), 1);
    assert_int_equal(pyro_edit_distance("kitten", "sitting"), 3);
}

static void test_distance_of_long_words(void **state)
{
    (void)state;
    char word[1000];

    memset(word, 'a', sizeof word);
    word[sizeof word - 1] = '\0';
    assert_int_equal(pyro_edit_distance(word, word), 0);
    assert_true(pyro_edit_distance(word, "a") >= 999);
}

static void test_nearest(void **state)
{
    (void)state;
    assert_string_equal(nearest("cots"), "cost");
    assert_string_equal(nearest("dif"), "diff");
    assert_string_equal(nearest("conv"), "convention");
    assert_string_equal(nearest("colour"), "color");
    assert_null(nearest("frobnicate"));
    assert_null(nearest("x"));
    assert_null(nearest(""));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_distance),
    cmocka_unit_test(test_distance_of_long_words),
    cmocka_unit_test(test_nearest),
};

UNIT_TESTS(tests, NULL, NULL)
