/* Reads Kineto traces from memory and gives them as text. */
#ifndef PYRO_TESTS_READ_KINETO_H
#define PYRO_TESTS_READ_KINETO_H

#include "base/error.h"
#include "piece_source.h"
#include "trace/kineto/window.h"
#include "trace_files.h"
#include "trace_text.h"
#include "unit.h"

/* Reads bytes with the given sizes; returns the trace or the error as text. */
static inline char *read_sized(const char *bytes, size_t size, int threads, bool seekable,
                               size_t piece, pyro_kineto_sizes sizes)
{
    piece_source source = seekable ? seekable_pieces_of(bytes, size, size, piece)
                                   : pieces_of(bytes, size, piece);
    pyro_trace_options options = {.threads = threads};
    pyro_trace *trace = pyro_trace_new("test");
    pyro_error error;
    assert_non_null(trace);
    pyro_error_clear(&error);
    trace->file_bytes = (int64_t)size;
    int status = pyro_kineto_read_sized(trace, &source.head, &options, sizes, &error);
    char *text;
    if (status == PYRO_OK) {
        text = trace_text(trace);
    } else {
        assert_int_equal(status, error.code);
        text = malloc(sizeof error.message);
        strcpy(text, error.message);
    }
    pyro_trace_close(trace);
    assert_non_null(text);
    return text;
}

static inline char *read_usual(const char *bytes, size_t size)
{
    return read_sized(bytes, size, 1, true, SIZE_MAX, (pyro_kineto_sizes)PYRO_KINETO_SIZES);
}

static inline char *read_name(const char *name)
{
    char path[512];
    size_t size = 0;
    char *bytes = read_whole(test_path(path, name), &size);
    assert_non_null(bytes);
    char *text = read_usual(bytes, size);
    free(bytes);
    return text;
}

static inline void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static inline void expect_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in:\n%s", part, text);
}

#endif
