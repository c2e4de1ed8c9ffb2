/* Tests of base/source/source.c: files, pipes, memory, and their failures. */
#include "base/source/source.h"

#include "fail_alloc.h"
#include "piece_source.h"
#include "unit.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(path, "/tmp/pyro-source-XXXXXX");
    if (!mkdtemp(path))
        return -1;
    strcat(path, "/file");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    *strrchr(path, '/') = '\0';
    return rmdir(path);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void read_to_end(pyro_source *source, const char *expected, size_t piece)
{
    char got[256];
    size_t total = 0;
    int64_t size;
    pyro_error error;
    pyro_error_clear(&error);
    while ((size = pyro_source_read(source, got + total, piece, &error)) > 0)
        total += (size_t)size;
    assert_int_equal(size, 0);
    assert_int_equal(pyro_source_read(source, got + total, piece, &error), 0);
    assert_int_equal(total, strlen(expected));
    assert_memory_equal(got, expected, total);
}

/* Checks any seekable source of these ten bytes. */
static void check_ten_bytes(pyro_source *source)
{
    char bytes[16];
    pyro_error error;
    pyro_error_clear(&error);
    assert_true(pyro_source_is_seekable(source));
    assert_int_equal(source->size, 10);
    assert_int_equal(pyro_source_read_at(source, 3, bytes, 4, &error), PYRO_OK);
    assert_memory_equal(bytes, "3456", 4);
    read_to_end(source, "0123456789", 3);
    assert_int_equal(pyro_source_read_at(source, 10, bytes, 0, &error), PYRO_OK);
    assert_int_equal(pyro_source_read(source, bytes, 0, &error), 0);
    static const struct {
        int64_t offset;
        size_t size;
    } outside[] = {{7, 4},         {10, 1},        {11, 0},      {-1, 1},
                   {INT64_MAX, 1}, {INT64_MIN, 1}, {5, SIZE_MAX}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        pyro_error_clear(&error);
        assert_int_equal(
            pyro_source_read_at(source, outside[i].offset, bytes, outside[i].size, &error),
            PYRO_ERROR_FORMAT);
        assert_int_equal(error.offset, outside[i].offset);
    }
}

static void test_memory(void **state)
{
    (void)state;
    pyro_source *source;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_source_open_memory(&source, "0123456789", 10, &error), PYRO_OK);
    check_ten_bytes(source);
    pyro_source_close(source);
    assert_int_equal(pyro_source_open_memory(&source, NULL, 0, &error), PYRO_OK);
    read_to_end(source, "", 3);
    pyro_source_close(source);
    assert_int_equal(pyro_source_open_memory(&source, "", SIZE_MAX, &error), PYRO_ERROR_ARGUMENT);
    assert_null(source);
    pyro_source_close(NULL);
}

static void test_file(void **state)
{
    (void)state;
    pyro_source *source;
    pyro_error error;
    pyro_error_clear(&error);
    write_file("0123456789");
    assert_int_equal(pyro_source_open_file(&source, path, &error), PYRO_OK);
    check_ten_bytes(source);
    pyro_source_close(source);
}

static void test_files_that_cannot_be_opened(void **state)
{
    (void)state;
    pyro_source *source;
    pyro_error error;
    char line[400];
    pyro_error_clear(&error);
    assert_int_equal(pyro_source_open_file(&source, "/nowhere/at all", &error),
                     PYRO_ERROR_NOT_FOUND);
    assert_string_equal(pyro_error_line(&error, line, sizeof line),
                        "/nowhere/at all: cannot open: No such file or directory");
    pyro_error_clear(&error);
    assert_int_equal(pyro_source_open_file(&source, "/tmp", &error), PYRO_ERROR_UNSUPPORTED);
    assert_string_equal(pyro_error_line(&error, line, sizeof line), "/tmp: is a directory");
    write_file("x");
    char below[80];
    snprintf(below, sizeof below, "%s/below", path);
    assert_int_equal(pyro_source_open_file(&source, below, NULL), PYRO_ERROR_NOT_FOUND);
    if (geteuid() != 0) {
        chmod(path, 0);
        assert_int_equal(pyro_source_open_file(&source, path, NULL), PYRO_ERROR_IO);
        chmod(path, 0600);
    }
}

static void test_file_that_shrinks(void **state)
{
    (void)state;
    pyro_source *source;
    pyro_error error;
    char bytes[16];
    pyro_error_clear(&error);
    write_file("0123456789");
    assert_int_equal(pyro_source_open_file(&source, path, &error), PYRO_OK);
    assert_int_equal(truncate(path, 4), 0);
    assert_int_equal(pyro_source_read(source, bytes, sizeof bytes, &error), 4);
    assert_int_equal(pyro_source_read(source, bytes, sizeof bytes, &error), PYRO_ERROR_IO);
    assert_non_null(strstr(error.message, "became shorter"));
    assert_int_equal(error.offset, 4);
    assert_string_equal(error.where, path);
    assert_int_equal(pyro_source_read_at(source, 2, bytes, 6, NULL), PYRO_ERROR_IO);
    pyro_source_close(source);
}

