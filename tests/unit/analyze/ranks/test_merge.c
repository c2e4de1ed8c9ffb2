/* Summaries of ranks: every order and tree of merges gives the same result; bytes are read back. */
#include "fail_alloc.h"
#include "rank_maker.h"
#include "unit.h"

#define RANKS 9

static char *bytes_of(const pyro_rank_summary *summary, size_t *size)
{
    char *bytes = NULL;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_rank_summary_write(&bytes, size, summary, &error), PYRO_OK);
    return bytes;
}

static char *report_of(const pyro_rank_summary *summary)
{
    static const pyro_report_options json = {.format = PYRO_FORMAT_JSON};
    pyro_ranks *ranks = NULL;
    char *text = NULL;
    size_t size;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_ranks_analyze(&ranks, summary, 0, &error), PYRO_OK);
    assert_int_equal(pyro_report_ranks(&text, &size, ranks, PYRO_RANKS_OVERVIEW, &json, &error),
                     PYRO_OK);
    pyro_ranks_free(ranks);
    return text;
}

static void make_ranks(pyro_rank_summary *parts[RANKS])
{
    for (int i = 0; i < RANKS; i++) {
        /* The last is a second file of rank 3. */
        made_rank made = {.rank = i == RANKS - 1 ? 3 : i,
                          .world = RANKS,
                          .steps = 4,
                          .slow_us = i == 2 ? 50000 : 0,
                          .slowest_us = 50000,
                          .offset_us = i * 1000};
        parts[i] = made_summary(&made);
    }
}

static pyro_rank_summary *copy_of(const pyro_rank_summary *summary)
{
    pyro_rank_summary *copy = pyro_rank_summary_new();
    assert_non_null(copy);
    made_merge(copy, summary);
    return copy;
}

/* Parts order[from..to) as a tree that splits where `split` says. */
static pyro_rank_summary *merge_tree(pyro_rank_summary *const *parts, const int *order, int from,
                                     int to, int split)
{
    if (to - from == 1)
        return copy_of(parts[order[from]]);
    int middle = split == 0 ? from + 1 : split == 1 ? to - 1 : from + (to - from) / 2;
    pyro_rank_summary *left = merge_tree(parts, order, from, middle, split);
    pyro_rank_summary *right = merge_tree(parts, order, middle, to, split);
    made_merge(left, right);
    pyro_rank_summary_free(right);
    return left;
}

static void test_every_tree_and_order(void **state)
{
    (void)state;
    static const int orders[][RANKS] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1, 0}, {4, 8, 0, 2, 6, 3, 7, 1, 5}};
    pyro_rank_summary *parts[RANKS];
    char *bytes = NULL, *report = NULL;
    size_t size = 0;
    make_ranks(parts);
    for (size_t order = 0; order < 3; order++) {
        for (int split = 0; split < 3; split++) {
            pyro_rank_summary *whole = merge_tree(parts, orders[order], 0, RANKS, split);
            size_t own_size;
            char *own_bytes = bytes_of(whole, &own_size), *own_report = report_of(whole);
            assert_int_equal(pyro_rank_summary_count(whole), RANKS);
            if (!bytes) {
                bytes = own_bytes;
                report = own_report;
                size = own_size;
            } else {
                assert_int_equal(own_size, size);
                assert_memory_equal(own_bytes, bytes, size);
                assert_string_equal(own_report, report);
                pyro_free(own_bytes);
                pyro_free(own_report);
            }
            pyro_rank_summary_free(whole);
        }
    }
    assert_non_null(strstr(report, "\"rank\": 2, \"late_ns\": 50000000"));
    pyro_free(bytes);
    pyro_free(report);
    for (int i = 0; i < RANKS; i++)
        pyro_rank_summary_free(parts[i]);
}

static void test_same_part_twice(void **state)
{
    (void)state;
    made_rank made = {.rank = 0, .world = 1, .steps = 2};
    pyro_rank_summary *one = made_summary(&made), *again = copy_of(one);
    made_merge(again, one);
    made_merge(again, again);
    assert_int_equal(pyro_rank_summary_count(again), 1);
    pyro_rank_summary_free(one);
    pyro_rank_summary_free(again);
}

static void test_read_back(void **state)
{
    (void)state;
    pyro_rank_summary *parts[RANKS], *whole = pyro_rank_summary_new(), *read = NULL;
    pyro_error error;
    size_t size, again_size;
    make_ranks(parts);
    for (int i = 0; i < RANKS; i++) {
        made_merge(whole, parts[i]);
        pyro_rank_summary_free(parts[i]);
    }
    char *bytes = bytes_of(whole, &size);
    pyro_error_clear(&error);
    assert_int_equal(pyro_rank_summary_read(&read, bytes, size, &error), PYRO_OK);
    char *again = bytes_of(read, &again_size), *before = report_of(whole), *after = report_of(read);
    assert_int_equal(size, again_size);
    assert_memory_equal(bytes, again, size);
    assert_string_equal(before, after);
    pyro_free(bytes);
    pyro_free(again);
    pyro_free(before);
    pyro_free(after);
    pyro_rank_summary_free(whole);
    pyro_rank_summary_free(read);
}

