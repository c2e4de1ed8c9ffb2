/* Tests of the table of gradients: its keys exist, and every rule of ops.def has a row. */
#include "graph/gradients/gradients.h"
#include "graph/rules/rules.h"
#include "unit.h"
#include <string.h>

static const char *const keys[] = {
#define BY_RULE(...)
#define BY_KEY(key, ...) key,
#include "graph/gradients/gradients.def"
#undef BY_RULE
#undef BY_KEY
};

static void test_keys_name_operators(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        bool found = false;
        for (size_t i = 0; i < pyro_op_count; i++)
            found |= !strcmp(keys[k], pyro_ops[i].name) || !strcmp(keys[k], pyro_ops[i].label);
        if (!found)
            fail_msg("no operator has the name or label %s", keys[k]);
    }
}

/* relu keeps its output; a product that needs one gradient costs as much as the forward. */
static void test_product(void **unused)
{
    (void)unused;
    pyro_op_index index;
    static const int64_t rows[] = {4, 5}, columns[] = {5, 6}, result[] = {4, 6};
    pyro_tensor a = {.dims = rows, .rank = 2, .elements = 20, .id = 1, .dtype = PYRO_DTYPE_FLOAT32};
    pyro_tensor b = {.dims = columns,
                     .rank = 2,
                     .elements = 30,
                     .id = 2,
                     .dtype = PYRO_DTYPE_FLOAT32,
                     .needs_gradient = true};
    pyro_tensor out = {
        .dims = result, .rank = 2, .elements = 24, .id = 3, .dtype = PYRO_DTYPE_FLOAT32};
    pyro_call_arg args[] = {{.name = "self", .kind = PYRO_ARG_TENSOR, .count = 1, .tensors = &a},
                            {.name = "mat2", .kind = PYRO_ARG_TENSOR, .count = 1, .tensors = &b}};
    pyro_gradient gradient;
    pyro_price price;
    assert_true(pyro_op_index_init(&index));
    pyro_call call = {.op = pyro_op_find(&index, "aten.mm.default"),
                      .args = args,
                      .arg_count = 2,
                      .outputs = &out,
                      .output_count = 1};
    assert_true(pyro_op_price(&call, &price));
    pyro_op_gradient(&call, &price, &gradient);
    assert_int_equal(gradient.macs, 4 * 5 * 6);
    assert_int_equal(gradient.flow, PYRO_FLOW_NEW);
    assert_int_equal(gradient.saved_count, 1);
    assert_int_equal(gradient.saved[0]->id, 1);
    a.needs_gradient = true;
    pyro_op_gradient(&call, &price, &gradient);
    assert_int_equal(gradient.macs, 2 * 4 * 5 * 6);
    assert_int_equal(gradient.saved_count, 2);
    a.needs_gradient = b.needs_gradient = false;
    pyro_op_gradient(&call, &price, &gradient);
    assert_int_equal(gradient.flow, PYRO_FLOW_NONE);
    pyro_op_index_free(&index);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_keys_name_operators),
    cmocka_unit_test(test_product),
};

UNIT_TESTS(tests, NULL, NULL)
