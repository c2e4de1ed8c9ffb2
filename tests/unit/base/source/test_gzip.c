/* Tests of base/source/gzip.c. */
#include "base/source/source.h"

#include "base/containers/buf.h"
#include "fail_alloc.h"
#include "piece_source.h"
#include "unit.h"
#include <stdlib.h>
#include <zlib.h>

static void add_gzip(pyro_buf *out, const char *data, size_t size)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)data;
    stream.avail_in = (uInt)size;
    stream.avail_out = (uInt)deflateBound(&stream, (uLong)size);
    stream.next_out = (unsigned char *)pyro_buf_reserve(out, stream.avail_out);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out->length += stream.total_out;
    deflateEnd(&stream);
}

/* Decompresses `size` bytes of the input, given in pieces, into `out`. */
static int64_t gunzip(const pyro_buf *in, size_t size, size_t piece, size_t read_size, int failure,
                      pyro_buf *out, pyro_error *error)
{
    piece_source inner = pieces_of(in->data, size, piece);
    inner.failure = failure;
    pyro_source *source;
    pyro_error_clear(error);
    int64_t got = pyro_source_open_gzip(&source, &inner.head, error);
    if (got != PYRO_OK) {
        assert_int_equal(inner.closed, 1);
        return got;
    }
    assert_true(source->checked);
    assert_int_equal(source->size, -1);
    char bytes[4096];
    while ((got = pyro_source_read(source, bytes, read_size, error)) > 0)
        pyro_buf_add(out, bytes, (size_t)got);
    assert_int_equal(pyro_source_read(source, bytes, read_size, NULL), got);
    assert_int_equal(got, error->code);
    pyro_source_close(source);
    assert_int_equal(inner.closed, 1);
    return got;
}

static void expect_text(const pyro_buf *in, const char *text, size_t length)
{
    static const size_t pieces[] = {1, 7, 100, SIZE_MAX};
    for (size_t i = 0; i < 4; i++) {
        pyro_buf out = PYRO_BUF_INIT;
        pyro_error error;
        assert_int_equal(gunzip(in, in->length, pieces[i], i % 2 ? 4096 : 5, 0, &out, &error), 0);
        assert_int_equal(out.length, length);
        if (length)
            assert_memory_equal(out.data, text, length);
        pyro_buf_free(&out);
    }
}

static void test_members(void **state)
{
    (void)state;
    pyro_buf in = PYRO_BUF_INIT;
    add_gzip(&in, "hello ", 6);
    expect_text(&in, "hello ", 6);
    add_gzip(&in, "", 0);
    add_gzip(&in, "world", 5);
    expect_text(&in, "hello world", 11);
    pyro_buf_add(&in, "\0\0\0\0", 4);
    expect_text(&in, "hello world", 11);
    pyro_buf_adds(&in, "garbage");
    expect_text(&in, "hello world", 11);
    pyro_buf_reset(&in);
    add_gzip(&in, "", 0);
    expect_text(&in, "", 0);
    pyro_buf_free(&in);
}

static void test_large(void **state)
{
    (void)state;
    size_t size = 1000000;
    char *text = malloc(size);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)(i * i >> 7);
    pyro_buf in = PYRO_BUF_INIT;
    add_gzip(&in, text, size);
    expect_text(&in, text, size);
    pyro_buf_free(&in);
    free(text);
}

static void test_truncation_at_every_byte(void **state)
{
    (void)state;
    pyro_buf in = PYRO_BUF_INIT;
    add_gzip(&in, "hello hello hello", 17);
    size_t first = in.length;
    add_gzip(&in, "more", 4);
    for (size_t size = 0; size < in.length; size++) {
        pyro_buf out = PYRO_BUF_INIT;
        pyro_error error;
        int64_t got = gunzip(&in, size, 3, 100, 0, &out, &error);
        if (size == first || size == first + 1) {
            assert_int_equal(got, 0); /* one extra byte after the end is ignored */
        } else {
            assert_int_equal(got, PYRO_ERROR_FORMAT);
            assert_string_equal(error.message, "the gzip stream ends early: the file is truncated");
            assert_int_equal(error.offset, size);
        }
        pyro_buf_free(&out);
    }
    pyro_buf_free(&in);
}

static void test_every_bit_flipped(void **state)
{
    (void)state;
    pyro_buf in = PYRO_BUF_INIT;
    const char *text = "hello hello hello, this is a text";
    add_gzip(&in, text, strlen(text));
    for (size_t bit = 0; bit < in.length * 8; bit++) {
        pyro_buf out = PYRO_BUF_INIT;
        pyro_error error;
        in.data[bit / 8] ^= (char)(1 << bit % 8);
        int64_t got = gunzip(&in, in.length, SIZE_MAX, 100, 0, &out, &error);
        in.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_true(got == 0 || got == PYRO_ERROR_FORMAT);
        if (got == 0) {
            assert_int_equal(out.length, strlen(text));
            assert_memory_equal(out.data, text, out.length);
        }
        pyro_buf_free(&out);
    }
    pyro_buf_free(&in);
}

static void test_not_gzip(void **state)
{
    (void)state;
    pyro_buf in = PYRO_BUF_INIT, out = PYRO_BUF_INIT;
    pyro_error error;
    pyro_buf_adds(&in, "{\"a\": 1} and so on and on");
    assert_int_equal(gunzip(&in, in.length, 4, 10, 0, &out, &error), PYRO_ERROR_FORMAT);
    assert_string_equal(error.message, "not a gzip stream");
    pyro_buf_free(&in);
    pyro_buf_free(&out);
}

static void test_inner_failure(void **state)
{
    (void)state;
    pyro_buf in = PYRO_BUF_INIT, out = PYRO_BUF_INIT;
    pyro_error error;
    add_gzip(&in, "hello", 5);
    for (size_t size = 0; size <= in.length; size++) {
        assert_int_equal(gunzip(&in, size, 4, 10, PYRO_ERROR_IO, &out, &error), PYRO_ERROR_IO);
        assert_string_equal(error.message, "the source failed");
    }
    pyro_buf_free(&in);
    pyro_buf_free(&out);
}

static void test_without_memory(void **state)
{
    (void)state;
    pyro_buf in = PYRO_BUF_INIT, out = PYRO_BUF_INIT;
    pyro_error error;
    pyro_buf_adds(&in, "x");
    fail_alloc_after(0);
    assert_int_equal(gunzip(&in, 1, 1, 1, 0, &out, &error), PYRO_ERROR_MEMORY);
    fail_alloc_after(-1);
    pyro_buf_free(&in);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_members),        cmocka_unit_test(test_large),
    cmocka_unit_test(test_not_gzip),       cmocka_unit_test(test_truncation_at_every_byte),
    cmocka_unit_test(test_inner_failure),  cmocka_unit_test(test_every_bit_flipped),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
