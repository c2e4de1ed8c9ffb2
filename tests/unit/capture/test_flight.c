/* The flight recorder: triggers, what their files hold, limits, signals, forks, full disks. */
#include "quiet_fork.h"
#include "record.h"
#include "unit.h"

#include "capture/session.h"

#include <dirent.h>
#include <pyrometer/trace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING (PYRO_RECORDING_HEADER_BYTES + 8 * PYRO_RECORDING_CHUNK_BYTES)
#define USUAL 100000 /* raw units of a step */

static char folder[] = "/tmp/pyro-flight-XXXXXX";
static char file[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(file, sizeof file, "%s/run.pyro", folder);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    pyro_recorder_stop(NULL);
    pyro_flight_on_saved(NULL);
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (directory)
        closedir(directory);
    return 0;
}

static int remove_folder(void **state)
{
    remove_files(state);
    return rmdir(folder);
}

static void start(const char *keep, const char *triggers, uint64_t max_bytes)
{
    pyro_error error;
    pyro_error_clear(&error);
    pyro_recorder_options options = {.overwrite = true,
                                     .max_bytes = max_bytes,
                                     .flags = PYRO_RECORD_LAYERS | PYRO_RECORD_OPS |
                                              PYRO_RECORD_SHAPES | PYRO_RECORD_MEMORY};
    if ((keep && pyro_flight_parse_keep(&options.flight, keep, &error) != PYRO_OK) ||
        (triggers && pyro_flight_parse_triggers(&options.flight, triggers, &error) != PYRO_OK) ||
        pyro_recorder_start(file, &options, &error) != PYRO_OK)
        fail_msg("%s", error.message);
}

static const char *saved_as(const char *trigger, int number)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/run.%s-%d.pyro", folder, trigger, number);
    return path;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

typedef struct opened {
    pyro_trace *trace;
    pyro_analysis *analysis;
} opened;

static opened open_saved(const char *path)
{
    opened one;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_trace_open(&one.trace, path, NULL, &error) != PYRO_OK ||
        pyro_trace_analyze(&one.analysis, one.trace, NULL, &error) != PYRO_OK)
        fail_msg("%s: %s", path, error.message);
    return one;
}

static void close_saved(opened one)
{
    pyro_analysis_free(one.analysis);
    pyro_trace_close(one.trace);
}

static int64_t calls_of(const pyro_analysis *analysis, const char *op)
{
    for (size_t i = 0; i < analysis->op_count; i++)
        if (strcmp(analysis->ops[i].name, op) == 0)
            return analysis->ops[i].calls;
    return 0;
}

static const char *trigger_text(const opened *one)
{
    return pyro_trace_note_text(one->trace, PYRO_PROPERTY_TRIGGER_TEXT);
}

/* Forwards of the usual time, except for one. */
static void run_forwards(uint32_t module, int count, int slow, double factor)
{
    for (int i = 1; i <= count; i++) {
        record_op(i == slow ? "aten::slow" : "aten::usual", -1);
        uint64_t now = pyro_raw_time(pyro_recorder_entrance());
        uint64_t time = i == slow ? (uint64_t)(USUAL * factor) : USUAL;
        pyro_flight_forward(module, 8, now - time, now);
    }
}

static void test_slow_step(void **state)
{
    (void)state;
    start("10s", "slow-step:1.5x", RING);
    uint32_t net = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "Net");
    run_forwards(net, 30, 20, 3);
    pyro_flight_wait();
    opened one = open_saved(saved_as("slow-step", 1));
    assert_non_null(strstr(trigger_text(&one), "call 20 of Net took"));
    assert_non_null(strstr(trigger_text(&one), "3.0 times the median"));
    assert_string_equal(pyro_trace_note_text(one.trace, PYRO_PROPERTY_TRIGGER), "slow-step");
    assert_int_equal(calls_of(one.analysis, "aten::slow"), 1);
    assert_in_range(calls_of(one.analysis, "aten::usual"), 19, 29);
    close_saved(one);
    pyro_flight_status status;
    pyro_flight_look(&status);
    assert_int_equal(status.files, 1);
    assert_int_equal(status.steps, 30);
}