static void expect_refused(const char *text)
{
    pyro_rank_summary *read = NULL;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_rank_summary_read(&read, text, strlen(text), &error), PYRO_ERROR_FORMAT);
    assert_null(read);
    assert_int_not_equal(error.message[0], '\0');
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("");
    expect_refused("[]");
    expect_refused("{}");
    expect_refused("{\"schema\":\"pyrometer.rank-summary/2\"}");
    expect_refused("{\"schema\":\"pyrometer.rank-summary/1\",\"parts\":[{\"rank\":[1]}]}");
    expect_refused("{\"schema\":\"pyrometer.rank-summary/1\",\"parts\":[{\"steps\":[[1,2]]}]}");
    expect_refused("{\"schema\":\"pyrometer.rank-summary/1\",\"parts\":[{\"steps\":[1.5]}]}");
    expect_refused("{\"schema\":\"pyrometer.rank-summary/1\",\"parts\":[");
}

/* Extreme numbers: nothing overflows, nothing is read outside its table. */
static void test_hostile_numbers(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schema\":\"pyrometer.rank-summary/1\",\"parts\":["
        "{\"rank\":[0,0,9223372036854775807,77,-5,-9223372036854775808,9223372036854775807,1,1,7,"
        "-1,-1,0],\"steps\":[[9223372036854775807,-9223372036854775808,9223372036854775807,1,1,1,"
        "1,1]],\"collectives\":[[0,0,1,9223372036854775807,-1,-1,-9223372036854775808,"
        "9223372036854775807,-9223372036854775808,9223372036854775807],[0,0,1,-7,1,1,1,1,1,1],"
        "[0,0,1,0,4,9223372036854775807,-9223372036854775808,0,9223372036854775807,0]],"
        "\"layers\":[[0,0,99,9223372036854775807,1,9,1,1,-1,1,1,8,1,1]]},"
        "{\"rank\":[9223372036854775807,0,4,0,0,0,0,0,0,0,-1,-1,0],\"steps\":[],\"collectives\":"
        "[[0,0,1,0,4,9223372036854775807,9223372036854775807,1,9223372036854775807,0]],"
        "\"layers\":[]}],\"texts\":[\"allreduce\"]}";
    pyro_rank_summary *read = NULL;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_rank_summary_read(&read, text, sizeof text - 1, &error), PYRO_OK);
    char *report = report_of(read);
    assert_non_null(report);
    pyro_free(report);
    pyro_rank_summary_free(read);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int64_t rank, cycle;
    } names[] = {
        {"rank_3", 3, 0},
        {"trace_rank_3.json", 3, 0},
        {"logs/trace_rank_12_1.json", 12, 1},
        {"x/run-rank3.json.gz", 3, 0},
        {"Rank7.pyro", 7, 0},
        {"logs/rank_4/host_17.1234.pt.trace.json", 4, 0},
        {"logs/rank_4/rank-5.json", 5, 0},
        {"crank3.json", -1, 0},
        {"trace.json", -1, 0},
        {"rank.json", -1, 0},
        {"rank_99999999999.json", -1, 0},
        {"rank_2_20240101.json", 2, 20240101},
        {"", -1, 0},
        {"/", -1, 0},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t rank, cycle;
        pyro_rank_of_name(names[i].path, &rank, &cycle);
        assert_int_equal(rank, names[i].rank);
        assert_int_equal(cycle, names[i].cycle);
    }
}

/* Running out of memory anywhere is an error, without leaks. */
static void test_no_memory(void **state)
{
    (void)state;
    made_rank made[2] = {{.rank = 0, .world = 2, .steps = 2, .slowest_us = 50000},
                         {.rank = 1, .world = 2, .steps = 2, .slow_us = 50000}};
    pyro_trace *trace = made_open(&made[0]);
    pyro_rank_summary *other = made_summary(&made[1]);
    bool done = false;
    for (int allowed = 0; !done; allowed++) {
        pyro_rank_summary *summary = NULL;
        pyro_ranks *ranks = NULL;
        char *bytes = NULL;
        size_t size;
        fail_alloc_after(allowed);
        int status = pyro_rank_summary_make(&summary, trace, NULL, NULL);
        if (status == PYRO_OK)
            status = pyro_rank_summary_merge(summary, other, NULL);
        if (status == PYRO_OK)
            status = pyro_rank_summary_write(&bytes, &size, summary, NULL);
        if (status == PYRO_OK)
            status = pyro_ranks_analyze(&ranks, summary, 0, NULL);
        fail_alloc_after(-1);
        done = status == PYRO_OK;
        if (!done)
            assert_int_equal(status, PYRO_ERROR_MEMORY);
        pyro_free(bytes);
        pyro_ranks_free(ranks);
        pyro_rank_summary_free(summary);
    }
    pyro_trace_close(trace);
    pyro_rank_summary_free(other);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_tree_and_order),
    cmocka_unit_test(test_same_part_twice),
    cmocka_unit_test(test_read_back),
    cmocka_unit_test(test_refused),
    cmocka_unit_test(test_hostile_numbers),
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_no_memory),
};

UNIT_TESTS(tests, NULL, NULL)
