/* Tests of analyze/enclosing.c: deep nesting is walked once. */
#include "analyze/enclosing.h"
#include "unit.h"

#include <stddef.h>
#include <stdlib.h>

enum { DEPTH = 50000, EVERY = 7001 };

typedef struct counted {
    size_t asked;
    bool never;
} counted;

static bool is_wanted(const void *user, uint32_t event)
{
    counted *counted = (void *)(uintptr_t)user;

    counted->asked++;
    return !counted->never && event % EVERY == 0;
}

static void test_deep_nests_are_walked_once(void **state)
{
    uint32_t *parent = malloc(DEPTH * sizeof *parent);
    pyro_joins joins = {.parent = parent};
    (void)state;

    assert_non_null(parent);
    for (uint32_t i = 0; i < DEPTH; i++)
        parent[i] = i > 0 ? i - 1 : PYRO_NO_EVENT;
    for (int never = 0; never < 2; never++) {
        pyro_enclosing enclosing = {0};
        counted counted = {.never = never};

        for (uint32_t i = 0; i < DEPTH; i++) {
            uint32_t expected = never || i == 0 ? PYRO_NO_EVENT : (i - 1) / EVERY * EVERY;

            assert_int_equal(pyro_enclosing_find(&enclosing, &joins, DEPTH, i, is_wanted, &counted),
                             expected);
        }
        assert_true(counted.asked < (size_t)DEPTH * 40);
        pyro_enclosing_free(&enclosing);
    }
    free(parent);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_deep_nests_are_walked_once)};

UNIT_TESTS(tests, NULL, NULL)
