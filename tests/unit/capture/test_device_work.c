/* Device work in recordings: its layer and op, graphs, passes, sessions, killed programs. */
#include "quiet_fork.h"
#include "record.h"
#include "stub_device.h"
#include "trace/joins/joins.h"
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVERYTHING \
    (PYRO_RECORD_LAYERS | PYRO_RECORD_OPS | PYRO_RECORD_SHAPES | PYRO_RECORD_MEMORY | \
     PYRO_RECORD_DEVICES)

static stub_device device;
static char folder[] = "/tmp/pyro-devices-XXXXXX";
static char file[64];

static int prepare(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || !stub_device_open(&device))
        return 1;
    snprintf(file, sizeof file, "%s/run.pyro", folder);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (directory)
        closedir(directory);
    return rmdir(folder);
}

static int stop_all(void **state)
{
    pyro_devices_stop();
    return stop_session(state);
}

static void start(bool temporary)
{
    pyro_recorder_options options = {
        .flags = EVERYTHING, .overwrite = true, .temporary = temporary};
    assert_int_equal(pyro_recorder_start(temporary ? NULL : file, &options, NULL), PYRO_OK);
    assert_int_equal(pyro_devices_start(NULL), PYRO_DEVICES_ON);
}

static void stop(void)
{
    device.wait();
    pyro_devices_flush();
    pyro_devices_stop();
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK);
}

/* Equal modules have equal ids. */
static uint32_t add_module(const char *path, const char *class_name, uint32_t root)
{
    pyro_module_data data = {.root = root, .instance = 1 + (uint32_t)strlen(path)};
    return pyro_recorder_module(&data, path, class_name);
}

/* A layer with one op, which launches one kernel. */
static void run_layer(uint32_t module, const char *kernel)
{
    int layer = 0, op = 0;
    begin_span((pyro_record){.kind = PYRO_RECORD_LAYER, .sequence = -1, .name = module}, NULL, NULL,
               0, &layer);
    begin_span((pyro_record){.kind = PYRO_RECORD_OP, .sequence = -1, .torch_thread = 1},
               "aten::linear", NULL, 0, &op);
    usleep(20); /* the op takes longer than the clock's resolution, also in an emulator */
    device.launch(kernel, 3000, 7);
    usleep(20);
    end_span(&op, NULL, 0);
    end_span(&layer, NULL, 0);
}

static void run_model(void)
{
    int model = 0;
    uint32_t root = add_module("", "MLP", 0);
    begin_span((pyro_record){.kind = PYRO_RECORD_LAYER, .sequence = -1, .name = root}, NULL, NULL,
               0, &model);
    run_layer(add_module("first", "Linear", root), "_Z1av");
    run_layer(add_module("second", "Linear", root), "_Z1bv");
    end_span(&model, NULL, 0);
}

static pyro_trace *open_trace(const char *path)
{
    pyro_trace *trace;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_trace_open(&trace, path, NULL, &error) != PYRO_OK)
        fail_msg("%s: %s", path, error.message);
    return trace;
}

/* Kernels of a name in a layer, below an op. */
static size_t count_kernels(pyro_trace *trace, const char *name, const char *layer)
{
    pyro_joins joins;
    size_t count = 0;
    assert_int_equal(pyro_joins_make(&joins, trace, NULL, NULL), PYRO_OK);
    for (uint32_t i = 0; i < trace->count; i++) {
        if (trace->category[i] != PYRO_EVENT_KERNEL || strcmp(pyro_event_name(trace, i), name) != 0)
            continue;
        assert_true(joins.launch[i] != PYRO_NO_EVENT);
        const char *path = joins.call[i] == PYRO_NO_LAYER
                               ? "(none)"
                               : joins.layers[joins.calls[joins.call[i]].layer].path;
        if (strcmp(path, layer) != 0)
            continue;
        assert_string_equal(pyro_event_name(trace, joins.op[i]), "aten::linear");
        count++;
    }
    pyro_joins_free(&joins);
    return count;
}

static bool has_warning(const pyro_trace *trace, const char *text)
{
    for (size_t i = 0; i < trace->warning_count; i++)
        if (strstr(trace->warnings[i], text))
            return true;
    return false;
}

static void test_kernels_have_their_layer_and_op(void **state)
{
    (void)state;
    start(false);
    pyro_device_data data = {.total_memory_bytes = 1 << 30,
                             .multiprocessors = 132,
                             .max_threads_per_multiprocessor = 2048,
                             .compute_major = 9};
    assert_int_equal(pyro_recorder_device(&data, "Stub 9000"), 1);
    run_model();
    run_model();
    device.copy(4096, 1000);
    stop();
    pyro_trace *trace = open_trace(file);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1av", "a()"), "first"), 2);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1bv", "b()"), "second"), 2);
    assert_int_equal(trace->warning_count, 0);
    assert_int_equal(trace->kernel_count, 4);
    assert_int_equal(trace->kernels[0].grid[0], 80);
    assert_int_equal(trace->kernels[0].block[0], 256);
    assert_int_equal(trace->kernels[0].registers, 32);
    assert_int_equal(trace->kernels[0].shared_memory_bytes, 3072);
    assert_int_equal(trace->transfer_count, 1);
    assert_true(trace->transfer_bytes[0] == 4096);
    assert_int_equal(trace->device_count, 1);
    assert_string_equal(pyro_trace_text(trace, trace->devices[0].name), "Stub 9000");
    assert_true(strtoull(pyro_trace_note_text(trace, "device_clock_error_ns"), NULL, 10) > 0);
    pyro_analysis *analysis;
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, NULL), PYRO_OK);
    /* 80 blocks of 256 threads on 132 multiprocessors of 2,048 threads. */
    assert_int_equal((int)(analysis->kernels[0].occupancy_percent * 100), 757);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

