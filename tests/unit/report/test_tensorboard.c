/* Tests of report/tensorboard.c and base/crc32c.c: the bytes that TensorBoard will read. */
#include <pyrometer/scalars.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "unit.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/pyrometer-scalars-XXXXXX";

/* Check values of RFC 3720 and of the usual catalogue of checksums. */
static void test_checksums(void **state)
{
    (void)state;
    unsigned char bytes[32];
    assert_int_equal(pyro_crc32c("123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(pyro_crc32c(bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(pyro_crc32c(bytes, sizeof bytes), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(pyro_crc32c(bytes, sizeof bytes), 0x46dd794e);
    assert_int_equal(pyro_crc32c("", 0), 0);
}

static uint32_t masked(const void *data, size_t size)
{
    uint32_t crc = pyro_crc32c(data, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Walks the records of a file and checks both checksums; returns their number. */
static int count_records(const char *path, unsigned char *bytes, size_t room, size_t *last)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, room, file), at = 0;
    fclose(file);
    int count = 0;
    for (; at < size; count++) {
        size_t length = (size_t)pyro_le64(bytes + at);
        assert_true(at + 16 + length <= size);
        assert_int_equal(pyro_le32(bytes + at + 8), masked(bytes + at, 8));
        assert_int_equal(pyro_le32(bytes + at + 12 + length), masked(bytes + at + 12, length));
        *last = at;
        at += 16 + length;
    }
    assert_int_equal(at, size);
    return count;
}

static void test_bytes(void **state)
{
    (void)state;
    pyro_scalars *scalars;
    pyro_error error = {0};
    const pyro_scalar values[] = {{"a/b", 1.5f}, {"unknown", NAN}, {"c", -2.0f}};
    assert_int_equal(pyro_scalars_open(&scalars, folder, "rank_0", &error), PYRO_OK);
    assert_non_null(strstr(pyro_scalars_path(scalars), "/events.out.tfevents."));
    assert_int_equal(pyro_scalars_add(scalars, 300, 2.0, values, 3, &error), PYRO_OK);
    unsigned char bytes[512];
    size_t last = 0;
    assert_int_equal(count_records(pyro_scalars_path(scalars), bytes, sizeof bytes, &last), 2);
    static const unsigned char event[] = {
        0x09, 0,    0,    0,    0,   0,   0,    0,    0x40,       /* wall time 2.0 */
        0x10, 0xac, 0x02,                                          /* step 300 */
        0x2a, 22,                                                  /* summary */
        0x0a, 10,   0x0a, 3,    'a', '/', 'b',  0x15, 0,    0, 0xc0,
        0x3f, 0x0a, 8,    0x0a, 1,   'c', 0x15, 0,    0,    0, 0xc0,
    };
    assert_int_equal(pyro_le64(bytes + last), sizeof event);
    assert_memory_equal(bytes + last + 12, event, sizeof event);
    unlink(pyro_scalars_path(scalars));
    pyro_scalars_close(scalars);
}

static void test_two_writers_do_not_collide(void **state)
{
    (void)state;
    pyro_scalars *first, *second;
    assert_int_equal(pyro_scalars_open(&first, folder, NULL, NULL), PYRO_OK);
    assert_int_equal(pyro_scalars_open(&second, folder, NULL, NULL), PYRO_OK);
    assert_string_not_equal(pyro_scalars_path(first), pyro_scalars_path(second));
    unlink(pyro_scalars_path(first));
    unlink(pyro_scalars_path(second));
    pyro_scalars_close(first);
    pyro_scalars_close(second);
}

static void test_missing_folder(void **state)
{
    (void)state;
    pyro_scalars *scalars;
    pyro_error error = {0};
    assert_int_equal(pyro_scalars_open(&scalars, "/nonexistent/folder", NULL, &error),
                     PYRO_ERROR_IO);
    assert_null(scalars);
    assert_non_null(strstr(error.message, "No such file"));
    pyro_scalars_close(NULL);
}

/* A limit on file sizes simulates a full disk: whole records stay, further writes fail. */
static void test_no_room(void **state)
{
    (void)state;
    pyro_scalars *scalars;
    pyro_error error = {0};
    struct rlimit old, small;
    const pyro_scalar value = {"loss", 1.0f};
    unsigned char bytes[4096];
    size_t last = 0;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 300;
    assert_int_equal(pyro_scalars_open(&scalars, folder, NULL, &error), PYRO_OK);
    setrlimit(RLIMIT_FSIZE, &small);
    int step = 0, status;
    while (!(status = pyro_scalars_add(scalars, step, 1.0, &value, 1, &error)))
        step++;
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, PYRO_ERROR_IO);
    assert_in_range(step, 1, 10);
    assert_int_equal(count_records(pyro_scalars_path(scalars), bytes, sizeof bytes, &last),
                     step + 1);
    assert_int_equal(pyro_scalars_add(scalars, 9, 1.0, &value, 1, NULL), PYRO_ERROR_IO);
    unlink(pyro_scalars_path(scalars));
    pyro_scalars_close(scalars);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_checksums),
    cmocka_unit_test(test_bytes),
    cmocka_unit_test(test_two_writers_do_not_collide),
    cmocka_unit_test(test_missing_folder),
    cmocka_unit_test(test_no_room),
};

UNIT_TESTS(tests, make_folder, remove_folder)
