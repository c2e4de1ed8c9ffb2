/* Buffers for records: used again, emptied, limited, in order of completion. */
#include "device/activity_buffers.h"
#include "unit.h"

#include <string.h>

static pyro_activity_buffers buffers;

static void test_buffers_are_used_again_and_empty(void **state)
{
    (void)state;
    assert_true(pyro_activity_buffers_begin(&buffers, 2, 8));
    uint8_t *bytes = pyro_activity_buffers_take(&buffers);
    memset(bytes, 0xff, PYRO_ACTIVITY_BUFFER_BYTES);
    pyro_activity_buffers_complete(&buffers, bytes, 100);
    pyro_activity_buffer *full = pyro_activity_buffers_next(&buffers);
    assert_ptr_equal(full->bytes, bytes);
    assert_int_equal(full->valid, 100);
    assert_null(pyro_activity_buffers_next(&buffers));
    pyro_activity_buffers_recycle(&buffers, full);
    assert_ptr_equal(pyro_activity_buffers_take(&buffers), bytes);
    for (size_t i = 0; i < PYRO_ACTIVITY_BUFFER_BYTES; i += 4096)
        assert_int_equal(bytes[i], 0);
    assert_int_equal(buffers.count, 2);
    pyro_activity_buffers_complete(&buffers, bytes, 0);
    pyro_activity_buffers_end(&buffers);
}

static void test_full_buffers_come_in_order(void **state)
{
    (void)state;
    assert_true(pyro_activity_buffers_begin(&buffers, 1, 8));
    uint8_t *first = pyro_activity_buffers_take(&buffers);
    uint8_t *second = pyro_activity_buffers_take(&buffers);
    pyro_activity_buffers_complete(&buffers, second, SIZE_MAX);
    pyro_activity_buffers_complete(&buffers, first, 1);
    assert_ptr_equal(buffers.first_full->bytes, second);
    assert_int_equal(buffers.first_full->valid, PYRO_ACTIVITY_BUFFER_BYTES);
    assert_ptr_equal(buffers.last_full->bytes, first);
    pyro_activity_buffers_end(&buffers);
}

static void test_beyond_the_limit_records_are_discarded(void **state)
{
    (void)state;
    assert_true(pyro_activity_buffers_begin(&buffers, 0, 1));
    uint8_t *only = pyro_activity_buffers_take(&buffers);
    uint8_t *discard = pyro_activity_buffers_take(&buffers);
    assert_ptr_equal(discard, buffers.discard);
    assert_ptr_equal(pyro_activity_buffers_take(&buffers), discard);
    pyro_activity_buffers_complete(&buffers, discard, 4000);
    pyro_activity_buffer *full = pyro_activity_buffers_next(&buffers);
    assert_true(full->is_discarded);
    assert_int_equal(full->valid, 4000);
    pyro_activity_buffers_recycle(&buffers, full);
    pyro_activity_buffers_refill(&buffers, 4);
    assert_int_equal(buffers.count, 1);
    pyro_activity_buffers_complete(&buffers, only, 0);
    pyro_activity_buffers_end(&buffers);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_buffers_are_used_again_and_empty),
    cmocka_unit_test(test_full_buffers_come_in_order),
    cmocka_unit_test(test_beyond_the_limit_records_are_discarded),
};

UNIT_TESTS(tests, NULL, NULL)
