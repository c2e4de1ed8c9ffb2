/* Tests of analyze/timeline/timeline.c: rows, merging of short slices, launches. */
#include "analyze/timeline/timeline.h"

#include "trace_builder.h"
#include "unit.h"
#include <stdlib.h>
#include <string.h>

static const pyro_timeline_options everything = {0};

static void make(pyro_timeline *timeline, pyro_joins *joins, pyro_trace *trace,
                 const pyro_timeline_options *options)
{
    assert_int_equal(pyro_joins_make(joins, trace, NULL, NULL), PYRO_OK);
    assert_int_equal(pyro_timeline_make(timeline, trace, joins, options, NULL), PYRO_OK);
}

static const pyro_slice *slice_named(const pyro_timeline *timeline, const pyro_trace *trace,
                                     const char *name)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (strcmp(pyro_trace_text(trace, timeline->slices[i].name), name) == 0)
            return &timeline->slices[i];
    fail_msg("no slice is called %s", name);
    return NULL;
}

/* Slices of one row never overlap, and rows are listed in the order of the slices. */
static void check_rows(const pyro_timeline *timeline)
{
    size_t slice = 0;

    for (size_t row = 0; row < timeline->row_count; row++) {
        int64_t end_ns = INT64_MIN;

        assert_int_equal(timeline->rows[row].first, slice);
        for (uint32_t i = 0; i < timeline->rows[row].count; i++, slice++) {
            assert_int_equal(timeline->slices[slice].track, timeline->rows[row].track);
            assert_int_equal(timeline->slices[slice].row, timeline->rows[row].row);
            assert_true(timeline->slices[slice].start_ns >= end_ns);
            end_ns = timeline->slices[slice].start_ns + timeline->slices[slice].duration_ns;
        }
    }
    assert_int_equal(slice, timeline->count);
}

static void calls_nest_and_kernels_that_overlap_have_rows(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 1);
    pyro_timeline timeline;
    pyro_joins joins;

    build_slice(trace, PYRO_EVENT_OP, 0, "outer", 1000, 100);
    build_slice(trace, PYRO_EVENT_OP, 0, "inner", 1010, 20);
    build_slice(trace, PYRO_EVENT_OP, 0, "second", 1040, 20);
    build_slice(trace, PYRO_EVENT_OP, 0, "later", 1200, 20);
    build_slice(trace, PYRO_EVENT_KERNEL, 1, "long", 1050, 100);
    build_slice(trace, PYRO_EVENT_KERNEL, 1, "beside", 1060, 10);
    build_slice(trace, PYRO_EVENT_KERNEL, 1, "after", 1080, 10);
    build_slice(trace, PYRO_EVENT_DEVICE_ANNOTATION, 1, "range", 1000, 300);
    make(&timeline, &joins, trace, &everything);
    assert_int_equal(timeline.start_ns, 1000);
    assert_int_equal(timeline.span_ns, 220);
    assert_int_equal(timeline.count, 7);
    assert_int_equal(slice_named(&timeline, trace, "outer")->row, 0);
    assert_int_equal(slice_named(&timeline, trace, "inner")->row, 1);
    assert_int_equal(slice_named(&timeline, trace, "second")->row, 1);
    assert_int_equal(slice_named(&timeline, trace, "later")->row, 0);
    assert_int_equal(slice_named(&timeline, trace, "beside")->row, 1);
    assert_int_equal(slice_named(&timeline, trace, "after")->row, 1);
    check_rows(&timeline);
    pyro_timeline_free(&timeline);
    pyro_joins_free(&joins);
    built_free(trace);
}

static void short_slices_are_merged_and_counted(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    pyro_timeline_options few = {.max_slices = 100};
    pyro_timeline timeline;
    pyro_joins joins;
    int64_t events = 0, longest = 0;

    for (int i = 0; i < 5000; i++)
        build_slice(trace, PYRO_EVENT_OP, 0, "op", i * 100, i % 500 == 0 ? 90 : 7);
    make(&timeline, &joins, trace, &few);
    assert_in_range(timeline.count, 10, 100);
    for (size_t i = 0; i < timeline.count; i++) {
        events += timeline.slices[i].events;
        longest += timeline.slices[i].duration_ns == 90 && timeline.slices[i].events == 1;
    }
    assert_int_equal(events, 5000);
    assert_int_equal(longest, 10);
    assert_int_equal(timeline.merged_events, 4990);
    assert_in_range(timeline.merged_below_ns, 8, 90);
    check_rows(&timeline);
    pyro_timeline_free(&timeline);
    pyro_joins_free(&joins);
    built_free(trace);
}

static void a_range_keeps_what_reaches_into_it(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    pyro_timeline_options part = {.from_ns = 150, .to_ns = 250};
    pyro_timeline timeline;
    pyro_joins joins;

    build_slice(trace, PYRO_EVENT_OP, 0, "before", 1000, 50);
    build_slice(trace, PYRO_EVENT_OP, 0, "into", 1100, 60);
    build_slice(trace, PYRO_EVENT_OP, 0, "inside", 1200, 10);
    build_slice(trace, PYRO_EVENT_OP, 0, "behind", 1260, 10);
    make(&timeline, &joins, trace, &part);
    assert_int_equal(timeline.count, 2);
    assert_non_null(slice_named(&timeline, trace, "into"));
    assert_non_null(slice_named(&timeline, trace, "inside"));
    pyro_timeline_free(&timeline);
    pyro_joins_free(&joins);
    built_free(trace);
}

static void a_trace_without_events_has_no_rows(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    pyro_timeline timeline;
    pyro_joins joins;

    make(&timeline, &joins, trace, &everything);
    assert_int_equal(timeline.count, 0);
    assert_int_equal(timeline.row_count, 0);
    assert_int_equal(timeline.span_ns, 0);
    pyro_timeline_free(&timeline);
    pyro_joins_free(&joins);
    built_free(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(calls_nest_and_kernels_that_overlap_have_rows),
    cmocka_unit_test(short_slices_are_merged_and_counted),
    cmocka_unit_test(a_range_keeps_what_reaches_into_it),
    cmocka_unit_test(a_trace_without_events_has_no_rows),
};

UNIT_TESTS(tests, NULL, NULL)
