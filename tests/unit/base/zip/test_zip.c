/* Tests of base/zip/zip.c and base/zip/member.c with generated archives. */
#include "zip_archives.h"

#include "base/json/json.h"
#include "fail_alloc.h"
#include "piece_source.h"
#include "unit.h"

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

static void test_refused_kinds(void **state)
{
    (void)state;
    archive zip = two();
    put_at(&zip, zip.central[0] + 8, 0x0801, 2);
    expect_failure(&zip, PYRO_ERROR_UNSUPPORTED, "model/data.json: is encrypted");
    put_at(&zip, zip.central[0] + 8, 0x0800, 2);
    put_at(&zip, zip.central[1] + 10, 12, 2);
    expect_failure(&zip, PYRO_ERROR_UNSUPPORTED, "unsupported compression method 12");
    put_at(&zip, zip.central[1] + 10, 8, 2);
    put_at(&zip, zip.end + 4, 1, 2);
    expect_failure(&zip, PYRO_ERROR_UNSUPPORTED, "the archive spans several disks");
    pyro_buf_free(&zip.bytes);
    const member twins[] = {two_members[0], two_members[0]};
    zip = build(twins, 2, false, "");
    expect_failure(&zip, PYRO_ERROR_FORMAT, "model/data.json: duplicate entry");
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
    /* The directory says one byte fewer, then one more, than the frame contains. */
    put_at(&zip, zip.central[0] + 24, 299999, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "it is longer than the directory says");
    put_at(&zip, zip.central[0] + 24, 300001, 4);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "it is shorter than the directory says");
    put_at(&zip, zip.central[0] + 24, 300000, 4);
    /* The frame is truncated, too long, or invalid. */
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
    /* The archive fails or ends while a member is read. */
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

/* Whatever the damage does to the text, the error is about the checksum. */
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reads_members),
    cmocka_unit_test(test_recognises),
    cmocka_unit_test(test_refused_kinds),
    cmocka_unit_test(test_zstd_members),
    cmocka_unit_test(test_stream_is_refused),
    cmocka_unit_test(test_short_reads),
    cmocka_unit_test(test_damage_is_reported_before_grammar),
    cmocka_unit_test(test_without_memory),
};

UNIT_TESTS(tests, NULL, NULL)