static void test_file_that_grows(void **state)
{
    (void)state;
    pyro_source *source;
    write_file("0123456789");
    assert_int_equal(pyro_source_open_file(&source, path, NULL), PYRO_OK);
    write_file("0123456789more");
    check_ten_bytes(source);
    pyro_source_close(source);
}

static void test_file_of_five_gigabytes(void **state)
{
    (void)state;
    pyro_source *source;
    char bytes[4];
    int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(descriptor >= 0);
    int64_t size = INT64_C(5) << 30;
    assert_int_equal(ftruncate(descriptor, size), 0);
    assert_int_equal(pwrite(descriptor, "tail", 4, size - 4), 4);
    close(descriptor);
    assert_int_equal(pyro_source_open_file(&source, path, NULL), PYRO_OK);
    assert_int_equal(source->size, size);
    assert_int_equal(pyro_source_read_at(source, size - 4, bytes, 4, NULL), PYRO_OK);
    assert_memory_equal(bytes, "tail", 4);
    assert_int_equal(pyro_source_read_at(source, size - 3, bytes, 4, NULL), PYRO_ERROR_FORMAT);
    pyro_source_close(source);
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

/* Signals arrive all the time while the other end of the pipe is slow. */
static void test_pipe_with_interruptions(void **state)
{
    (void)state;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int out = open(path, O_WRONLY);
        for (int i = 0; i < 10; i++) {
            usleep(5000);
            char digit = (char)('0' + i);
            if (write(out, &digit, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &action, &before);
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    pyro_source *source;
    assert_int_equal(pyro_source_open_file(&source, path, NULL), PYRO_OK);
    assert_false(pyro_source_is_seekable(source));
    assert_int_equal(source->size, -1);
    read_to_end(source, "0123456789", 4);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    pyro_error error;
    pyro_error_clear(&error);
    char byte;
    assert_int_equal(pyro_source_read_at(source, 0, &byte, 1, &error), PYRO_ERROR_UNSUPPORTED);
    pyro_source_close(source);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
}

static void test_standard_input(void **state)
{
    (void)state;
    write_file("0123456789");
    int saved = dup(STDIN_FILENO), file = open(path, O_RDONLY);
    assert_true(saved >= 0 && file >= 0);
    dup2(file, STDIN_FILENO);
    pyro_source *source;
    assert_int_equal(pyro_source_open_file(&source, "-", NULL), PYRO_OK);
    check_ten_bytes(source);
    pyro_source_close(source);
    assert_int_equal(lseek(STDIN_FILENO, 6, SEEK_SET), 6); /* still open */
    assert_int_equal(pyro_source_open_file(&source, "-", NULL), PYRO_OK);
    assert_false(pyro_source_is_seekable(source));
    read_to_end(source, "6789", 4);
    pyro_source_close(source);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(file);
}

static void test_short_reads(void **state)
{
    (void)state;
    char bytes[8];
    pyro_error error;
    pyro_error_clear(&error);
    piece_source source = seekable_pieces_of("0123456789", 10, 10, 1);
    assert_int_equal(pyro_source_read_at(&source.head, 1, bytes, 8, &error), PYRO_OK);
    assert_memory_equal(bytes, "12345678", 8);
    source = seekable_pieces_of("0123", 4, 10, 3);
    assert_int_equal(pyro_source_read_at(&source.head, 1, bytes, 8, &error), PYRO_ERROR_IO);
    assert_int_equal(error.offset, 4);
    source.failure = PYRO_ERROR_LIMIT;
    assert_int_equal(pyro_source_read_at(&source.head, 1, bytes, 8, NULL), PYRO_ERROR_LIMIT);
}

static void test_without_memory(void **state)
{
    (void)state;
    pyro_source *source;
    write_file("x");
    for (long n = 0; n < 2; n++) {
        fail_alloc_after(n);
        assert_int_equal(pyro_source_open_file(&source, path, NULL), PYRO_ERROR_MEMORY);
        assert_null(source);
    }
    fail_alloc_after(0);
    assert_int_equal(pyro_source_open_memory(&source, "x", 1, NULL), PYRO_ERROR_MEMORY);
    fail_alloc_after(-1);
    assert_null(source);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_file),
    cmocka_unit_test(test_files_that_cannot_be_opened),
    cmocka_unit_test(test_file_that_shrinks),
    cmocka_unit_test(test_file_that_grows),
    cmocka_unit_test(test_file_of_five_gigabytes),
    cmocka_unit_test(test_pipe_with_interruptions),
    cmocka_unit_test(test_standard_input),
    cmocka_unit_test(test_short_reads),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, make_folder, remove_folder)
