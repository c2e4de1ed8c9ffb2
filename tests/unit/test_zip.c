/* Tests of base/zip.c and base/zip_member.c with archives that are built, cut and damaged here. */
#include "base/zip.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "fail_alloc.h"
#include "piece_source.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

typedef struct member {
    const char *name;
    const char *data;
    size_t size;
    int method;
    bool zip64;
} member;

/* Where an archive's parts begin, for tests that damage them. */
typedef struct archive {
    pyro_buf bytes;
    size_t local[8], central[8], directory, end;
} archive;

static void put(pyro_buf *buf, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        pyro_buf_addc(buf, (char)(value >> 8 * i));
}

static void put_at(archive *zip, size_t at, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        zip->bytes.data[at + (size_t)i] = (char)(value >> 8 * i);
}

static pyro_buf compress_member(const member *in)
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

static void put_shared(pyro_buf *buf, const member *in, size_t compressed)
{
    put(buf, 0x0800, 2);
    put(buf, (uint64_t)in->method, 2);
    put(buf, 0, 4);
    put(buf, crc32(0, (const unsigned char *)in->data, (uInt)in->size), 4);
    put(buf, in->zip64 ? UINT32_MAX : compressed, 4);
    put(buf, in->zip64 ? UINT32_MAX : in->size, 4);
    put(buf, strlen(in->name), 2);
}

static void put_member(archive *zip, size_t index, const member *in, pyro_buf *directory)
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

static archive build(const member *members, size_t count, bool zip64, const char *comment)
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

static char *long_text(size_t size)
{
    char *text = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i * i / 7 % 26);
    text[size] = '\0';
    return text;
}

/* Reads a member to its end; returns the bytes it gave, or a negative status. */
static int64_t read_member(const pyro_zip *zip, const pyro_zip_entry *entry, pyro_buf *out,
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
    /* What a source said at its end it says again. */
    pyro_error again;
    pyro_error_clear(&again);
    int64_t repeated = pyro_source_read(source, bytes, piece, &again);
    assert_int_equal(repeated < 0, got < 0);
    pyro_source_close(source);
    return got < 0 ? got : total;
}

/* Opens the archive and reads every member; the first status that is not fine. */
static int read_all(const archive *in, size_t size, pyro_error *error)
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

static void expect_failure(const archive *zip, int code, const char *message)
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

static archive two(void)
{
    return build(two_members, 2, false, "");
}

static void check_archive(archive zip, const member *members, size_t count)
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

static void test_reads_members(void **state)
{
    (void)state;
    char *text = long_text(300000);
    const member members[] = {
        {"a/stored", text, 300000, 0, false},
        {"a/deflated", text, 300000, 8, false},
        {"a/empty", "", 0, 0, false},
        {"a/empty too", "", 0, 8, false},
        {"a/", "", 0, 0, false},
        {"a/wide", text, 1234, 8, true},
        {"a/zstd", text, 300000, 93, false},
        {"a/empty zstd", "", 0, 93, false},
    };
    check_archive(build(members, 8, false, ""), members, 8);
    check_archive(build(members, 8, true, ""), members, 8);
    check_archive(build(members, 8, false, "a comment with PK\5\6 in it"), members, 8);
    check_archive(build(members, 0, false, ""), members, 0);
    free(text);
}

static void test_recognises(void **state)
{
    (void)state;
    assert_true(pyro_zip_is("PK\3\4", 4));
    assert_true(pyro_zip_is("PK\5\6zzz", 7));
    assert_false(pyro_zip_is("PK\3", 3));
    assert_false(pyro_zip_is("PK\1\2", 4));
    assert_false(pyro_zip_is("{\"a\"", 4));
}

static void test_truncation_at_every_byte(void **state)
{
    (void)state;
    for (int zip64 = 0; zip64 < 2; zip64++) {
        archive zip = build(two_members, 2, zip64, "");
        for (size_t size = 0; size < zip.bytes.length; size++) {
            pyro_error error;
            assert_int_equal(read_all(&zip, size, &error), PYRO_ERROR_FORMAT);
            assert_string_equal(
                error.message,
                "no end-of-archive record: the file is truncated or not a zip archive");
            assert_int_equal(error.offset, size);
        }
        pyro_buf_free(&zip.bytes);
    }
}

/* A flipped bit is found, or it is in a field that nothing depends on; the data is never wrong. */
static void test_every_bit_flipped(void **state)
{
    (void)state;
    for (int zip64 = 0; zip64 < 2; zip64++) {
        archive zip = build(two_members, 2, zip64, "");
        size_t found = 0, bits = zip.bytes.length * 8;
        for (size_t bit = 0; bit < bits; bit++) {
            pyro_error error;
            zip.bytes.data[bit / 8] ^= (char)(1 << bit % 8);
            found += read_all(&zip, zip.bytes.length, &error) != PYRO_OK;
            zip.bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        }
        assert_true(found > bits / 2);
        pyro_buf_free(&zip.bytes);
    }
}

