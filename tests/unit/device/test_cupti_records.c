/* Reading CUPTI's records: layouts, codes, and records that cannot be right. */
#include "device/cupti_records.h"
#include "unit.h"

#include <string.h>

static unsigned char record[256];
static pyro_device_work work;

static void put(size_t offset, uint64_t value, size_t bytes)
{
    memcpy(record + offset, &value, bytes);
}

/* As CUDA 13.0 writes it, with more members behind. */
static void put_kernel(void)
{
    memset(record, 0xee, sizeof record);
    put(0, 10, 4);
    put(6, 40, 2);
    put(16, 1000, 8);
    put(24, 1500, 8);
    put(40, 2, 4);
    put(48, 13, 4);
    put(52, 100, 4);
    put(56, 2, 4);
    put(60, 1, 4);
    put(64, 128, 4);
    put(68, 2, 4);
    put(72, 1, 4);
    put(76, 512, 4);
    put(80, 4096, 4);
    put(92, 77, 4);
    put(104, (uint64_t)(uintptr_t)"_Z6kernelv", 8);
    put(144, 9 | UINT64_C(4) << 32, 8);
    put(156, 4, 4);
}

static void test_a_kernel(void **state)
{
    (void)state;
    put_kernel();
    assert_int_equal(pyro_cupti_read_record(record, sizeof record, &work), PYRO_READING_WORK);
    assert_int_equal(work.kind, PYRO_WORK_KERNEL);
    assert_int_equal(work.end - work.start, 500);
    assert_int_equal(work.device, 2);
    assert_int_equal(work.stream, 13);
    assert_int_equal(work.correlation, 77);
    assert_int_equal(work.grid[0], 100);
    assert_int_equal(work.block[1], 2);
    assert_int_equal(work.registers, 40);
    assert_int_equal(work.static_shared_bytes + work.dynamic_shared_bytes, 4608);
    assert_int_equal(work.graph, 4);
    assert_true(work.graph_node == (9 | UINT64_C(4) << 32));
    assert_string_equal(work.name, "_Z6kernelv");
}

static void test_a_record_that_ends_early_is_bad(void **state)
{
    (void)state;
    put_kernel();
    assert_int_equal(pyro_cupti_read_record(record, 159, &work), PYRO_READING_BAD);
    assert_int_equal(pyro_cupti_read_record(record, 160, &work), PYRO_READING_WORK);
    assert_int_equal(pyro_cupti_read_record(record, 3, &work), PYRO_READING_BAD);
}

static void test_impossible_kernels_are_bad(void **state)
{
    static const struct {
        size_t offset;
        uint64_t value;
        size_t bytes;
    } damages[] = {{24, 999, 8},  /* ends before it starts */
                   {40, 5000, 4}, /* no such device */
                   {52, 0, 4},    /* no blocks */
                   {64, 2000, 4}, /* more threads than any block */
                   {68, 9, 4},    {76, UINT32_MAX, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        put_kernel();
        put(damages[i].offset, damages[i].value, damages[i].bytes);
        assert_int_equal(pyro_cupti_read_record(record, sizeof record, &work), PYRO_READING_BAD);
    }
}

static void test_other_kinds_are_ignored(void **state)
{
    (void)state;
    memset(record, 0, sizeof record);
    put(0, 46, 4);
    assert_int_equal(pyro_cupti_read_record(record, sizeof record, &work), PYRO_READING_IGNORED);
}

static void assert_name(const char *expected)
{
    char text[64];
    assert_int_equal(pyro_cupti_read_record(record, sizeof record, &work), PYRO_READING_WORK);
    pyro_cupti_name_work(&work, text, sizeof text);
    assert_string_equal(text, expected);
}

static void test_names_are_those_of_torch_profiler(void **state)
{
    (void)state;
    memset(record, 0, sizeof record);
    put(0, 1, 4);
    put(4, 2 | 3 << 8 | 2 << 16, 4);
    put(8, 4096, 8);
    put(44, 5, 4);
    assert_name("Memcpy DtoH (Device -> Pinned)");
    assert_int_equal(work.bytes, 4096);
    assert_int_equal(work.correlation, 5);
    put(4, 99 | 99 << 8, 4);
    assert_name("Memcpy Unknown (Unknown -> Unknown)");

    memset(record, 0, sizeof record);
    put(0, 22, 4);
    put(4, 10 | 3 << 8 | 3 << 16, 4);
    put(44, 1, 4);
    put(60, 6, 4);
    assert_name("Memcpy PtoP (Device -> Device)");
    assert_int_equal(work.correlation, 6);

    memset(record, 0, sizeof record);
    put(0, 2, 4);
    put(50, 3, 2);
    assert_name("Memset (Device)");

    memset(record, 0, sizeof record);
    put(0, 38, 4);
    put(4, 2, 4);
    put(24, 8, 4);
    put(32, UINT32_MAX, 4);
    assert_name("Stream Wait Event");
    assert_int_equal(work.stream, PYRO_ALL_STREAMS);

    memset(record, 0, sizeof record);
    put(0, 17, 4);
    put(4, 5 << 16, 4);
    assert_name("Lazy Function Loading");
    put(4, 77 << 16, 4);
    assert_name("Unknown");
    put(4, 1, 4);
    assert_name("Driver Compiler");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_kernel),
    cmocka_unit_test(test_a_record_that_ends_early_is_bad),
    cmocka_unit_test(test_impossible_kernels_are_bad),
    cmocka_unit_test(test_other_kinds_are_ignored),
    cmocka_unit_test(test_names_are_those_of_torch_profiler),
};

UNIT_TESTS(tests, NULL, NULL)
