/* Tests of base/containers/map.c. */
#include "base/containers/map.h"

#include "fail_alloc.h"
#include "unit.h"

static void test_put_and_get(void **state)
{
    (void)state;
    pyro_map map = PYRO_MAP_INIT;
    assert_int_equal(pyro_map_get(&map, 0), PYRO_MAP_NONE);
    for (uint64_t i = 0; i < 20000; i++)
        assert_true(pyro_map_put(&map, i << 40 ^ i, (uint32_t)i));
    assert_int_equal(map.count, 20000);
    for (uint64_t i = 0; i < 20000; i++)
        assert_int_equal(pyro_map_get(&map, i << 40 ^ i), i);
    assert_int_equal(pyro_map_get(&map, 12345), PYRO_MAP_NONE);
    assert_int_equal(pyro_map_get(&map, UINT64_MAX), PYRO_MAP_NONE);
    pyro_map_free(&map);
    assert_int_equal(map.count, 0);
}

static void test_replace(void **state)
{
    (void)state;
    pyro_map map = PYRO_MAP_INIT;
    for (uint32_t i = 0; i < 100; i++)
        assert_true(pyro_map_put(&map, 7, i));
    assert_int_equal(map.count, 1);
    assert_int_equal(map.capacity, 16);
    assert_int_equal(pyro_map_get(&map, 7), 99);
    assert_true(pyro_map_put(&map, 0, 1));
    assert_true(pyro_map_put(&map, UINT64_MAX, 2));
    assert_int_equal(pyro_map_get(&map, 0), 1);
    assert_int_equal(pyro_map_get(&map, UINT64_MAX), 2);
    pyro_map_free(&map);
}

static void test_without_memory(void **state)
{
    (void)state;
    pyro_map map = PYRO_MAP_INIT;
    fail_alloc_after(0);
    assert_false(pyro_map_put(&map, 1, 1));
    fail_alloc_after(1);
    uint64_t key = 0;
    while (pyro_map_put(&map, key, 5))
        key++;
    fail_alloc_after(-1);
    assert_int_equal(key, 12);
    assert_int_equal(map.count, 12);
    assert_true(pyro_map_put(&map, 3, 6));
    assert_int_equal(pyro_map_get(&map, 3), 6);
    assert_int_equal(pyro_map_get(&map, 11), 5);
    assert_int_equal(pyro_map_get(&map, 12), PYRO_MAP_NONE);
    pyro_map_free(&map);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_put_and_get),
    cmocka_unit_test(test_replace),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