static void test_flipped_data_is_found(void **state)
{
    (void)state;
    archive zip = two();
    for (size_t i = 0; i < 2; i++) {
        size_t begin = zip.local[i] + 30 + strlen(two_members[i].name) + 5;
        /* Behind the end of a deflate stream its last byte has bits that mean nothing. */
        size_t end = i == 0 ? zip.local[1] : zip.directory - 1;
        for (size_t bit = begin * 8; bit < end * 8; bit++) {
            zip.bytes.data[bit / 8] ^= (char)(1 << bit % 8);
            expect_failure(&zip, PYRO_ERROR_FORMAT, two_members[i].name);
            zip.bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        }
    }
    pyro_buf_free(&zip.bytes);
}

static void test_wrong_sizes(void **state)
{
    (void)state;
    archive zip = two();
    put_at(&zip, zip.central[1] + 24, 34, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "it is longer than the directory says");
    put_at(&zip, zip.central[1] + 24, 36, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "it is shorter than the directory says");
    put_at(&zip, zip.central[1] + 24, 35, 4);
    size_t compressed = (unsigned char)zip.bytes.data[zip.central[1] + 20];
    put_at(&zip, zip.central[1] + 20, compressed - 1, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data ends early");
    put_at(&zip, zip.central[1] + 20, compressed + 1, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "reaches into the directory");
    put_at(&zip, zip.central[1] + 20, zip.bytes.length, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "lies outside the file");
    put_at(&zip, zip.central[1] + 20, UINT32_MAX, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its zip64 sizes are missing");
    put_at(&zip, zip.central[0] + 24, 15, 4);
    put_at(&zip, zip.central[1] + 20, compressed, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "is stored, but its two sizes differ");
    pyro_buf_free(&zip.bytes);
    const member deflated_first[] = {two_members[1], two_members[0]};
    zip = build(deflated_first, 2, false, "");
    put_at(&zip, zip.central[0] + 20, compressed + 1, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data goes on after its end");
    pyro_buf_free(&zip.bytes);
}

static void test_damaged_zstd(void **state)
{
    (void)state;
    const member members[] = {{"packed", two_members[1].data, 35, 93, false}, two_members[0]};
    archive zip = build(members, 2, false, "");
    size_t compressed = (unsigned char)zip.bytes.data[zip.central[0] + 20];
    put_at(&zip, zip.central[0] + 24, 34, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "it is longer than the directory says");
    put_at(&zip, zip.central[0] + 24, 36, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "it is shorter than the directory says");
    put_at(&zip, zip.central[0] + 24, 35, 4);
    put_at(&zip, zip.central[0] + 20, compressed - 1, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data ends early");
    put_at(&zip, zip.central[0] + 20, compressed + 1, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data goes on after its end");
    put_at(&zip, zip.central[0] + 20, compressed, 4);
    zip.bytes.data[zip.local[0] + 30 + 6 + 5] ^= 1;
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data is damaged");
    pyro_buf_free(&zip.bytes);
}

static void test_wrong_checksum(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        archive zip = two();
        zip.bytes.data[zip.central[i] + 16] ^= 1;
        expect_failure(&zip, PYRO_ERROR_FORMAT, "wrong checksum");
        pyro_buf_free(&zip.bytes);
    }
}

static void test_wrong_headers(void **state)
{
    (void)state;
    archive zip = two();
    zip.bytes.data[zip.local[0]] ^= 1;
    expect_failure(&zip, PYRO_ERROR_FORMAT, "model/data.json: no local header here");
    zip.bytes.data[zip.local[0]] ^= 1;
    zip.bytes.data[zip.local[0] + 30] ^= 1;
    expect_failure(&zip, PYRO_ERROR_FORMAT, "has another name in its local header");
    zip.bytes.data[zip.local[0] + 30] ^= 1;
    put_at(&zip, zip.local[0] + 8, 8, 2);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "another compression method in its local header");
    put_at(&zip, zip.local[0] + 8, 0, 2);
    put_at(&zip, zip.local[1] + 28, UINT16_MAX, 2);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "reaches into the directory");
    put_at(&zip, zip.local[1] + 28, 5, 2);
    zip.bytes.data[zip.central[1]] ^= 1;
    expect_failure(&zip, PYRO_ERROR_FORMAT, "no directory entry here");
    zip.bytes.data[zip.central[1]] ^= 1;
    put_at(&zip, zip.central[1] + 32, 300, 2);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "a directory entry is cut off");
    put_at(&zip, zip.central[1] + 32, 2, 2);
    put_at(&zip, zip.central[0] + 46 + 3, 0, 1);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "an entry's name holds a NUL");
    pyro_buf_free(&zip.bytes);
}

