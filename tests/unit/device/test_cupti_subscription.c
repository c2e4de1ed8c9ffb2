/* Subscribing to CUPTI alone or beside others: which functions are called, in which order. */
#include "device/cupti_subscription.h"
#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static pyro_cupti cupti;
static pyro_cupti_subscription use;
static char *(*read_log)(void);
static void (*forget_log)(void);
static uint32_t (*launch)(const char *name, uint64_t duration_ns, uint32_t stream);
static uint8_t memory[4096];
static size_t valid_bytes, call_count;

static void on_call(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
    call_count++;
}

static void request(uint8_t **buffer, size_t *size, size_t *most_records)
{
    memset(memory, 0, sizeof memory);
    *buffer = memory;
    *size = sizeof memory;
    *most_records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    assert_ptr_equal(buffer, memory);
    assert_int_equal(size, sizeof memory);
    valid_bytes = valid;
}

static void find(void *library, void *target, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(target, &symbol, sizeof symbol);
}

static void open_stub(const char *path)
{
    char reason[256];
    setenv("PYRO_CUPTI", path, 1);
    unsetenv("PYRO_STUB_CUPTI");
    assert_int_equal(pyro_cupti_open(&cupti, reason, sizeof reason), PYRO_CUPTI_LOADED);
    find(cupti.library, &read_log, "stub_log");
    find(cupti.library, &forget_log, "stub_forget_log");
    find(cupti.library, &launch, "stub_launch");
    forget_log();
    valid_bytes = call_count = 0;
}

static void collect_one_kernel(void)
{
    void *record = NULL;
    uint64_t time = 0;
    assert_int_equal(pyro_cupti_read_clock(&use, &time), PYRO_CUPTI_SUCCESS);
    assert_true(time > 0);
    pyro_cupti_set_attribute(&use, PYRO_CUPTI_ZEROED_BUFFERS, 1);
    assert_int_equal(pyro_cupti_register_buffers(&use, request, complete), PYRO_CUPTI_SUCCESS);
    assert_int_equal(pyro_cupti_enable(&use, PYRO_CUPTI_CONCURRENT_KERNEL), PYRO_CUPTI_SUCCESS);
    pyro_cupti_enable_callback(&use, true, PYRO_CUPTI_DRIVER, 307);
    launch("kernel", 10, 7);
    assert_int_equal(call_count, 2);
    pyro_cupti_disable(&use, PYRO_CUPTI_CONCURRENT_KERNEL);
    cupti.flush(0);
    assert_true(valid_bytes > 0);
    assert_int_equal(pyro_cupti_next_record(&use, memory, valid_bytes, &record),
                     PYRO_CUPTI_SUCCESS);
    assert_ptr_equal(record, memory);
    assert_int_equal(pyro_cupti_next_record(&use, memory, valid_bytes, &record),
                     PYRO_CUPTI_END_OF_BUFFER);
    assert_int_equal(pyro_cupti_dropped(&use), 0);
    pyro_cupti_unsubscribe(&use);
    assert_null(use.subscriber);
}

static void test_beside_others(void **state)
{
    (void)state;
    open_stub(UNIT_CUPTI_SHARED_STUB);
    assert_true(cupti.has_shared);
    for (int i = 0; i < 2; i++) { /* a new subscriber per session */
        forget_log();
        call_count = 0;
        assert_int_equal(pyro_cupti_subscribe(&use, &cupti, true, on_call, NULL),
                         PYRO_CUPTI_SUCCESS);
        collect_one_kernel();
        /* No function for one subscriber, and reading before the end. */
        assert_string_equal(read_log(),
                            "subscribe attribute register enable disable read unsubscribe");
    }
}

static void test_alone(void **state)
{
    (void)state;
    open_stub(UNIT_CUPTI_STUB);
    assert_false(cupti.has_shared);
    assert_int_equal(pyro_cupti_subscribe(&use, &cupti, true, on_call, NULL),
                     PYRO_CUPTI_NOT_SUPPORTED);
    assert_null(use.subscriber);
    assert_int_equal(pyro_cupti_subscribe(&use, &cupti, false, on_call, NULL), PYRO_CUPTI_SUCCESS);
    collect_one_kernel();
    /* The complete set can also work alone. */
    open_stub(UNIT_CUPTI_SHARED_STUB);
    assert_int_equal(pyro_cupti_subscribe(&use, &cupti, false, on_call, NULL), PYRO_CUPTI_SUCCESS);
    collect_one_kernel();
}

static void test_functions_that_do_not_work(void **state)
{
    (void)state;
    static const char *const modes[] = {"preview", "refused"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        open_stub(UNIT_CUPTI_SHARED_STUB);
        setenv("PYRO_STUB_CUPTI", modes[i], 1);
        assert_int_not_equal(pyro_cupti_subscribe(&use, &cupti, true, on_call, NULL),
                             PYRO_CUPTI_SUCCESS);
        assert_null(use.subscriber);
        /* Nothing is left that keeps the other functions from working. */
        assert_int_equal(pyro_cupti_subscribe(&use, &cupti, false, on_call, NULL),
                         PYRO_CUPTI_SUCCESS);
        collect_one_kernel();
    }
    unsetenv("PYRO_STUB_CUPTI");
}

static void test_the_name_of_the_other_profiler(void **state)
{
    (void)state;
    char name[64] = "?";
    open_stub(UNIT_CUPTI_STUB);
    pyro_cupti_find_holder(&cupti, name, sizeof name);
    assert_string_equal(name, "");
    open_stub(UNIT_CUPTI_SHARED_STUB);
    setenv("PYRO_STUB_CUPTI", "taken", 1);
    assert_int_equal(pyro_cupti_subscribe(&use, &cupti, false, on_call, NULL), PYRO_CUPTI_TAKEN);
    pyro_cupti_find_holder(&cupti, name, sizeof name);
    assert_string_equal(name, "CUPTI for Others");
    unsetenv("PYRO_STUB_CUPTI");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_beside_others),
    cmocka_unit_test(test_alone),
    cmocka_unit_test(test_functions_that_do_not_work),
    cmocka_unit_test(test_the_name_of_the_other_profiler),
};

UNIT_TESTS(tests, NULL, NULL)
