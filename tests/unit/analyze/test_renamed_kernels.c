/* Tests of analyze/renamed_kernels.c: which kernels of two runs do the same work. */
#include "analyze/renamed_kernels.h"
#include "unit.h"

#include <string.h>

static pyro_kernel_change kernel(const char *name, const char *op, const char *shapes,
                                 double before, double after)
{
    return (pyro_kernel_change){.row = {.name = name,
                                        .short_name = name,
                                        .before_ns = before,
                                        .after_ns = after,
                                        .before_calls = before > 0,
                                        .after_calls = after > 0},
                                .op = op,
                                .shapes = shapes};
}

static void same_work_is_paired(void **state)
{
    (void)state;
    pyro_kernel_change all[] = {
        kernel("cijk", "aten::mm", "[[8, 8]]", 50, 0),
        kernel("sm90", "aten::mm", "[[8, 8]]", 0, 30),
        kernel("small", "aten::mm", "[[2, 2]]", 5, 0),
        kernel("tiny", "aten::mm", "[[2, 2]]", 0, 4),
        kernel("old_norm", "aten::layer_norm", "", 9, 0),
        kernel("new_norm", "aten::layer_norm", "[[4]]", 0, 7),
        kernel("both", "aten::add", "[[1]]", 3, 3),
    };
    assert_true(pyro_pair_renamed_kernels(all, sizeof all / sizeof *all));
    assert_string_equal(all[1].row.before_name, "cijk");
    assert_float_equal(all[1].row.before_ns, 50, 0);
    assert_string_equal(all[3].row.before_name, "small");
    assert_string_equal(all[5].row.before_name, "old_norm");
    assert_true(all[0].is_paired && all[2].is_paired && all[4].is_paired);
    assert_false(all[6].is_paired);
}

/* Template arguments that changed: the short names are equal. */
static void same_short_name_is_paired(void **state)
{
    (void)state;
    pyro_kernel_change all[] = {
        kernel("gather<2>", "fbgemm", "", 50, 0), kernel("gather<5>", "fbgemm", "", 0, 60),
        kernel("other<2>", "fbgemm", "", 9, 0), kernel("other<5>", "fbgemm", "", 0, 8)};
    for (size_t i = 0; i < 4; i++)
        all[i].row.short_name = i < 2 ? "gather" : "other";
    assert_true(pyro_pair_renamed_kernels(all, 4));
    assert_string_equal(all[1].row.before_name, "gather<2>");
    assert_string_equal(all[3].row.before_name, "other<2>");
}

/* Near misses: another op, no op, and several candidates of other shapes. */
static void other_work_is_not(void **state)
{
    (void)state;
    pyro_kernel_change all[] = {
        kernel("a", "aten::mm", "[[8, 8]]", 50, 0),
        kernel("b", "aten::bmm", "[[8, 8]]", 0, 30),
        kernel("c", "", "", 50, 0),
        kernel("d", "", "", 0, 30),
        kernel("e", "aten::sum", "[[8]]", 50, 0),
        kernel("f", "aten::sum", "[[9]]", 0, 30),
        kernel("g", "aten::sum", "[[10]]", 0, 30),
    };
    assert_true(pyro_pair_renamed_kernels(all, sizeof all / sizeof *all));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_false(all[i].is_paired);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(same_work_is_paired),
    cmocka_unit_test(same_short_name_is_paired),
    cmocka_unit_test(other_work_is_not),
};

UNIT_TESTS(tests, NULL, NULL)
