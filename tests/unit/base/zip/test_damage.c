/* Tests of base/zip/zip.c and base/zip/member.c with truncated and damaged archives. */
#include "zip_archives.h"
#include "unit.h"

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

/* A flipped bit is detected, or is in an unused field; the data is never wrong. */
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
        /* After the end of a deflate stream, its last byte has unused bits. */
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
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data continues after its end");
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
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its compressed data continues after its end");
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
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its local header has another name");
    zip.bytes.data[zip.local[0] + 30] ^= 1;
    put_at(&zip, zip.local[0] + 8, 8, 2);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "its local header has another compression method");
    put_at(&zip, zip.local[0] + 8, 0, 2);
    put_at(&zip, zip.local[1] + 28, UINT16_MAX, 2);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "reaches into the directory");
    put_at(&zip, zip.local[1] + 28, 5, 2);
    zip.bytes.data[zip.central[1]] ^= 1;
    expect_failure(&zip, PYRO_ERROR_FORMAT, "no directory entry here");
    zip.bytes.data[zip.central[1]] ^= 1;
    put_at(&zip, zip.central[1] + 32, 300, 2);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "a directory entry is truncated");
    put_at(&zip, zip.central[1] + 32, 2, 2);
    put_at(&zip, zip.central[0] + 46 + 3, 0, 1);
    expect_failure(&zip, PYRO_ERROR_FORMAT, "an entry's name contains a NUL");
    pyro_buf_free(&zip.bytes);
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_truncation_at_every_byte),
    cmocka_unit_test(test_every_bit_flipped),
    cmocka_unit_test(test_flipped_data_is_found),
    cmocka_unit_test(test_wrong_sizes),
    cmocka_unit_test(test_damaged_zstd),
    cmocka_unit_test(test_wrong_checksum),
    cmocka_unit_test(test_wrong_headers),
    cmocka_unit_test(test_wrong_end_record),
};

UNIT_TESTS(tests, NULL, NULL)
