/* Tests of the tracker: views, writes through views, and reused addresses. */
#include "dataflow/tracker.h"

#include "fail_alloc.h"
#include "unit.h"
#include <stddef.h>

static pyro_tensor_use whole(uint64_t tensor, uint64_t storage)
{
    return (pyro_tensor_use){tensor, storage, pyro_region_run(0, 64)};
}

static pyro_tensor_use part(uint64_t tensor, uint64_t storage, int64_t begin, int64_t end)
{
    return (pyro_tensor_use){tensor, storage, pyro_region_run(begin, end)};
}

/* Every `step`-th float of 16 from `first` on. */
static pyro_tensor_use column(uint64_t tensor, uint64_t storage, int64_t first, int64_t step)
{
    const int64_t size = (16 - first + step - 1) / step;
    return (pyro_tensor_use){tensor, storage, pyro_region_strided(first * 4, 4, 1, &size, &step)};
}

static void make(pyro_tracker *tracker, pyro_tensor_use seen, pyro_making how, uint32_t value)
{
    assert_true(pyro_tracker_make(tracker, &seen, how, value));
}

/* Checks what a read finds: the first value, and a second one or UINT32_MAX. */
static void reads(pyro_tracker *tracker, pyro_tensor_use seen, uint32_t first, uint32_t second)
{
    assert_true(pyro_tracker_read(tracker, &seen));
    assert_int_equal(tracker->found_count, 1 + (second != UINT32_MAX));
    assert_int_equal(tracker->found[0].value, first);
    if (second != UINT32_MAX)
        assert_int_equal(tracker->found[1].value, second);
}

static void test_views_are_values_of_their_own(void **state)
{
    (void)state;
    pyro_tracker tracker = PYRO_TRACKER_INIT;
    make(&tracker, whole(1, 100), PYRO_MAKES_FRESH, 10);
    make(&tracker, whole(2, 100), PYRO_MAKES_VIEW, 11);
    reads(&tracker, whole(1, 100), 10, UINT32_MAX);
    reads(&tracker, whole(2, 100), 11, UINT32_MAX);
    pyro_tracker_free(&tracker);
}

static void test_a_write_is_seen_through_every_view(void **state)
{
    (void)state;
    pyro_tracker tracker = PYRO_TRACKER_INIT;
    make(&tracker, whole(1, 100), PYRO_MAKES_FRESH, 10);
    make(&tracker, whole(2, 100), PYRO_MAKES_VIEW, 11);
    make(&tracker, whole(2, 100), PYRO_MAKES_WRITE, 12);
    reads(&tracker, whole(2, 100), 12, UINT32_MAX);
    reads(&tracker, whole(1, 100), 12, UINT32_MAX);
    /* A view that is made after the write holds itself. */
    make(&tracker, whole(3, 100), PYRO_MAKES_VIEW, 13);
    reads(&tracker, whole(3, 100), 13, UINT32_MAX);
    pyro_tracker_free(&tracker);
}

static void test_a_write_into_a_part(void **state)
{
    (void)state;
    pyro_tracker tracker = PYRO_TRACKER_INIT;
    make(&tracker, whole(1, 100), PYRO_MAKES_FRESH, 10);
    make(&tracker, part(2, 100, 0, 16), PYRO_MAKES_VIEW, 11);
    make(&tracker, part(3, 100, 16, 32), PYRO_MAKES_VIEW, 12);
    make(&tracker, part(2, 100, 0, 16), PYRO_MAKES_WRITE, 13);
    reads(&tracker, whole(1, 100), 13, 10);
    reads(&tracker, part(3, 100, 16, 32), 12, UINT32_MAX);
    /* Regions that are not provably disjoint count as overlapping. */
    reads(&tracker, (pyro_tensor_use){3, 100, pyro_region_somewhere(16, -1)}, 13, 12);
    pyro_tracker_free(&tracker);
}

static void test_a_strided_write_hides_nothing(void **state)
{
    (void)state;
    pyro_tracker tracker = PYRO_TRACKER_INIT;
    make(&tracker, whole(1, 100), PYRO_MAKES_FRESH, 10);
    make(&tracker, column(2, 100, 0, 2), PYRO_MAKES_WRITE, 11);
    reads(&tracker, whole(1, 100), 11, 10);
    assert_false(tracker.found[0].assumed || tracker.found[1].assumed);
    pyro_tracker_free(&tracker);
}

