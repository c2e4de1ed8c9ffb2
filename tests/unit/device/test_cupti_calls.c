/* The kinds of calls that a thread knows: launches, and others. */
#include "device/cupti_calls.h"
#include "unit.h"

static pyro_recorder_thread *writer;
static pyro_calling_thread thread;
static const pyro_device_call copy = {.name = "copy"}, set = {.name = "set", .ends_soon = true};

static void learn(const pyro_device_call *call, uint32_t key, uint64_t head, uint32_t session)
{
    pyro_call_kind kind = {head, session, &writer};
    pyro_cupti_call_is_plain(&thread, key, call, kind);
}

static int forget(void **state)
{
    (void)state;
    thread = (pyro_calling_thread){0};
    return 0;
}

static void test_the_latest_other_calls_are_known(void **state)
{
    (void)state;
    uint32_t first = pyro_cupti_call_key(PYRO_CUPTI_RUNTIME, PYRO_MOST_CALL_IDS - 1);
    assert_false(pyro_cupti_find_other(&thread, first).head);
    for (uint32_t i = 0; i <= PYRO_OTHER_CALLS; i++) {
        learn(i % 2 ? &set : &copy, first - i, UINT64_MAX - i, 1);
        if (i == 1)
            learn(&set, first, 7, 1); /* once more, and now it ends soon */
    }
    for (uint32_t i = 0; i <= PYRO_OTHER_CALLS; i++) {
        pyro_other_kind known = pyro_cupti_find_other(&thread, first - i);
        assert_int_equal(known.head, i == 1 ? 0 : i ? UINT64_MAX - i : 7);
        if (known.head)
            assert_int_equal(known.ends_soon, i % 2 || i == 0);
        if (known.head)
            assert_int_equal(known.key, first - i);
    }
    assert_int_equal(thread.keys[0], 0);
}

static void test_kinds_of_an_earlier_session_are_forgotten(void **state)
{
    (void)state;
    learn(&copy, pyro_cupti_call_key(PYRO_CUPTI_DRIVER, 1), 5, 1);
    learn(&set, pyro_cupti_call_key(PYRO_CUPTI_DRIVER, 2), 6, 2);
    assert_false(pyro_cupti_find_other(&thread, pyro_cupti_call_key(PYRO_CUPTI_DRIVER, 1)).head);
    assert_int_equal(pyro_cupti_find_other(&thread, pyro_cupti_call_key(PYRO_CUPTI_DRIVER, 2)).head,
                     6);
}

static void test_keys_of_calls(void **state)
{
    (void)state;
    for (int domain = PYRO_CUPTI_DRIVER; domain <= PYRO_CUPTI_RUNTIME; domain++) {
        for (uint32_t id = 0; id < PYRO_MOST_CALL_IDS; id++) {
            uint32_t key = pyro_cupti_call_key(domain, id);
            assert_true(key && key < PYRO_ENDS_SOON);
            assert_int_equal(pyro_cupti_domain_of_key(key), domain);
            assert_int_equal(pyro_cupti_id_of_key(key), id);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(test_the_latest_other_calls_are_known, forget),
    cmocka_unit_test_setup(test_kinds_of_an_earlier_session_are_forgotten, forget),
    cmocka_unit_test(test_keys_of_calls),
};

UNIT_TESTS(tests, NULL, NULL)
