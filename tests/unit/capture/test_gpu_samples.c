/* Samples of GPUs in recordings: counters of the trace, sessions, killed programs, Chrome JSON. */
#include "quiet_fork.h"
#include "record.h"
#include "trace/trace.h"
#include "unit.h"

#include <pyrometer/trace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/pyro-samples-XXXXXX";
static char file[64];

static int prepare(void **state)
{
    (void)state;
    setenv("PYRO_STUB_GPU", "1755:0x20", 1);
    setenv("PYRO_STUB_GPM", "1", 1);
    setenv("PYRO_CUDA", UNIT_NVML_STUB, 1);
    setenv("PYRO_STUB_CUDA", "0", 1);
    if (!mkdtemp(folder))
        return 1;
    snprintf(file, sizeof file, "%s/run.pyro", folder);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static int stop_all(void **state)
{
    pyro_gpu_sampling_stop();
    return stop_session(state);
}

static void wait_for_samples(uint64_t count)
{
    struct timespec pause = {0, 2000000};
    pyro_gpu_sampling_status status;
    do {
        nanosleep(&pause, NULL);
        pyro_gpu_sampling_look(&status);
    } while (status.samples < count);
}

static void start(void)
{
    pyro_recorder_options options = {.flags = PYRO_RECORD_OPS | PYRO_RECORD_DEVICES,
                                     .overwrite = true};
    assert_int_equal(pyro_recorder_start(file, &options, NULL), PYRO_OK);
    assert_int_equal(pyro_gpu_sampling_start(1000000), PYRO_GPU_SAMPLING_ON);
}

static const pyro_counter_row *find(const pyro_analysis *analysis, const char *name,
                                    const char *series)
{
    for (size_t i = 0; i < analysis->counter_count; i++)
        if (!strcmp(analysis->counters[i].name, name) &&
            !strcmp(analysis->counters[i].series, series))
            return &analysis->counters[i];
    return NULL;
}

static void check_file(int64_t least)
{
    pyro_trace *trace;
    pyro_analysis *analysis;
    pyro_error error = {0};
    if (pyro_trace_open(&trace, file, NULL, &error) != PYRO_OK)
        fail_msg("%s", error.message);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, &error), PYRO_OK);
    const pyro_counter_row *power = find(analysis, "GPU power", "W");
    assert_non_null(power);
    assert_true(power->samples >= least && power->min == 450.25 && power->max == 450.25);
    assert_int_equal(power->process, 0);
    assert_true(find(analysis, "GPU clock", "memory MHz")->mean == 3201);
    assert_true(find(analysis, "GPU throttle", "heat")->mean == 1);
    assert_true(find(analysis, "GPU units", "tensor %")->samples >= least - 1);
    assert_null(find(analysis, "GPU temperature", "C")); /* the stub has none */
    assert_null(find(analysis, "GPU links", "NVLink sent MiB/s"));
    assert_string_equal(analysis->power_summary.sensor, "instant");
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

static void test_recording(void **state)
{
    (void)state;
    start();
    record_op("aten::mm", -1);
    wait_for_samples(3);
    record_op("aten::mm", -1);
    pyro_gpu_sampling_stop();
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK);
    check_file(3);
}

/* Without a session samples go nowhere; a later session gets its own. */
static void test_sessions(void **state)
{
    (void)state;
    assert_int_equal(pyro_gpu_sampling_start(1000000), PYRO_GPU_SAMPLING_ON);
    wait_for_samples(1);
    start();
    record_op("aten::mm", -1);
    pyro_gpu_sampling_status status;
    pyro_gpu_sampling_look(&status);
    wait_for_samples(status.samples + 3);
    pyro_gpu_sampling_stop();
    record_op("aten::mm", -1);
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK);
    check_file(2);
}

static void test_a_killed_program(void **state)
{
    (void)state;
    SKIP_IF_FORKS_ARE_NOT_FOLLOWED();
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork_quietly();
    if (child == 0) {
        start();
        record_op("aten::mm", -1);
        wait_for_samples(5);
        if (write(ends[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    check_file(4); /* the fifth may have been on its way */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_recording, stop_all),
    cmocka_unit_test_teardown(test_sessions, stop_all),
    cmocka_unit_test_teardown(test_a_killed_program, stop_all),
};

UNIT_TESTS(tests, prepare, clean_up)