/* The capture is no longer in the recording when a trigger fires. */
static void test_saved_replays_have_the_layers_of_their_capture(void **state)
{
    (void)state;
    char path[80];
    pyro_recorder_options options = {.flags = EVERYTHING, .overwrite = true, .max_bytes = 2 << 20};
    assert_int_equal(pyro_flight_parse_keep(&options.flight, "2 steps", NULL), PYRO_OK);
    assert_int_equal(pyro_flight_parse_triggers(&options.flight, "SIGUSR1", NULL), PYRO_OK);
    assert_int_equal(pyro_recorder_start(file, &options, NULL), PYRO_OK);
    assert_int_equal(pyro_devices_start(NULL), PYRO_DEVICES_ON);
    device.capture(true);
    run_model();
    device.capture(false);
    pyro_flight_step(PYRO_MARK_PROFILER, 0);
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < 4000; i++)
            record_op("aten::usual", -1);
        device.replay(2000);
        pyro_flight_step(PYRO_MARK_PROFILER, 0);
    }
    device.wait();
    assert_true(pyro_flight_trigger("save", "now"));
    stop();
    snprintf(path, sizeof path, "%s/run.save-1.pyro", folder);
    pyro_trace *trace = open_trace(path);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1av", "a()"), "first"), 2);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1bv", "b()"), "second"), 2);
    pyro_trace_close(trace);
}

static void test_replays_of_graphs_have_the_layers_of_their_capture(void **state)
{
    (void)state;
    start(false);
    device.capture(true);
    run_model();
    device.capture(false);
    device.replay(2000);
    device.replay(2000);
    stop();
    pyro_trace *trace = open_trace(file);
    assert_int_equal(trace->kernel_count, 4);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1av", "a()"), "first"), 2);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1bv", "b()"), "second"), 2);
    /* Captured launches start nothing, so nothing is missing. */
    assert_int_equal(trace->warning_count, 0);
    assert_int_equal(trace->kernels[0].graph_id, 5);
    pyro_trace_close(trace);
}

/* A launch has a record when it ends. What happens inside it still finds it open: the first
 * launch of a session, later ones, launches that fail and those that are added to a graph. */
static void test_launches_inside_and_outside_of_a_capture(void **state)
{
    (void)state;
    start(false);
    run_model();
    run_model();
    device.fail_launches(true);
    device.launch("_Z1cv", 3000, 7);
    device.fail_launches(false);
    run_model();
    device.capture(true);
    run_model();
    device.capture(false);
    run_model();
    device.replay(2000);
    stop();
    pyro_trace *trace = open_trace(file);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1av", "a()"), "first"),
                     5); /* 4, and one of the replay */
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1bv", "b()"), "second"), 5);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1cv", "c()"), "(none)"), 0);
    assert_false(has_warning(trace, "missing"));
    size_t launches = 0;
    for (uint32_t i = 0; i < trace->count; i++) {
        if (trace->category[i] != PYRO_EVENT_DRIVER && trace->category[i] != PYRO_EVENT_RUNTIME)
            continue;
        assert_true(trace->duration_ns[i] >= 0);
        launches += strstr(pyro_event_name(trace, i), "LaunchKernel") != NULL;
    }
    assert_int_equal(launches, 11);
    pyro_trace_close(trace);
}

static void test_work_of_an_earlier_session_is_not_in_the_next(void **state)
{
    (void)state;
    start(false);
    run_model();
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK); /* the collector stays on */
    run_model();
    start(false);
    run_layer(add_module("", "Linear", 0), "_Z1cv");
    stop();
    pyro_trace *trace = open_trace(file);
    assert_int_equal(trace->kernel_count, 1);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1cv", "c()"), ""), 1);
    pyro_trace_close(trace);
}

static void test_a_pass_has_the_work_that_it_launched(void **state)
{
    char path[128];
    (void)state;
    start(true);
    pyro_recorder_entrance()->is_resting = 1;
    run_model();
    pyro_recorder_entrance()->is_resting = 0;
    for (int number = 1; number <= 3; number++) {
        uint64_t begun = pyro_pass_begin();
        run_model();
        snprintf(path, sizeof path, "%s/pass_%d.json", folder, number);
        pyro_pass_options options = {
            .path = path, .model = "MLP", .number = number, .flags = EVERYTHING};
        assert_int_equal(pyro_pass_end(begun, &options, NULL), PYRO_OK);
    }
    assert_int_equal(pyro_recorder_wait(NULL), PYRO_OK);
    stop();
    for (int number = 1; number <= 3; number++) {
        snprintf(path, sizeof path, "%s/pass_%d.json", folder, number);
        pyro_trace *trace = open_trace(path);
        assert_int_equal(trace->kernel_count, 2);
        assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1bv", "b()"), "second"), 1);
        pyro_trace_close(trace);
    }
}

