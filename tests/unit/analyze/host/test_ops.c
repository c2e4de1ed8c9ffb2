/* Tests of analyze/host/ops.c. */
#include "analyze_maker.h"
#include "unit.h"

static const pyro_op_row *find(const pyro_op_row *rows, size_t count, const char *name,
                               const char *shapes)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(rows[i].name, name) && !strcmp(rows[i].shapes, shapes))
            return &rows[i];
    fail_msg("no row %s %s", name, shapes);
    return NULL;
}

static void op(maker *maker, const char *name, int64_t start, int64_t duration, const char *dims)
{
    char args[200];
    snprintf(args, sizeof args, "\"Input Dims\":%s", dims);
    maker_event(maker, "cpu_op", name, 100, 1, start, duration, dims[0] ? args : "");
}

/* Self time excludes ops, annotations and runtime calls inside, also below Python frames. */
static void test_self_and_total(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    op(&maker, "aten::linear", 0, 1000, "[[2,3]]");
    maker_host(&maker, "python_function", "f.py(1): g", 1, 100, 500);
    op(&maker, "aten::addmm", 200, 300, "[[3]]");
    maker_kernel(&maker, "gemm", 5000, 700, 300);
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    const pyro_op_row *linear = find(a->ops, a->op_count, "aten::linear", "");
    const pyro_op_row *addmm = find(a->ops, a->op_count, "aten::addmm", "");
    assert_int_equal(linear->host_total_ns, 1000);
    assert_int_equal(linear->host_self_ns, 700);
    assert_int_equal(addmm->host_self_ns, 295); /* the launch takes 5 */
    assert_int_equal(linear->device_self_ns, 0);
    assert_int_equal(linear->device_total_ns, 700);
    assert_int_equal(addmm->device_self_ns, 700);
    assert_ptr_equal(&a->ops[0], addmm); /* most device time first */
    assert_int_equal(a->op_by_shape_count, 2);
    find(a->ops_by_shape, a->op_by_shape_count, "aten::linear", "[[2, 3]]");
    maker_end(&maker);
}

/* An op inside one with its own name: counted once in totals, its time kept. */
static void test_recursion(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    op(&maker, "f", 0, 1000, "[[2]]");
    op(&maker, "f", 100, 300, "[[3]]");
    op(&maker, "g", 500, 100, "");
    maker_kernel(&maker, "k", 5000, 40, 200);
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    const pyro_op_row *f = find(a->ops, a->op_count, "f", "");
    assert_int_equal(f->calls, 2);
    assert_int_equal(f->host_total_ns, 1000);
    assert_int_equal(f->host_self_ns, 895);
    assert_int_equal(f->device_total_ns, 40);
    assert_int_equal(find(a->ops_by_shape, a->op_by_shape_count, "f", "[[3]]")->host_total_ns, 300);
    maker_end(&maker);
}

/* As torch does: an op that only calls itself is one call. */
static void test_only_child_of_its_name(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    op(&maker, "f", 0, 1000, "");
    op(&maker, "f", 100, 300, "");
    op(&maker, "f", 2000, 1000, "");
    op(&maker, "f", 2100, 300, "");
    op(&maker, "g", 2500, 100, "");
    const pyro_analysis *a = maker_analyze(&maker, NULL);
    assert_int_equal(find(a->ops, a->op_count, "f", "")->calls, 3);
    maker_end(&maker);
}

static void test_filter_and_step(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 1, 0, 1000);
    op(&maker, "aten::mm", 100, 200, "");
    maker_step(&maker, 2, 1000, 1000);
    op(&maker, "aten::mm", 1100, 300, "");
    op(&maker, "aten::add", 1500, 50, "");
    pyro_analysis_options options = {.step = 2, .filter = "m+$"};
    const pyro_analysis *a = maker_analyze(&maker, &options);
    assert_int_equal(a->op_count, 1);
    assert_int_equal(a->ops[0].calls, 1);
    assert_int_equal(a->ops[0].host_self_ns, 300);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_self_and_total),
    cmocka_unit_test(test_recursion),
    cmocka_unit_test(test_only_child_of_its_name),
    cmocka_unit_test(test_filter_and_step),
};

UNIT_TESTS(tests, NULL, NULL)