/* A step that is a little slow must not hide one that is very slow, but files should not overlap. */
static void test_much_slower_steps_are_saved_too(void **state)
{
    (void)state;
    start("10s", "slow-step:1.5x", RING);
    uint32_t net = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "Net");
    run_forwards(net, 30, 20, 3); /* loses 2 usual steps */
    run_forwards(net, 10, 5, 3);
    run_forwards(net, 10, 5, 4.5); /* loses 3.5 */
    run_forwards(net, 10, 5, 8);   /* loses 7 */
    run_forwards(net, 10, 5, 12);  /* loses 11 */
    pyro_flight_wait();
    opened one = open_saved(saved_as("slow-step", 1));
    assert_non_null(strstr(trigger_text(&one), "call 20 of Net took"));
    close_saved(one);
    one = open_saved(saved_as("slow-step", 2));
    assert_non_null(strstr(trigger_text(&one), "call 55 of Net took"));
    close_saved(one);
    assert_false(is_there(saved_as("slow-step", 3)));
}

static void test_usual_steps_save_nothing(void **state)
{
    (void)state;
    start("10s", "slow-step:1.5x", RING);
    uint32_t net = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "Net");
    run_forwards(net, 9, 9, 50);    /* a warm-up */
    run_forwards(net, 40, 25, 1.4); /* below the factor */
    for (int i = 0; i < 20; i++) {  /* other inputs have a usual time of their own */
        uint64_t now = pyro_raw_time(pyro_recorder_entrance());
        pyro_flight_forward(net, 4096, now - 20 * USUAL, now);
    }
    pyro_flight_wait();
    assert_false(is_there(saved_as("slow-step", 1)));
}

/* Optimizers outrank forwards; the steps of the one that counts are in the file. */
static void test_steps_of_an_optimizer(void **state)
{
    (void)state;
    start("10s", "slow-step:20x,SIGUSR1", RING);
    uint32_t net = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "Net");
    for (int i = 0; i < 12; i++) {
        record_op("aten::usual", -1);
        pyro_flight_step(PYRO_MARK_OPTIMIZER, 0x1000);
        pyro_flight_step(PYRO_MARK_OPTIMIZER, 0x2000);
        run_forwards(net, 1, 0, 0);
    }
    assert_true(pyro_flight_trigger("save", "now"));
    pyro_flight_wait();
    opened one = open_saved(saved_as("save", 1));
    assert_int_equal(one.analysis->step_count, 11);
    assert_string_equal(one.analysis->steps[0].name, "ProfilerStep#1");
    assert_int_equal(one.analysis->steps[10].number, 11);
    close_saved(one);
}

/* Fills the chunk of this thread: the next record has to wait for another one. */
static void fill_chunk(void)
{
    const pyro_recorder_api *api = pyro_recorder_entrance();
    pyro_recorder_thread *thread = api->thread();
    while (thread->next != thread->end)
        record_op("aten::usual", -1);
}

/* The file is copied at once, so the record of the step has to be written by then. */
static void test_a_slow_step_is_in_its_file(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        start("10s", "slow-step:50ms", RING);
        for (int i = 0; i < 12; i++) {
            usleep(20); /* a step takes longer than the clock's resolution */
            pyro_flight_step(PYRO_MARK_OPTIMIZER, 0x1000);
        }
        fill_chunk();
        usleep(60000);
        pyro_flight_step(PYRO_MARK_OPTIMIZER, 0x1000);
        pyro_flight_wait();
        opened one = open_saved(saved_as("slow-step", 1));
        unsigned slow = 0; /* the last step, unless the machine delayed the one before */
        assert_int_equal(sscanf(trigger_text(&one), "step %u took", &slow), 1);
        assert_in_range(slow, 11, 12);
        assert_int_equal(one.analysis->step_count, slow);
        assert_int_equal(one.analysis->steps[slow - 1].number, slow);
        close_saved(one);
        pyro_recorder_stop(NULL);
    }
}

static void test_old_records_are_left_out(void **state)
{
    (void)state;
    int open = 0;
    start("3 steps", "SIGUSR1", RING);
    begin_span((pyro_record){.kind = PYRO_RECORD_OP, .sequence = -1}, "runs all the time", NULL, 0,
               &open);
    for (int i = 0; i < 20000; i++)
        record_op("early", -1);
    for (int i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "op %d", i);
        record_op(name, -1);
        usleep(20); /* longer than the clock's resolution */
        pyro_flight_step(PYRO_MARK_PROFILER, 0);
        usleep(20);
    }
    pyro_flight_trigger("save", "now");
    pyro_flight_wait();
    opened one = open_saved(saved_as("save", 1));
    assert_int_equal(calls_of(one.analysis, "op 6"), 0);
    assert_int_equal(calls_of(one.analysis, "op 7"), 1);
    assert_int_equal(calls_of(one.analysis, "op 9"), 1);
    assert_int_equal(calls_of(one.analysis, "runs all the time"), 1);
    assert_int_equal(calls_of(one.analysis, "early"), 0);
    assert_int_equal(one.analysis->step_count, 3);
    close_saved(one);
    pyro_recorder_stop(NULL);
    one = open_saved(file); /* so does the recording itself, once it is complete */
    assert_int_equal(calls_of(one.analysis, "op 6"), 0);
    assert_int_equal(calls_of(one.analysis, "op 7"), 1);
    close_saved(one);
}