static void test_refused_kinds(void **state)
{
    (void)state;
    archive zip = two();
    put_at(&zip, zip.central[0] + 8, 0x0801, 2);
    expect_failure(&zip, PYRO_ERROR_UNSUPPORTED, "model/data.json: is encrypted");
    put_at(&zip, zip.central[0] + 8, 0x0800, 2);
    put_at(&zip, zip.central[1] + 10, 12, 2);
    expect_failure(&zip, PYRO_ERROR_UNSUPPORTED, "compression method 12 is not read");
    put_at(&zip, zip.central[1] + 10, 8, 2);
    put_at(&zip, zip.end + 4, 1, 2);
    expect_failure(&zip, PYRO_ERROR_UNSUPPORTED, "the archive spans several disks");
    pyro_buf_free(&zip.bytes);
    const member twins[] = {two_members[0], two_members[0]};
    zip = build(twins, 2, false, "");
    expect_failure(&zip, PYRO_ERROR_FORMAT, "model/data.json: is there twice");
    pyro_buf_free(&zip.bytes);
}

static void test_zstd_members(void **state)
{
    (void)state;
    char *text = long_text(300000);
    const member members[] = {{"a", text, 300000, 93, false}, {"b", "", 0, 93, false}};
    archive zip = build(members, 2, false, "");
    pyro_error error;
    assert_int_equal(read_all(&zip, zip.bytes.length, &error), PYRO_OK);
    for (size_t piece = 1; piece < 4096; piece = piece * 3 + 1) {
        pyro_source *source;
        pyro_zip open;
        pyro_buf out = PYRO_BUF_INIT;
        assert_int_equal(pyro_source_open_memory(&source, zip.bytes.data, zip.bytes.length, &error),
                         PYRO_OK);
        assert_int_equal(pyro_zip_open(&open, source, &error), PYRO_OK);
        assert_int_equal(read_member(&open, &open.entries[0], &out, piece, &error), 300000);
        assert_memory_equal(out.data, text, 300000);
        pyro_buf_free(&out);
        pyro_zip_close(&open);
        pyro_source_close(source);
    }
    /* The directory says one byte fewer, then one more, than the frame holds. */
    put_at(&zip, zip.central[0] + 24, 299999, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "it is longer than the directory says");
    put_at(&zip, zip.central[0] + 24, 300001, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "it is shorter than the directory says");
    put_at(&zip, zip.central[0] + 24, 300000, 4);
    /* The frame is cut, or goes on, or is none. */
    size_t compressed = zip.local[1] - zip.local[0] - 30 - 1 - 5;
    put_at(&zip, zip.central[0] + 20, compressed - 7, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data ends early");
    put_at(&zip, zip.central[0] + 20, compressed + 20, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data");
    put_at(&zip, zip.central[0] + 20, compressed, 4);
    zip.bytes.data[zip.local[0] + 30 + 1 + 5] ^= 1;
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data is damaged");
    pyro_buf_free(&zip.bytes);
    free(text);
}

static void test_wrong_end_record(void **state)
{
    (void)state;
    archive zip = two();
    put_at(&zip, zip.end + 10, 3, 2);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "3 entries do not fit into a directory of 135 bytes");
    put_at(&zip, zip.end + 10, UINT16_MAX, 2);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "65535 entries do not fit into a directory of");
    put_at(&zip, zip.end + 10, 2, 2);
    put_at(&zip, zip.end + 16, zip.bytes.length, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "the directory lies outside the file");
    pyro_buf_free(&zip.bytes);

    zip = build(two_members, 2, true, "");
    put_at(&zip, zip.end - 20 + 8, UINT64_MAX, 8);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "the zip64 end record lies outside the file");
    put_at(&zip, zip.end - 20 + 8, 0, 8);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "no zip64 end record here");
    put_at(&zip, zip.end - 20 + 8, zip.end - 76, 8);
    put_at(&zip, zip.end - 76 + 32, UINT64_MAX, 8);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "entries do not fit into a directory of");
    put_at(&zip, zip.end - 76 + 40, UINT64_MAX, 8);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "the directory lies outside the file");
    put_at(&zip, zip.end - 76 + 20, 7, 4);
    expect_failure(&zip, PYRO_ERROR_UNSUPPORTED, "the archive spans several disks");
    pyro_buf_free(&zip.bytes);
}

static int64_t no_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    (void)source, (void)bytes, (void)size, (void)error;
    return 0;
}

