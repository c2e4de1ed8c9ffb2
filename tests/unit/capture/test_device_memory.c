/* Memory of torch's CUDA allocator in recordings, on stubs of torch's libraries and of CUPTI. */
#include "record.h"
#include "stub_device.h"
#include "trace/recording/recording.h"
#include "unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_RECORDS (PYRO_RECORDING_CHUNK_BYTES / PYRO_RECORDING_RECORD_BYTES)

static stub_device device;
static char folder[] = "/tmp/pyro-memory-XXXXXX";
static char file[64];
static void (*allocate)(uintptr_t address, int64_t bytes);
static void (*fail_allocation)(int64_t bytes);
static int64_t *reported;
static int *failures;
static int64_t failed_bytes;
static pyro_memory_record found[3 * CHUNK_RECORDS];
static uint32_t threads[3 * CHUNK_RECORDS];
static size_t count;

static void find(void *library, void *target, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(target, &symbol, sizeof symbol);
}

static int prepare(void **state)
{
    (void)state;
    void *library = dlopen(UNIT_C10_CUDA_STUB, RTLD_NOW | RTLD_LOCAL);
    if (!mkdtemp(folder) || !stub_device_open(&device) || !library)
        return 1;
    snprintf(file, sizeof file, "%s/run.pyro", folder);
    find(library, &allocate, "stub_allocate");
    find(library, &fail_allocation, "stub_fail");
    find(library, &reported, "c10_reported_bytes");
    find(library, &failures, "c10_failures");
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static int stop_all(void **state)
{
    unsetenv("PYRO_STUB_CUPTI");
    pyro_device_memory_stop();
    pyro_devices_stop();
    return stop_session(state);
}

static void start(uint32_t flags)
{
    pyro_recorder_options options = {.flags = flags | PYRO_RECORD_DEVICES, .overwrite = true};
    assert_int_equal(pyro_recorder_start(file, &options, NULL), PYRO_OK);
    assert_true(pyro_device_memory_start(true));
    *reported = 0;
    *failures = 0;
}

static void stop(void)
{
    pyro_device_memory_stop();
    assert_int_equal(pyro_recorder_stop(NULL), PYRO_OK);
}

/* Reads the file's records of memory, in its own way. */
static void read_records(void)
{
    static char chunk[PYRO_RECORDING_CHUNK_BYTES];
    FILE *input = fopen(file, "rb");
    assert_non_null(input);
    count = 0;
    assert_int_equal(fseek(input, PYRO_RECORDING_HEADER_BYTES, SEEK_SET), 0);
    while (fread(chunk, sizeof chunk, 1, input) == 1) {
        pyro_chunk_header header;
        memcpy(&header, chunk, sizeof header);
        for (size_t at = sizeof header; at < sizeof chunk; at += sizeof(pyro_memory_record)) {
            pyro_memory_record record;
            pyro_record any;
            memcpy(&record, chunk + at, sizeof record);
            memcpy(&any, chunk + at, sizeof any);
            if (header.kind != PYRO_CHUNK_RECORDS || record.tag != (uint32_t)header.sequence)
                break;
            if (any.kind == PYRO_RECORD_THREAD) /* another thread continues in this chunk */
                header.thread = any.name;
            if (any.kind != PYRO_RECORD_ALLOCATION)
                continue;
            threads[count] = header.thread;
            found[count++] = record;
        }
    }
    fclose(input);
}

static void test_allocations_and_frees_are_recorded(void **state)
{
    (void)state;
    start(PYRO_RECORD_MEMORY);
    uint64_t before = pyro_raw_time(pyro_recorder_entrance());
    for (uintptr_t i = 1; i <= 3; i++)
        allocate(i << 12, (int64_t)i * 512);
    allocate(2 << 12, -1024);
    uint64_t after = pyro_raw_time(pyro_recorder_entrance());
    stop();
    read_records();
    assert_int_equal(count, 4);
    assert_true(*reported == 512 + 1536); /* torch's own function got all of it */
    for (size_t i = 0; i < count; i++) {
        assert_true(found[i].start_raw >= before && found[i].start_raw <= after);
        assert_true(found[i].address == (i == 3 ? 2 : i + 1) << 12);
        assert_true(found[i].bytes == (i == 3 ? -1024 : (int64_t)(i + 1) * 512));
        assert_true(found[i].total_allocated == 100 && found[i].total_reserved == 200);
        assert_true(found[i].device_type == 1 && found[i].device_index == 3);
        assert_int_equal(found[i].out_of_memory, 0);
    }
}

/* Whether one allocation and its free become records. */
static size_t count_recorded(uint32_t flags, bool rests)
{
    start(flags);
    pyro_recorder_rest(rests);
    allocate(1 << 12, 64);
    allocate(1 << 12, -64);
    pyro_recorder_rest(false);
    stop();
    allocate(1 << 12, 128); /* in no session */
    assert_true(*reported == 128);
    read_records();
    return count;
}

static void test_only_what_is_wanted_is_recorded(void **state)
{
    (void)state;
    assert_int_equal(count_recorded(PYRO_RECORD_MEMORY, false), 2);
    assert_int_equal(count_recorded(PYRO_RECORD_MEMORY, true), 0);
    assert_int_equal(count_recorded(PYRO_RECORD_OPS, false), 0);
    assert_int_equal(count_recorded(PYRO_RECORD_MEMORY, false), 2);
}

static void test_the_slow_ways_record_the_same(void **state)
{
    (void)state;
    pyro_recorder_api *api = pyro_recorder_entrance();
    uint32_t used_clock = api->uses_clock;
    api->uses_clock = 1;
    assert_int_equal(count_recorded(PYRO_RECORD_MEMORY, false), 2);
    api->uses_clock = used_clock;
    api->needs_fence = 1;
    assert_int_equal(count_recorded(PYRO_RECORD_MEMORY, false), 2);
    api->needs_fence = 0;
}

static void note_failure(int64_t bytes, int device_type, int device_index)
{
    failed_bytes = device_type == 1 && device_index == 3 ? bytes : -1;
}

static void test_failures_are_recorded_and_reported(void **state)
{
    (void)state;
    pyro_recorder_api *api = pyro_recorder_entrance();
    api->out_of_memory = note_failure;
    start(PYRO_RECORD_MEMORY);
    fail_allocation(1 << 20);
    stop();
    read_records();
    assert_int_equal(count, 1);
    assert_true(found[0].out_of_memory && found[0].bytes == 1 << 20 && found[0].address == 0);
    assert_true(failed_bytes == 1 << 20 && *failures == 1);
    start(PYRO_RECORD_OPS); /* a failure may be a trigger nevertheless */
    fail_allocation(1 << 10);
    stop();
    api->out_of_memory = NULL;
    read_records();
    assert_int_equal(count, 0);
    assert_true(failed_bytes == 1 << 10 && *failures == 1);
}

/* CUPTI may be taken, or be taken away while the program runs. */
static void test_memory_needs_no_kernels(void **state)
{
    (void)state;
    setenv("PYRO_STUB_CUPTI", "taken", 1);
    start(PYRO_RECORD_MEMORY);
    assert_int_equal(pyro_devices_start(NULL), PYRO_DEVICES_TAKEN);
    allocate(1 << 12, 64);
    unsetenv("PYRO_STUB_CUPTI");
    assert_int_equal(pyro_devices_start(NULL), PYRO_DEVICES_ON);
    allocate(2 << 12, 64);
    pyro_devices_stop();
    allocate(3 << 12, 64);
    stop();
    read_records();
    assert_int_equal(count, 3);
}

/* As where the host alone is recorded: a failure is a trigger, and no memory is recorded. */
static void test_failures_are_reported_without_records(void **state)
{
    (void)state;
    pyro_recorder_api *api = pyro_recorder_entrance();
    failed_bytes = 0;
    api->out_of_memory = note_failure;
    start(PYRO_RECORD_MEMORY);
    assert_true(pyro_device_memory_start(false));
    allocate(1 << 12, 64);
    fail_allocation(1 << 20);
    stop();
    api->out_of_memory = NULL;
    read_records();
    assert_int_equal(count, 0);
    assert_true(failed_bytes == 1 << 20 && *failures == 1 && *reported == 64);
}

static void *allocate_much(void *first)
{
    for (uintptr_t i = 0; i < CHUNK_RECORDS + 100; i++)
        allocate((uintptr_t)first + i * 64, 1);
    return NULL;
}

static void test_threads_write_into_chunks_of_their_own(void **state)
{
    pthread_t one, other;
    size_t seen[2] = {0};
    (void)state;
    start(PYRO_RECORD_MEMORY);
    assert_int_equal(pthread_create(&one, NULL, allocate_much, (void *)0x10000000), 0);
    assert_int_equal(pthread_create(&other, NULL, allocate_much, (void *)0x20000000), 0);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    stop();
    read_records();
    assert_int_equal(count, 2 * (CHUNK_RECORDS + 100));
    for (size_t i = 0; i < count; i++) {
        size_t which = found[i].address >= 0x20000000;
        uint64_t first = which ? 0x20000000 : 0x10000000;
        assert_true(found[i].address == first + seen[which]++ * 64);
        assert_true((threads[i] == threads[0]) == (which == (found[0].address >= 0x20000000)));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_allocations_and_frees_are_recorded, stop_all),
    cmocka_unit_test_teardown(test_only_what_is_wanted_is_recorded, stop_all),
    cmocka_unit_test_teardown(test_the_slow_ways_record_the_same, stop_all),
    cmocka_unit_test_teardown(test_failures_are_recorded_and_reported, stop_all),
    cmocka_unit_test_teardown(test_memory_needs_no_kernels, stop_all),
    cmocka_unit_test_teardown(test_failures_are_reported_without_records, stop_all),
    cmocka_unit_test_teardown(test_threads_write_into_chunks_of_their_own, stop_all),
};

UNIT_TESTS(tests, prepare, clean_up)
