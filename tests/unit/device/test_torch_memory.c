/* Memory of torch's CUDA allocator, on stubs of torch's libraries. */
#include "device/torch_memory.h"
#include "unit.h"

#include <dlfcn.h>
#include <string.h>

static pyro_torch_memory events[8];
static size_t count;

static void watch(const pyro_torch_memory *event)
{
    events[count++] = *event;
}

static void find(void *library, void *target, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(target, &symbol, sizeof symbol);
}

static void test_reports_are_seen_and_passed_on(void **state)
{
    void (*allocate)(uintptr_t address, int64_t bytes);
    void (*fail_allocation)(int64_t bytes);
    int64_t *reported;
    int *failures;
    (void)state;
    assert_false(pyro_torch_memory_watch(watch)); /* torch is not loaded */
    void *library = dlopen(UNIT_C10_CUDA_STUB, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    find(library, &allocate, "stub_allocate");
    find(library, &fail_allocation, "stub_fail");
    find(library, &reported, "c10_reported_bytes");
    find(library, &failures, "c10_failures");
    assert_true(pyro_torch_memory_watch(watch));
    assert_true(pyro_torch_memory_watch(watch)); /* again: still once */
    allocate(0x1000, 512);
    allocate(0x1000, -512);
    allocate(0x2000, 64);
    fail_allocation(1 << 20);
    assert_int_equal(count, 4);
    assert_true(events[0].address == 0x1000 && events[0].bytes == 512);
    assert_true(events[1].bytes == -512);
    assert_int_equal(events[0].total_allocated, 100);
    assert_int_equal(events[0].total_reserved, 200);
    assert_int_equal(events[0].device_type, 1);
    assert_int_equal(events[0].device_index, 3);
    assert_true(events[3].out_of_memory);
    assert_int_equal(events[3].bytes, 1 << 20);
    assert_true(*reported == 64); /* torch's own function got all of it */
    assert_int_equal(*failures, 1);
    pyro_torch_memory_want_usage(false);
    allocate(0x3000, 8);
    assert_int_equal(count, 4);
    fail_allocation(1 << 20);
    assert_int_equal(count, 5);
    assert_true(events[4].out_of_memory);
    pyro_torch_memory_want_usage(true);
    allocate(0x3000, -8);
    assert_int_equal(count, 6);
    pyro_torch_memory_watch(NULL);
    pyro_torch_memory_want_usage(true);
    allocate(0x3000, 8);
    assert_int_equal(count, 6);
    assert_true(*reported == 72);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reports_are_seen_and_passed_on),
};

UNIT_TESTS(tests, NULL, NULL)