static void test_stream_is_refused(void **state)
{
    (void)state;
    const pyro_source_kind kind = {no_read, NULL, NULL};
    pyro_source stream = {&kind, -1, false};
    pyro_zip zip;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_zip_open(&zip, &stream, &error), PYRO_ERROR_UNSUPPORTED);
    pyro_zip_close(&zip);
}

static void test_short_reads(void **state)
{
    (void)state;
    archive zip = build(two_members, 2, true, "");
    for (size_t piece = 1; piece < 40; piece++) {
        piece_source source = seekable_pieces_of(zip.bytes.data, zip.bytes.length, zip.bytes.length,
                                                 piece);
        pyro_zip open;
        pyro_error error;
        pyro_error_clear(&error);
        assert_int_equal(pyro_zip_open(&open, &source.head, &error), PYRO_OK);
        for (size_t i = 0; i < 2; i++) {
            pyro_buf out = PYRO_BUF_INIT;
            assert_int_equal(read_member(&open, &open.entries[i], &out, 10, &error),
                             two_members[i].size);
            assert_memory_equal(out.data, two_members[i].data, out.length);
            pyro_buf_free(&out);
        }
        pyro_zip_close(&open);
    }
    /* The archive fails or ends under the member that is being read. */
    for (int failure = 0; failure >= PYRO_ERROR_LIMIT; failure += PYRO_ERROR_LIMIT) {
        piece_source source = seekable_pieces_of(zip.bytes.data, zip.bytes.length, zip.bytes.length,
                                                 5);
        pyro_zip open;
        pyro_error error;
        pyro_buf out = PYRO_BUF_INIT;
        pyro_error_clear(&error);
        assert_int_equal(pyro_zip_open(&open, &source.head, &error), PYRO_OK);
        source.size = zip.local[1] + 60;
        source.failure = failure;
        assert_int_equal(read_member(&open, &open.entries[1], &out, 10, &error),
                         failure ? failure : PYRO_ERROR_IO);
        pyro_buf_free(&out);
        pyro_zip_close(&open);
    }
    pyro_buf_free(&zip.bytes);
}

/* Whatever the damage does to the text, the checksum is what is reported. */
static void test_damage_is_reported_before_grammar(void **state)
{
    (void)state;
    archive zip = two();
    size_t begin = zip.local[0] + 30 + strlen(two_members[0].name) + 5;
    for (size_t bit = begin * 8; bit < (begin + two_members[0].size) * 8; bit++) {
        zip.bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        pyro_source *source, *stream;
        pyro_zip open;
        pyro_json *json;
        pyro_error error;
        pyro_error_clear(&error);
        assert_int_equal(pyro_source_open_memory(&source, zip.bytes.data, zip.bytes.length, &error),
                         PYRO_OK);
        assert_int_equal(pyro_zip_open(&open, source, &error), PYRO_OK);
        assert_int_equal(pyro_zip_open_member(&stream, &open, &open.entries[0], &error), PYRO_OK);
        assert_int_equal(pyro_json_open(&json, stream, NULL, &error), PYRO_OK);
        while (pyro_json_next(json) != PYRO_JSON_ERROR)
            assert_int_not_equal(pyro_json_current(json), PYRO_JSON_END);
        assert_non_null(strstr(error.message, "wrong checksum"));
        pyro_json_close(json);
        pyro_source_close(stream);
        pyro_zip_close(&open);
        pyro_source_close(source);
        zip.bytes.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    pyro_buf_free(&zip.bytes);
}

static void test_without_memory(void **state)
{
    (void)state;
    archive zip = two();
    for (long n = 0;; n++) {
        pyro_error error;
        fail_alloc_after(n);
        int status = read_all(&zip, zip.bytes.length, &error);
        bool failed = fail_alloc_failures() > 0;
        fail_alloc_after(-1);
        assert_int_equal(status, failed ? PYRO_ERROR_MEMORY : PYRO_OK);
        if (!failed) {
            assert_true(n > 6);
            break;
        }
    }
    pyro_buf_free(&zip.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_members),
        cmocka_unit_test(test_recognises),
        cmocka_unit_test(test_truncation_at_every_byte),
        cmocka_unit_test(test_every_bit_flipped),
        cmocka_unit_test(test_flipped_data_is_found),
        cmocka_unit_test(test_wrong_sizes),
        cmocka_unit_test(test_damaged_zstd),
        cmocka_unit_test(test_wrong_checksum),
        cmocka_unit_test(test_wrong_headers),
        cmocka_unit_test(test_refused_kinds),
        cmocka_unit_test(test_zstd_members),
        cmocka_unit_test(test_wrong_end_record),
        cmocka_unit_test(test_stream_is_refused),
        cmocka_unit_test(test_short_reads),
        cmocka_unit_test(test_damage_is_reported_before_grammar),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
