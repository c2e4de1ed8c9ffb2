/* Tests of opening traces: files, memory, pipes, compressed files, threads, and other files. */
#include "trace/trace.h"

#include "trace/kineto/scanner.h"
#include "trace_files.h"
#include "trace_text.h"
#include "unit.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static char *open_text(const char *path, int threads)
{
    pyro_trace_options options = {.threads = threads};
    pyro_trace *trace;
    pyro_error error;
    char line[1024];
    pyro_error_clear(&error);
    if (pyro_trace_open(&trace, path, &options, &error) != PYRO_OK)
        fail_msg("%s", pyro_error_line(&error, line, sizeof line));
    char *text = trace_text(trace);
    pyro_trace_close(trace);
    return text;
}

static char *memory_text(const void *data, size_t size, int threads)
{
    pyro_trace_options options = {.threads = threads};
    pyro_trace *trace;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, data, size, "memory", &options, &error),
                     PYRO_OK);
    assert_string_equal(pyro_trace_file(trace), "memory");
    char *text = trace_text(trace);
    pyro_trace_close(trace);
    return text;
}

/* Decompresses a gzip file; to be freed. */
static char *unpack(const char *path, size_t *size)
{
    gzFile file = gzopen(path, "rb");
    assert_non_null(file);
    pyro_buf bytes = PYRO_BUF_INIT;
    int got;
    do {
        char *room = pyro_buf_reserve(&bytes, 1 << 20);
        assert_non_null(room);
        got = gzread(file, room, 1 << 20);
        bytes.length += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    gzclose(file);
    return pyro_buf_detach(&bytes, size);
}

static void expect_error(const char *path, int code, const char *part)
{
    pyro_trace *trace;
    pyro_error error;
    char line[1024];
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open(&trace, path, NULL, &error), code);
    assert_null(trace);
    if (!strstr(pyro_error_line(&error, line, sizeof line), part))
        fail_msg("\"%s\" is not in \"%s\"", part, line);
}

static void test_errors(void **state)
{
    (void)state;
    char path[512];
    expect_error("/nonexistent/trace.json", PYRO_ERROR_NOT_FOUND, "/nonexistent/trace.json: ");
    expect_error("/tmp", PYRO_ERROR_UNSUPPORTED, "/tmp: is a directory");
    expect_error(test_path(path, "bad-14-empty.json"), PYRO_ERROR_FORMAT, "the file is empty");
    expect_error(
        test_path(path, "bad-19-text.json"), PYRO_ERROR_FORMAT,
        "bad-19-text.json: not a trace: text; supported formats: pyrometer recording, Chrome trace "
        "JSON");
    expect_error(test_path(path, "bad-15-binary.json"), PYRO_ERROR_FORMAT,
                 "not a trace: binary data; supported formats: ");
    expect_error("/dev/null", PYRO_ERROR_FORMAT, "the file is empty");
}

static void expect_events(const char *text, int64_t count)
{
    pyro_trace *trace;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, text, strlen(text), "memory", NULL, &error),
                     PYRO_OK);
    assert_int_equal(pyro_trace_event_count(trace), count);
    pyro_trace_close(trace);
}

/* JSON is recognized by its first character, after any white space or byte order mark. */
static void test_recognised(void **state)
{
    (void)state;
#define EVENT "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}"
    expect_events("[" EVENT "]", 1);
    expect_events("{\"traceEvents\": [" EVENT "]}", 1);
    expect_events("\xef\xbb\xbf[" EVENT "]", 1);
    expect_events("\n\n \xef\xbb\xbf\n[" EVENT "]", 1);
    expect_events("\n\n\n\n\n\n\xef\xbb\xbf[" EVENT "]", 1);
    expect_events("                    [" EVENT "]", 1);
#undef EVENT
}

static void test_counts(void **state)
{
    (void)state;
    char path[512];
    pyro_trace *trace;
    size_t warnings;
    assert_int_equal(
        pyro_trace_open(&trace, test_path(path, "bad-8-negative-durations.json"), NULL, NULL),
        PYRO_OK);
    assert_int_equal(pyro_trace_event_count(trace), 3);
    const char *const *texts = pyro_trace_warnings(trace, &warnings);
    assert_int_equal(warnings, 1);
    assert_string_equal(texts[0], "2 events with negative duration (taken as 0)");
    pyro_trace_close(trace);
    pyro_trace_close(NULL);
}

