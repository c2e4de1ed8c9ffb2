/* Tests of base/source/{zstd,content,range,readahead}.c: streams over sources. */
#include "base/source/source.h"

#include "base/containers/buf.h"
#include "piece_source.h"
#include "unit.h"
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define SIZE 300000

static char plain[SIZE], packed[2 * SIZE];

static size_t pack(int level)
{
    for (size_t i = 0; i < SIZE; i++)
        plain[i] = (char)('a' + i * i / 1000 % 26);
    return ZSTD_compress(packed, sizeof packed, plain, SIZE, level);
}

/* Reads a source to its end in steps; returns its last status, 0 or negative. */
static int read_all(pyro_source *source, pyro_buf *out, pyro_error *error)
{
    for (;;) {
        char *room = pyro_buf_reserve(out, 7777);
        int64_t got = pyro_source_read(source, room, 7777, error);
        if (got <= 0)
            return (int)got;
        out->length += (size_t)got;
    }
}

static void expect_plain(pyro_source *source)
{
    pyro_buf out = PYRO_BUF_INIT;
    assert_int_equal(read_all(source, &out, NULL), 0);
    assert_int_equal(out.length, SIZE);
    assert_memory_equal(out.data, plain, SIZE);
    pyro_buf_free(&out);
    pyro_source_close(source);
}

static void test_zstd(void **state)
{
    (void)state;
    size_t size = pack(3);
    static const size_t pieces[] = {1, 1000, SIZE_MAX};
    for (size_t i = 0; i < 3; i++) {
        piece_source inner = pieces_of(packed, size, pieces[i]);
        pyro_source *source;
        assert_int_equal(pyro_source_open_zstd(&source, &inner.head, NULL), PYRO_OK);
        expect_plain(source);
        assert_int_equal(inner.closed, 1);
    }
}

static void test_damaged(void **state)
{
    (void)state;
    size_t size = pack(3);
    pyro_error error;
    for (int damage = 0; damage < 2; damage++) {
        piece_source inner = pieces_of(packed, damage ? size : size / 2, 1000);
        packed[size / 3] ^= (char)(damage ? 0x55 : 0);
        pyro_source *source;
        pyro_buf out = PYRO_BUF_INIT;
        pyro_error_clear(&error);
        assert_int_equal(pyro_source_open_zstd(&source, &inner.head, &error), PYRO_OK);
        int status = read_all(source, &out, &error);
        if (!damage) {
            assert_int_equal(status, PYRO_ERROR_FORMAT);
            assert_non_null(strstr(error.message, "truncated"));
            assert_int_equal(read_all(source, &out, NULL), PYRO_ERROR_FORMAT);
        }
        pyro_buf_free(&out);
        pyro_source_close(source);
    }
}

/* A frame of one raw block with a window of 2^log bytes. */
static size_t frame_with_window(unsigned char *frame, int log)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    memcpy(frame, magic, 4);
    frame[4] = 0; /* neither its size nor a checksum */
    frame[5] = (unsigned char)((log - 10) << 3);
    frame[6] = 1 | 5 << 3; /* the last block, raw, of 5 bytes */
    frame[7] = frame[8] = 0;
    memcpy(frame + 9, "hello", 5);
    return 14;
}

/* zstd --long=31 writes such frames; larger windows are valid, but unsupported. */
static void test_long_windows(void **state)
{
    (void)state;
    for (int log = 20; log <= 33; log++) {
        unsigned char frame[16];
        size_t size = frame_with_window(frame, log);
        piece_source inner = pieces_of((const char *)frame, size, 3);
        pyro_source *source;
        pyro_buf out = PYRO_BUF_INIT;
        pyro_error error;
        pyro_error_clear(&error);
        assert_int_equal(pyro_source_open_zstd(&source, &inner.head, &error), PYRO_OK);
        int status = read_all(source, &out, &error);
        if (log <= 31) {
            assert_int_equal(status, PYRO_OK);
            assert_int_equal(out.length, 5);
            assert_memory_equal(out.data, "hello", 5);
        } else {
            assert_int_equal(status, PYRO_ERROR_UNSUPPORTED);
            assert_non_null(strstr(error.message, "window of more than 2 GiB"));
        }
        pyro_buf_free(&out);
        pyro_source_close(source);
    }
}

