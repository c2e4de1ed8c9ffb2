/* Builds zip archives in memory, with the offsets of their parts, for tests of the reader. */
#ifndef ZIP_ARCHIVES_H
#define ZIP_ARCHIVES_H

#include "base/zip/zip.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

typedef struct member {
    const char *name;
    const char *data;
    size_t size;
    int method;
    bool zip64;
} member;

/* Offsets of an archive's parts, for tests that damage them. */
typedef struct archive {
    pyro_buf bytes;
    size_t local[8], central[8], directory, end;
} archive;

static inline void put(pyro_buf *buf, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        pyro_buf_addc(buf, (char)(value >> 8 * i));
}

static inline void put_at(archive *zip, size_t at, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        zip->bytes.data[at + (size_t)i] = (char)(value >> 8 * i);
}

static inline pyro_buf compress_member(const member *in)
{
    pyro_buf out = PYRO_BUF_INIT;
    if (in->method == 8) {
        z_stream stream = {0};
        assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, 0), Z_OK);
        stream.next_in = (unsigned char *)(uintptr_t)in->data;
        stream.avail_in = (uInt)in->size;
        stream.avail_out = (uInt)deflateBound(&stream, (uLong)in->size);
        stream.next_out = (unsigned char *)pyro_buf_reserve(&out, stream.avail_out);
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        out.length = stream.total_out;
        deflateEnd(&stream);
    } else if (in->method == 93) {
        size_t bound = ZSTD_compressBound(in->size);
        char *space = pyro_buf_reserve(&out, bound);
        out.length = ZSTD_compress(space, bound, in->data, in->size, 3);
        assert_false(ZSTD_isError(out.length));
    } else {
        pyro_buf_add(&out, in->data, in->size);
    }
    return out;
}

static inline void put_shared(pyro_buf *buf, const member *in, size_t compressed)
{
    put(buf, 0x0800, 2);
    put(buf, (uint64_t)in->method, 2);
    put(buf, 0, 4);
    put(buf, crc32(0, (const unsigned char *)in->data, (uInt)in->size), 4);
    put(buf, in->zip64 ? UINT32_MAX : compressed, 4);
    put(buf, in->zip64 ? UINT32_MAX : in->size, 4);
    put(buf, strlen(in->name), 2);
}

static inline void put_member(archive *zip, size_t index, const member *in, pyro_buf *directory)
{
    pyro_buf compressed = compress_member(in);
    zip->local[index] = zip->bytes.length;
    pyro_buf_add(&zip->bytes, "PK\3\4\24\0", 6);
    put_shared(&zip->bytes, in, compressed.length);
    put(&zip->bytes, 5, 2);
    pyro_buf_adds(&zip->bytes, in->name);
    pyro_buf_add(&zip->bytes, "FB\1\0Z", 5);
    pyro_buf_add(&zip->bytes, compressed.data, compressed.length);

    zip->central[index] = directory->length;
    pyro_buf_add(directory, "PK\1\2\24\0\24\0", 8);
    put_shared(directory, in, compressed.length);
    put(directory, in->zip64 ? 4 + 4 + 24 + 4 : 4, 2);
    put(directory, 2, 2);
    put(directory, 0, 2 + 2 + 4);
    put(directory, in->zip64 ? UINT32_MAX : zip->local[index], 4);
    pyro_buf_adds(directory, in->name);
    pyro_buf_add(directory, "FB\0\0", 4);
    if (in->zip64) {
        put(directory, 1, 2);
        put(directory, 24 + 4, 2);
        put(directory, in->size, 8);
        put(directory, compressed.length, 8);
        put(directory, zip->local[index], 8);
        put(directory, 0, 4);
    }
    pyro_buf_adds(directory, "hi");
    pyro_buf_free(&compressed);
}

static inline archive build(const member *members, size_t count, bool zip64, const char *comment)
{
    archive zip = {.bytes = PYRO_BUF_INIT};
    pyro_buf directory = PYRO_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        put_member(&zip, i, &members[i], &directory);
    zip.directory = zip.bytes.length;
    for (size_t i = 0; i < count; i++)
        zip.central[i] += zip.directory;
    pyro_buf_add(&zip.bytes, directory.data, directory.length);
    if (zip64) {
        size_t record = zip.bytes.length;
        pyro_buf_add(&zip.bytes, "PK\6\6", 4);
        put(&zip.bytes, 44, 8);
        pyro_buf_fill(&zip.bytes, 0, 2 + 2 + 4 + 4);
        put(&zip.bytes, count, 8);
        put(&zip.bytes, count, 8);
        put(&zip.bytes, directory.length, 8);
        put(&zip.bytes, zip.directory, 8);
        pyro_buf_add(&zip.bytes, "PK\6\7", 4);
        put(&zip.bytes, 0, 4);
        put(&zip.bytes, record, 8);
        put(&zip.bytes, 1, 4);
    }
    zip.end = zip.bytes.length;
    pyro_buf_add(&zip.bytes, "PK\5\6\0\0\0\0", 8);
    put(&zip.bytes, zip64 ? UINT16_MAX : count, 2);
    put(&zip.bytes, zip64 ? UINT16_MAX : count, 2);
    put(&zip.bytes, zip64 ? UINT32_MAX : directory.length, 4);
    put(&zip.bytes, zip64 ? UINT32_MAX : zip.directory, 4);
    put(&zip.bytes, strlen(comment), 2);
    pyro_buf_adds(&zip.bytes, comment);
    pyro_buf_free(&directory);
    assert_false(zip.bytes.failed);
    return zip;
}

