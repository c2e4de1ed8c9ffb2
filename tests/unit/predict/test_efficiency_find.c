/* Tests of predict/efficiency_find.c: estimates get wider with the distance to what was seen. */
#include "predict/describe.h"
#include "predict/efficiency.h"
#include "unit.h"

#include <math.h>

static struct pyro_op_work stream(uint64_t bytes)
{
    return (struct pyro_op_work){
        .kind = "elementwise", .dtype = "float32", .flops = bytes / 8, .bytes = bytes};
}

static struct pyro_op_work gemm(int64_t m, int64_t n, int64_t k, const char *dtype)
{
    return (struct pyro_op_work){.kind = "gemm",
                                 .dtype = dtype,
                                 .flops = (uint64_t)(2 * m * n * k),
                                 .bytes = (uint64_t)(2 * (m * k + n * k + m * n)),
                                 .m = m,
                                 .n = n,
                                 .k = k};
}

/* An H200 that streams at 70% of 4.8 TB/s after 2 us. */
static int64_t stream_ns(uint64_t bytes)
{
    return (int64_t)(2000 + (double)bytes / 4800 / 0.7);
}

static pyro_efficiency_table *streams(void)
{
    pyro_efficiency_table *table = pyro_efficiency_new();
    for (int octave = 10; octave <= 30; octave += 2) {
        struct pyro_op_work work = stream(UINT64_C(1) << octave);
        assert_int_equal(
            pyro_efficiency_add(table, &work, "H200 SXM", "cuda 13.0", stream_ns(work.bytes), NULL),
            PYRO_OK);
    }
    assert_int_equal(pyro_efficiency_prepare(table, NULL), PYRO_OK);
    return table;
}

static void test_the_same_bucket(void **state)
{
    (void)state;
    pyro_efficiency_table *table = streams();
    struct pyro_op_work work = stream(UINT64_C(1) << 30);
    struct pyro_efficiency found;

    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &found));
    assert_int_equal(found.level, 0);
    assert_int_equal(found.samples, 1);
    assert_true(fabs(found.time_ns / (double)stream_ns(work.bytes) - 1) < 0.01);
    assert_true(fabs(found.memory_share - 0.7) < 0.02);
    assert_true(fabs(found.overhead_ns - 2000) < 50);
    assert_true(found.low < 1 && found.low > 0.8 && found.high > 1 && found.high < 1.25);
    double sum = found.overhead_ns + (double)work.bytes / (found.memory_share * 4800);
    assert_true(fabs(sum / found.time_ns - 1) < 1e-6);
    pyro_efficiency_free(table);
}

static void test_between_and_beyond_samples(void **state)
{
    (void)state;
    pyro_efficiency_table *table = streams();
    struct pyro_efficiency found;
    double range = 0;

    for (int octave = 10; octave < 30; octave++) {
        struct pyro_op_work work = stream((UINT64_C(3) << octave) / 2);
        assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &found));
        assert_true(fabs(found.time_ns / (double)stream_ns(work.bytes) - 1) < 0.25);
        assert_true((double)stream_ns(work.bytes) > found.low * found.time_ns);
        assert_true((double)stream_ns(work.bytes) < found.high * found.time_ns);
    }
    for (int octave = 32; octave < 40; octave += 2) {
        struct pyro_op_work work = stream(UINT64_C(1) << octave);
        assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &found));
        assert_true(fabs(found.time_ns / (double)stream_ns(work.bytes) - 1) < 0.1);
        assert_true(found.high / found.low > range);
        range = found.high / found.low;
    }
    pyro_efficiency_free(table);
}

