/* Tests of the peak of memory: what is alive when, in small files. */
#include "fail_alloc.h"
#include "unit.h"
#include <pyrometer/pyrometer.h>
#include <stdio.h>
#include <stdlib.h>

static pyro_cost *price(const char *name, pyro_model **model)
{
    char path[4096];
    const char *folder = getenv("PYRO_TEST_FILES");
    pyro_cost *cost;
    pyro_error error;
    pyro_error_clear(&error);
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "tests/files", name);
    if (pyro_model_open(model, path, &error) < 0 ||
        pyro_cost_compute(&cost, *model, NULL, &error) < 0)
        fail_msg("%s: %s", name, error.message);
    return cost;
}

/* Batch 2: linear to 16, ReLU, linear to 4; the ReLU holds both of its tensors. */
static void test_chain(void **unused)
{
    (void)unused;
    pyro_model *model;
    pyro_peak peak;
    pyro_cost *cost = price("good-10-static.pt2", &model);
    assert_int_equal(pyro_cost_peak(cost, &peak, NULL), PYRO_OK);
    assert_int_equal(peak.activation_bytes, 2 * (2 * 16 * 4));
    assert_int_equal(peak.input_bytes, 2 * 8 * 4);
    assert_int_equal(peak.total_bytes,
                     peak.activation_bytes + peak.input_bytes + pyro_cost_param_bytes(cost));
    assert_string_equal(peak.node, "relu");
    pyro_cost_free(cost);
    pyro_model_close(model);
}

/* Views share memory: Flatten of the pooled values adds nothing. */
static void test_onnx(void **unused)
{
    (void)unused;
    pyro_model *model;
    pyro_peak peak;
    pyro_cost *cost = price("onnx/good-1-layers.onnx", &model);
    assert_int_equal(pyro_cost_peak(cost, &peak, NULL), PYRO_OK);
    assert_int_equal(peak.activation_bytes, 2 * (8 * 16 * 16 * 4));
    assert_string_equal(peak.layer, "stem.bn");
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_without_memory(void **unused)
{
    (void)unused;
    pyro_model *model;
    pyro_peak peak;
    pyro_cost *cost = price("good-10-static.pt2", &model);
    bool whole = false;
    for (long n = 0; !whole; n++) {
        pyro_error error;
        pyro_error_clear(&error);
        fail_alloc_after(n);
        int status = pyro_cost_peak(cost, &peak, &error);
        whole = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        assert_int_equal(status, whole ? PYRO_OK : PYRO_ERROR_MEMORY);
    }
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_chain),
    cmocka_unit_test(test_onnx),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
