/* Tests of bench/processor.c. */
#include "bench/processor.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *folder, int index, const char *name, const char *text)
{
    char path[512];

    snprintf(path, sizeof path, "%s/index%d", folder, index);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void write_cache(const char *folder, int index, const char *level, const char *kind,
                        const char *size)
{
    write_file(folder, index, "level", level);
    write_file(folder, index, "type", kind);
    write_file(folder, index, "size", size);
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"level", "type", "size"};
    char path[512];

    for (int i = 0; i < 8; i++) {
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            snprintf(path, sizeof path, "%s/index%d/%s", folder, i, names[k]);
            unlink(path);
        }
        snprintf(path, sizeof path, "%s/index%d", folder, i);
        rmdir(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void test_caches(void **state)
{
    char folder[] = "/tmp/pyro-caches-XXXXXX";
    int64_t bytes[PYRO_CACHE_LEVELS];

    (void)state;
    assert_non_null(mkdtemp(folder));
    write_cache(folder, 0, "1\n", "Data\n", "48K\n");
    write_cache(folder, 1, "1\n", "Instruction\n", "64K\n");
    write_cache(folder, 3, "2\n", "Unified\n", "2M\n");
    write_cache(folder, 4, "3\n", "Unified\n", "36608K\n");
    write_cache(folder, 5, "9\n", "Unified\n", "1G\n");
    write_cache(folder, 6, "4\n", "Unified\n", "large\n");
    write_file(folder, 7, "level", "2\n");
    pyro_caches_read(bytes, folder);
    assert_int_equal(bytes[1], 48 << 10);
    assert_int_equal(bytes[2], 2 << 20);
    assert_int_equal(bytes[3], 36608 << 10);
    assert_int_equal(bytes[4], 0);
    remove_folder(folder);
    pyro_caches_read(bytes, folder);
    for (int i = 0; i < PYRO_CACHE_LEVELS; i++)
        assert_int_equal(bytes[i], 0);
}

static void test_eviction(void **state)
{
    const int64_t none[PYRO_CACHE_LEVELS] = {0};
    const int64_t server[PYRO_CACHE_LEVELS] = {0, 1 << 15, 1 << 20, 8 << 20};

    (void)state;
    assert_int_equal(pyro_caches_eviction_bytes(none, 4), -1);
    assert_int_equal(pyro_caches_eviction_bytes(server, 1), 16 << 20);
    assert_int_equal(pyro_caches_eviction_bytes(server, 8), 16 << 20);
    assert_int_equal(pyro_caches_eviction_bytes(server, 32), 64 << 20);
    assert_true(pyro_caches_eviction_bytes(server, INT64_MAX) > 0);
}

static void test_bfloat16(void **state)
{
    (void)state;
    assert_string_equal(
        pyro_find_bfloat16("model name\t: X\nflags\t\t: fpu avx512_bf16 amx_bf16\n"), "amx_bf16");
    assert_string_equal(pyro_find_bfloat16("flags\t\t: fpu avx512_bf16 sse\n"), "avx512_bf16");
    assert_string_equal(pyro_find_bfloat16("Features\t: fp asimd bf16\nother: 1\n"), "bf16");
    assert_null(pyro_find_bfloat16("flags\t\t: fpu avx512_bf16x not_bf16\n"));
    assert_null(pyro_find_bfloat16("bugs\t\t: bf16\n"));
    assert_null(pyro_find_bfloat16(""));
}

static void test_this_machine(void **state)
{
    (void)state;
    assert_true(pyro_usable_cpus() >= 1);
    assert_true(pyro_machine_memory_bytes() != 0);
    assert_int_equal(pyro_cache_bytes(0), -1);
    assert_int_equal(pyro_cache_bytes(PYRO_CACHE_LEVELS), -1);
    for (int level = 1; level < PYRO_CACHE_LEVELS; level++)
        assert_true(pyro_cache_bytes(level) == -1 ||
                    pyro_cache_eviction_bytes(1) >= 2 * (int64_t)1);
    const char *extension = pyro_bfloat16_extension();
    assert_true(!extension || strstr(extension, "bf16"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_caches),
    cmocka_unit_test(test_eviction),
    cmocka_unit_test(test_bfloat16),
    cmocka_unit_test(test_this_machine),
};

UNIT_TESTS(tests, NULL, NULL)
