/* Tests of trace/joins/launch.c: unique, shared, repeated and missing correlation ids. */
#include "trace/joins/internal.h"

#include "trace_builder.h"
#include "unit.h"
#include <stddef.h>

static uint32_t launch_at(pyro_trace *trace, int track, int64_t start, uint32_t correlation)
{
    return build_event(trace, (built_event){PYRO_EVENT_RUNTIME, track, "cudaLaunchKernel", start, 2,
                                            correlation, 0, 0});
}

static uint32_t kernel_at(pyro_trace *trace, int track, int64_t start, uint32_t correlation)
{
    return build_event(
        trace, (built_event){PYRO_EVENT_KERNEL, track, "gemm", start, 3, correlation, 0, 0});
}

static pyro_joins join(pyro_trace *trace)
{
    pyro_joins joins;
    assert_int_equal(pyro_joins_make(&joins, trace, NULL, NULL), PYRO_OK);
    return joins;
}

static void graph_launch_owns_many_kernels(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 2);
    uint32_t kernels[50];
    for (int i = 0; i < 50; i++)
        kernels[i] = kernel_at(trace, 1 + i % 2, 100 + i, 7);
    uint32_t launch = launch_at(trace, 0, 10, 7);
    uint32_t orphan = kernel_at(trace, 1, 500, 8), unnumbered = kernel_at(trace, 1, 600, 0);
    pyro_joins joins = join(trace);
    for (int i = 0; i < 50; i++)
        assert_int_equal(joins.launch[kernels[i]], launch);
    assert_int_equal(joins.launch[orphan], PYRO_NO_EVENT);
    assert_int_equal(joins.launch[unnumbered], PYRO_NO_EVENT);
    assert_int_equal(joins.bucket[orphan], PYRO_BUCKET_NO_LAUNCH);
    assert_int_equal(joins.launch[launch], PYRO_NO_EVENT);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* A counter that restarts: the latest launch before the kernel counts. */
static void repeated_ids_go_by_time(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 1);
    uint32_t first = launch_at(trace, 0, 10, 5), second = launch_at(trace, 0, 1000, 5);
    uint32_t early = kernel_at(trace, 1, 20, 5), late = kernel_at(trace, 1, 1010, 5);
    uint32_t skewed = kernel_at(trace, 1, 5, 5);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.launch[early], first);
    assert_int_equal(joins.launch[late], second);
    assert_int_equal(joins.launch[skewed], first);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* Two processes with the same ids: unambiguous ids show which process a device belongs to. */
static void merged_processes_keep_to_themselves(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 2);
    trace->tracks[1].pid = 200;
    trace->tracks[3].pid = 1;
    launch_at(trace, 0, 1, 50);
    kernel_at(trace, 2, 3, 50);
    launch_at(trace, 1, 1, 60);
    kernel_at(trace, 3, 3, 60);
    uint32_t launch_a = launch_at(trace, 0, 100, 7), launch_b = launch_at(trace, 1, 90, 7);
    uint32_t kernel_a = kernel_at(trace, 2, 120, 7), kernel_b = kernel_at(trace, 3, 110, 7);
    /* Before its own launch by the clocks, after the other's. */
    uint32_t launch_c = launch_at(trace, 1, 300, 9);
    uint32_t launch_d = launch_at(trace, 0, 280, 9), kernel_c = kernel_at(trace, 3, 299, 9);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.launch[kernel_a], launch_a);
    assert_int_equal(joins.launch[kernel_b], launch_b);
    assert_int_equal(joins.launch[kernel_c], launch_c);
    assert_int_not_equal(launch_c, launch_d);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* One stream for both processes: only times decide. */
static void shared_streams_go_by_time(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 1);
    trace->tracks[1].pid = 200;
    launch_at(trace, 0, 1, 50);
    kernel_at(trace, 2, 3, 50);
    launch_at(trace, 1, 1, 60);
    kernel_at(trace, 2, 3, 60);
    uint32_t launch_a = launch_at(trace, 0, 100, 7), kernel_a = kernel_at(trace, 2, 110, 7);
    uint32_t launch_b = launch_at(trace, 1, 120, 7), kernel_b = kernel_at(trace, 2, 130, 7);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.launch[kernel_a], launch_a);
    assert_int_equal(joins.launch[kernel_b], launch_b);
    pyro_joins_free(&joins);
    built_free(trace);
}

/* 100,000 launches and kernels with one id must not take quadratic time. */
static void one_id_for_all_is_linear(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 2);
    trace->tracks[1].pid = 200;
    for (int i = 0; i < 100000; i++) {
        launch_at(trace, i & 1, i * 10, 4);
        kernel_at(trace, 2 + (i & 1), i * 10 + 5, 4);
    }
    pyro_joins joins = join(trace);
    for (uint32_t i = 0; i < 200000; i += 2)
        assert_int_equal(joins.launch[i + 1], i);
    pyro_joins_free(&joins);
    built_free(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(graph_launch_owns_many_kernels),
    cmocka_unit_test(repeated_ids_go_by_time),
    cmocka_unit_test(merged_processes_keep_to_themselves),
    cmocka_unit_test(shared_streams_go_by_time),
    cmocka_unit_test(one_id_for_all_is_linear),
};

UNIT_TESTS(tests, NULL, NULL)