enum { FORWARDS = 1000, LAUNCHES = 150 };

static const pyro_recorder_options last_4_mib = {
    .flags = EVERYTHING, .overwrite = true, .max_bytes = 4 << 20, .keep_last = true};

/* At the rate of a small model on a GPU: 150 kernels every 2 ms. */
static void run_forwards(void)
{
    for (int forward = 0; forward < FORWARDS; forward++) {
        for (int i = 0; i < LAUNCHES; i++)
            device.launch("_Z1av", 100, 7);
        if (forward % 100 == 0)
            pyro_devices_flush();
    }
}

static void test_many_kernels_in_a_bounded_recording(void **state)
{
    (void)state;
    assert_int_equal(pyro_recorder_start(file, &last_4_mib, NULL), PYRO_OK);
    assert_int_equal(pyro_devices_start(NULL), PYRO_DEVICES_ON);
    run_forwards();
    device.wait();
    pyro_devices_flush();
    pyro_devices_status status;
    pyro_recorder_status recorder;
    pyro_devices_look(&status);
    pyro_recorder_look(&recorder);
    assert_int_equal(status.launches, FORWARDS * LAUNCHES);
    assert_int_equal(status.records, FORWARDS * LAUNCHES);
    assert_int_equal(status.dropped + status.malformed + status.unfinished, 0);
    assert_int_equal(recorder.lost_records, 0);
    assert_true(recorder.dropped_chunks > 0);
    assert_in_range(recorder.file_bytes, 1, 6 << 20);
    stop();
    pyro_trace *trace = open_trace(file);
    assert_true(trace->kernel_count > 1000);
    assert_false(has_warning(trace, "are missing"));
    pyro_trace_close(trace);
}

static void run_two_layers(void)
{
    run_model();
    device.wait();
    pyro_devices_flush();
    run_layer(1, "_Z1cv"); /* its record is still in a buffer */
}

static void run_much_and_some_more(void)
{
    run_forwards();
    pyro_devices_flush();
    for (int i = 0; i < 200; i++)
        device.launch("_Z1cv", 100, 7); /* their records are still in a buffer */
}

/* The recording of a process that is killed at the end of `work`. */
static pyro_trace *record_killed(const pyro_recorder_options *options, void (*work)(void))
{
    int status;
    pid_t child = fork_quietly();
    if (child == 0) {
        if (pyro_recorder_start(file, options, NULL) != PYRO_OK ||
            pyro_devices_start(NULL) != PYRO_DEVICES_ON)
            _exit(1);
        work();
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    return open_trace(file);
}

static void test_a_killed_program(void **state)
{
    (void)state;
    SKIP_IF_FORKS_ARE_NOT_FOLLOWED();
    pyro_recorder_options options = {.flags = EVERYTHING, .overwrite = true};
    pyro_trace *trace = record_killed(&options, run_two_layers);
    assert_int_equal(count_kernels(trace, stub_kernel_name("_Z1bv", "b()"), "second"), 1);
    assert_int_equal(trace->kernel_count, 2);
    assert_true(has_warning(trace, "kernels of 1 of 3 launches are missing"));
    pyro_trace_close(trace);
}

/* Work of launches that were dropped is not missing; that of the last ones is. */
static void test_a_killed_program_with_a_bounded_recording(void **state)
{
    (void)state;
    SKIP_IF_FORKS_ARE_NOT_FOLLOWED();
    pyro_trace *trace = record_killed(&last_4_mib, run_much_and_some_more);
    assert_true(trace->kernel_count > 1000);
    assert_true(has_warning(trace, "older pieces were dropped"));
    assert_true(has_warning(trace, "kernels of 200 of"));
    pyro_trace_close(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_kernels_have_their_layer_and_op, stop_all),
    cmocka_unit_test_teardown(test_replays_of_graphs_have_the_layers_of_their_capture, stop_all),
    cmocka_unit_test_teardown(test_launches_inside_and_outside_of_a_capture, stop_all),
    cmocka_unit_test_teardown(test_saved_replays_have_the_layers_of_their_capture, stop_all),
    cmocka_unit_test_teardown(test_work_of_an_earlier_session_is_not_in_the_next, stop_all),
    cmocka_unit_test_teardown(test_a_pass_has_the_work_that_it_launched, stop_all),
    cmocka_unit_test_teardown(test_many_kernels_in_a_bounded_recording, stop_all),
    cmocka_unit_test_teardown(test_a_killed_program, stop_all),
    cmocka_unit_test_teardown(test_a_killed_program_with_a_bounded_recording, stop_all),
};

UNIT_TESTS(tests, prepare, clean_up)