static void test_neighbours_are_wider(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work work = gemm(4096, 4096, 4096, "bfloat16");
    struct pyro_efficiency same, near, far, other;

    pyro_efficiency_add(table, &work, "H200 SXM", "cuda 13.0", 200000, NULL);
    assert_int_equal(pyro_efficiency_prepare(table, NULL), PYRO_OK);
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &same));
    work = gemm(4096, 4096, 6144, "bfloat16");
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &near));
    work = gemm(256, 256, 256, "bfloat16");
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &far));
    work = gemm(4096, 4096, 4096, "float16");
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &other));
    assert_true(same.level < near.level && near.level < far.level && far.level < other.level);
    assert_true(same.high < near.high && near.high < far.high && same.high < other.high);
    assert_true(same.low > near.low && near.low > far.low);
    assert_true(fabs(near.time_ns / 300000 - 1) < 0.05);
    pyro_efficiency_free(table);
}

static struct pyro_op_work norm(int64_t rows, int64_t columns, pyro_work_form form)
{
    return (struct pyro_op_work){.kind = "norm",
                                 .dtype = "float32",
                                 .flops = (uint64_t)(5 * rows * columns),
                                 .bytes = (uint64_t)(8 * rows * columns),
                                 .m = rows,
                                 .n = columns,
                                 .form = (uint8_t)form};
}

/* Rows of one form say little about another one, however near their sizes; rows of an unknown form
 * are like every other. */
static void test_forms_are_told_apart(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work slow = norm(1024, 900, PYRO_FORM_GRADIENT), work = slow;
    struct pyro_efficiency plain, gradient, any;

    pyro_efficiency_add(table, &slow, "H200 SXM", "cuda 13.0", 80000, NULL);
    work = norm(4096, 1024, PYRO_FORM_PLAIN);
    pyro_efficiency_add(table, &work, "H200 SXM", "cuda 13.0", 16000, NULL);
    assert_int_equal(pyro_efficiency_prepare(table, NULL), PYRO_OK);
    work = norm(1300, 1024, PYRO_FORM_PLAIN);
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &plain));
    work.form = PYRO_FORM_GRADIENT;
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &gradient));
    work.form = PYRO_FORM_ANY;
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &any));
    assert_true(plain.time_ns < 12000 && gradient.time_ns > 60000);
    assert_true(any.time_ns > 4 * plain.time_ns); /* the nearest sizes decide */
    work.form = PYRO_FORM_COUNT;
    assert_false(pyro_efficiency_find(table, &work, "H200 SXM", &any));
    pyro_efficiency_free(table);
}

/* The same bytes in few long rows, that few multiprocessors sum, take longer than in many. */
static void test_few_rows_take_longer(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work work = norm(4096, 4096, PYRO_FORM_STATISTICS);
    struct pyro_efficiency few, many;

    pyro_efficiency_add(table, &work, "H200 SXM", "cuda 13.0", 60000, NULL);
    assert_int_equal(pyro_efficiency_prepare(table, NULL), PYRO_OK);
    work = norm(1000, 8000, PYRO_FORM_STATISTICS);
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &many));
    work = norm(8, 1000000, PYRO_FORM_STATISTICS);
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &few));
    assert_true(few.time_ns > 5 * many.time_ns);
    pyro_efficiency_free(table);
}

/* Two tiles more than multiprocessors, 1.5% more work, is another wave, if of smaller tiles; many waves
 * take as long as their FLOPs. */
static void test_waves_of_tiles(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work work = gemm(16384, 16384, 4096, "bfloat16");
    struct pyro_efficiency one, more, large;

    pyro_efficiency_add(table, &work, "H200 SXM", "cuda 13.0", 3000000, NULL);
    assert_int_equal(pyro_efficiency_prepare(table, NULL), PYRO_OK);
    work = gemm(67 * 256, 2 * 128, 8192, "bfloat16");
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &one));
    work = gemm(68 * 256, 2 * 128, 8192, "bfloat16");
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &more));
    assert_true(more.time_ns > 1.05 * one.time_ns && more.time_ns < 1.5 * one.time_ns);
    work = gemm(16384, 16384, 8192, "bfloat16");
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &large));
    assert_true(fabs(large.time_ns / 6000000 - 1) < 0.05);
    pyro_efficiency_free(table);
}

