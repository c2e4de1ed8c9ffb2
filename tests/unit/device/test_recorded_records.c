/* Every record in tests/files/cupti is read; tests/gpu/dump_records.py saves those of real GPUs. */
#include "device/cupti.h"
#include "device/cupti_records.h"
#include "unit.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

typedef struct counts {
    unsigned kernels, copies, sets, syncs, overheads, of_graphs;
} counts;

static void count_work(counts *found, const pyro_device_work *work)
{
    char text[64];
    pyro_cupti_name_work(work, text, sizeof text);
    found->kernels += work->kind == PYRO_WORK_KERNEL;
    found->copies += work->kind == PYRO_WORK_COPY;
    found->sets += work->kind == PYRO_WORK_SET;
    found->syncs += work->kind == PYRO_WORK_SYNC;
    found->overheads += work->kind == PYRO_WORK_OVERHEAD;
    found->of_graphs += work->graph != 0;
    /* What an offset that is wrong by some bytes would break. */
    assert_true(work->end >= work->start && work->end - work->start < UINT64_C(60000000000));
    if (work->kind == PYRO_WORK_KERNEL)
        assert_true(work->name && work->correlation && work->registers < 256);
    if (work->kind == PYRO_WORK_COPY || work->kind == PYRO_WORK_SET)
        assert_true(work->bytes > 0 && work->bytes < UINT64_C(1) << 40);
    if (work->kind == PYRO_WORK_COPY || work->kind == PYRO_WORK_OVERHEAD)
        assert_null(strstr(text, "Memcpy Unknown"));
}

static counts read_file(const char *path)
{
    counts found = {0};
    unsigned char bytes[1024];
    uint32_t version, size;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(&version, sizeof version, 1, file), 1);
    while (fread(&size, sizeof size, 1, file) == 1) {
        pyro_device_work work;
        assert_true(size <= sizeof bytes);
        assert_int_equal(fread(bytes, 1, size, file), size);
        if (pyro_cupti_read_record(bytes, size, &work) != PYRO_READING_WORK)
            fail_msg("%s: a record of kind %u is not read", path, bytes[0]);
        count_work(&found, &work);
    }
    fclose(file);
    return found;
}

static void test_all_files_are_read(void **state)
{
    char path[512];
    unsigned files = 0;
    (void)state;
    DIR *folder = opendir(UNIT_TEST_FILES "/cupti");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".records") != 0)
            continue;
        snprintf(path, sizeof path, "%s/cupti/%.200s", UNIT_TEST_FILES, entry->d_name);
        counts found = read_file(path);
        assert_true(found.kernels >= 2 && found.copies >= 1 && found.syncs >= 1);
        assert_true(found.of_graphs >= 1);
        if (strcmp(entry->d_name, "synthetic.records") == 0)
            assert_true(found.copies == 2 && found.sets == 1 && found.overheads == 1);
        files++;
    }
    closedir(folder);
    assert_true(files >= 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all_files_are_read),
};

UNIT_TESTS(tests, NULL, NULL)