/* An allocation that failed, as the observers of memory record it. */
static void record_failure(int64_t bytes)
{
    pyro_recorder_api *api = pyro_recorder_entrance();
    pyro_recorder_thread *thread = pyro_recorder_enter(api);
    pyro_record *room = pyro_record_room(api, thread);
    pyro_memory_record memory = {.start_raw = pyro_raw_time(api),
                                 .bytes = bytes,
                                 .total_allocated = -1,
                                 .total_reserved = -1,
                                 .device_index = -1,
                                 .kind = PYRO_RECORD_ALLOCATION,
                                 .out_of_memory = 1};
    memcpy(room, &memory, offsetof(pyro_memory_record, tag));
    pyro_record_commit(thread, room);
    pyro_recorder_leave(thread);
    api->out_of_memory(bytes, 0, -1);
}

/* A program that hangs: the file ends with what it did last, however long ago. */
static void test_idle_program(void **state)
{
    (void)state;
    int op = 0;
    start("10ms", "SIGUSR1", RING);
    record_op("aten::last", -1);
    begin_span((pyro_record){.kind = PYRO_RECORD_OP, .sequence = -1}, "aten::hangs", NULL, 0, &op);
    usleep(50000);
    pyro_flight_trigger("save", "now");
    pyro_flight_wait();
    opened one = open_saved(saved_as("save", 1));
    assert_int_equal(calls_of(one.analysis, "aten::last"), 1);
    assert_int_equal(calls_of(one.analysis, "aten::hangs"), 1);
    assert_true(one.analysis->span_ns >= 50000000); /* until the file was saved */
    close_saved(one);
    end_span(&op, NULL, 0);
}

/* Allocations whose records were dropped long ago are in the file, with their layer and op. */
static void test_who_held_the_memory(void **state)
{
    (void)state;
    int layer = 0, op = 0;
    start("1ms", "oom", RING);
    uint32_t root = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "Net");
    uint32_t wide = pyro_recorder_module(&(pyro_module_data){root, 2, 0, 0}, "wide", "Linear");
    begin_span((pyro_record){.kind = PYRO_RECORD_LAYER, .sequence = -1, .name = wide}, NULL, NULL,
               0, &layer);
    begin_span((pyro_record){.kind = PYRO_RECORD_OP, .sequence = -1}, "aten::addmm", NULL, 0, &op);
    record_memory(0x10000, 5000000);
    record_memory(0x20000, 1000);
    end_span(&op, NULL, 0);
    end_span(&layer, NULL, 0);
    record_memory(0x20000, -1000);
    for (int i = 0; i < 100000; i++)
        record_op("aten::usual", -1);
    record_memory(0x30000, 70000);
    record_failure(1 << 30);
    pyro_flight_wait();
    opened one = open_saved(saved_as("oom", 1));
    assert_non_null(strstr(trigger_text(&one), "an allocation of 1.00 GiB failed on the CPU"));
    assert_int_equal(one.analysis->memory_count, 1);
    const pyro_memory_device *cpu = &one.analysis->memory[0];
    assert_int_equal(cpu->failed_bytes, 1 << 30);
    assert_int_equal(cpu->failed_live_bytes, 5070000);
    assert_int_equal(cpu->holder_count, 2);
    assert_string_equal(cpu->holders[0].layer, "wide");
    assert_string_equal(cpu->holders[0].op, "aten::addmm");
    assert_int_equal(cpu->holders[0].bytes, 5000000);
    assert_int_equal(cpu->holders[1].bytes, 70000);
    assert_int_equal(cpu->allocations, 1);
    close_saved(one);
}

