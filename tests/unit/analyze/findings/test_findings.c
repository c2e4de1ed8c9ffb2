/* Tests of analyze/findings*.c: every row of the table against its planted trace and near miss. */
#include "analyze/findings/findings.h"
#include "unit.h"

#include <pyrometer/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *id;
    double warning, severe;
} rows[] = {
#define FINDING(id, detector, unit, warning, severe, title, advice) {id, warning, severe},
#include "analyze/findings/findings.def"
#undef FINDING
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* Analyses planted/<id>.<kind>.json; false when the file does not exist. */
static bool open_if_planted(const char *id, const char *kind, pyro_trace **trace,
                            pyro_analysis **analysis)
{
    const char *files = getenv("PYRO_TEST_FILES");
    char path[1024];
    pyro_error error = {0};
    snprintf(path, sizeof path, "%s/../trace/planted/%s.%s.json", files ? files : "tests/files", id,
             kind);
    if (access(path, F_OK) != 0)
        return false;
    if (pyro_trace_open(trace, path, NULL, &error) != PYRO_OK)
        fail_msg("%s: %s", path, error.message);
    if (pyro_trace_analyze(analysis, *trace, NULL, &error) != PYRO_OK)
        fail_msg("%s: %s", path, error.message);
    return true;
}

static void open_planted(const char *id, const char *kind, pyro_trace **trace,
                         pyro_analysis **analysis)
{
    if (!open_if_planted(id, kind, trace, analysis))
        fail_msg("%s.%s.json is missing", id, kind);
}

static const pyro_finding *find(const pyro_analysis *analysis, const char *id)
{
    for (size_t i = 0; i < analysis->finding_count; i++)
        if (!strcmp(analysis->findings[i].id, id))
            return &analysis->findings[i];
    return NULL;
}

static void check_hit(const pyro_analysis *analysis, const char *id, const char *kind)
{
    const pyro_finding *finding = find(analysis, id);
    if (!finding)
        fail_msg("%s.%s: the planted trace does not trigger it", id, kind);
    assert_true(finding->title[0] && finding->advice[0]);
    if (!strstr(finding->evidence, "threshold"))
        fail_msg("%s: no threshold in '%s'", id, finding->evidence);
    assert_true(finding->gain_ns >= -1);
    assert_non_null(finding->place);
}

static void test_every_row_is_planted(void **state)
{
    (void)state;
    static const char *const kinds[] = {"hit", "hit2"};
    for (size_t i = 0; i < ROW_COUNT * 2; i++) {
        pyro_trace *trace;
        pyro_analysis *analysis;
        const char *id = rows[i / 2].id, *kind = kinds[i % 2];
        if (!open_if_planted(id, kind, &trace, &analysis)) {
            assert_string_not_equal(kind, "hit");
            continue;
        }
        check_hit(analysis, id, kind);
        pyro_analysis_free(analysis);
        pyro_trace_close(trace);
    }
}

static void test_near_misses(void **state)
{
    (void)state;
    static const char *const kinds[] = {"miss", "miss2", "miss3"};
    for (size_t i = 0; i < ROW_COUNT * 3; i++) {
        pyro_trace *trace;
        pyro_analysis *analysis;
        const char *id = rows[i / 3].id, *kind = kinds[i % 3];
        if (!open_if_planted(id, kind, &trace, &analysis)) {
            assert_string_not_equal(kind, "miss");
            continue;
        }
        const pyro_finding *finding = find(analysis, id);
        if (finding)
            fail_msg("%s.%s triggers it: %s", id, kind, finding->evidence);
        pyro_analysis_free(analysis);
        pyro_trace_close(trace);
    }
}

static void test_rows_are_distinct_and_ordered(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(rows[i].id, rows[j].id);
        assert_true(rows[i].severe <= 0 || rows[i].severe > rows[i].warning);
    }
}

static void test_most_gain_comes_first(void **state)
{
    (void)state;
    pyro_trace *trace;
    pyro_analysis *analysis;
    open_planted("tf32-off", "hit", &trace, &analysis);
    assert_true(analysis->finding_count > 1);
    for (size_t i = 1; i < analysis->finding_count; i++)
        assert_true(analysis->findings[i - 1].gain_ns >= analysis->findings[i].gain_ns);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

static void test_severity(void **state)
{
    (void)state;
    pyro_trace *trace;
    pyro_analysis *analysis;
    open_planted("device-idle", "hit", &trace, &analysis);
    assert_int_equal(find(analysis, "device-idle")->severity, PYRO_SEVERITY_WARNING);
    assert_int_equal(find(analysis, "device-idle")->gain_ns, 2000000);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    open_planted("zero-grad", "hit", &trace, &analysis);
    assert_int_equal(find(analysis, "zero-grad")->severity, PYRO_SEVERITY_INFO);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

/* A chip that is not in the table: its findings are skipped, and a note says why. */
static void test_unknown_chip(void **state)
{
    (void)state;
    static const char text[] =
        "{\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA Z1\", \"numSms\": 100,"
        "\"computeMajor\": 9, \"computeMinor\": 0}], \"traceEvents\": ["
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":9,"
        "\"args\":{\"Input Dims\":[[16,4096],[4096,4096]],\"Input type\":[\"float\",\"float\"]}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
        "\"ts\":1,\"dur\":2,\"args\":{\"correlation\":1}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":50,"
        "\"args\":{\"correlation\":1,\"device\":0,\"stream\":7}}]}";
    pyro_trace *trace;
    pyro_analysis *analysis;
    pyro_error error = {0};
    assert_int_equal(pyro_trace_open_memory(&trace, text, sizeof text - 1, "memory", NULL, &error),
                     PYRO_OK);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, &error), PYRO_OK);
    assert_false(analysis->device_known);
    assert_null(find(analysis, "memory-bound"));
    assert_null(find(analysis, "far-from-roofline"));
    bool is_said = false;
    for (size_t i = 0; i < analysis->note_count; i++)
        is_said |= strstr(analysis->notes[i], "NVIDIA Z1") != NULL;
    assert_true(is_said);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_row_is_planted),
    cmocka_unit_test(test_near_misses),
    cmocka_unit_test(test_rows_are_distinct_and_ordered),
    cmocka_unit_test(test_most_gain_comes_first),
    cmocka_unit_test(test_severity),
    cmocka_unit_test(test_unknown_chip),
};

UNIT_TESTS(tests, NULL, NULL)
