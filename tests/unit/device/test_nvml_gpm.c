/* Tests of device/nvml_gpm.c: metrics of two samples, on a GPU, on an instance, and nowhere. */
#include "device/nvml_gpm.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

static void test_readings(void **state)
{
    double values[PYRO_GPM_COUNT];
    pyro_nvml nvml;
    pyro_gpm gpm;
    void *device;
    (void)state;
    setenv("PYRO_STUB_GPU", "1980:0", 1);
    setenv("PYRO_STUB_GPM", "1", 1);
    assert_true(pyro_nvml_open(&nvml));
    assert_int_equal(nvml.by_index(0, &device), 0);
    for (int instance = 0; instance < 2; instance++) {
        assert_true(pyro_gpm_begin(&nvml, &gpm, device, instance, instance ? 7 : 0));
        pyro_gpm_read(&nvml, &gpm, values);
        assert_true(isnan(values[PYRO_GPM_SM])); /* one sample is no metric */
        for (int i = 0; i < 3; i++) {
            pyro_gpm_read(&nvml, &gpm, values);
            assert_true(values[PYRO_GPM_SM] == 2 && values[PYRO_GPM_DRAM] == 10);
            assert_true(isnan(values[PYRO_GPM_NVLINK_SENT]));
        }
        pyro_gpm_end(&nvml, &gpm);
    }
    /* Another instance: samples fail, and nothing is reported. */
    assert_true(pyro_gpm_begin(&nvml, &gpm, device, true, 3));
    pyro_gpm_read(&nvml, &gpm, values);
    pyro_gpm_read(&nvml, &gpm, values);
    assert_true(isnan(values[PYRO_GPM_SM]));
    pyro_gpm_end(&nvml, &gpm);
    pyro_nvml_close(&nvml);
}

static void test_without_support(void **state)
{
    double values[PYRO_GPM_COUNT];
    pyro_nvml nvml;
    pyro_gpm gpm;
    void *device;
    (void)state;
    setenv("PYRO_STUB_GPU", "1980:0", 1);
    unsetenv("PYRO_STUB_GPM");
    assert_true(pyro_nvml_open(&nvml));
    assert_int_equal(nvml.by_index(0, &device), 0);
    assert_false(pyro_gpm_begin(&nvml, &gpm, device, false, 0));
    setenv("PYRO_STUB_GPM", "1", 1);
    pyro_nvml old = nvml;
    old.gpm_metrics = NULL; /* a driver before Hopper */
    assert_false(pyro_gpm_begin(&old, &gpm, device, false, 0));
    pyro_gpm_read(&old, &gpm, values);
    assert_true(isnan(values[PYRO_GPM_TENSOR]));
    pyro_gpm_end(&old, &gpm);
    pyro_nvml_close(&nvml);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_readings),
    cmocka_unit_test(test_without_support),
};

UNIT_TESTS(tests, NULL, NULL)
