/* Memory of torch's CUDA allocator, on stubs of torch's libraries. */
#include "device/torch_memory.h"
#include "unit.h"

#include <dlfcn.h>
#include <string.h>

typedef struct report {
    uintptr_t address;
    int64_t bytes;
    size_t allocated, reserved;
    pyro_torch_device device;
    bool is_failure;
} report;

static report reports[8];
static size_t count;
static pyro_torch_reports torch;

static void on_usage(void *address, int64_t bytes, size_t allocated, size_t reserved,
                     pyro_torch_device device)
{
    reports[count++] = (report){(uintptr_t)address, bytes, allocated, reserved, device, false};
    torch.usage(address, bytes, allocated, reserved, device);
}

static void on_failure(int64_t bytes, size_t allocated, size_t reserved, pyro_torch_device device)
{
    reports[count++] = (report){0, bytes, allocated, reserved, device, true};
    torch.failure(bytes, allocated, reserved, device);
}

static void find(void *library, void *target, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(target, &symbol, sizeof symbol);
}

static void test_reports_are_seen_and_passed_on(void **state)
{
    static const pyro_torch_reports ours = {on_usage, on_failure};
    void (*allocate)(uintptr_t address, int64_t bytes);
    void (*fail_allocation)(int64_t bytes);
    int64_t *reported;
    int *failures;
    (void)state;
    assert_false(pyro_torch_memory_replace(&ours, &torch)); /* torch is not loaded */
    void *library = dlopen(UNIT_C10_CUDA_STUB, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    find(library, &allocate, "stub_allocate");
    find(library, &fail_allocation, "stub_fail");
    find(library, &reported, "c10_reported_bytes");
    find(library, &failures, "c10_failures");
    assert_true(pyro_torch_memory_replace(&ours, &torch));
    allocate(0x1000, 512);
    allocate(0x1000, -512);
    allocate(0x2000, 64);
    fail_allocation(1 << 20);
    assert_int_equal(count, 4);
    assert_true(reports[0].address == 0x1000 && reports[0].bytes == 512);
    assert_true(reports[1].address == 0x1000 && reports[1].bytes == -512);
    assert_int_equal(reports[0].allocated, 100);
    assert_int_equal(reports[0].reserved, 200);
    assert_true(reports[0].device.type == 1 && reports[0].device.index == 3);
    assert_true(!reports[2].is_failure && reports[3].is_failure);
    assert_int_equal(reports[3].bytes, 1 << 20);
    assert_true(reports[3].device.type == 1 && reports[3].device.index == 3);
    assert_true(*reported == 64); /* torch's own function got all of it */
    assert_int_equal(*failures, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reports_are_seen_and_passed_on),
};

UNIT_TESTS(tests, NULL, NULL)