static void test_halves_that_were_written_hide_what_was_there(void **state)
{
    (void)state;
    for (int strided = 0; strided < 2; strided++) {
        pyro_tracker tracker = PYRO_TRACKER_INIT;
        pyro_tensor_use left = strided ? column(2, 100, 0, 2) : part(2, 100, 0, 32);
        pyro_tensor_use right = strided ? column(3, 100, 1, 2) : part(3, 100, 32, 64);
        make(&tracker, whole(1, 100), PYRO_MAKES_FRESH, 10);
        make(&tracker, left, PYRO_MAKES_WRITE, 11);
        make(&tracker, right, PYRO_MAKES_WRITE, 12);
        reads(&tracker, whole(1, 100), 12, 11);
        reads(&tracker, left, 11, UINT32_MAX);
        reads(&tracker, right, 12, UINT32_MAX);
        /* Through the whole tensor, but only half of it. */
        left.tensor = right.tensor = 1;
        reads(&tracker, left, 11, UINT32_MAX);
        reads(&tracker, right, 12, UINT32_MAX);
        pyro_tracker_free(&tracker);
    }
}

static void test_what_is_not_decided_is_assumed(void **state)
{
    (void)state;
    pyro_tracker tracker = PYRO_TRACKER_INIT;
    pyro_tensor_use unknown = {2, 100, pyro_region_somewhere(0, 64)}, high = part(3, 100, 32, 64);
    make(&tracker, whole(1, 100), PYRO_MAKES_FRESH, 10);
    make(&tracker, high, PYRO_MAKES_VIEW, 12);
    make(&tracker, unknown, PYRO_MAKES_WRITE, 11);
    reads(&tracker, high, 11, 12);
    assert_true(tracker.found[0].assumed && tracker.found[1].assumed);
    reads(&tracker, whole(1, 100), 11, 10); /* it is certainly inside */
    assert_true(!tracker.found[0].assumed && tracker.found[1].assumed);
    pyro_tracker_free(&tracker);
}

static void test_addresses_are_used_again(void **state)
{
    (void)state;
    pyro_tracker tracker = PYRO_TRACKER_INIT;
    make(&tracker, whole(1, 100), PYRO_MAKES_FRESH, 10);
    make(&tracker, whole(1, 100), PYRO_MAKES_WRITE, 11);
    uint32_t memory = pyro_tracker_memory(&tracker, 100);
    make(&tracker, whole(2, 100), PYRO_MAKES_FRESH, 12);
    assert_int_not_equal(pyro_tracker_memory(&tracker, 100), memory);
    reads(&tracker, whole(2, 100), 12, UINT32_MAX);
    /* The tensor's address is reused too: it is a new tensor over new memory. */
    reads(&tracker, whole(1, 100), 12, UINT32_MAX);
    pyro_tracker_free(&tracker);
}

static void test_what_comes_from_outside(void **state)
{
    (void)state;
    pyro_tracker tracker = PYRO_TRACKER_INIT;
    pyro_tensor_use seen = whole(1, 100), other = whole(2, 100);
    assert_true(pyro_tracker_read(&tracker, &seen));
    assert_int_equal(tracker.found_count, 0);
    assert_false(pyro_tracker_knows(&tracker, &seen));
    assert_int_equal(pyro_tracker_memory(&tracker, 100), 0);
    make(&tracker, seen, PYRO_MAKES_FRESH, 10);
    assert_true(pyro_tracker_knows(&tracker, &other));
    reads(&tracker, other, 10, UINT32_MAX); /* x.data */
    pyro_tracker_free(&tracker);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    for (long until = 0; until < 10; until++) {
        pyro_tracker tracker = PYRO_TRACKER_INIT;
        pyro_tensor_use seen = whole(1, 100);
        fail_alloc_after(until);
        bool good = pyro_tracker_make(&tracker, &seen, PYRO_MAKES_FRESH, 1) &&
                    pyro_tracker_make(&tracker, &seen, PYRO_MAKES_WRITE, 2) &&
                    pyro_tracker_read(&tracker, &seen);
        long failures = fail_alloc_failures();
        fail_alloc_after(-1);
        assert_true(good == (failures == 0));
        pyro_tracker_free(&tracker);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_views_are_values_of_their_own),
    cmocka_unit_test(test_a_write_is_seen_through_every_view),
    cmocka_unit_test(test_a_write_into_a_part),
    cmocka_unit_test(test_a_strided_write_hides_nothing),
    cmocka_unit_test(test_halves_that_were_written_hide_what_was_there),
    cmocka_unit_test(test_what_is_not_decided_is_assumed),
    cmocka_unit_test(test_addresses_are_used_again),
    cmocka_unit_test(test_what_comes_from_outside),
    cmocka_unit_test(test_memory_runs_out),
};

UNIT_TESTS(tests, NULL, NULL)