static void test_never_faster_than_the_peak(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work work = gemm(64, 64, 64, "bfloat16");
    struct pyro_efficiency found;

    pyro_efficiency_add(table, &work, "H200 SXM", "cuda 13.0", 2000, NULL);
    assert_int_equal(pyro_efficiency_prepare(table, NULL), PYRO_OK);
    work = gemm(16384, 16384, 16384, "bfloat16");
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &found));
    assert_true(found.time_ns >= (double)work.flops / 989.5e3 - 1);
    pyro_efficiency_free(table);
}

static void test_unknown(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work work = stream(1 << 20);
    struct pyro_efficiency found;

    assert_false(pyro_efficiency_find(table, &work, "H200 SXM", &found)); /* not prepared */
    pyro_efficiency_add(table, &work, "Neoverse-N1, 2 threads", "torch 2.11", 100000, NULL);
    assert_int_equal(pyro_efficiency_prepare(table, NULL), PYRO_OK);
    assert_false(pyro_efficiency_find(table, &work, "H200 SXM", &found));
    work.kind = "conv";
    assert_false(pyro_efficiency_find(table, &work, "Neoverse-N1, 2 threads", &found));
    work.kind = "magic";
    assert_false(pyro_efficiency_find(table, &work, "Neoverse-N1, 2 threads", &found));
    work = stream(1 << 20);
    assert_true(pyro_efficiency_find(table, &work, "Neoverse-N1, 2 threads", &found));
    assert_true(found.compute_share < 0 && found.memory_share < 0); /* no data sheet */
    assert_true(fabs(found.time_ns / 100000 - 1) < 0.01);
    pyro_efficiency_free(table);
}

/* Gradients are looked up as the forward if only that was seen. */
static void test_gradients_without_rows(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_op_work work = gemm(1024, 64, 576, "float32");
    struct pyro_efficiency forward, backward;

    work.kind = "conv";
    pyro_efficiency_add(table, &work, "H200 SXM", "cuda 13.0", 20000, NULL);
    assert_int_equal(pyro_efficiency_prepare(table, NULL), PYRO_OK);
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &forward));
    work.kind = "conv_backward";
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &backward));
    assert_float_equal(forward.time_ns, backward.time_ns, 1);
    pyro_efficiency_free(table);
}

/* Rows on a line are predicted by their neighbours: few of them stay, and predict the others. */
static void test_thinning(void **state)
{
    (void)state;
    pyro_efficiency_table *table = pyro_efficiency_new();
    struct pyro_efficiency found;
    size_t before, after;

    for (int64_t m = 64; m <= 65536; m = m * 3 / 2) {
        struct pyro_op_work work = gemm(m, 1024, 1024, "bfloat16");
        pyro_efficiency_add(table, &work, "H200 SXM", "cuda 13.0", 3000 + m * 4, NULL);
    }
    pyro_efficiency_rows(table, &before);
    assert_int_equal(pyro_efficiency_thin(table, 0.2, NULL), PYRO_OK);
    pyro_efficiency_rows(table, &after);
    assert_true(after >= 8 && after < before);
    assert_int_equal(pyro_efficiency_prepare(table, NULL), PYRO_OK);
    struct pyro_op_work work = gemm(4096, 1024, 1024, "bfloat16");
    assert_true(pyro_efficiency_find(table, &work, "H200 SXM", &found));
    assert_true(found.time_ns > 0.6 * 19384 && found.time_ns < 1.6 * 19384);
    pyro_efficiency_free(table);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_same_bucket),
    cmocka_unit_test(test_between_and_beyond_samples),
    cmocka_unit_test(test_neighbours_are_wider),
    cmocka_unit_test(test_forms_are_told_apart),
    cmocka_unit_test(test_few_rows_take_longer),
    cmocka_unit_test(test_waves_of_tiles),
    cmocka_unit_test(test_never_faster_than_the_peak),
    cmocka_unit_test(test_unknown),
    cmocka_unit_test(test_gradients_without_rows),
    cmocka_unit_test(test_thinning),
};

UNIT_TESTS(tests, NULL, NULL)
