/* Recorder: start and stop of sessions, threads, forks, kills, limits, and reading back. */
#include "quiet_fork.h"
#include "record.h"
#include "unit.h"
#include <stddef.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <pyrometer/trace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/pyro-recorder-XXXXXX";
static char file[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(file, sizeof file, "%s/run.pyro", folder);
    return 0;
}

static int remove_folder(void **state)
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

static void start(pyro_recorder_options options)
{
    pyro_error error;
    pyro_error_clear(&error);
    options.overwrite = true;
    options.flags = PYRO_RECORD_LAYERS | PYRO_RECORD_OPS | PYRO_RECORD_SHAPES | PYRO_RECORD_MEMORY;
    if (pyro_recorder_start(file, &options, &error) != PYRO_OK)
        fail_msg("%s", error.message);
}

static void stop(void)
{
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_recorder_stop(&error) != PYRO_OK)
        fail_msg("%s", error.message);
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

/* How often an op ran; with `warning`, checks for a warning that contains this text. */
static int64_t count_op(const char *path, const char *name, const char *warning)
{
    pyro_trace *trace = open_trace(path);
    pyro_analysis *analysis;
    int64_t calls = 0;
    size_t count;
    bool warned = !warning;
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, NULL), PYRO_OK);
    for (size_t i = 0; i < analysis->op_count; i++)
        if (strcmp(analysis->ops[i].name, name) == 0)
            calls = analysis->ops[i].calls;
    const char *const *warnings = pyro_trace_warnings(trace, &count);
    for (size_t i = 0; i < count; i++)
        warned |= warning && strstr(warnings[i], warning);
    assert_true(warned);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    return calls;
}

static void test_layers_and_shapes(void **state)
{
    (void)state;
    pyro_analysis *analysis;
    start((pyro_recorder_options){0});
    assert_string_equal(pyro_recorder_path(), file);
    uint32_t root = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "MLP");
    uint32_t linear = pyro_recorder_module(&(pyro_module_data){root, 2, 0, 0}, "layers.0.linear",
                                           "Linear");
    assert_true(root != 0 && linear != 0 && root != linear);
    int call = 0;
    begin_span((pyro_record){.kind = PYRO_RECORD_LAYER, .sequence = -1, .name = root}, NULL, NULL,
               0, &call);
    record_layer(linear, 32, 0);
    end_span(&call, NULL, 0);
    stop();
    pyro_trace *trace = open_trace(file);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, NULL), PYRO_OK);
    assert_int_equal(analysis->layer_count, 2);
    assert_string_equal(analysis->layers[0].path, "");
    assert_string_equal(analysis->layers[0].class_name, "MLP");
    assert_string_equal(analysis->layers[1].path, "layers.0.linear");
    assert_string_equal(analysis->layers[1].class_name, "Linear");
    assert_int_equal(analysis->layers[1].flops, 2 * 32 * 100 * 50);
    assert_string_equal(analysis->layers[1].shapes, "[[32, 100], [50, 100]]");
    assert_int_equal(analysis->memory_count, 1);
    assert_int_equal(analysis->memory[0].peak_bytes, 6400);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

#define THREADS 64
#define OPS_A_THREAD 3000

static void *record_many(void *argument)
{
    char name[32];
    snprintf(name, sizeof name, "op of %ld", (long)(intptr_t)argument);
    for (int i = 0; i < OPS_A_THREAD; i++)
        record_op(i % 2 ? "shared" : name, -1);
    return NULL;
}

