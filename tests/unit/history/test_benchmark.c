/* Tests of history/benchmark.c. */
#include "unit.h"

#include "history/benchmark.h"

#include <string.h>

static void test_parameters(void **state)
{
    static const char benchmark[] =
        "a model batch=2 inputs=x: int64[3, 4], y: bool[3] cache=warm empty= last=1";
    static const char *const expected[][2] = {{"batch", "2"},
                                              {"inputs", "x: int64[3, 4], y: bool[3]"},
                                              {"cache", "warm"},
                                              {"empty", ""},
                                              {"last", "1"}};
    size_t length = 0;

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *value = pyro_benchmark_parameter(benchmark, expected[i][0], &length);

        assert_non_null(value);
        assert_int_equal(length, strlen(expected[i][1]));
        assert_memory_equal(value, expected[i][1], length);
    }
    assert_null(pyro_benchmark_parameter(benchmark, "model", &length));
    assert_null(pyro_benchmark_parameter(benchmark, "ache", &length));
    assert_null(pyro_benchmark_parameter("batch=2", "batch", &length));
    assert_null(pyro_benchmark_parameter("", "batch", &length));
}

static void test_batch(void **state)
{
    static const struct {
        const char *benchmark;
        size_t batch, concurrency;
    } cases[] = {
        {"resnet50", 1, 1},
        {"resnet50 batch_size=8", 8, 1},
        {"resnet50 batch=4 concurrency=3", 4, 3},
        {"resnet50 inputs=0: float32[16, 3, 224, 224]", 16, 1},
        {"resnet50 inputs=0: float32[], 1: int64[5]", 5, 1},
        {"resnet50 batch_size=8 inputs=0: float32[16]", 8, 1},
        {"./infer [7]", 1, 1},
        {"resnet50 batch_size=-3", 1, 1},
        {"resnet50 batch_size=99999999999999999999", 1, 1},
        {"resnet50 batch_size=x concurrency=0", 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pyro_benchmark_batch(cases[i].benchmark), cases[i].batch);
        assert_int_equal(pyro_benchmark_concurrency(cases[i].benchmark), cases[i].concurrency);
    }
}

static void test_family(void **state)
{
    static const char *const cases[][2] = {
        {"resnet50", "resnet50"},
        {"a b batch_size=8 precision=bf16", "a b precision=bf16"},
        {"a batch=8", "a"},
        {"a inputs=0: float32[8, 8], 1: int64[8], 2: int64[1] cache=warm",
         "a inputs=0: float32[N, 8], 1: int64[N], 2: int64[1] cache=warm"},
        {"./infer [1]", "./infer [1]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pyro_buf buf = PYRO_BUF_INIT;

        pyro_benchmark_add_family(&buf, cases[i][0]);
        assert_false(buf.failed);
        assert_string_equal(buf.data, cases[i][1]);
        pyro_buf_free(&buf);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parameters),
    cmocka_unit_test(test_batch),
    cmocka_unit_test(test_family),
};

UNIT_TESTS(tests, NULL, NULL)