/* The same trace in three compressed formats, whole and truncated. */
static void test_packed(void **state)
{
    (void)state;
    char path[512];
    size_t size = 0;
    char *bytes = unpack(test_path(path, "../trace/h200_resnet18_train.json.gz"), &size);
    char *expected = memory_text(bytes, size, 1);
    for (int threads = 1; threads <= 2; threads++) {
        char *text = open_text(path, threads);
        assert_string_equal(text, expected);
        free(text);
    }
    size_t bound = ZSTD_compressBound(size);
    char *packed = malloc(bound);
    size_t packed_size = ZSTD_compress(packed, bound, bytes, size, 3);
    for (int threads = 1; threads <= 2; threads++) {
        char *text = memory_text(packed, packed_size, threads);
        assert_string_equal(text, expected);
        free(text);
        text = memory_text(packed, packed_size / 2, threads);
        assert_non_null(strstr(text, "warning the zstd stream ends early: the file is truncated"));
        free(text);
    }
    free(packed);
    packed = read_whole(path, &packed_size);
    char *text = memory_text(packed, packed_size / 2, 2);
    assert_non_null(strstr(text, "warning the gzip stream ends early: the file is truncated"));
    free(text);
    packed[packed_size / 2] ^= 1;
    text = memory_text(packed, packed_size, 2);
    assert_non_null(strstr(text, "warning the gzip stream is damaged"));
    free(text);
    free(packed);
    free(expected);
    free(bytes);
}

static void test_threads(void **state)
{
    (void)state;
    char path[512];
    size_t size = 0;
    char *bytes = unpack(test_path(path, "../trace/h200_resnet18_train.json.gz"), &size);
    char *expected = memory_text(bytes, size, 1);
    for (int threads = 2; threads <= 5; threads++) {
        char *text = memory_text(bytes, size, threads);
        assert_string_equal(text, expected);
        free(text);
    }
    /* A quote in the middle makes pieces disagree about where events begin. */
    bytes[size / 2] = '"';
    char *damaged = memory_text(bytes, size, 1), *text = memory_text(bytes, size, 3);
    assert_string_equal(text, damaged);
    free(text);
    free(damaged);
    free(expected);
    free(bytes);
}

static void compare_shared(const char *path)
{
    size_t size = 0;
    char *bytes = unpack(path, &size);
    char *expected = memory_text(bytes, size, 1), *text = memory_text(bytes, size, 4);
    assert_string_equal(text, expected);
    free(text);
    text = open_text(path, 2);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    free(bytes);
}

static void test_shared(void **state)
{
    (void)state;
    if (!visit_shared_traces(compare_shared))
        skip();
}

/* Standard input from a child that writes a part of a trace, and stops. */
static char *pipe_text(const char *bytes, size_t size)
{
    int ends[2], kept = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        for (size_t done = 0; done < size;) {
            ssize_t wrote = write(ends[1], bytes + done, size - done < 999 ? size - done : 999);
            if (wrote <= 0)
                break;
            done += (size_t)wrote;
        }
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    char *text = open_text("-", 2);
    dup2(kept, STDIN_FILENO);
    close(kept);
    waitpid(child, NULL, 0);
    return text;
}

static void test_pipe(void **state)
{
    (void)state;
    char path[512];
    size_t size = 0;
    char *bytes = read_whole(test_path(path, "good-1-kineto.json"), &size);
    char *expected = memory_text(bytes, size, 1), *text = pipe_text(bytes, size);
    assert_string_equal(text, expected);
    free(text);
    text = pipe_text(bytes, size / 2);
    assert_non_null(strstr(text, "warning file truncated at byte "));
    free(text);
    free(expected);
    free(bytes);
}

static void note_progress(void *user, int64_t done, int64_t total)
{
    int64_t *last = user;
    assert_true(done >= *last);
    assert_true(total == -1 || done <= total);
    *last = done;
}

static void test_progress(void **state)
{
    (void)state;
    char path[512];
    size_t size = 0;
    char *bytes = unpack(test_path(path, "../trace/h200_resnet18_train.json.gz"), &size);
    for (int threads = 1; threads <= 2; threads++) {
        int64_t last = 0;
        pyro_trace_options options = {
            .threads = threads, .progress = note_progress, .progress_user = &last};
        pyro_trace *trace;
        assert_int_equal(pyro_trace_open_memory(&trace, bytes, size, "m", &options, NULL), PYRO_OK);
        assert_int_equal(last, size);
        pyro_trace_close(trace);
    }
    free(bytes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_errors), cmocka_unit_test(test_recognised), cmocka_unit_test(test_counts),
    cmocka_unit_test(test_packed), cmocka_unit_test(test_threads),    cmocka_unit_test(test_shared),
    cmocka_unit_test(test_pipe),   cmocka_unit_test(test_progress),
};

UNIT_TESTS(tests, NULL, NULL)
