/* Tests of bench/results/merge.c: merges results of several processes. */
#include "unit.h"

#include <pyrometer/bench.h>

#include <stdlib.h>
#include <string.h>

/* The results of one process: `count` calls of `ms`, and some memory. */
static pyro_bench *make_bench(const char *name, double ms, size_t count, double memory)
{
    pyro_loop_options options = {
        .warmup_runs = 0, .min_runs = (int64_t)count, .max_runs = (int64_t)count};
    pyro_bench *bench;
    pyro_loop *loop;
    size_t index;

    assert_int_equal(pyro_loop_new(&loop, &options, NULL), PYRO_OK);
    while (pyro_loop_next(loop) != PYRO_LOOP_DONE)
        assert_int_equal(pyro_loop_record(loop, (int64_t)(ms * 1e6), NULL), PYRO_OK);
    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, name, "module", &index, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_loop(bench, index, loop, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_value(bench, index, "memory", "bytes", false, memory, NULL),
                     PYRO_OK);
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    pyro_loop_free(loop);
    return bench;
}

static void test_samples_stand_beside_each_other(void **state)
{
    (void)state;
    pyro_bench *into = make_bench("net", 10, 4, 100), *from = make_bench("net", 20, 6, 300);

    assert_int_equal(pyro_bench_warn(from, NULL, "the machine was hot"), PYRO_OK);
    assert_int_equal(pyro_bench_merge(into, from, NULL), PYRO_OK);
    const pyro_bench_result *result = &into->results[0];
    const pyro_metric *latency = pyro_bench_metric(result, "latency");
    assert_int_equal(latency->count, 10);
    assert_float_equal(latency->summary.mean, 16, 1e-12);
    assert_int_equal(result->process_count, 2);
    assert_int_equal(result->processes[0], 4);
    assert_int_equal(result->processes[1], 6);
    assert_float_equal(pyro_bench_metric(result, "memory")->value, 300, 0);
    assert_float_equal(pyro_bench_metric(result, "throughput")->value, 1000.0 / 16, 1e-9);
    size_t told = 0;
    for (size_t i = 0; i < into->warning_count; i++)
        told += strcmp(into->warnings[i], "the machine was hot") == 0;
    assert_int_equal(told, 1);
    pyro_bench_free(into);
    pyro_bench_free(from);
}

/* Warnings that differ only by a number are reported once. */
static void test_warnings_of_one_kind_are_told_once(void **state)
{
    (void)state;
    pyro_bench *into = make_bench("net", 10, 4, 100), *from = make_bench("net", 10, 4, 100);
    size_t before = into->warning_count;

    assert_int_equal(pyro_bench_warn(into, NULL, "others: load %.1f of 2", 3.5), PYRO_OK);
    assert_int_equal(pyro_bench_warn(from, NULL, "others: load %.1f of 2", 4.5), PYRO_OK);
    assert_int_equal(pyro_bench_warn(from, NULL, "others: swapped %d pages", 7), PYRO_OK);
    assert_int_equal(pyro_bench_merge(into, from, NULL), PYRO_OK);
    assert_int_equal(into->warning_count, before + 2);
    pyro_bench_free(into);
    pyro_bench_free(from);
}

static void add_tokens(pyro_bench *bench, double ms)
{
    double samples[] = {ms, ms * 1.001, ms * 0.999};

    assert_int_equal(
        pyro_bench_add_metric(bench, 0, "time_per_token", "ms", false, samples, 3, NULL), PYRO_OK);
}

/* A metric with a different number of samples is also judged by processes. */
static void test_other_metrics_of_processes(void **state)
{
    (void)state;
    pyro_bench *sides[2];
    pyro_comparison *comparison;

    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 6; i++) {
            pyro_bench *next = make_bench("net", 10, 20, 0);

            add_tokens(next, 1 + 0.5 * side + 0.001 * i);
            if (i == 0) {
                sides[side] = next;
                continue;
            }
            assert_int_equal(pyro_bench_merge(sides[side], next, NULL), PYRO_OK);
            pyro_bench_free(next);
        }
    assert_int_equal(pyro_bench_compare(&comparison, sides[0], sides[1], NULL, NULL), PYRO_OK);
    const pyro_verdict_row *row = NULL;
    for (size_t i = 0; i < comparison->row_count; i++)
        if (strcmp(comparison->rows[i].metric, "time_per_token") == 0)
            row = &comparison->rows[i];
    assert_non_null(row);
    assert_true(row->processes);
    assert_int_equal(row->base_count, 6);
    assert_int_equal(row->verdict, PYRO_VERDICT_REGRESSED);
    pyro_comparison_free(comparison);
    pyro_bench_free(sides[0]);
    pyro_bench_free(sides[1]);
}

static void test_only_the_same(void **state)
{
    (void)state;
    pyro_bench *into = make_bench("net", 10, 4, 100), *other = make_bench("tree", 10, 4, 100);
    pyro_bench *none;

    assert_int_equal(pyro_bench_new(&none, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_merge(into, other, NULL), PYRO_ERROR_ARGUMENT);
    assert_int_equal(pyro_bench_merge(into, none, NULL), PYRO_ERROR_ARGUMENT);
    pyro_bench_free(into);
    pyro_bench_free(other);
    pyro_bench_free(none);
}

/* Ten processes per side: the verdict depends on them, not on their iterations. */
static void test_processes_are_replicates(void **state)
{
    (void)state;
    pyro_bench *sides[2] = {make_bench("net", 10, 20, 0), make_bench("net", 12, 20, 0)};
    pyro_comparison *comparison;

    for (int side = 0; side < 2; side++)
        for (int i = 1; i < 10; i++) {
            pyro_bench *next = make_bench("net", 10 + 2 * side + 0.01 * i, 20, 0);

            assert_int_equal(pyro_bench_merge(sides[side], next, NULL), PYRO_OK);
            pyro_bench_free(next);
        }
    assert_int_equal(pyro_bench_compare(&comparison, sides[0], sides[1], NULL, NULL), PYRO_OK);
    assert_true(comparison->regressed);
    assert_true(comparison->rows[0].processes);
    assert_int_equal(comparison->rows[0].base_count, 10);
    pyro_comparison_free(comparison);
    pyro_bench_free(sides[0]);
    pyro_bench_free(sides[1]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_samples_stand_beside_each_other),
    cmocka_unit_test(test_warnings_of_one_kind_are_told_once),
    cmocka_unit_test(test_other_metrics_of_processes),
    cmocka_unit_test(test_only_the_same),
    cmocka_unit_test(test_processes_are_replicates),
};

UNIT_TESTS(tests, NULL, NULL)
