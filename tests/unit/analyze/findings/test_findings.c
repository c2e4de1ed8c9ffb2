/* Tests of analyze/findings*.c: every row of the table against its planted trace and near miss. */
#include "analyze/findings/findings.h"
#include "unit.h"

#include <dirent.h>
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

/* A row that was found: as a finding, or as a part of one. */
static bool has(const pyro_analysis *analysis, const char *id)
{
    for (size_t i = 0; i < analysis->finding_part_count; i++)
        if (!strcmp(analysis->finding_parts[i].id, id))
            return true;
    return find(analysis, id) != NULL;
}

/* Gains do not overlap: together they are at most the time without what recording took. */
static void check_gains(const pyro_analysis *analysis)
{
    int64_t gain = 0, span = 0;
    for (size_t i = 0; i < analysis->step_count; i++)
        span += analysis->steps[i].span_ns;
    span -= analysis->profiler_cost.time_ns;
    for (size_t i = 0; i < analysis->finding_count; i++) {
        const pyro_finding *finding = &analysis->findings[i];
        gain += finding->gain_ns > 0 ? finding->gain_ns : 0;
        assert_true((finding->gain_ns < 0) == (finding->gain_basis[0] == 0));
        if (finding->gain_ns >= 0 && finding->gain_ns * 5 < span)
            assert_true(finding->severity != PYRO_SEVERITY_SEVERE);
    }
    assert_true(gain <= span);
}

static void check_hit(const pyro_analysis *analysis, const char *id, const char *kind)
{
    const pyro_finding *finding = find(analysis, id);
    check_gains(analysis);
    if (!has(analysis, id))
        fail_msg("%s.%s: the planted trace does not trigger it", id, kind);
    if (!finding) /* it is a part of another */
        return;
    assert_true(finding->title[0] && finding->advice[0]);
    if (!strstr(finding->evidence, "threshold"))
        fail_msg("%s: no threshold in '%s'", id, finding->evidence);
    assert_true(finding->gain_ns >= -1);
    assert_non_null(finding->place);
}

static void test_every_row_is_planted(void **state)
{
    (void)state;
    enum { KINDS = 11 };
    static const char *const kinds[KINDS] = {"hit",  "hit2", "hit3", "hit4",  "hit5", "hit6",
                                             "hit7", "hit8", "hit9", "hit10", "hit11"};
    for (size_t i = 0; i < ROW_COUNT * KINDS; i++) {
        pyro_trace *trace;
        pyro_analysis *analysis;
        const char *id = rows[i / KINDS].id, *kind = kinds[i % KINDS];
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
    enum { KINDS = 4 };
    static const char *const kinds[KINDS] = {"miss", "miss2", "miss3", "miss4"};
    for (size_t i = 0; i < ROW_COUNT * KINDS; i++) {
        pyro_trace *trace;
        pyro_analysis *analysis;
        const char *id = rows[i / KINDS].id, *kind = kinds[i % KINDS];
        if (!open_if_planted(id, kind, &trace, &analysis)) {
            assert_string_not_equal(kind, "miss");
            continue;
        }
        check_gains(analysis);
        if (has(analysis, id))
            fail_msg("%s.%s triggers it", id, kind);
        pyro_analysis_free(analysis);
        pyro_trace_close(trace);
    }
}

/* Rows of advice.def, and what planted traces show of them. */
typedef struct advice_row {
    const char *id, *text;
    bool is_conditional;
    bool is_given, is_left_out; /* in the advice of its finding in some trace */
} advice_row;

/* The advice that an analysis gives for a row of findings.def; NULL: it was not found. */
static const char *advice_for(const pyro_analysis *analysis, const char *id)
{
    const pyro_finding *finding = find(analysis, id);
    for (size_t i = 0; !finding && i < analysis->finding_part_count; i++)
        if (!strcmp(analysis->finding_parts[i].id, id))
            return analysis->finding_parts[i].advice;
    return finding ? finding->advice : NULL;
}

static void note_advice(const pyro_analysis *analysis, advice_row *advices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *given = advice_for(analysis, advices[i].id);
        if (!given)
            continue;
        bool has_text = strstr(given, advices[i].text) != NULL;
        advices[i].is_given |= has_text;
        advices[i].is_left_out |= !has_text;
    }
}

