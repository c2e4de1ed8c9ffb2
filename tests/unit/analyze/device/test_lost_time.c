/* The account of lost time: each cause from a small trace, and that causes add up to the steps. */
#include "analyze_maker.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static int64_t time_of(const pyro_analysis *analysis, pyro_cause cause)
{
    int64_t time_ns = 0;
    for (size_t i = 0; i < analysis->cause_count; i++)
        time_ns += analysis->causes[i].cause == cause ? analysis->causes[i].time_ns : 0;
    return time_ns;
}

static const pyro_cause_place *place_of(const pyro_analysis *analysis, pyro_cause cause)
{
    for (size_t i = 0; i < analysis->cause_place_count; i++)
        if (analysis->cause_places[i].cause == cause)
            return &analysis->cause_places[i];
    fail_msg("no place with the cause %s", pyro_cause_name(cause));
    return NULL;
}

/* Every step is divided without a rest, as the table of steps divides it. */
static void check_sums(const pyro_analysis *analysis)
{
    size_t row = 0;
    for (size_t i = 0; i < analysis->step_count; i++) {
        const pyro_step_row *step = &analysis->steps[i];
        int64_t sums[PYRO_CAUSE_COUNT] = {0}, whole = 0;
        for (; row < analysis->cause_count && analysis->causes[row].step == step->number; row++) {
            pyro_cause cause = analysis->causes[row].cause;
            assert_true(analysis->causes[row].time_ns > 0);
            assert_in_range(analysis->causes[row].profiler_ns, 0, analysis->causes[row].time_ns);
            sums[cause] = analysis->causes[row].time_ns;
            whole += sums[cause];
        }
        assert_int_equal(whole, step->span_ns);
        if (!analysis->device_total_ns)
            continue;
        assert_int_equal(sums[PYRO_CAUSE_COMPUTE], step->compute_ns);
        assert_int_equal(sums[PYRO_CAUSE_COMMUNICATION] + sums[PYRO_CAUSE_PEER_WAIT],
                         step->communication_exposed_ns);
        assert_int_equal(sums[PYRO_CAUSE_COPY], step->copy_exposed_ns);
    }
    assert_int_equal(row, analysis->cause_count);
}

/* Places add up to their causes where steps do not overlap. */
static void check_places(const pyro_analysis *analysis)
{
    for (int cause = 0; cause < PYRO_CAUSE_COUNT; cause++) {
        int64_t time_ns = 0;
        for (size_t i = 0; i < analysis->cause_place_count; i++)
            if (analysis->cause_places[i].cause == (pyro_cause)cause)
                time_ns += analysis->cause_places[i].time_ns;
        assert_int_equal(time_ns, time_of(analysis, (pyro_cause)cause));
    }
}

/* The gap is cut at the launch: before it the host is late, after it the device is. */
static void test_cut_at_launch(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 3, 0, 2 * MS);
    maker_host(&maker, "python_function", "train.py(12): step", 1, 10, 2 * MS - 20);
    maker_kernel(&maker, "a", 100 * US, 400 * US, 90 * US);
    maker_host(&maker, "cpu_op", "aten::mm", 1, 800 * US, 130 * US);
    maker_kernel(&maker, "b", 950 * US, 50 * US, 900 * US);
    maker_kernel(&maker, "c", 1500 * US, 500 * US, 920 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_sums(analysis);
    check_places(analysis);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_BEFORE_FIRST), 90 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_LAUNCH_LATENCY), 10 * US + 50 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_PYTHON), 300 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_OPS), 100 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_QUEUED), 500 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_COMPUTE), 950 * US);
    assert_string_equal(place_of(analysis, PYRO_CAUSE_PYTHON)->line, "train.py(12): step");
    assert_string_equal(place_of(analysis, PYRO_CAUSE_OPS)->op, "aten::mm");
    assert_string_equal(place_of(analysis, PYRO_CAUSE_BEFORE_FIRST)->line, "train.py(12): step");
    maker_end(&maker);
}

/* The host is blocked in a copy that waits for a step of before the recording. */
static void test_first_copy_waits(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "python_function", "serve.py(7): decode", 1, 0, 12 * MS);
    maker_work(&maker, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 7, 8 * MS + 10 * US,
               2 * US, 10 * US, 5 * US, "");
    maker_kernel(&maker, "k", 8 * MS + 12 * US, 3 * MS, 100 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_sums(analysis);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_UNRECORDED), 8 * MS);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_BEFORE_FIRST), 10 * US);
    maker_end(&maker);
}

/* The first kernel was launched before recording began: until it starts, the device runs earlier
 * work, and the host, which runs ahead, is not late. */
