/* Gaps: their kinds, their causes, and that they add up to a device's idle time. */
#include "analyze_maker.h"
#include "unit.h"

static void test_kinds(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 100, 100, 10);
    maker_kernel(&maker, "b", 250, 50, 20);  /* queued: the kernel waited */
    maker_kernel(&maker, "c", 500, 50, 400); /* launched late: the host waited */
    maker_kernel(&maker, "d", 520, 50, 430); /* overlaps: no gap */
    maker_kernel(&maker, "e", 620, 50, -1);  /* unknown */
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->gap_count, 3);
    assert_int_equal(analysis->gaps[0].duration_ns, 200);
    assert_int_equal(analysis->gaps[0].start_ns, MAKER_BASE_NS + 300);
    assert_int_equal(analysis->gaps[0].kind, PYRO_GAP_HOST_WAIT);
    assert_int_equal(analysis->gaps[1].kind, PYRO_GAP_KERNEL_WAIT); /* as long as the next: first */
    assert_int_equal(analysis->gaps[2].kind, PYRO_GAP_OTHER);
    assert_int_equal(analysis->gap_total_ns[PYRO_GAP_HOST_WAIT], 200);
    assert_int_equal(analysis->gap_total_ns[PYRO_GAP_KERNEL_WAIT], 50);
    assert_int_equal(analysis->gap_total_ns[PYRO_GAP_OTHER], 50);
    assert_int_equal(analysis->gaps[0].step, -1);
    maker_end(&maker);
}

/* A stream works in order: what has no launch was launched before the work behind it. */
static void test_kinds_without_launches(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 100, 100, 10);
    maker_kernel(&maker, "b", 250, 50, -1);
    maker_kernel(&maker, "c", 500, 50, 20); /* so b was queued too */
    maker_kernel(&maker, "d", 600, 50, -1);
    maker_kernel(&maker, "e", 650, 50, 640); /* so d was launched late, or just before e */
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->gap_total_ns[PYRO_GAP_KERNEL_WAIT], 50 + 200);
    assert_int_equal(analysis->gap_total_ns[PYRO_GAP_HOST_WAIT], 50);
    assert_int_equal(analysis->gap_total_ns[PYRO_GAP_OTHER], 0);
    maker_end(&maker);
}

static void test_cause(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 5, 0, 3000);
    maker_host(&maker, "python_function", "train.py(12): step", 1, 5, 2900);
    maker_host(&maker, "python_function", "torch/_tensor.py(9): item", 1, 150, 900);
    maker_host(&maker, "cpu_op", "aten::item", 1, 160, 800);
    maker_host(&maker, "cpu_op", "aten::_local_scalar_dense", 1, 170, 700);
    maker_host(&maker, "cuda_runtime", "cudaStreamSynchronize", 1, 180, 600);
    maker_host(&maker, "cpu_op", "aten::other_thread", 2, 200, 900);
    maker_kernel(&maker, "a", 100, 100, 10);
    maker_host(&maker, "cpu_op", "aten::mm", 1, 1100, 100);
    maker_kernel(&maker, "b", 1200, 100, 1150);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(analysis->gap_count, 1);
    const pyro_gap_row *gap = &analysis->gaps[0];
    assert_int_equal(gap->duration_ns, 1000);
    assert_string_equal(gap->op, "aten::_local_scalar_dense");
    assert_string_equal(gap->line, "train.py(12): step");
    assert_string_equal(gap->sync, "cudaStreamSynchronize");
    assert_int_equal(gap->step, 5);
    maker_end(&maker);
}

/* Many short calls of one op together are worse than one longer call of another. */
static void test_many_short_calls(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 100, 100, 10);
    for (int i = 0; i < 50; i++)
        maker_host(&maker, "cpu_op", "aten::add", 1, 300 + i * 10, 8);
    maker_host(&maker, "cpu_op", "aten::long", 1, 850, 200);
    maker_kernel(&maker, "b", 1200, 100, 1150);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_string_equal(analysis->gaps[0].op, "aten::add");
    assert_string_equal(analysis->gaps[0].sync, "");
    maker_end(&maker);
}

static void test_annotation_where_no_op_ran(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 100, 100, 10);
    maker_host(&maker, "user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, 190, 900);
    maker_kernel(&maker, "b", 1200, 100, 1150);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_string_equal(analysis->gaps[0].op, "enumerate(DataLoader)#_Iter.__next__");
    maker_end(&maker);
}

/* Two devices, each with its own gaps; the longest thousand are kept, all are counted. */
static void test_they_add_up(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    int64_t start[2] = {0, 5}, busy[2] = {0, 0};
    for (int i = 0; i < 3000; i++) {
        int device = i % 2;
        maker_work(&maker, "kernel", "k", device, 7, start[device], 10,
                   i % 3 ? start[device] / 2 : -1, 1, "");
        busy[device] += 10;
        start[device] += 10 + 1 + i / 2;
    }
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    int64_t gaps = 0, wanted = 0;
    for (int kind = 0; kind < 3; kind++)
        gaps += analysis->gap_total_ns[kind];
    for (int i = 0; i < 2; i++)
        wanted += start[i] - (1 + (2998 + i) / 2) - (i ? 5 : 0) - busy[i];
    assert_int_equal(gaps, wanted);
    assert_int_equal(analysis->gap_count, 1000);
    for (size_t i = 1; i < analysis->gap_count; i++)
        assert_true(analysis->gaps[i - 1].duration_ns >= analysis->gaps[i].duration_ns);
    assert_int_equal(analysis->gaps[0].duration_ns, 1 + 2997 / 2);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_kinds),
    cmocka_unit_test(test_kinds_without_launches),
    cmocka_unit_test(test_cause),
    cmocka_unit_test(test_many_short_calls),
    cmocka_unit_test(test_annotation_where_no_op_ran),
    cmocka_unit_test(test_they_add_up),
};

UNIT_TESTS(tests, NULL, NULL)