/* Every row of advice.def is given in a planted trace and, if it has a condition, left out in
 * another that has the finding. */
static void test_every_advice_is_planted(void **state)
{
    (void)state;
    advice_row advices[] = {
#define ADVICE(id, needs, unless, text) {id, text, ((needs) | (unless)) != 0, false, false},
#include "analyze/findings/advice.def"
    };
    size_t count = sizeof advices / sizeof *advices;
    const char *files = getenv("PYRO_TEST_FILES");
    char path[1024];
    snprintf(path, sizeof path, "%s/../trace/planted", files ? files : "tests/files");
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        pyro_trace *trace;
        pyro_analysis *analysis;
        char id[256] = "";
        if (!strstr(entry->d_name, ".json"))
            continue;
        snprintf(id, sizeof id, "%.*s", (int)(strlen(entry->d_name) - strlen(".json")),
                 entry->d_name);
        char *kind = strchr(id, '.');
        assert_non_null(kind);
        *kind++ = '\0';
        open_planted(id, kind, &trace, &analysis);
        note_advice(analysis, advices, count);
        pyro_analysis_free(analysis);
        pyro_trace_close(trace);
    }
    closedir(folder);
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_shown = advices[i].is_given &&
                        (advices[i].is_left_out || !advices[i].is_conditional);
        if (!is_shown)
            print_error("%s: %s: %.60s\n", advices[i].id,
                        advices[i].is_given ? "never left out" : "never given", advices[i].text);
        missing += !is_shown;
    }
    assert_int_equal(missing, 0);
}

/* Findings of one family are one finding with parts: every member is found, and none stands beside
 * another. */
