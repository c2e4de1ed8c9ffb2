/* Columns of a trace: growth and trimming. */
#include "trace/trace.h"
#include "unit.h"

/* Fills the rows up to a number with their own numbers. */
static void fill(pyro_trace *trace, size_t count)
{
    for (; trace->count < count; trace->count++) {
        size_t row = trace->count;
        trace->start_ns[row] = trace->duration_ns[row] = (int64_t)row;
        trace->name[row] = trace->correlation[row] = (uint32_t)row;
        trace->external_id[row] = trace->detail[row] = (uint32_t)row;
        trace->track[row] = (uint16_t)row;
        trace->category[row] = (uint8_t)row;
    }
}

/* Counts the rows that still have their numbers. */
static size_t count_kept(const pyro_trace *trace)
{
    size_t kept = 0;
    for (size_t row = 0; row < trace->count; row++)
        kept += trace->start_ns[row] == (int64_t)row && trace->duration_ns[row] == (int64_t)row &&
                trace->name[row] == row && trace->correlation[row] == row &&
                trace->external_id[row] == row && trace->detail[row] == row &&
                trace->track[row] == (uint16_t)row && trace->category[row] == (uint8_t)row;
    return kept;
}

/* Columns keep their rows when they grow, whatever their size: in small pages, in large ones, and from
 * the one to the other. */
static void test_growth(void **state)
{
    (void)state;
    static const size_t rows[] = {64, 1000, 300000, 700000, 1500000, 4000000};
    pyro_trace *trace = pyro_trace_new("columns");
    assert_non_null(trace);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(pyro_trace_reserve(trace, rows[i]));
        assert_true(trace->capacity >= rows[i]);
        fill(trace, rows[i]);
        assert_int_equal(count_kept(trace), trace->count);
    }
    trace->count = 0; /* these are no events */
    pyro_trace_close(trace);
}

/* What was reserved and not used is freed, and columns can grow again. */
static void test_trimming(void **state)
{
    (void)state;
    static const size_t reserved[] = {100, 600000, 5000000};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        pyro_trace *trace = pyro_trace_new("columns");
        assert_non_null(trace);
        assert_true(pyro_trace_reserve(trace, reserved[i]));
        fill(trace, reserved[i] / 2);
        assert_true(pyro_trace_trim(trace));
        assert_int_equal(trace->capacity, reserved[i] / 2);
        assert_int_equal(count_kept(trace), trace->count);
        assert_true(pyro_trace_reserve(trace, reserved[i]));
        fill(trace, reserved[i]);
        assert_int_equal(count_kept(trace), reserved[i]);
        trace->count = 0; /* these are no events */
        pyro_trace_close(trace);
    }
}

static void test_nothing_to_trim(void **state)
{
    (void)state;
    pyro_trace *trace = pyro_trace_new("columns");
    assert_non_null(trace);
    assert_true(pyro_trace_trim(trace));
    assert_true(pyro_trace_reserve(trace, 10));
    assert_true(pyro_trace_trim(trace)); /* without rows the room stays */
    assert_true(trace->capacity >= 10);
    pyro_trace_close(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_growth),
    cmocka_unit_test(test_trimming),
    cmocka_unit_test(test_nothing_to_trim),
};

UNIT_TESTS(tests, NULL, NULL)
