/* Passes: files appear complete, contain what ran between the calls, and memory stays bounded. */
#include "quiet_fork.h"
#include "record.h"
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <pyrometer/trace.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVERYTHING \
    (PYRO_RECORD_LAYERS | PYRO_RECORD_OPS | PYRO_RECORD_SHAPES | PYRO_RECORD_MEMORY | \
     PYRO_RECORD_STACKS)

static char folder[] = "/tmp/pyro-passes-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
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

static void start(void)
{
    pyro_error error;
    pyro_error_clear(&error);
    pyro_recorder_options options = {.flags = EVERYTHING, .temporary = true};
    if (pyro_recorder_start(NULL, &options, &error) != PYRO_OK)
        fail_msg("%s", error.message);
}

static void path_of(char *path, size_t size, int number)
{
    snprintf(path, size, "%s/MLP_forward_%03d.json", folder, number);
}

static int end_pass(uint64_t begun, int number, pyro_error *error)
{
    char path[128];
    path_of(path, sizeof path, number);
    return pyro_pass_end(
        begun,
        &(pyro_pass_options){.path = path, .model = "MLP", .number = number, .flags = EVERYTHING},
        error);
}

/* Calls of the layer "linear" in a file, and the shapes of its op. */
static int64_t calls_in(const char *path, char *shapes, size_t size)
{
    pyro_trace *trace;
    pyro_analysis *analysis;
    pyro_error error;
    int64_t calls = 0;
    pyro_error_clear(&error);
    if (pyro_trace_open(&trace, path, NULL, &error) != PYRO_OK)
        fail_msg("%s: %s", path, error.message);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, NULL), PYRO_OK);
    for (size_t i = 0; i < analysis->layer_count; i++) {
        if (strcmp(analysis->layers[i].path, "linear") != 0)
            continue;
        calls = analysis->layers[i].calls;
        snprintf(shapes, size, "%s", analysis->layers[i].shapes);
        assert_string_equal(analysis->layers[i].class_name, "Linear");
    }
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    return calls;
}

static uint32_t root;

/* A pass is the call of a model: paths start at the module that is called first. */
static uint64_t begin_pass(void)
{
    uint64_t begun = pyro_pass_begin();
    if (begun)
        record_layer(root, 1, -1);
    return begun;
}

static uint32_t add_modules(void)
{
    root = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "MLP");
    return pyro_recorder_module(&(pyro_module_data){root, 2, 0, 0}, "linear", "Linear");
}

static void test_files(void **state)
{
    (void)state;
    start();
    uint32_t linear = add_modules();
    for (int i = 1; i <= 5; i++) {
        uint64_t begun = begin_pass();
        assert_true(begun != 0);
        for (int call = 0; call < i; call++)
            record_layer(linear, 10 * i, call);
        assert_int_equal(end_pass(begun, i, NULL), PYRO_OK);
        record_layer(linear, 7, 0); /* between passes: in no file */
    }
    assert_int_equal(pyro_recorder_wait(NULL), PYRO_OK);
    for (int i = 1; i <= 5; i++) {
        char path[128], shapes[64], expected[64];
        path_of(path, sizeof path, i);
        snprintf(expected, sizeof expected, "[[%d, 100], [50, 100]]", 10 * i);
        assert_int_equal(calls_in(path, shapes, sizeof shapes), i);
        assert_string_equal(shapes, expected);
    }
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK);
}

static void *record_beside(void *argument)
{
    record_layer((uint32_t)(uintptr_t)argument, 3, 0);
    return NULL;
}

static void test_other_threads_are_in_it(void **state)
{
    (void)state;
    char path[128], shapes[64];
    pthread_t thread;
    start();
    uint32_t linear = add_modules();
    uint64_t begun = begin_pass();
    record_layer(linear, 3, 0);
    pthread_create(&thread, NULL, record_beside, (void *)(uintptr_t)linear);
    pthread_join(thread, NULL);
    assert_int_equal(end_pass(begun, 50, NULL), PYRO_OK);
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK); /* waits for the file */
    path_of(path, sizeof path, 50);
    assert_int_equal(calls_in(path, shapes, sizeof shapes), 2);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    pyro_recorder_status status;
    start();
    uint32_t linear = add_modules();
    for (int i = 0; i < 1000; i++) {
        uint64_t begun = begin_pass();
        for (int call = 0; call < 400; call++)
            record_layer(linear, 10, call);
        assert_int_equal(i % 2 ? end_pass(begun, i % 7, NULL) : (pyro_pass_abandon(begun), 0), 0);
    }
    assert_int_equal(pyro_recorder_wait(NULL), PYRO_OK);
    pyro_recorder_look(&status);
    assert_int_equal(status.lost_records, 0);
    /* 1.2 million records would be 75 MB. */
    assert_in_range(status.file_bytes, 1, 50 << 20);
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK);
}

static void test_failures_are_told(void **state)
{
    (void)state;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_pass_begin(), 0);
    assert_int_equal(end_pass(0, 1, NULL), PYRO_ERROR_ARGUMENT);
    start();
    add_modules();
    uint64_t begun = begin_pass();
    record_op("op", -1);
    pyro_pass_options nowhere = {
        .path = "/proc/no/such/file.json", .model = "MLP", .number = 1, .flags = EVERYTHING};
    assert_int_equal(pyro_pass_end(begun, &nowhere, NULL), PYRO_OK);
    assert_int_equal(pyro_pass_end(begun, &nowhere, NULL), PYRO_ERROR_ARGUMENT);
    assert_int_equal(pyro_recorder_wait(&error), PYRO_ERROR_IO);
    assert_string_equal(error.where, "/proc/no/such/file.json");
    assert_int_equal(pyro_recorder_wait(NULL), PYRO_OK); /* reported once */
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK);
}

/* A child writes its own passes, whatever its parent's writer was doing. */
static void test_fork(void **state)
{
    (void)state;
    SKIP_IF_FORKS_ARE_NOT_FOLLOWED();
    char path[128], shapes[64];
    int how;
    start();
    uint32_t linear = add_modules();
    uint64_t begun = begin_pass();
    record_layer(linear, 4, 0);
    assert_int_equal(end_pass(begun, 60, NULL), PYRO_OK);
    pid_t child = fork_quietly();
    if (child == 0) {
        uint64_t in_child = begin_pass();
        uint32_t again = add_modules();
        record_layer(again, 5, 0);
        int status = again == linear ? end_pass(in_child, 61, NULL) : 1;
        _exit(status == PYRO_OK && pyro_recorder_stop(NULL) == PYRO_OK ? 0 : 1);
    }
    waitpid(child, &how, 0);
    assert_int_equal(how, 0);
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK);
    path_of(path, sizeof path, 60);
    assert_int_equal(calls_in(path, shapes, sizeof shapes), 1);
    path_of(path, sizeof path, 61);
    assert_int_equal(calls_in(path, shapes, sizeof shapes), 1);
    assert_string_equal(shapes, "[[5, 100], [50, 100]]");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_files, stop_session),
    cmocka_unit_test_teardown(test_other_threads_are_in_it, stop_session),
    cmocka_unit_test_teardown(test_memory_is_bounded, stop_session),
    cmocka_unit_test_teardown(test_failures_are_told, stop_session),
    cmocka_unit_test_teardown(test_fork, stop_session),
};

UNIT_TESTS(tests, make_folder, remove_folder)
