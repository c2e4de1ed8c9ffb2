/* Tests of device/visible_devices.c: CUDA's numbers and NVML's devices, with a stub of both. */
#include "device/visible_devices.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND "GPU-00000001-0000-0000-0000-000000000000"
#define INSTANCE "MIG-5a000000-0000-0000-0000-000000000000"

static pyro_nvml nvml;

static int open_stub(void **state)
{
    (void)state;
    setenv("PYRO_STUB_GPU", "1980:0", 1);
    setenv("PYRO_STUB_GPUS", "3", 1);
    setenv("PYRO_CUDA", getenv("PYRO_NVML"), 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
    return pyro_nvml_open(&nvml) ? 0 : 1;
}

static int close_stub(void **state)
{
    (void)state;
    pyro_nvml_close(&nvml);
    return 0;
}

static int clear(void **state)
{
    static const char *const names[] = {
        "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PYRO_STUB_BUS", "PYRO_STUB_CORES",
        "PYRO_STUB_MIG",        "PYRO_STUB_CUDA",    "PYRO_STUB_IDLE"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return 0;
}

/* "2 0": the GPUs of CUDA's devices by NVML's numbers, of an instance with "i"; "-": unknown. */
static const char *found(pyro_visible_devices *devices)
{
    static char text[64];
    size_t length = 0;
    pyro_visible_devices_find(&nvml, devices);
    text[0] = '\0';
    for (size_t i = 0; i < devices->count; i++) {
        const pyro_visible_device *one = &devices->items[i];
        char number[16] = "-";
        if (one->device)
            snprintf(number, sizeof number, "%d", *(int *)one->device);
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s%s", i ? " " : "",
                                   number, one->instance ? "i" : "");
    }
    return text;
}

static void test_variables(void **state)
{
    static const struct {
        const char *visible, *order, *expected;
    } cases[] = {
        {NULL, NULL, "0 1 2"},
        {NULL, "PCI_BUS_ID", "0 1 2"},
        {"2,0", NULL, "2 0"},
        {" 1 , 2", NULL, "1 2"},
        {SECOND, NULL, "1"},
        {"GPU-00000002,0", NULL, "2 0"}, /* the beginning of a UUID is enough */
        {"GPU-0000000", NULL, ""},       /* of several */
        {"0,7,1", NULL, "0"},            /* an invalid entry ends the list */
        {"0,-1,1", NULL, "0"},
        {"one", NULL, ""},
        {"", NULL, ""},
        {"1x", NULL, ""},
        {"gpu-00000001-0000", NULL, "1"},
    };
    pyro_visible_devices devices;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clear(NULL);
        if (cases[i].visible)
            setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
        if (cases[i].order)
            setenv("CUDA_DEVICE_ORDER", cases[i].order, 1);
        assert_string_equal(found(&devices), cases[i].expected);
        assert_false(devices.from_driver);
    }
}

/* NVML's order is not that of the bus here; CUDA's default is the fastest first. */
static void test_order(void **state)
{
    pyro_visible_devices devices;
    (void)state;
    setenv("PYRO_STUB_BUS", "5,1,3", 1);
    setenv("PYRO_STUB_CORES", "100,50,200", 1);
    assert_string_equal(found(&devices), "2 0 1");
    setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
    assert_string_equal(found(&devices), "2 0 1");
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    assert_string_equal(found(&devices), "1 2 0");
    setenv("CUDA_VISIBLE_DEVICES", "2," SECOND, 1);
    assert_string_equal(found(&devices), "0 1");
    setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
    assert_string_equal(found(&devices), "1 1");
    unsetenv("PYRO_STUB_CORES"); /* equal GPUs: by the bus */
    assert_string_equal(found(&devices), "0 1");
}

static void test_instances(void **state)
{
    pyro_visible_devices devices;
    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", INSTANCE, 1);
    assert_string_equal(found(&devices), ""); /* it does not exist */
    setenv("PYRO_STUB_MIG", "2", 1);
    assert_string_equal(found(&devices), "2i");
    assert_int_equal(devices.items[0].instance_id, 7);
    setenv("PYRO_STUB_CUDA", "9", 1);
    assert_string_equal(found(&devices), "2i");
    assert_true(devices.from_driver);
}

/* CUDA's driver knows best, whatever the variables say. */
static void test_driver(void **state)
{
    pyro_visible_devices devices;
    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    setenv("PYRO_STUB_CUDA", "2,1", 1);
    assert_string_equal(found(&devices), "2 1");
    assert_true(devices.from_driver);
    setenv("PYRO_STUB_IDLE", "1", 1);
    assert_true(pyro_visible_device_is_used(&devices, 0));
    assert_false(pyro_visible_device_is_used(&devices, 1));
    setenv("PYRO_STUB_CUDA", "6", 1); /* NVML has no such GPU */
    assert_string_equal(found(&devices), "-");
    setenv("PYRO_CUDA", "/nowhere/libcuda.so.1", 1);
    assert_string_equal(found(&devices), "0");
    assert_true(pyro_visible_device_is_used(&devices, 0)); /* nobody can tell */
    setenv("PYRO_CUDA", getenv("PYRO_NVML"), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_variables, clear),
    cmocka_unit_test_teardown(test_order, clear),
    cmocka_unit_test_teardown(test_instances, clear),
    cmocka_unit_test_teardown(test_driver, clear),
};

UNIT_TESTS(tests, open_stub, close_stub)