static void test_first_kernel_was_launched_before(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_step(&maker, 3, 0, 2 * MS);
    maker_host(&maker, "python_function", "train.py(12): step", 1, 10, 2 * MS - 20);
    maker_kernel(&maker, "earlier", 900 * US, 100 * US, -1);
    maker_kernel(&maker, "k", 1000 * US, 1000 * US, 100 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_sums(analysis);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_UNRECORDED), 900 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_BEFORE_FIRST), 0);
    maker_end(&maker);
}

/* All is launched, and the host sits in a blocking copy: the host is not late. */
static void test_blocked_after_launching(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 20 * US, 100 * US, 10 * US);
    maker_event(&maker, "cuda_runtime", "hipMemcpyWithStream", 100, 1, 130 * US, 493 * MS,
                "\"correlation\":77");
    maker_event(&maker, "gpu_memcpy", "CopyDeviceToHost", 0, 7, 492100 * US, 1 * MS,
                "\"device\":0,\"stream\":7,\"correlation\":77");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_sums(analysis);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_PYTHON), 10 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_OPS), 0);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_UNRECORDED), 492100 * US - 130 * US);
    maker_end(&maker);
}

/* A call that waits returns soon after the device has finished; then the host is late again. */
static void test_synchronisation(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 10 * US, 500 * US, 0);
    maker_host(&maker, "cpu_op", "aten::item", 1, 20 * US, 520 * US);
    maker_host(&maker, "cuda_runtime", "cudaStreamSynchronize", 1, 30 * US, 500 * US);
    maker_kernel(&maker, "b", 700 * US, 100 * US, 690 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_sums(analysis);
    check_places(analysis);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_UNRECORDED), 0);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_OPS), 30 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_PYTHON), 150 * US);
    assert_string_equal(place_of(analysis, PYRO_CAUSE_PYTHON)->sync, "cudaStreamSynchronize");
    maker_end(&maker);
}

/* A launch call that takes long is the host's time: it loads a module. */
static void test_slow_launch(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 10 * US, 100 * US, 0);
    maker_work(&maker, "kernel", "b", 0, 7, 5 * MS, 100 * US, 200 * US, 4790 * US, "");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_sums(analysis);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_OPS), 4790 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_PYTHON), 90 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_LAUNCH_LATENCY), 10 * US + 10 * US);
    maker_end(&maker);
}

static void test_loading_and_threads(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_kernel(&maker, "a", 10 * US, 90 * US, 0);
    maker_host(&maker, "user_annotation", "enumerate(DataLoader)#_X.__next__", 1, 100 * US,
               300 * US);
    maker_host(&maker, "cpu_op", "aten::stack", 1, 150 * US, 50 * US);
    /* The main thread waits in a frame while the backward thread is in an op. */
    maker_host(&maker, "python_function", "<built-in method run_backward>", 1, 400 * US, 500 * US);
    maker_host(&maker, "cpu_op", "MulBackward0", 2, 500 * US, 100 * US);
    maker_event(&maker, "cuda_runtime", "cudaLaunchKernel", 100, 2, 590 * US, 5 * US,
                "\"correlation\":99");
    maker_event(&maker, "kernel", "c", 0, 7, 600 * US, 10 * US,
                "\"device\":0,\"stream\":7,\"correlation\":99");
    maker_kernel(&maker, "b", 950 * US, 50 * US, 940 * US);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_sums(analysis);
    check_places(analysis);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_DATA_LOADING), 300 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_OPS), 90 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_PYTHON), 100 * US + 330 * US);
    maker_end(&maker);
}

/* Three calls of one size, of which one waits; two calls decide nothing. */
static void test_peers(void **state)
{
    (void)state;
    static const char args[] =
        ",\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":%d,"
        "\"Out msg nelems\":%d,\"Group size\":2";
    maker maker;
    maker_begin(&maker);
    for (int i = 0; i < 5; i++) {
        char text[200];
        int64_t duration = i == 1 || i == 4 ? 900 * US : 100 * US;
        snprintf(text, sizeof text, args, i < 3 ? 64 : 128, i < 3 ? 64 : 128);
        maker_work(&maker, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 9, i * MS,
                   duration, -1, 0, text);
    }
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_sums(analysis);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_PEER_WAIT), 800 * US);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_COMMUNICATION), (3 * 100 + 100 + 900) * US);
    maker_end(&maker);
}

static void test_without_device(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_host(&maker, "python_function", "train.py(12): step", 1, 0, 1000);
    maker_host(&maker, "cpu_op", "aten::mm", 1, 100, 600);
    maker_host(&maker, "cpu_op", "gloo:all_reduce", 1, 800, 100);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    check_sums(analysis);
    check_places(analysis);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_OPS), 600);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_PYTHON), 300);
    assert_int_equal(time_of(analysis, PYRO_CAUSE_COMMUNICATION), 100);
    maker_end(&maker);
}

