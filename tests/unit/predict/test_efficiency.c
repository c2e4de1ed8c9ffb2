/* Tests of predict/efficiency.c: samples become sums, and merging tables is associative. */
#include "predict/describe.h"
#include "predict/efficiency.h"
#include "unit.h"

#include <string.h>

static struct pyro_op_work gemm(int64_t m, int64_t n, int64_t k)
{
    return (struct pyro_op_work){.kind = "gemm",
                                 .dtype = "bfloat16",
                                 .flops = (uint64_t)(2 * m * n * k),
                                 .bytes = (uint64_t)(2 * (m * k + n * k + m * n)),
                                 .m = m,
                                 .n = n,
                                 .k = k};
}

static void add(pyro_efficiency_table *table, const struct pyro_op_work *work, const char *chip,
                int64_t time_ns)
{
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_efficiency_add(table, work, chip, "cuda 13.0", time_ns, &error), PYRO_OK);
}

static void test_samples_of_a_bucket_are_added_up(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work one = gemm(1024, 1024, 1024), near = gemm(1100, 1024, 1024);
    size_t count;

    add(table, &one, "H200 SXM", 8192);
    add(table, &near, "H200 SXM", 16384);
    const pyro_efficiency_row *rows = pyro_efficiency_rows(table, &count);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].samples, 2);
    assert_int_equal(rows[0].time_log, (13 + 14) * PYRO_LOG_UNIT);
    assert_int_equal(rows[0].time_log_squares, (169 + 196) * PYRO_LOG_UNIT * PYRO_LOG_UNIT);
    assert_int_equal(rows[0].least_ns, 8192);
    assert_int_equal(rows[0].most_ns, 16384);
    assert_int_equal(rows[0].sizes[PYRO_SIZE_M], 20);
    add(table, &one, "B200", 8192);
    pyro_efficiency_rows(table, &count);
    assert_int_equal(count, 2);
    one.form = PYRO_FORM_UNALIGNED; /* another form, and another number of parts: other rows */
    add(table, &one, "H200 SXM", 8192);
    one.form = PYRO_FORM_PLAIN;
    one.parts = 8;
    add(table, &one, "H200 SXM", 8192);
    rows = pyro_efficiency_rows(table, &count);
    assert_int_equal(count, 4);
    assert_int_equal(rows[3].size_logs[PYRO_SIZE_PARTS], 3 * PYRO_LOG_UNIT);
    assert_int_equal(rows[0].size_logs[PYRO_SIZE_N], 2 * 10 * PYRO_LOG_UNIT);
    pyro_efficiency_free(table);
}

static void test_amounts_of_zero_and_the_largest(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work work = {.kind = "copy", .dtype = "int64", .bytes = UINT64_MAX};
    size_t count;

    add(table, &work, "T4", 1);
    const pyro_efficiency_row *rows = pyro_efficiency_rows(table, &count);
    assert_int_equal(rows[0].sizes[PYRO_SIZE_M], PYRO_SIZE_NONE);
    assert_int_equal(rows[0].sizes[PYRO_SIZE_FLOPS], PYRO_SIZE_NONE);
    assert_int_equal(rows[0].sizes[PYRO_SIZE_BYTES], PYRO_SIZE_NONE - 1);
    pyro_efficiency_free(table);
}

static void test_rejected_samples(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work work = gemm(2, 2, 2);
    char name[200];
    size_t count;

    assert_true(pyro_efficiency_add(table, &work, "T4", "cuda 13.0", 0, NULL) < 0);
    assert_true(pyro_efficiency_add(table, &work, "", "cuda 13.0", 5, NULL) < 0);
    assert_true(pyro_efficiency_add(table, &work, "a\nb", "cuda 13.0", 5, NULL) < 0);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_true(pyro_efficiency_add(table, &work, name, "cuda 13.0", 5, NULL) < 0);
    work.kind = "magic";
    assert_true(pyro_efficiency_add(table, &work, "T4", "cuda 13.0", 5, NULL) < 0);
    work = gemm(2, 2, 2);
    work.form = PYRO_FORM_COUNT;
    assert_true(pyro_efficiency_add(table, &work, "T4", "cuda 13.0", 5, NULL) < 0);
    work = gemm(2, 2, 2);
    work.dtype = "float33";
    assert_true(pyro_efficiency_add(table, &work, "T4", "cuda 13.0", 5, NULL) < 0);
    pyro_efficiency_rows(table, &count);
    assert_int_equal(count, 0);
    pyro_efficiency_free(table);
}

/* Three tables with common and different rows, chips in different orders. */
static pyro_efficiency_table *part(int number)
{
    pyro_efficiency_table *table = pyro_efficiency_new();
    static const char *const chips[] = {"H200 SXM", "B200", "MI300X"};

    for (int64_t i = 0; i < 40; i++) {
        struct pyro_op_work work = gemm(16 + 37 * ((i * (number + 3)) % 23), 512 << (i % 3), 256);
        work.form = (uint8_t)(i % 2);
        work.parts = 1 + i % 5;
        add(table, &work, chips[(i + number) % 3], 1000 + 977 * i * (number + 1));
    }
    return table;
}

static void merge(pyro_efficiency_table *to, pyro_efficiency_table *from)
{
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_efficiency_merge(to, from, &error), PYRO_OK);
}

static void test_merging_is_associative_and_commutative(void **state)
{
    (void)state;
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    pyro_buf first = PYRO_BUF_INIT;

    for (int i = 0; i < 12; i++) {
        pyro_efficiency_table *a = part(orders[i / 2][0]), *b = part(orders[i / 2][1]);
        pyro_efficiency_table *c = part(orders[i / 2][2]);
        pyro_buf text = PYRO_BUF_INIT;
        if (i % 2) { /* a + (b + c) */
            merge(b, c);
            merge(a, b);
        } else { /* (a + b) + c */
            merge(a, b);
            merge(a, c);
        }
        assert_int_equal(pyro_efficiency_write(a, i ? &text : &first, NULL), PYRO_OK);
        if (i)
            assert_string_equal(text.data, first.data);
        pyro_buf_free(&text);
        pyro_efficiency_free(a);
        pyro_efficiency_free(b);
        pyro_efficiency_free(c);
    }
    pyro_buf_free(&first);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_samples_of_a_bucket_are_added_up),
    cmocka_unit_test(test_amounts_of_zero_and_the_largest),
    cmocka_unit_test(test_rejected_samples),
    cmocka_unit_test(test_merging_is_associative_and_commutative),
};

UNIT_TESTS(tests, NULL, NULL)
