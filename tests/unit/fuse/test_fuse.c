/* Fusion of built-in models: totals add up, every kernel is in one group, failing allocations. */
#include "fail_alloc.h"
#include "unit.h"

#include <pyrometer/fuse.h>
#include <stdlib.h>
#include <string.h>

static pyro_fusion *fuse(pyro_model **model, pyro_cost **cost, const char *name,
                         pyro_fuse_strategy strategy)
{
    pyro_fusion *fusion;
    assert_int_equal(pyro_model_open(model, name, NULL), PYRO_OK);
    assert_int_equal(pyro_cost_compute(cost, *model, NULL, NULL), PYRO_OK);
    assert_int_equal(pyro_fuse(&fusion, *cost, strategy, NULL), PYRO_OK);
    return fusion;
}

static void check_totals(const pyro_fusion *fusion)
{
    size_t count;
    pyro_cost_nodes(fusion->cost, &count);
    char *seen = calloc(count + 1, 1);
    int64_t before = 0, after = 0;
    assert_non_null(seen);
    for (size_t i = 0; i < fusion->group_count; i++) {
        const pyro_fused_group *group = &fusion->groups[i];
        before += group->bytes_before;
        after += group->bytes_after;
        assert_true(group->bytes_after >= 0 && group->bytes_after <= group->bytes_before);
        assert_true(group->member_count > 0);
        for (size_t m = 0; m < group->member_count; m++) {
            assert_true(group->members[m] < count && !seen[group->members[m]]);
            seen[group->members[m]] = 1;
        }
    }
    assert_int_equal(before, fusion->before.bytes);
    assert_int_equal(after, fusion->after.bytes);
    assert_true(fusion->after.kernels <= fusion->before.kernels);
    free(seen);
}

static void test_strategies(void **state)
{
    (void)state;
    static const char *const names[] = {"resnet18", "gpt2", "swin_t", "mixtral_8x7b"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t kernels[PYRO_FUSE_MAX + 1];
        for (int s = PYRO_FUSE_NONE; s <= PYRO_FUSE_MAX; s++) {
            pyro_model *model;
            pyro_cost *cost;
            pyro_fusion *fusion = fuse(&model, &cost, names[i], (pyro_fuse_strategy)s);
            check_totals(fusion);
            kernels[s] = fusion->after.kernels;
            pyro_fusion_free(fusion);
            pyro_cost_free(cost);
            pyro_model_close(model);
        }
        assert_true(kernels[PYRO_FUSE_MAX] <= kernels[PYRO_FUSE_VERTICAL]);
        assert_true(kernels[PYRO_FUSE_VERTICAL] < kernels[PYRO_FUSE_NONE]);
        assert_true(kernels[PYRO_FUSE_HORIZONTAL] <= kernels[PYRO_FUSE_NONE]);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    pyro_model *model;
    pyro_cost *cost;
    pyro_fusion *fusion = fuse(&model, &cost, "resnet18", PYRO_FUSE_MAX);
    pyro_fusion_free(fusion);
    for (int allowed = 0;; allowed++) {
        fail_alloc_after(allowed);
        int status = pyro_fuse(&fusion, cost, PYRO_FUSE_MAX, NULL);
        fail_alloc_after(-1);
        if (status == PYRO_OK)
            break;
        assert_int_equal(status, PYRO_ERROR_MEMORY);
        assert_true(allowed < 10000);
    }
    pyro_fusion_free(fusion);
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static void test_names(void **state)
{
    (void)state;
    pyro_fuse_strategy strategy;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_fuse_strategy_parse(&strategy, "vertical", NULL), PYRO_OK);
    assert_int_equal(strategy, PYRO_FUSE_VERTICAL);
    assert_int_equal(pyro_fuse_strategy_parse(&strategy, "all", &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "one of: none, vertical, horizontal, max"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_strategies),
    cmocka_unit_test(test_out_of_memory),
    cmocka_unit_test(test_names),
};

UNIT_TESTS(tests, NULL, NULL)
