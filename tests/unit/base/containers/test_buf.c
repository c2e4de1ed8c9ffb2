/* Tests of base/containers/buf.c. */
#include "base/containers/buf.h"

#include "fail_alloc.h"
#include "unit.h"
#include <inttypes.h>
#include <pyrometer/report.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void test_writes(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_buf_adds(&buf, "abc");
    pyro_buf_addc(&buf, '-');
    pyro_buf_fill(&buf, '=', 3);
    pyro_buf_add(&buf, "x\0y", 3);
    pyro_buf_addf(&buf, "%d%%", 42);
    assert_int_equal(buf.length, 13);
    assert_memory_equal(buf.data, "abc-===x\0y42%", 14);
    pyro_buf_reset(&buf);
    assert_int_equal(buf.length, 0);
    assert_string_equal(buf.data, "");
    pyro_buf_add(&buf, NULL, 0);
    assert_string_equal(buf.data, "");
    for (int i = 0; i < 10000; i++)
        pyro_buf_addf(&buf, "%d,", i);
    assert_int_equal(buf.length, 48890);
    assert_int_equal(strlen(buf.data), 48890);
    pyro_buf_free(&buf);
    assert_null(buf.data);
}

static void test_integers(void **state)
{
    (void)state;
    int64_t value = 1;
    for (int digits = 0; digits < 19; digits++, value = digits < 19 ? value * 10 : 0)
        for (int64_t near = -1; near <= 1; near++)
            for (int sign = -1; sign <= 1; sign += 2) {
                char expected[32];
                pyro_buf buf = PYRO_BUF_INIT;
                snprintf(expected, sizeof expected, "%" PRId64, sign * (value + near));
                pyro_buf_add_integer(&buf, sign * (value + near));
                assert_string_equal(buf.data, expected);
                pyro_buf_free(&buf);
            }
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_buf_add_integer(&buf, INT64_MIN);
    pyro_buf_add_integer(&buf, INT64_MAX);
    assert_string_equal(buf.data, "-92233720368547758089223372036854775807");
    pyro_buf_free(&buf);
}

static void test_reserve(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    char *room = pyro_buf_reserve(&buf, 1000);
    memset(room, 'r', 1000);
    buf.length += 999;
    size_t size;
    char *data = pyro_buf_detach(&buf, &size);
    assert_int_equal(size, 999);
    assert_int_equal(strlen(data), 999);
    pyro_free(data);
    assert_null(pyro_buf_reserve(&buf, SIZE_MAX));
    assert_true(buf.failed);
    assert_null(pyro_buf_detach(&buf, &size));
    assert_int_equal(size, 0);
    assert_false(buf.failed);
}

static void test_detach_of_nothing(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    size_t size = 5;
    char *data = pyro_buf_detach(&buf, &size);
    assert_string_equal(data, "");
    assert_int_equal(size, 0);
    pyro_free(data);
    pyro_free(NULL);
}

static void test_failure_is_remembered(void **state)
{
    (void)state;
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_buf_adds(&buf, "abc");
    fail_alloc_after(0);
    pyro_buf_fill(&buf, 'x', 1000);
    assert_true(buf.failed);
    fail_alloc_after(-1);
    pyro_buf_adds(&buf, "later");
    pyro_buf_addf(&buf, "later");
    pyro_buf_fill(&buf, 'x', 3);
    assert_string_equal(buf.data, "abc");
    assert_null(pyro_buf_detach(&buf, NULL));
    assert_null(buf.data);
}

static void test_grow(void **state)
{
    (void)state;
    int *items = NULL;
    size_t capacity = 0;
    assert_true(pyro_grow(&items, &capacity, 0, sizeof *items));
    assert_null(items);
    for (size_t i = 0; i < 1000; i++) {
        assert_true(pyro_grow(&items, &capacity, i + 1, sizeof *items));
        items[i] = (int)i;
    }
    assert_int_equal(items[999], 999);
    size_t before = capacity;
    assert_false(pyro_grow(&items, &capacity, SIZE_MAX / 2, sizeof *items));
    assert_false(pyro_grow(&items, &capacity, SIZE_MAX, 1));
    fail_alloc_after(0);
    assert_false(pyro_grow(&items, &capacity, before + 1, sizeof *items));
    fail_alloc_after(-1);
    assert_int_equal(capacity, before);
    assert_int_equal(items[999], 999);
    pyro_free(items);
}

/* Larger arrays move into large pages, and then as mappings; a limit on memory leaves them whole. */
static void test_grow_large(void **state)
{
    (void)state;
    enum { ITEM = 12 };
    typedef struct {
        char bytes[ITEM];
    } item;
    item *items = NULL;
    size_t capacity = 0, count = 0, largest = ((size_t)100 << 20) / ITEM;
    while (capacity < largest) {
        size_t before = capacity;
        fail_alloc_after(0);
        assert_false(pyro_grow(&items, &capacity, before + 1, ITEM));
        fail_alloc_after(-1);
        assert_int_equal(capacity, before);
        assert_true(pyro_grow(&items, &capacity, before + 1, ITEM));
        assert_true(capacity > before);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(items[i * 4096].bytes[0], (char)i);
        for (; count * 4096 < capacity; count++)
            items[count * 4096].bytes[0] = (char)count;
        memset(&items[capacity - 1], 0x55, ITEM);
    }
    /* Too much address space at once is not asked for again. */
    fail_alloc_after(0);
    assert_false(pyro_grow(&items, &capacity, capacity * 8, ITEM));
    fail_alloc_after(-1);
    pyro_free(items);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_writes),
    cmocka_unit_test(test_integers),
    cmocka_unit_test(test_reserve),
    cmocka_unit_test(test_detach_of_nothing),
    cmocka_unit_test(test_failure_is_remembered),
    cmocka_unit_test(test_grow),
    cmocka_unit_test(test_grow_large),
};

UNIT_TESTS(tests, NULL, NULL)