/* The first bytes determine the content, of streams and of seekable sources. */
static void test_content(void **state)
{
    (void)state;
    size_t size = pack(1);
    pyro_source *source;
    piece_source inner = pieces_of(packed, size, 1);
    assert_int_equal(pyro_source_open_content(&source, &inner.head, NULL), PYRO_OK);
    expect_plain(source);
    inner = seekable_pieces_of(packed, size, size, 100);
    assert_int_equal(pyro_source_open_content(&source, &inner.head, NULL), PYRO_OK);
    expect_plain(source);
    inner = pieces_of(plain, SIZE, 3);
    assert_int_equal(pyro_source_open_content(&source, &inner.head, NULL), PYRO_OK);
    expect_plain(source);
    inner = pieces_of(plain, 2, 1);
    pyro_buf out = PYRO_BUF_INIT;
    assert_int_equal(pyro_source_open_content(&source, &inner.head, NULL), PYRO_OK);
    assert_int_equal(read_all(source, &out, NULL), 0);
    assert_int_equal(out.length, 2);
    pyro_buf_free(&out);
    pyro_source_close(source);
}

static void test_readahead(void **state)
{
    (void)state;
    pack(1);
    pyro_source *source;
    piece_source inner = pieces_of(plain, SIZE, 999);
    assert_int_equal(pyro_source_open_readahead(&source, &inner.head, NULL), PYRO_OK);
    expect_plain(source);
    assert_int_equal(inner.closed, 1);
    /* Closed before it was read. */
    inner = pieces_of(plain, SIZE, 999);
    assert_int_equal(pyro_source_open_readahead(&source, &inner.head, NULL), PYRO_OK);
    pyro_source_close(source);
    /* The bytes before a failure come first. */
    inner = pieces_of(plain, SIZE, 999);
    inner.failure = PYRO_ERROR_IO;
    pyro_error error;
    pyro_error_clear(&error);
    pyro_buf out = PYRO_BUF_INIT;
    assert_int_equal(pyro_source_open_readahead(&source, &inner.head, NULL), PYRO_OK);
    assert_int_equal(read_all(source, &out, &error), PYRO_ERROR_IO);
    assert_int_equal(out.length, SIZE);
    assert_string_equal(error.message, "the source failed");
    assert_int_equal(read_all(source, &out, NULL), PYRO_ERROR_IO);
    pyro_buf_free(&out);
    pyro_source_close(source);
}

static void test_range(void **state)
{
    (void)state;
    pack(1);
    piece_source inner = seekable_pieces_of(plain, SIZE, SIZE, 1234);
    pyro_source *range;
    assert_int_equal(pyro_source_open_range(&range, &inner.head, NULL), PYRO_OK);
    for (int64_t from = 0; from <= SIZE; from += SIZE / 3) {
        pyro_buf out = PYRO_BUF_INIT;
        pyro_source_seek_range(range, from);
        assert_int_equal(read_all(range, &out, NULL), 0);
        assert_int_equal(out.length, SIZE - from);
        if (out.length)
            assert_memory_equal(out.data, plain + from, out.length);
        pyro_buf_free(&out);
    }
    pyro_source_close(range);
    assert_int_equal(inner.closed, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_zstd),         cmocka_unit_test(test_damaged),
    cmocka_unit_test(test_long_windows), cmocka_unit_test(test_content),
    cmocka_unit_test(test_readahead),    cmocka_unit_test(test_range),
};

UNIT_TESTS(tests, NULL, NULL)