static void test_every_family_is_planted(void **state)
{
    (void)state;
    static const char *const families[][8] = {
#define FAMILY(...) {__VA_ARGS__},
#include "analyze/findings/families.def"
#undef FAMILY
    };
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        bool has_parts = false;
        for (size_t m = 0; families[f][m / 2]; m++) {
            pyro_trace *trace;
            pyro_analysis *analysis;
            size_t leaders = 0;
            if (!open_if_planted(families[f][m / 2], m % 2 ? "hit2" : "hit", &trace, &analysis))
                continue;
            for (size_t i = 0; families[f][i]; i++)
                leaders += find(analysis, families[f][i]) != NULL;
            assert_int_equal(leaders, 1);
            for (size_t i = 0; families[f][i]; i++)
                has_parts |= !find(analysis, families[f][i]) && has(analysis, families[f][i]);
            pyro_analysis_free(analysis);
            pyro_trace_close(trace);
        }
        if (!has_parts)
            fail_msg("%s: no planted trace has two of its family", families[f][0]);
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
    open_planted("before-first-kernel", "hit", &trace, &analysis);
    const pyro_finding *first = &analysis->findings[0];
    assert_string_equal(first->id, "before-first-kernel");
    assert_string_equal(first->place, "infer.py(12): preprocess");
    assert_int_equal(first->severity, PYRO_SEVERITY_WARNING);
    assert_in_range(first->gain_ns, 1190000, 1197999); /* without what the profiler took */
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

/* Analyses a trace of these events; `options` may be NULL. */
static pyro_analysis *analyze_text(const char *events, const pyro_analysis_options *options,
                                   pyro_trace **trace)
{
    char text[4096];
    pyro_analysis *analysis;
    pyro_error error = {0};
    int size = snprintf(text, sizeof text, "{\"traceEvents\": [%s]}", events);
    assert_true(size > 0 && (size_t)size < sizeof text);
    assert_int_equal(pyro_trace_open_memory(trace, text, (size_t)size, "made", NULL, &error),
                     PYRO_OK);
    assert_int_equal(pyro_trace_analyze(&analysis, *trace, options, &error), PYRO_OK);
    return analysis;
}

/* Each sentence says only what happened. */
static void test_allocations_that_failed(void **state)
{
    (void)state;
#define FAILURE(time) \
    "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[OutOfMemory]\",\"pid\":1," \
    "\"tid\":1,\"ts\":" time ",\"args\":{\"Device Type\":1,\"Device Id\":0,\"Bytes\":4096," \
    "\"Total Allocated\":8192,\"Total Reserved\":8192}}"
    static const struct {
        const char *events, *evidence, *note;
    } cases[] = {{FAILURE("5"), "1 allocation failed; threshold 1", "memory ran out 1 time"},
                 {FAILURE("5") "," FAILURE("6"), "2 allocations failed; threshold 1",
                  "memory ran out 2 times"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pyro_trace *trace;
        char events[2048];
        snprintf(events, sizeof events,
                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":10,"
                 "\"dur\":50,\"args\":{\"device\":0,\"stream\":7}},%s",
                 cases[i].events);
        pyro_analysis *analysis = analyze_text(events, NULL, &trace);
        const pyro_finding *found = find(analysis, "allocation-retries");
        assert_non_null(found);
        assert_string_equal(found->evidence, cases[i].evidence);
        bool is_noted = false;
        for (size_t k = 0; k < analysis->note_count; k++)
            is_noted |= strcmp(analysis->notes[k], cases[i].note) == 0;
        assert_true(is_noted);
        pyro_analysis_free(analysis);
        pyro_trace_close(trace);
    }
#undef FAILURE
}

static void test_ignored(void **state)
{
    (void)state;
    static const char *const ids[] = {"before-first-kernel"};
    pyro_analysis_options options = {
        .step = -1, .ignored_findings = ids, .ignored_finding_count = 1};
    pyro_trace *trace;
    pyro_analysis *analysis, *rest;
    pyro_error error = {0};
    open_planted("before-first-kernel", "hit", &trace, &analysis);
    assert_int_equal(pyro_trace_analyze(&rest, trace, &options, &error), PYRO_OK);
    assert_true(has(analysis, ids[0]));
    assert_false(has(rest, ids[0]));
    assert_true(pyro_finding_exists(ids[0]) && !pyro_finding_exists("nothing"));
    pyro_analysis_free(rest);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

/* Nothing ran on a device: no finding speaks of one. */
static void test_without_device(void **state)
{
    (void)state;
    static const char events[] =
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
        "\"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\",\"pid\":1,\"tid\":1,"
        "\"ts\":1,\"dur\":500},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,"
        "\"ts\":501,\"dur\":500}";
    pyro_trace *trace;
    pyro_analysis *analysis = analyze_text(events, NULL, &trace);
    assert_string_equal(analysis->findings[0].id, "input-pipeline");
    assert_in_range(analysis->findings[0].gain_ns, 490000, 499999); /* without the profiler */
    for (size_t i = 0; i < analysis->finding_count; i++) {
        const pyro_finding *finding = &analysis->findings[i];
        const char *texts[] = {finding->title, finding->evidence, finding->advice,
                               finding->gain_basis};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (strstr(texts[k], "device") || strstr(texts[k], "pin") || strstr(texts[k], "cuda"))
                fail_msg("%s: %s", finding->id, texts[k]);
    }
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

/* A run that replays graphs of compiled code: neither is recommended, and no launch is slow. */
static void test_graphs_are_known(void **state)
{
    (void)state;
    static const char events[] =
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"Torch-Compiled Region: 0/0\",\"pid\":1,"
        "\"tid\":1,\"ts\":1,\"dur\":900},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"pid\":1,"
        "\"tid\":1,\"ts\":2,\"dur\":90,\"args\":{\"correlation\":1}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":95,"
        "\"dur\":5,\"args\":{\"correlation\":1,\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"pid\":1,"
        "\"tid\":1,\"ts\":700,\"dur\":90,\"args\":{\"correlation\":2}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":800,"
        "\"dur\":5,\"args\":{\"correlation\":2,\"device\":0,\"stream\":7}}";
    pyro_trace *trace;
    pyro_analysis *analysis = analyze_text(events, NULL, &trace);
    const pyro_finding *finding = find(analysis, "host-bound");
    assert_non_null(finding);
    assert_null(strstr(finding->advice, "graph"));
    assert_null(strstr(finding->advice, "compile"));
    assert_false(has(analysis, "short-kernels"));
    assert_false(has(analysis, "slow-launches"));
    assert_false(has(analysis, "launch-overhead"));
    check_gains(analysis);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

/* Calls of MTIA's runtime that return after the kernel, and its DMA requests. */
static void test_calls_that_execute(void **state)
{
    (void)state;
    static const char events[] =
        "{\"ph\":\"X\",\"cat\":\"mtia_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":1,"
        "\"ts\":1,\"dur\":1000,\"args\":{\"correlation\":1}},"
        "{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"name\":\"fused_fc\",\"pid\":0,\"tid\":7,"
        "\"ts\":100,\"dur\":900,\"args\":{\"correlation\":1,\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"mtia_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":1,"
        "\"ts\":1100,\"dur\":20,\"args\":{\"correlation\":2}},"
        "{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"name\":\"DMA request\",\"pid\":0,"
        "\"tid\":8,\"ts\":1130,\"dur\":10,\"args\":{\"correlation\":2,\"device\":0,"
        "\"stream\":8}}";
    pyro_trace *trace;
    pyro_analysis *analysis = analyze_text(events, NULL, &trace);
    assert_int_equal(analysis->kernel_count, 1);
    assert_int_equal(analysis->copy_count, 1);
    assert_int_equal(analysis->launch.executed_ns, 900000);
    assert_int_equal(analysis->launch.short_kernels, 0);
    assert_false(has(analysis, "short-kernels"));
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

/* What the finding of a planted trace says: where it is, and a text that it has or lacks. */
static const struct {
    const char *id, *kind, *place;
    const char *holds, *lacks; /* in its evidence and advice; NULL: any */
} sayings[] = {
    {"host-bound", "hit", "", "gaps of over a millisecond", "larger batches"},
    {"host-bound", "hit7", "train.py(12): step", "gaps of over a millisecond", "with_stack"},
    {"host-bound", "hit8", "", "torch.cuda.graphs", "gaps of over"},
    {"host-bound", "hit6", "aten::addcmul_", "fused=True", NULL},
    {"host-bound", "hit9", "generate.py(20): decode", NULL, NULL},
    {"host-bound", "hit10", "", NULL, "fused=True"},
    {"host-bound", "hit11", "Decoder_0", NULL, NULL},
    {"layout-conversions", "hit5", NULL, "batch norms in NCHW take", NULL},
    {"layout-conversions", "hit6", NULL, NULL, "batch norms"},
    {"copy-time", "hit", NULL, "on a separate stream", "of their own"},
    {"copy-time", "hit2", NULL, "of their own", "on a separate stream"},
    {"double-precision", "hit2", NULL, "numpy", "autocast"},
    {"items-in-loops", "hit2", NULL, "at once", NULL},
    {"tf32-off", "hit2", "ampere_sgemm_128x128_tn in CUDA graph 1", NULL, NULL},
    {"synchronizing-calls", "hit2", "train.py(30): fetch", "boolean indexing", "every few steps"},
    {"synchronizing-calls", "hit3", "train.py(30): fetch", "pinned memory", NULL},
    {"synchronizing-calls", "hit4", "train.py(30): fetch", "avoid .item()", "pinned memory"},
    {"before-first-kernel", "hit", "infer.py(12): preprocess", "of it there", NULL},
    {"before-first-kernel", "hit3", "", "many places share that time", "does not show"},
    {"before-first-kernel", "hit4", "aten::mm", "sets up its library", "worker processes"},
    {"before-first-kernel", "hit5", NULL, "the model's own work", "worker processes"},
    {"memory-nearly-full", "hit", "cuda:0", "tensor parallelism", "checkpointing"},
    {"memory-nearly-full", "hit3", "cuda:0", "checkpointing", "tensor parallelism"},
    {"communication", "hit4", "allreduce", "compiled backward", "bucket_cap_mb"},
    {"communication", "hit5", "allreduce", "bucket_cap_mb", "compiled backward"},
    {"unfused-attention", "hit", NULL, NULL, "in the backward"},
    {"unfused-attention", "hit3", NULL, "in the backward", NULL},
};

static void test_sayings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
        pyro_trace *trace;
        pyro_analysis *analysis;
        char text[4096];
        open_planted(sayings[i].id, sayings[i].kind, &trace, &analysis);
        const pyro_finding *finding = find(analysis, sayings[i].id);
        if (!finding)
            fail_msg("%s.%s: not found", sayings[i].id, sayings[i].kind);
        snprintf(text, sizeof text, "%s -> %s", finding->evidence, finding->advice);
        if (sayings[i].place && strcmp(finding->place, sayings[i].place) != 0)
            fail_msg("%s.%s is at '%s'", sayings[i].id, sayings[i].kind, finding->place);
        if (sayings[i].holds && !strstr(text, sayings[i].holds))
            fail_msg("%s.%s: no '%s' in %s", sayings[i].id, sayings[i].kind, sayings[i].holds,
                     text);
        if (sayings[i].lacks && strstr(text, sayings[i].lacks))
            fail_msg("%s.%s: '%s' in %s", sayings[i].id, sayings[i].kind, sayings[i].lacks, text);
        pyro_analysis_free(analysis);
        pyro_trace_close(trace);
    }
}

/* A leak ends the run, whatever its speed. */
static void test_a_leak_comes_first(void **state)
{
    (void)state;
    pyro_trace *trace;
    pyro_analysis *analysis;
    open_planted("memory-growth", "hit2", &trace, &analysis);
    assert_true(has(analysis, "host-bound"));
    assert_string_equal(analysis->findings[0].id, "memory-growth");
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

/* Inputs that are copied ahead do not begin a step on the device. */
static void test_steps_behind_copies(void **state)
{
    (void)state;
    pyro_trace *trace;
    pyro_analysis *analysis;
    open_planted("copy-time", "miss2", &trace, &analysis);
    assert_true(analysis->steps_on_device);
    assert_int_equal(analysis->steps[1].span_ns, 1000000);
    assert_int_equal(analysis->steps[1].copy_exposed_ns, 0);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sayings),
    cmocka_unit_test(test_a_leak_comes_first),
    cmocka_unit_test(test_steps_behind_copies),
    cmocka_unit_test(test_every_row_is_planted),
    cmocka_unit_test(test_near_misses),
    cmocka_unit_test(test_every_advice_is_planted),
    cmocka_unit_test(test_every_family_is_planted),
    cmocka_unit_test(test_rows_are_distinct_and_ordered),
    cmocka_unit_test(test_most_gain_comes_first),
    cmocka_unit_test(test_severity),
    cmocka_unit_test(test_unknown_chip),
    cmocka_unit_test(test_allocations_that_failed),
    cmocka_unit_test(test_ignored),
    cmocka_unit_test(test_without_device),
    cmocka_unit_test(test_graphs_are_known),
    cmocka_unit_test(test_calls_that_execute),
};

UNIT_TESTS(tests, NULL, NULL)