static void run_threads(int count, void *(*work)(void *))
{
    pthread_t threads[THREADS];
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void test_a_warm_up_does_not_count(void **state)
{
    (void)state;
    start((pyro_recorder_options){0});
    record_op("aten::before", 1);
    pyro_recorder_discard();
    record_op("aten::after", 2);
    stop();
    assert_int_equal(count_op(file, "aten::before", NULL), 0);
    assert_int_equal(count_op(file, "aten::after", NULL), 1);
}

static void test_threads(void **state)
{
    (void)state;
    start((pyro_recorder_options){0});
    run_threads(THREADS, record_many);
    stop();
    assert_int_equal(count_op(file, "shared", NULL), THREADS * OPS_A_THREAD / 2);
    assert_int_equal(count_op(file, "op of 63", NULL), OPS_A_THREAD / 2);
}

static void *record_few(void *argument)
{
    (void)argument;
    for (int i = 0; i < 10; i++)
        record_op("brief", -1);
    return NULL;
}

/* Threads that come and go one after the other share a chunk. */
static void test_brief_threads(void **state)
{
    (void)state;
    struct stat status;
    start((pyro_recorder_options){0});
    for (int i = 0; i < 200; i++)
        run_threads(1, record_few);
    stop();
    assert_int_equal(count_op(file, "brief", NULL), 2000);
    stat(file, &status);
    assert_true(status.st_size < 4 * PYRO_RECORDING_CHUNK_BYTES);
}

static long count_entries(const char *path)
{
    DIR *directory = opendir(path);
    long count = 0;
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* Mappings of this process. The recorder maps shared files and nothing else; private ones belong to
 * the heap, which a sanitizer grows as it likes (on AArch64 by one mapping per megabyte) and checks
 * for leaks itself. */
static long count_maps(bool only_shared)
{
    long count = 0;
    char line[4096], access[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        count += sscanf(line, "%*s %7s", access) == 1 && (!only_shared || access[3] == 's');
    fclose(maps);
    return count;
}

/* A thread that was joined may still be on the system's list for a moment. */
static long settled_tasks(long wanted)
{
    long tasks = count_entries("/proc/self/task");
    for (int i = 0; i < 2000 && tasks != wanted; i++) {
        usleep(1000);
        tasks = count_entries("/proc/self/task");
    }
    return tasks;
}

static void test_start_and_stop_often(void **state)
{
    (void)state;
    long descriptors = 0, tasks = settled_tasks(3); /* ".", "..", this thread */
    long maps = 0, shared_maps = 0;
    for (int i = 0; i < 1000; i++) {
        start((pyro_recorder_options){.temporary = i % 10 != 0});
        record_op("again", i);
        stop();
        if (i == 20) {
            descriptors = count_entries("/proc/self/fd");
            maps = count_maps(false);
            shared_maps = count_maps(true);
        }
    }
    assert_int_equal(count_entries("/proc/self/fd"), descriptors);
    assert_int_equal(settled_tasks(tasks), tasks);
    assert_int_equal(count_maps(true), shared_maps);
    if (!IS_SANITIZED)
        assert_in_range(count_maps(false), 0, (uintmax_t)maps + 2);
    stop(); /* allowed when none runs */
}

static volatile bool go_on;

static void *record_on(void *argument)
{
    (void)argument;
    while (__atomic_load_n(&go_on, __ATOMIC_RELAXED))
        record_op("op", -1);
    return NULL;
}

/* Threads are writing while sessions begin and end. */
static void test_stop_while_writing(void **state)
{
    (void)state;
    pthread_t threads[4];
    __atomic_store_n(&go_on, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, record_on, NULL);
    for (int i = 0; i < 100; i++) {
        start((pyro_recorder_options){
            .temporary = i % 2 == 1, .max_bytes = i % 3 ? 0 : 8 << 20, .keep_last = i % 3 == 0});
        usleep(2000);
        stop();
    }
    __atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void test_fork(void **state)
{
    (void)state;
    SKIP_IF_FORKS_ARE_NOT_FOLLOWED();
    char child_file[96];
    start((pyro_recorder_options){0});
    record_op("before", -1);
    pid_t child = fork_quietly();
    if (child == 0) {
        record_op("in the child", -1);
        record_op("before", -1);
        bool named = strstr(pyro_recorder_path(), ".pyro") != NULL;
        pyro_recorder_stop(NULL);
        _exit(named ? 0 : 1);
    }
    pid_t idle = fork_quietly();
    if (idle == 0)
        _exit(0);
    int how, how_idle;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(waitpid(idle, &how_idle, 0), idle);
    assert_int_equal(how, 0);
    record_op("after", -1);
    stop();
    snprintf(child_file, sizeof child_file, "%s/run.%ld.pyro", folder, (long)child);
    assert_int_equal(count_op(child_file, "in the child", NULL), 1);
    assert_int_equal(count_op(child_file, "before", NULL), 1);
    assert_int_equal(count_op(file, "before", NULL), 1);
    assert_int_equal(count_op(file, "after", NULL), 1);
    assert_int_equal(count_op(file, "in the child", NULL), 0);
    snprintf(child_file, sizeof child_file, "%s/run.%ld.pyro", folder, (long)idle);
    assert_int_equal(access(child_file, F_OK), -1);
}

/* Counts in shared memory what it has recorded, until it is killed. */
static void record_and_count(int pipe_end)
{
    start((pyro_recorder_options){0});
    for (int64_t i = 1;; i++) {
        record_op("counted", i);
        if (write(pipe_end, &i, sizeof i) < 0)
            _exit(1);
    }
}

static void test_kill(void **state)
{
    (void)state;
    SKIP_IF_FORKS_ARE_NOT_FOLLOWED();
    srand(7);
    for (int round = 0; round < 50; round++) {
        int ends[2];
        int64_t number, logged = 0;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork_quietly();
        if (child == 0) {
            close(ends[0]);
            record_and_count(ends[1]);
        }
        close(ends[1]);
        long most = 1 + rand() % 20000;
        while (logged < most && read(ends[0], &number, sizeof number) == sizeof number)
            logged = number;
        kill(child, SIGKILL);
        while (read(ends[0], &number, sizeof number) == sizeof number)
            logged = number;
        close(ends[0]);
        waitpid(child, NULL, 0);
        int64_t recorded = count_op(file, "counted", NULL);
        assert_in_range(recorded, (uintmax_t)logged, (uintmax_t)logged + 1);
    }
}

static void test_limit(void **state)
{
    (void)state;
    pyro_recorder_status status;
    struct stat size;
    start((pyro_recorder_options){.max_bytes = 2 << 20});
    for (int i = 0; i < 200000; i++)
        record_op("op", -1);
    pyro_recorder_look(&status);
    assert_int_equal(status.state, PYRO_RECORDING_FULL);
    stop();
    stat(file, &size);
    assert_in_range(size.st_size, 1 << 20, 2 << 20);
    int64_t kept = count_op(file, "op", "recording stopped at its limit");
    assert_int_equal(kept + (int64_t)status.lost_records, 200000);
}

static void test_keep_last(void **state)
{
    (void)state;
    struct stat size;
    int outer = 0;
    start((pyro_recorder_options){.max_bytes = 2 << 20, .keep_last = true});
    begin_span((pyro_record){.kind = PYRO_RECORD_OP, .sequence = -1}, "outer", NULL, 0, &outer);
    for (int i = 0; i < 400000; i++)
        record_op(i < 200000 ? "early" : "late", -1);
    record_op("last", -1);
    /* The chunk in which the outer span began is kept until the span ends. */
    assert_int_equal(count_op(file, "outer", "1 event had not ended"), 1);
    assert_in_range(count_op(file, "early", NULL), 0, 4095);
    end_span(&outer, NULL, 0);
    stop();
    stat(file, &size);
    assert_in_range(size.st_size, 1 << 20, (2 << 20) + PYRO_RECORDING_CHUNK_BYTES);
    assert_int_equal(count_op(file, "last", "only the last part was kept"), 1);
    assert_in_range(count_op(file, "early", NULL), 0, 4095);
    assert_in_range(count_op(file, "late", NULL), 10000, 200000);
}

/* A limit on file sizes simulates a full disk: the same error, and no signal. */
static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    start((pyro_recorder_options){0});
    small = before;
    small.rlim_cur = 3 << 20;
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 200000; i++)
        record_op("op", -1);
    setrlimit(RLIMIT_FSIZE, &before);
    stop();
    assert_in_range(count_op(file, "op", "disk was full"), 1000, 199999);
}

static void test_refusals(void **state)
{
    (void)state;
    pyro_error error;
    pyro_error_clear(&error);
    pyro_recorder_options plain = {0};
    assert_int_equal(pyro_recorder_start("/proc/no/such/run.pyro", &plain, &error), PYRO_ERROR_IO);
    pyro_error_clear(&error);
    int there = open(file, O_CREAT | O_WRONLY, 0600);
    close(there);
    assert_int_equal(pyro_recorder_start(file, &plain, &error), PYRO_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "already exists"));
    assert_int_equal(pyro_recorder_start(file, &(pyro_recorder_options){.max_bytes = 1000}, NULL),
                     PYRO_ERROR_ARGUMENT);
    start(plain);
    assert_int_equal(pyro_recorder_start(file, &plain, NULL), PYRO_ERROR_ARGUMENT);
    stop();
}

/* Deeper than the stack of spans: nothing is written out of bounds. */
static void test_deep_nesting(void **state)
{
    (void)state;
    static char keys[PYRO_MOST_OPEN_SPANS + 100];
    start((pyro_recorder_options){0});
    for (size_t i = 0; i < sizeof keys; i++)
        begin_span((pyro_record){.kind = PYRO_RECORD_OP, .sequence = -1}, "deep", NULL, 0,
                   &keys[i]);
    for (size_t i = sizeof keys; i > 0; i--)
        end_span(&keys[i - 1], NULL, 0);
    record_op("then", -1);
    stop();
    assert_int_equal(count_op(file, "then", "100 events had not ended"), 1);
    pyro_trace *trace = open_trace(file);
    assert_int_equal(pyro_trace_event_count(trace), sizeof keys + 1);
    pyro_trace_close(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_layers_and_shapes, stop_session),
    cmocka_unit_test_teardown(test_a_warm_up_does_not_count, stop_session),
    cmocka_unit_test_teardown(test_threads, stop_session),
    cmocka_unit_test_teardown(test_brief_threads, stop_session),
    cmocka_unit_test_teardown(test_start_and_stop_often, stop_session),
    cmocka_unit_test_teardown(test_stop_while_writing, stop_session),
    cmocka_unit_test_teardown(test_fork, stop_session),
    cmocka_unit_test_teardown(test_kill, stop_session),
    cmocka_unit_test_teardown(test_limit, stop_session),
    cmocka_unit_test_teardown(test_keep_last, stop_session),
    cmocka_unit_test_teardown(test_full_disk, stop_session),
    cmocka_unit_test_teardown(test_refusals, stop_session),
    cmocka_unit_test_teardown(test_deep_nesting, stop_session),
};

UNIT_TESTS(tests, make_folder, remove_folder)