static inline char *long_text(size_t size)
{
    char *text = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i * i / 7 % 26);
    text[size] = '\0';
    return text;
}

/* Reads a member to its end; returns the number of bytes, or a negative status. */
static inline int64_t read_member(const pyro_zip *zip, const pyro_zip_entry *entry, pyro_buf *out,
                                  size_t piece, pyro_error *error)
{
    pyro_source *source;
    int64_t total = 0, got = pyro_zip_open_member(&source, zip, entry, error);
    if (got != PYRO_OK)
        return got;
    assert_int_equal(source->size, entry->size);
    assert_false(pyro_source_is_seekable(source));
    char bytes[4096];
    while ((got = pyro_source_read(source, bytes, piece, error)) > 0) {
        assert_true((size_t)got <= piece);
        total += got;
        assert_true(total <= entry->size);
        pyro_buf_add(out, bytes, (size_t)got);
    }
    /* A source repeats its last status. */
    pyro_error again;
    pyro_error_clear(&again);
    int64_t repeated = pyro_source_read(source, bytes, piece, &again);
    assert_int_equal(repeated < 0, got < 0);
    pyro_source_close(source);
    return got < 0 ? got : total;
}

/* Opens the archive and reads every member; returns the first failing status. */
static inline int read_all(const archive *in, size_t size, pyro_error *error)
{
    pyro_source *source;
    pyro_zip zip;
    pyro_error_clear(error);
    int status = pyro_source_open_memory(&source, in->bytes.data, size, error);
    if (status != PYRO_OK)
        return status;
    status = pyro_zip_open(&zip, source, error);
    if (status == PYRO_OK) {
        for (size_t i = 0; i < zip.count && status == PYRO_OK; i++) {
            pyro_buf out = PYRO_BUF_INIT;
            int64_t got = read_member(&zip, &zip.entries[i], &out, 333, error);
            status = got < 0 ? (int)got : out.failed ? pyro_fail_memory(error) : PYRO_OK;
            pyro_buf_free(&out);
        }
        pyro_zip_close(&zip);
    }
    pyro_source_close(source);
    assert_int_equal(status, error->code);
    return status;
}

static inline void expect_failure(const archive *zip, int code, const char *message)
{
    pyro_error error;
    assert_int_equal(read_all(zip, zip->bytes.length, &error), code);
    if (!strstr(error.message, message))
        assert_string_equal(error.message, message);
}

static const member two_members[] = {
    {"model/data.json", "{\"stored\": true}", 16, 0, false},
    {"model/other.json", "{\"deflated\": true, \"deflated\": true}", 35, 8, false},
};

static inline archive two(void)
{
    return build(two_members, 2, false, "");
}

static inline void check_archive(archive zip, const member *members, size_t count)
{
    for (size_t piece = 1; piece <= 4096; piece = piece * 5 + 1) {
        pyro_source *source;
        pyro_zip open;
        pyro_error error;
        pyro_error_clear(&error);
        assert_int_equal(pyro_source_open_memory(&source, zip.bytes.data, zip.bytes.length, &error),
                         PYRO_OK);
        assert_int_equal(pyro_zip_open(&open, source, &error), PYRO_OK);
        assert_int_equal(open.count, count);
        for (size_t i = 0; i < count; i++) {
            pyro_buf out = PYRO_BUF_INIT;
            const pyro_zip_entry *entry = pyro_zip_find(&open, members[i].name);
            assert_ptr_equal(entry, &open.entries[i]);
            assert_string_equal(entry->name, members[i].name);
            assert_int_equal(read_member(&open, entry, &out, piece, &error), members[i].size);
            assert_int_equal(out.length, members[i].size);
            if (out.length)
                assert_memory_equal(out.data, members[i].data, out.length);
            pyro_buf_free(&out);
        }
        assert_null(pyro_zip_find(&open, "nothing"));
        pyro_zip_close(&open);
        pyro_source_close(source);
    }
    pyro_buf_free(&zip.bytes);
}

#endif