static uint32_t next_random(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* Adds an event of any kind at any time. */
static void add_random(maker *maker, uint32_t *seed, int number)
{
    static const char *const host[][2] = {
        {"cpu_op", "aten::mm"},
        {"cpu_op", "aten::item"},
        {"python_function", "train.py(12): step"},
        {"python_function", "torch/utils/data/dataloader.py(5): __next__"},
        {"user_annotation", "## forward ##"},
        {"cuda_runtime", "cudaStreamSynchronize"},
        {"cuda_runtime", "hipMemcpyWithStream"},
    };
    static const char *const names[] = {"k", "ncclDevKernel_AllReduce_Sum_f32", "Memcpy DtoH"};
    int64_t start = next_random(seed, 2000000), duration = next_random(seed, 400000);
    unsigned kind = next_random(seed, 12);
    if (kind < 7) {
        maker_host(maker, host[kind][0], host[kind][1], 1 + (int)next_random(seed, 3), start,
                   duration);
    } else if (kind == 7) {
        maker_step(maker, number, start, duration);
    } else {
        unsigned name = next_random(seed, 3);
        maker_work(maker, name == 2 ? "gpu_memcpy" : "kernel", names[name],
                   (int)next_random(seed, 2), 7 + (int)next_random(seed, 3), start, duration / 8,
                   next_random(seed, 4) ? start - next_random(seed, 300000) : -1, duration / 16,
                   "");
    }
}

static void test_random_traces_add_up(void **state)
{
    (void)state;
    uint32_t seed = 20261117;
    for (int i = 0; i < 1000; i++) {
        maker maker;
        maker_begin(&maker);
        maker_host(&maker, "cpu_op", "aten::add", 1, 0, 1000);
        for (int k = 1 + (int)next_random(&seed, 24); k > 0; k--)
            add_random(&maker, &seed, k);
        check_sums(maker_analyze(&maker, NULL));
        maker_end(&maker);
    }
}

/* Analyses planted/cause-<name>.<kind>.json; false when the file does not exist. */
static bool read_planted(pyro_cause cause, const char *kind, int64_t *time_ns)
{
    const char *files = getenv("PYRO_TEST_FILES");
    char path[1024];
    pyro_trace *trace;
    pyro_analysis *analysis;
    pyro_error error = {0};
    snprintf(path, sizeof path, "%s/../trace/planted/cause-%s.%s.json",
             files ? files : "tests/files", pyro_cause_name(cause), kind);
    if (access(path, F_OK) != 0)
        return false;
    if (pyro_trace_open(&trace, path, NULL, &error) != PYRO_OK ||
        pyro_trace_analyze(&analysis, trace, NULL, &error) != PYRO_OK)
        fail_msg("%s: %s", path, error.message);
    check_sums(analysis);
    check_places(analysis);
    *time_ns = time_of(analysis, cause);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    return true;
}

/* Every cause has a planted file in which it takes time, and one in which it nearly does. */
static void test_every_cause_is_planted(void **state)
{
    (void)state;
    enum { KINDS = 5 };
    static const char *const kinds[KINDS] = {"hit", "miss", "hit2", "miss2", "hit3"};
    for (int i = 0; i < PYRO_CAUSE_COUNT * KINDS; i++) {
        pyro_cause cause = (pyro_cause)(i / KINDS);
        const char *kind = kinds[i % KINDS];
        int64_t time_ns;
        if (!read_planted(cause, kind, &time_ns)) {
            if (i % KINDS < 2)
                fail_msg("planted/cause-%s.%s.json is missing", pyro_cause_name(cause), kind);
            continue;
        }
        bool is_hit = kind[0] == 'h';
        if (is_hit ? time_ns < 50 * US : time_ns != 0)
            fail_msg("cause-%s.%s: %lld ns", pyro_cause_name(cause), kind, (long long)time_ns);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_cause_is_planted),
    cmocka_unit_test(test_cut_at_launch),
    cmocka_unit_test(test_first_copy_waits),
    cmocka_unit_test(test_blocked_after_launching),
    cmocka_unit_test(test_synchronisation),
    cmocka_unit_test(test_slow_launch),
    cmocka_unit_test(test_loading_and_threads),
    cmocka_unit_test(test_peers),
    cmocka_unit_test(test_first_kernel_was_launched_before),
    cmocka_unit_test(test_without_device),
    cmocka_unit_test(test_random_traces_add_up),
};

UNIT_TESTS(tests, NULL, NULL)
