/* Tests of bench/results.c, results_read.c, summary.c, comparison.c and environment.c. */
#include "bench/statistics/random.h"
#include "bench/results/results.h"
#include "bench/verdict.h"
#include "fail_alloc.h"
#include "unit.h"

#include <pyrometer/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A set with one benchmark whose latencies are around `center` ms. */
static pyro_bench *make_bench(double center, size_t count, uint64_t seed)
{
    double samples[1000];
    pyro_bench *bench;
    pyro_random random;
    size_t index;

    assert_true(count <= 1000);
    pyro_random_seed(&random, seed);
    for (size_t i = 0; i < count; i++)
        samples[i] = center * exp(0.01 * pyro_random_normal(&random));
    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "one", "command", &index, NULL), PYRO_OK);
    assert_int_equal(
        pyro_bench_add_metric(bench, index, "latency", "ms", false, samples, count, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_parameter(bench, index, "threads", "4", NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add_environment(bench, "torch", "2.13", NULL), PYRO_OK);
    return bench;
}

static char *to_json(const pyro_bench *bench, size_t *size)
{
    pyro_bench_report report = {.bench = bench};
    char *text;

    assert_int_equal(pyro_report_bench(&text, size, &report, PYRO_BENCH_JSON, NULL, NULL), PYRO_OK);
    return text;
}

static void test_round_trip(void **state)
{
    (void)state;
    size_t size, again_size;
    pyro_bench *bench = make_bench(20, 30, 1), *read;
    assert_int_equal(pyro_environment_before(bench, NULL), PYRO_OK);
    assert_int_equal(pyro_environment_after(bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    char *text = to_json(bench, &size);
    assert_int_equal(pyro_bench_parse(&read, text, size, NULL), PYRO_OK);
    char *again = to_json(read, &again_size);
    assert_string_equal(text, again);
    assert_true(strncmp(text, "{\n  \"schema\": \"pyrometer.bench/1\"", 33) == 0);
    const pyro_metric *latency = pyro_bench_metric(&read->results[0], "latency");
    assert_int_equal(latency->count, 30);
    assert_true(latency->summary.mean_interval.low < latency->summary.mean);
    assert_true(fabs(pyro_bench_metric(&read->results[0], "throughput")->value -
                     1000 / latency->summary.mean) < 1e-9);
    pyro_free(text);
    pyro_free(again);
    pyro_bench_free(read);
    pyro_bench_free(bench);
}

/* Every prefix of a file, and the file with a byte changed: an error or a valid result. */
static void test_damage(void **state)
{
    (void)state;
    size_t size;
    pyro_bench *bench = make_bench(20, 8, 1), *read;
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    char *text = to_json(bench, &size);
    for (size_t cut = 0; cut + 2 < size; cut++) {
        pyro_error error;
        pyro_error_clear(&error);
        assert_int_equal(pyro_bench_parse(&read, text, cut, &error), PYRO_ERROR_FORMAT);
        assert_null(read);
        assert_true(error.message[0] != '\0');
    }
    for (size_t at = 0; at < size; at += 3) {
        char kept = text[at];
        text[at] = '7';
        if (pyro_bench_parse(&read, text, size, NULL) == PYRO_OK)
            pyro_bench_free(read);
        text[at] = kept;
    }
    pyro_free(text);
    pyro_bench_free(bench);
}

#define HEAD "{\"schema\": \"pyrometer.bench/1\", \"benchmarks\": ["
#define METRIC "{\"name\": \"latency\", \"unit\": \"ms\", \"samples\": "

static void test_nonsense(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } examples[] = {
        {HEAD "{\"name\": \"a\", \"metrics\": [" METRIC "[1, 2]}]}]}", PYRO_OK},
        {HEAD "]}", PYRO_OK},
        {HEAD "{\"name\": \"a\", \"metrics\": [" METRIC "[1, NaN]}]}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"metrics\": [" METRIC "[1, null]}]}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"metrics\": [" METRIC "[1, -2]}]}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"metrics\": [" METRIC "[1e999]}]}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"metrics\": [" METRIC "[\"1\"]}]}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"metrics\": [" METRIC "3}]}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"metrics\": [{\"name\": \"x\"}]}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"metrics\": [" METRIC "[1]}, " METRIC "[1]}]}]}",
         PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"processes\": [3], \"metrics\": [" METRIC "[1, 2]}]}]}",
         PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"processes\": [0.5], \"metrics\": []}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": null}]}", PYRO_ERROR_FORMAT},
        {HEAD "{}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"items\": -1}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\", \"replicate\": \"day\"}]}", PYRO_ERROR_FORMAT},
        {HEAD "{\"name\": \"a\\u0000b\"}]}", PYRO_ERROR_FORMAT},
        {HEAD "7]}", PYRO_ERROR_FORMAT},
        {HEAD "]} 1", PYRO_ERROR_FORMAT},
        {"{\"schema\": \"pyrometer.bench/2\"}", PYRO_ERROR_UNSUPPORTED},
        {"{\"schema\": \"pyrometer.cost/1\"}", PYRO_ERROR_UNSUPPORTED},
        {"{\"benchmarks\": []}", PYRO_ERROR_FORMAT},
        {"[]", PYRO_ERROR_FORMAT},
        {"", PYRO_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        pyro_bench *read;
        int status = pyro_bench_parse(&read, examples[i].text, strlen(examples[i].text), NULL);

        if (status != examples[i].status)
            fail_msg("%s: %d", examples[i].text, status);
        pyro_bench_free(read);
    }
}

static pyro_verdict judge(double base_center, double new_center, size_t count,
                          const pyro_verdict_options *options, void (*change)(pyro_bench *))
{
    pyro_bench *base = make_bench(base_center, count, 1),
               *current = make_bench(new_center, count, 2);
    pyro_comparison *comparison;

    if (change)
        change(current);
    assert_int_equal(pyro_bench_finish(base, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_finish(current, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_compare(&comparison, base, current, options, NULL), PYRO_OK);
    pyro_verdict overall = comparison->overall;
    assert_int_equal(comparison->regressed, overall == PYRO_VERDICT_REGRESSED);
    assert_int_equal(comparison->cannot_tell, overall == PYRO_VERDICT_CANNOT_TELL);
    for (int format = PYRO_FORMAT_TEXT; format <= PYRO_FORMAT_CSV; format++) {
        pyro_report_options report = {.format = (pyro_format)format};
        char *text;
        size_t size;

        assert_int_equal(pyro_report_verdict(&text, &size, comparison, &report, NULL), PYRO_OK);
        assert_non_null(strstr(text, pyro_verdict_name(overall)));
        pyro_free(text);
    }
    pyro_comparison_free(comparison);
    pyro_bench_free(base);
    pyro_bench_free(current);
    return overall;
}

static void other_machine(pyro_bench *bench)
{
    bench->environment.cpu_model = "another";
}

static void other_torch(pyro_bench *bench)
{
    bench->environment.extra[0].value = "1.0";
}

static void other_name(pyro_bench *bench)
{
    bench->results[0].name = "two";
}

static void failed(pyro_bench *bench)
{
    bench->results[0].status = "failed";
}

static void other_loop(pyro_bench *bench)
{
    bench->results[0].loop = "rate";
}

static void no_result(pyro_bench *bench)
{
    bench->result_count = 0;
}

static void iterations(pyro_bench *bench)
{
    bench->results[0].replicate = PYRO_REPLICATE_ITERATION;
}

static void test_comparison(void **state)
{
    (void)state;
    pyro_verdict_options any = {.any_machine = true};
    assert_int_equal(judge(20, 20, 20, NULL, NULL), PYRO_VERDICT_NO_CHANGE);
    assert_int_equal(judge(20, 22, 20, NULL, NULL), PYRO_VERDICT_REGRESSED);
    assert_int_equal(judge(22, 20, 20, NULL, NULL), PYRO_VERDICT_IMPROVED);
    assert_int_equal(judge(20, 22, 4, NULL, NULL), PYRO_VERDICT_CANNOT_TELL);
    assert_int_equal(judge(20, 22, 40, NULL, iterations), PYRO_VERDICT_REGRESSED);
    assert_int_equal(judge(20, 20, 20, NULL, other_machine), PYRO_VERDICT_CANNOT_TELL);
    assert_int_equal(judge(20, 20, 20, &any, other_machine), PYRO_VERDICT_NO_CHANGE);
    assert_int_equal(judge(20, 20, 20, NULL, other_torch), PYRO_VERDICT_CANNOT_TELL);
    assert_int_equal(judge(20, 20, 20, NULL, other_name), PYRO_VERDICT_CANNOT_TELL);
    assert_int_equal(judge(20, 20, 20, NULL, failed), PYRO_VERDICT_CANNOT_TELL);
    assert_int_equal(judge(20, 20, 20, NULL, other_loop), PYRO_VERDICT_CANNOT_TELL);
    assert_int_equal(judge(20, 20, 20, NULL, no_result), PYRO_VERDICT_CANNOT_TELL);
}

/* Several processes of several iterations: the processes are compared. */
static void test_processes(void **state)
{
    (void)state;
    pyro_bench *bench;
    pyro_replicates replicates;
    pyro_arena arena;
    size_t index;
    assert_int_equal(pyro_bench_new(&bench, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "model", "module", &index, NULL), PYRO_OK);
    for (int process = 0; process < 6; process++) {
        pyro_loop *loop;
        pyro_loop_options options = {.warmup_runs = 1, .min_runs = 7, .max_runs = 7};

        assert_int_equal(pyro_loop_new(&loop, &options, NULL), PYRO_OK);
        while (pyro_loop_next(loop) != PYRO_LOOP_DONE)
            assert_int_equal(pyro_loop_record(loop, 1000000 * (process + 1), NULL), PYRO_OK);
        assert_int_equal(pyro_bench_add_loop(bench, index, loop, NULL), PYRO_OK);
        pyro_loop_free(loop);
    }
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    pyro_arena_init(&arena);
    const pyro_metric *latency = pyro_bench_metric(&bench->results[index], "latency");
    assert_int_equal(latency->count, 42);
    assert_int_equal(pyro_replicates_of(&replicates, &arena, &bench->results[index], latency, NULL),
                     PYRO_OK);
    assert_true(replicates.processes);
    assert_int_equal(replicates.count, 6);
    assert_true(fabs(replicates.values[5] - 6) < 1e-12);
    pyro_arena_free(&arena);
    pyro_bench_free(bench);
}

static void test_refuses_samples(void **state)
{
    (void)state;
    static const double wrong[] = {NAN, INFINITY, -1};
    pyro_bench *bench = make_bench(1, 3, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pyro_bench_add_metric(bench, 0, "x", "ms", false, &wrong[i], 1, NULL),
                         PYRO_ERROR_ARGUMENT);
        assert_int_equal(pyro_bench_add_value(bench, 0, "y", "ms", false, wrong[i], NULL),
                         PYRO_ERROR_ARGUMENT);
    }
    pyro_bench_free(bench);
}

/* Every kind of report of every odd result: nothing crashes, markup is escaped. */
static void test_reports(void **state)
{
    (void)state;
    pyro_bench *bench = make_bench(20, 40, 1);
    size_t index;
    pyro_threshold threshold;
    pyro_error error;
    assert_int_equal(pyro_bench_add(bench, "<b>|&\"\n\xff", "command", &index, NULL), PYRO_OK);
    assert_int_equal(
        pyro_bench_add_metric(bench, index, "latency", "ms", false, (double[]){3, 3, 3}, 3, NULL),
        PYRO_OK);
    assert_int_equal(pyro_bench_add(bench, "empty", "command", &index, NULL), PYRO_OK);
    bench->results[index].status = "failed";
    bench->results[index].message = "exit code 1";
    assert_int_equal(pyro_bench_add_value(bench, 0, "flops", "FLOP/s", true, 1e9, NULL), PYRO_OK);
    assert_int_equal(pyro_bench_warn(bench, NULL, "a %s", "warning"), PYRO_OK);
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    pyro_error_clear(&error);
    assert_int_equal(pyro_threshold_parse(&threshold, "latency:1ms", &error), PYRO_OK);
    pyro_gate_row gates[3];
    for (size_t i = 0; i < 3; i++)
        gates[i] = pyro_threshold_check(&threshold, &bench->results[i]);
    assert_int_equal(gates[0].gate, PYRO_GATE_FAILED);
    assert_int_equal(gates[2].gate, PYRO_GATE_CANNOT_TELL);
    pyro_bench_report report = {.bench = bench, .gates = gates, .gate_count = 3};
    for (int format = PYRO_BENCH_TEXT; format <= PYRO_BENCH_GITHUB; format++) {
        char *text;
        size_t size;

        assert_int_equal(
            pyro_report_bench(&text, &size, &report, (pyro_bench_format)format, NULL, NULL),
            PYRO_OK);
        assert_true(size > 100);
        assert_int_equal(strlen(text), size);
        if (format == PYRO_BENCH_HTML || format == PYRO_BENCH_JUNIT)
            assert_null(strstr(text, "<b>"));
        pyro_free(text);
        for (long n = 0; n < 20; n++) {
            fail_alloc_after(n);
            if (pyro_report_bench(&text, &size, &report, (pyro_bench_format)format, NULL, NULL) ==
                PYRO_OK)
                pyro_free(text);
            fail_alloc_after(-1);
        }
    }
    pyro_bench_free(bench);
}

static void test_no_memory(void **state)
{
    (void)state;
    size_t size;
    pyro_bench *bench = make_bench(20, 8, 1), *read;
    assert_int_equal(pyro_bench_finish(bench, NULL), PYRO_OK);
    char *text = to_json(bench, &size);
    int status = PYRO_ERROR_MEMORY;
    for (long n = 0; status != PYRO_OK; n++) {
        assert_true(n < 1000);
        fail_alloc_after(n);
        status = pyro_bench_parse(&read, text, size, NULL);
        fail_alloc_after(-1);
        assert_true(status == PYRO_OK || status == PYRO_ERROR_MEMORY);
    }
    pyro_bench_free(read);
    pyro_free(text);
    pyro_bench_free(bench);
}

/* The same tensors, by position or by name, in any order. */
static void test_inputs_are_compared_by_type_and_shape(void **state)
{
    (void)state;
    assert_true(pyro_same_setting("inputs", "0: int64[32, 128]", "input_ids: int64[32, 128]"));
    assert_true(
        pyro_same_setting("inputs", "a: int64[2], b: bool[3, 4]", "0: bool[3, 4], 1: int64[2]"));
    assert_true(pyro_same_setting("inputs", "no tensors", "no tensors"));
    assert_true(pyro_same_setting("inputs", "int64[]", "x: int64[]"));
    assert_false(pyro_same_setting("inputs", "0: int64[32, 128]", "0: int64[1, 128]"));
    assert_false(pyro_same_setting("inputs", "0: int64[32, 128]", "0: int32[32, 128]"));
    assert_false(pyro_same_setting("inputs", "0: int64[2]", "0: int64[2], 1: int64[2]"));
    assert_false(pyro_same_setting("inputs", "no tensors", "0: int64[2]"));
    assert_false(pyro_same_setting("name", "0: int64[2]", "1: int64[2]"));
    assert_false(pyro_same_setting("inputs", "0: int64[2]", NULL));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_inputs_are_compared_by_type_and_shape),
    cmocka_unit_test(test_round_trip),
    cmocka_unit_test(test_damage),
    cmocka_unit_test(test_nonsense),
    cmocka_unit_test(test_comparison),
    cmocka_unit_test(test_processes),
    cmocka_unit_test(test_refuses_samples),
    cmocka_unit_test(test_reports),
    cmocka_unit_test(test_no_memory),
};

UNIT_TESTS(tests, NULL, NULL)