/* A long run: the recording keeps its size, and a full ring is saved while it is written to. */
static void test_bounded(void **state)
{
    (void)state;
    struct stat size;
    start("10s", "SIGUSR1", RING);
    for (int i = 0; i < 300000; i++) {
        record_op("aten::usual", -1);
        record_memory(0x100000 + (uint64_t)(i % 50000) * 64, 64);
        record_memory(0x100000 + (uint64_t)(i % 50000) * 64, -64);
        if (i % 60000 == 59999)
            assert_true(pyro_flight_trigger("save", "now"));
    }
    pyro_flight_wait();
    stat(file, &size);
    assert_in_range(size.st_size, RING / 2, RING + PYRO_RECORDING_CHUNK_BYTES);
    pyro_recorder_status status;
    pyro_recorder_look(&status);
    assert_int_equal(status.lost_records, 0);
    assert_true(pyro_the_session.flight.blocks.count < 60000);
    pyro_recorder_stop(NULL);
    for (int number = 1; number <= 5; number++) {
        opened one = open_saved(saved_as("save", number));
        assert_true(calls_of(one.analysis, "aten::usual") > 1000);
        close_saved(one);
    }
}

static void test_limit_of_files(void **state)
{
    (void)state;
    start("10s", "SIGUSR1", RING);
    pyro_the_session.options.flight.most_files = 2;
    record_op("aten::usual", -1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pyro_flight_trigger("save", "now"), i < 2);
        pyro_flight_wait();
    }
    assert_true(pyro_flight_trigger("exception", "now"));
    pyro_flight_wait();
    assert_true(is_there(saved_as("save", 2)) && is_there(saved_as("exception", 1)));
    assert_false(is_there(saved_as("save", 3)));
    pyro_flight_status status;
    pyro_flight_look(&status);
    assert_int_equal(status.skipped, 2);
}

static volatile sig_atomic_t own_signals;

static void on_own_signal(int number)
{
    (void)number;
    own_signals++;
}

static void wait_for_file(const char *path)
{
    for (int i = 0; i < 60000 && !is_there(path); i++)
        usleep(1000);
    assert_true(is_there(path));
}

/* The program's handler runs as before, whether it was installed before or after the session. */
static void test_signals(void **state)
{
    (void)state;
    signal(SIGUSR1, on_own_signal);
    start("10s", "SIGUSR1,SIGUSR2", RING);
    record_op("aten::usual", -1);
    own_signals = 0;
    raise(SIGUSR1);
    assert_int_equal(own_signals, 1);
    raise(SIGUSR2); /* without a handler it would end the process */
    wait_for_file(saved_as("SIGUSR1", 1));
    wait_for_file(saved_as("SIGUSR2", 1));
    signal(SIGUSR1, on_own_signal);
    struct sigaction present = {0};
    while (!(present.sa_flags & SA_SIGINFO)) /* until the recorder's is in front again */
        sigaction(SIGUSR1, NULL, &present);
    raise(SIGUSR1);
    assert_int_equal(own_signals, 2);
    wait_for_file(saved_as("SIGUSR1", 2));
    pyro_recorder_stop(NULL);
    sigaction(SIGUSR1, NULL, &present);
    assert_true(present.sa_handler == on_own_signal);
    sigaction(SIGUSR2, NULL, &present);
    assert_true(present.sa_handler == SIG_DFL);
}

/* A signal that arrives right after the program has installed its handler fires the trigger too. */
static void test_a_changed_handler(void **state)
{
    (void)state;
    struct sigaction present;
    pyro_flight_handlers_changed(); /* nothing runs */
    start("10s", "SIGUSR1", RING);
    record_op("aten::usual", -1);
    own_signals = 0;
    for (int number = 1; number <= 3; number++) {
        signal(SIGUSR1, on_own_signal);
        pyro_flight_handlers_changed();
        raise(SIGUSR1);
        assert_int_equal(own_signals, number);
        wait_for_file(saved_as("SIGUSR1", number));
    }
    pyro_recorder_stop(NULL);
    sigaction(SIGUSR1, NULL, &present);
    assert_true(present.sa_handler == on_own_signal);
    pyro_flight_handlers_changed();
    sigaction(SIGUSR1, NULL, &present);
    assert_true(present.sa_handler == on_own_signal);
    signal(SIGUSR1, SIG_DFL);
}

