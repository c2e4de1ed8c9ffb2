/* Tests of base/pages.c. */
#include "base/pages.h"

#include "base/processors.h"
#include "fail_alloc.h"
#include "unit.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEGABYTE ((size_t)1 << 20)

/* Waits until the system holds all pages of a range. */
static bool becomes_resident(void *begin, size_t size)
{
    unsigned char pages[1024];
    size_t count = size / 4096;
    for (int tries = 0; tries < 2000; tries++) {
        size_t there = 0;
        assert_int_equal(mincore(begin, size, pages), 0);
        for (size_t i = 0; i < count; i++)
            there += pages[i] & 1;
        if (there == count)
            return true;
        usleep(1000);
    }
    return false;
}

static void test_sizes(void **state)
{
    (void)state;
    for (size_t size = 1; size < 9 * MEGABYTE; size += 99991) {
        size_t whole = pyro_whole_large_pages(size);
        assert_true(whole >= size && whole - size < 2 * MEGABYTE);
        assert_int_equal((whole + 16) % (2 * MEGABYTE), 0);
    }
}

static void test_populates(void **state)
{
    (void)state;
    pyro_populator *populator = pyro_populator_start();
    if (!populator) {
        assert_int_equal(pyro_count_processors(), 1);
        return;
    }
    size_t size = 8 * MEGABYTE;
    char *block = pyro_calloc_pages(1, size);
    uintptr_t whole = ((uintptr_t)block + 2 * MEGABYTE - 1) & ~(2 * MEGABYTE - 1);
    block[size / 2] = 7;
    pyro_populator_add(populator, block, size);
    /* An old kernel populates nothing: then only the contents are tested. */
    bool is_known = madvise((void *)whole, 4096, 23) == 0;
    if (is_known && sysconf(_SC_PAGESIZE) == 4096)
        assert_true(becomes_resident((void *)whole, 4 * MEGABYTE));
    for (size_t i = 0; i < size; i += 1021)
        assert_int_equal(block[i], i == size / 2 ? 7 : 0);
    assert_int_equal(block[size / 2], 7);
    pyro_populator_stop(populator);
    free(block);
}

/* Memory may be freed while it is populated, the queue may be full, and there may be no thread. */
static void test_hostile_order(void **state)
{
    (void)state;
    pyro_populator *populator = pyro_populator_start();
    for (int i = 0; i < 100; i++) {
        char *block = malloc(6 * MEGABYTE);
        pyro_populator_add(populator, block, 6 * MEGABYTE);
        free(block);
    }
    pyro_populator_add(populator, NULL, 4 * MEGABYTE);
    pyro_populator_add(populator, &populator, 1);
    pyro_populator_stop(populator);
    pyro_populator_add(NULL, NULL, 0);
    pyro_populator_stop(NULL);
    fail_alloc_after(0);
    assert_null(pyro_populator_start());
    fail_alloc_after(-1);
}

/* Pages are queued ahead of an array of items of 1 MB, and never behind its capacity. */
static void test_follows_an_array(void **state)
{
    (void)state;
    pyro_populator *populator = pyro_populator_start();
    size_t capacity = 12;
    char *block = pyro_calloc_pages(capacity, MEGABYTE);
    uintptr_t ahead = ((uintptr_t)block + 6 * MEGABYTE - 1) & ~(2 * MEGABYTE - 1);
    for (size_t count = 1; count <= 4; count++)
        pyro_populator_follow(populator, block, count, capacity, MEGABYTE);
    bool is_known = populator && madvise((void *)ahead, 4096, 23) == 0;
    if (is_known && sysconf(_SC_PAGESIZE) == 4096)
        assert_true(becomes_resident((void *)ahead, 2 * MEGABYTE));
    for (size_t count = 5; count <= capacity; count++)
        pyro_populator_follow(populator, block, count, capacity, MEGABYTE);
    pyro_populator_follow(NULL, NULL, 0, 0, 1);
    pyro_populator_stop(populator);
    free(block);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_populates),
    cmocka_unit_test(test_follows_an_array),
    cmocka_unit_test(test_hostile_order),
};

UNIT_TESTS(tests, NULL, NULL)
