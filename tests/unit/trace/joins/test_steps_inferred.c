/* Tests of trace/joins/steps*.c: where the steps of a trace come from (tests/trace/steps). */
#include "trace/joins/joins.h"

#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pyro_trace *open_trace(const char *name)
{
    const char *files = getenv("PYRO_TEST_FILES");
    char path[1024];
    pyro_error error = {0};
    pyro_trace *trace;
    snprintf(path, sizeof path, "%s/../trace/steps/%s.json", files ? files : "tests/files", name);
    if (pyro_trace_open(&trace, path, NULL, &error) != PYRO_OK)
        fail_msg("%s: %s", path, error.message);
    return trace;
}

static pyro_joins join(pyro_trace *trace, const char *steps_from)
{
    pyro_analysis_options options = {.step = -1, .steps_from = steps_from};
    pyro_joins joins;
    assert_int_equal(pyro_joins_make(&joins, trace, &options, NULL), PYRO_OK);
    return joins;
}

/* Starts in microseconds after the first event; the end of the last step comes last. */
static void check(const char *name, pyro_step_source source, size_t count, const int *starts_us)
{
    pyro_trace *trace = open_trace(name);
    pyro_joins joins = join(trace, NULL);
    int64_t first_ns = joins.step_count ? trace->start_ns[joins.by_time[0]] : 0;
    if (joins.step_source != source || joins.step_count != count)
        fail_msg("%s: %zu steps from %s", name, joins.step_count,
                 pyro_step_source_name(joins.step_source));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(joins.steps[i].start_ns - first_ns, starts_us[i] * 1000);
        assert_int_equal(joins.steps[i].end_ns - first_ns, starts_us[i + 1] * 1000);
        assert_int_equal(joins.steps[i].number, i);
    }
    pyro_joins_free(&joins);
    pyro_trace_close(trace);
}

static void every_source_gives_steps(void **state)
{
    (void)state;
    check("optimizer", PYRO_STEPS_OPTIMIZER, 4, (int[]){4000, 5000, 6000, 7000, 7870});
    check("optimizer-without-loader", PYRO_STEPS_OPTIMIZER, 4,
          (int[]){4100, 4800, 5800, 6800, 7800});
    check("loader", PYRO_STEPS_LOADER, 4, (int[]){0, 1000, 2000, 3000, 4000});
    check("module", PYRO_STEPS_MODULE, 5, (int[]){2000, 3000, 4000, 5000, 6000, 6850});
    check("kernels", PYRO_STEPS_KERNELS, 6, (int[]){990, 1990, 2990, 3990, 4990, 5990, 6552});
    check("requests", PYRO_STEPS_ANNOTATION, 4, (int[]){1000, 2000, 3000, 4000, 4900});
    check("requests-numbered", PYRO_STEPS_ANNOTATION, 4, (int[]){1000, 2000, 3000, 4000, 4900});
    check("annotated", PYRO_STEPS_ANNOTATION, 4, (int[]){0, 1000, 2000, 3000, 3900});
    check("graph-replays", PYRO_STEPS_KERNELS, 4, (int[]){1000, 1500, 2000, 2500, 2820});
}

static void what_is_no_loop_has_no_steps(void **state)
{
    static const char *const names[] = {
        "optimizer-once.miss",    "optimizer-in-backward.miss", "module-once.miss",
        "kernels-of-layers.miss", "kernels-without-host.miss",  "requests-short.miss",
        "requests-of-gloo.miss",  "requests-of-layers.miss",    "requests-of-stages.miss",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check(names[i], PYRO_STEPS_NONE, 0, NULL);
}

static void an_expression_chooses_steps(void **state)
{
    (void)state;
    pyro_trace *trace = open_trace("annotated");
    pyro_joins joins = join(trace, "^iteration ([0-9]+)");
    assert_int_equal(joins.step_source, PYRO_STEPS_CHOSEN);
    assert_int_equal(joins.step_count, 4);
    assert_int_equal(joins.steps[1].number, 11);
    assert_string_equal(joins.steps[1].name, "iteration 11");
    pyro_joins_free(&joins);
    joins = join(trace, "aten::linear"); /* no annotation matches: ops do */
    assert_int_equal(joins.step_count, 4);
    assert_int_equal(joins.steps[3].number, 3);
    pyro_joins_free(&joins);
    joins = join(trace, "^nothing");
    assert_int_equal(joins.step_source, PYRO_STEPS_ANNOTATION);
    assert_string_equal(joins.step_mark, "iteration #");
    pyro_joins_free(&joins);
    pyro_analysis_options options = {.step = -1, .steps_from = "(unclosed"};
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_joins_make(&joins, trace, &options, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "(unclosed"));
    pyro_trace_close(trace);
}

/* Memory grows from step to step, in a trace that marks none. */
static void leaks_are_found_without_marks(void **state)
{
    (void)state;
    for (int is_miss = 0; is_miss < 2; is_miss++) {
        pyro_trace *trace = open_trace(is_miss ? "leak.miss" : "leak");
        pyro_analysis *analysis;
        bool found = false;
        assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, NULL), PYRO_OK);
        for (size_t i = 0; i < analysis->finding_count; i++)
            found |= !strcmp(analysis->findings[i].id, "memory-growth");
        assert_int_equal(found, !is_miss);
        pyro_analysis_free(analysis);
        pyro_trace_close(trace);
    }
}

static void start_up_is_apart(void **state)
{
    (void)state;
    pyro_trace *trace = open_trace("optimizer");
    pyro_analysis *analysis;
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, NULL), PYRO_OK);
    const pyro_startup *startup = &analysis->startup;
    assert_int_equal(startup->span_ns, 4000000);
    assert_int_equal(startup->import_ns, 2000000);
    assert_int_equal(startup->runtime_ns, 1000000);
    assert_int_equal(startup->ops_ns, 500000);
    assert_int_equal(startup->other_ns, 500000);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_source_gives_steps),    cmocka_unit_test(what_is_no_loop_has_no_steps),
    cmocka_unit_test(an_expression_chooses_steps), cmocka_unit_test(leaks_are_found_without_marks),
    cmocka_unit_test(start_up_is_apart),
};

UNIT_TESTS(tests, NULL, NULL)