/* A signal that ends the process still does, after the file is written. */
static void test_deadly_signal(void **state)
{
    SKIP_IF_FORKS_ARE_NOT_FOLLOWED();
    (void)state;
    int status;
    pid_t child = fork_quietly();
    if (child == 0) {
        start("10s", "SIGTERM", RING);
        record_op("aten::usual", -1);
        raise(SIGTERM);
        for (;;)
            pause();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    close_saved(open_saved(saved_as("SIGTERM", 1)));
}

static void test_fork(void **state)
{
    SKIP_IF_FORKS_ARE_NOT_FOLLOWED();
    (void)state;
    char path[200];
    int status;
    start("10s", "SIGUSR1", RING);
    record_op("aten::parent", -1);
    pid_t child = fork_quietly();
    if (child == 0) {
        record_op("aten::child", -1);
        pyro_flight_trigger("save", "in the child");
        pyro_flight_wait();
        pyro_recorder_stop(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(pyro_flight_trigger("save", "in the parent"));
    pyro_recorder_stop(NULL);
    snprintf(path, sizeof path, "%s/run.%ld.save-1.pyro", folder, (long)child);
    opened one = open_saved(path);
    assert_int_equal(calls_of(one.analysis, "aten::child"), 1);
    assert_int_equal(calls_of(one.analysis, "aten::parent"), 0);
    close_saved(one);
    one = open_saved(saved_as("save", 1));
    assert_int_equal(calls_of(one.analysis, "aten::parent"), 1);
    close_saved(one);
}

static char last_error[512];

static void keep_error(const char *path, const char *text, const pyro_error *error)
{
    (void)path;
    (void)text;
    if (error)
        snprintf(last_error, sizeof last_error, "%s", error->message);
}

/* The file cannot be written: one error, and recording goes on. */
static void test_file_that_cannot_be_written(void **state)
{
    (void)state;
    char moved[80];
    last_error[0] = '\0';
    pyro_flight_on_saved(keep_error);
    start("10s", "SIGUSR1", RING);
    record_op("aten::usual", -1);
    snprintf(moved, sizeof moved, "%s.moved", folder);
    assert_int_equal(rename(folder, moved), 0);
    pyro_flight_trigger("save", "now");
    pyro_flight_wait();
    assert_int_equal(rename(moved, folder), 0);
    assert_non_null(strstr(last_error, "No such file"));
    pyro_flight_trigger("save", "again");
    pyro_recorder_stop(NULL);
    opened one = open_saved(saved_as("save", 2));
    assert_int_equal(calls_of(one.analysis, "aten::usual"), 1);
    close_saved(one);
}

/* Between cudaProfilerStart and Stop everything is recorded, outside of it nothing. */
static void test_window_of_the_program(void **state)
{
    (void)state;
    start(NULL, "cuda-profiler", RING);
    pyro_recorder_api *api = pyro_recorder_entrance();
    assert_true(api->is_resting);
    pyro_flight_window(true);
    pyro_flight_window(true);
    assert_false(api->is_resting);
    record_op("aten::inside", -1);
    pyro_flight_window(false);
    assert_true(api->is_resting);
    pyro_flight_window(false);
    pyro_flight_wait();
    assert_false(is_there(saved_as("cuda-profiler", 2)));
    pyro_flight_window(true);
    record_op("aten::last", -1);
    pyro_recorder_stop(NULL); /* ends the window */
    opened one = open_saved(saved_as("cuda-profiler", 1));
    assert_int_equal(calls_of(one.analysis, "aten::inside"), 1);
    close_saved(one);
    one = open_saved(saved_as("cuda-profiler", 2));
    assert_int_equal(calls_of(one.analysis, "aten::inside"), 0);
    assert_int_equal(calls_of(one.analysis, "aten::last"), 1);
    close_saved(one);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_slow_step, remove_files),
    cmocka_unit_test_teardown(test_much_slower_steps_are_saved_too, remove_files),
    cmocka_unit_test_teardown(test_a_slow_step_is_in_its_file, remove_files),
    cmocka_unit_test_teardown(test_usual_steps_save_nothing, remove_files),
    cmocka_unit_test_teardown(test_steps_of_an_optimizer, remove_files),
    cmocka_unit_test_teardown(test_old_records_are_left_out, remove_files),
    cmocka_unit_test_teardown(test_idle_program, remove_files),
    cmocka_unit_test_teardown(test_who_held_the_memory, remove_files),
    cmocka_unit_test_teardown(test_bounded, remove_files),
    cmocka_unit_test_teardown(test_limit_of_files, remove_files),
    cmocka_unit_test_teardown(test_signals, remove_files),
    cmocka_unit_test_teardown(test_a_changed_handler, remove_files),
    cmocka_unit_test_teardown(test_deadly_signal, remove_files),
    cmocka_unit_test_teardown(test_fork, remove_files),
    cmocka_unit_test_teardown(test_file_that_cannot_be_written, remove_files),
    cmocka_unit_test_teardown(test_window_of_the_program, remove_files),
};

UNIT_TESTS(tests, make_folder, remove_folder)
