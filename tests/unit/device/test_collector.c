/* The collector on a stub of CUPTI: what a sink gets, and how it reports what is missing. */
#include "device/collector.h"
#include "noting_sink.h"
#include "stub_device.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static stub_device device;

static int open_stub(void **state)
{
    (void)state;
    return stub_device_open(&device) ? 0 : 1;
}

static void test_work_has_its_call_and_its_time(void **state)
{
    (void)state;
    noting_sink_start();
    uint32_t kernel = device.launch("_Z3addPfi", 5000, 7);
    uint32_t copy = device.copy(4096, 3000);
    device.wait();
    pyro_collector_stop();
    assert_int_equal(noted.work_count, 4);
    assert_string_equal(noted.names[0], stub_kernel_name("_Z3addPfi", "add(float*, int)"));
    assert_string_equal(noted.names[1], "Memcpy HtoD (Pageable -> Device)");
    assert_string_equal(noted.names[2], "Stream Sync");
    assert_string_equal(noted.names[3], "Buffer Flush");
    assert_int_equal(noted.works[0].correlation, kernel);
    assert_int_equal(noted.works[1].correlation, copy);
    assert_int_equal(noted.works[1].bytes, 4096);
    assert_int_equal(noted.call_count, 3);
    assert_string_equal(noted.calls[0].name, "cuLaunchKernel");
    assert_true(noted.calls[0].starts_kernels);
    assert_string_equal(noted.calls[1].name, "cuMemcpyHtoDAsync");
    assert_string_equal(noted.calls[2].name, "cudaStreamSynchronize");
    assert_true(noted.calls[2].is_runtime);
    /* The mapped times lie where the device ran them, within the error that is stated. */
    pyro_collector_status status;
    pyro_collector_look(&status);
    uint64_t error = status.clock_error_ns + 1000;
    assert_in_range(noted.works[0].start, noted.call_times[0] + 2000 - error, noting_sink_now());
    assert_in_range(noted.works[0].end - noted.works[0].start, 4800, 5200);
    assert_int_equal(noted.works[0].duration_ns, 5000);
    assert_int_equal(status.records, 4);
    assert_int_equal(status.unfinished, 0);
}

static void test_few_kinds(void **state)
{
    (void)state;
    static const struct {
        uint32_t more;
        size_t count;
        uint8_t last;
    } cases[] = {{0, 2, PYRO_WORK_COPY},
                 {PYRO_COLLECT_SETS, 3, PYRO_WORK_SET},
                 {PYRO_COLLECT_SYNCS, 3, PYRO_WORK_SYNC},
                 {PYRO_COLLECT_OVERHEAD, 3, PYRO_WORK_OVERHEAD}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        noting_sink_begin(NULL);
        assert_int_equal(pyro_collector_start(&noting_sink, cases[i].more), PYRO_COLLECTOR_ON);
        device.launch("kernel", 10, 7);
        device.copy(4096, 10);
        device.set(4096, 10);
        device.wait();
        pyro_collector_stop();
        assert_int_equal(noted.work_count, cases[i].count);
        assert_int_equal(noted.works[cases[i].count - 1].kind, cases[i].last);
        assert_int_equal(noted.call_count,
                         4); /* noted.calls are seen without records of their work */
    }
}

static void test_many_buffers_lose_nothing(void **state)
{
    (void)state;
    noting_sink_start();
    for (int i = 0; i < 30000; i++)
        device.launch("_Z3addPfi", 10, 7);
    pyro_collector_stop();
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(noted.work_count, 30000);
    assert_int_equal(status.dropped, 0);
    assert_int_equal(status.launches, 30000);
    for (size_t i = 1; i < noted.work_count; i++)
        assert_true(noted.works[i].correlation > noted.works[i - 1].correlation);
}

static void test_a_flush_delivers_what_has_finished(void **state)
{
    (void)state;
    noting_sink_start();
    device.launch("kernel", 10, 7);
    pyro_collector_flush();
    assert_int_equal(noted.work_count, 1);
    assert_string_equal(noted.names[0], "kernel");
    device.set(64, 5);
    pyro_collector_flush();
    assert_int_equal(noted.work_count, 2);
    assert_string_equal(noted.names[1], "Memset (Device)");
}

static void test_graphs(void **state)
{
    (void)state;
    noting_sink_start();
    device.capture(true);
    device.launch("_Z1av", 10, 7);
    device.launch("_Z1bv", 10, 7);
    device.capture(false);
    uint32_t replay = device.replay(10);
    pyro_collector_stop();
    assert_int_equal(noted.captured_count, 2);
    assert_int_equal(noted.node_count, 4);
    assert_true(noted.originals[0] == 0 && noted.originals[1] == 0);
    assert_true(noted.originals[2] == noted.nodes[0] && noted.originals[3] == noted.nodes[1]);
    assert_int_equal(noted.work_count, 2);
    assert_true(noted.works[0].graph_node == noted.nodes[2] &&
                noted.works[1].graph_node == noted.nodes[3]);
    assert_int_equal(noted.works[0].correlation, replay);
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(status.unfinished, 0);
}

/* Asking CUPTI for records could break the capture. */
static void test_a_flush_during_a_capture_asks_for_nothing(void **state)
{
    (void)state;
    noting_sink_start();
    device.launch("before", 10, 7);
    device.capture(true);
    device.launch("captured", 10, 7);
    size_t flushes = device.flushes();
    pyro_collector_flush();
    assert_int_equal(device.flushes(), flushes);
    assert_int_equal(noted.work_count, 0);
    device.capture(false); /* the graph is executable now */
    pyro_collector_flush();
    assert_int_equal(device.flushes(), flushes + 1);
    assert_int_equal(noted.work_count, 1);
    /* A capture that is never finished holds nothing back for long. */
    device.capture(true);
    device.launch("captured", 10, 7);
    noted.ahead_ns += 2000000000;
    pyro_collector_flush();
    assert_int_equal(device.flushes(), flushes + 2);
    device.capture(false);
    noted.ahead_ns = 0;
}

/* Another profiler has left its clock in the records. Launches show that, not only the first ones: a
 * captured launch has no work. */
static void test_a_clock_that_was_left(void **state)
{
    (void)state;
    for (int captured = 0; captured <= 200; captured += 200) {
        noted.work_count = noted.call_count = 0;
        device.leave_clock(noting_sink_now);
        noting_sink_start();
        device.capture(true);
        for (int i = 0; i < captured; i++)
            device.launch("captured", 10, 7);
        device.capture(false);
        size_t before = noted.call_count;
        device.launch("kernel", 5000, 7);
        pyro_collector_stop();
        device.leave_clock(NULL);
        assert_string_equal(noted.names[0], "kernel");
        assert_in_range(noted.works[0].start, noted.call_times[before], noting_sink_now());
        assert_int_equal(noted.works[0].end - noted.works[0].start, 5000);
    }
}

/* A stop delivers everything, also during a capture. */
static void test_a_stop_during_a_capture(void **state)
{
    (void)state;
    noting_sink_start();
    device.launch("before", 10, 7);
    device.capture(true);
    device.launch("captured", 10, 7);
    pyro_collector_stop();
    assert_int_equal(noted.work_count, 1);
    device.capture(false);
}

static void test_failed_launches_are_not_waited_for(void **state)
{
    (void)state;
    noting_sink_start();
    device.fail_launches(true);
    device.launch("kernel", 10, 7);
    device.fail_launches(false);
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(noted.failed_count, 1);
    assert_int_equal(status.unfinished, 0);
}

static void test_drops_and_strange_records_are_counted(void **state)
{
    (void)state;
    noting_sink_start();
    device.drop(12);
    for (int i = 0; i < 70; i++)
        device.strange();
    device.launch("kernel", 10, 7);
    pyro_collector_stop();
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(status.dropped, 12);
    assert_int_equal(status.malformed, 70);
    /* With so many records that make no sense, none can be trusted. */
    assert_int_equal(noted.work_count, 0);
}

static void assert_refused(const char *mode, pyro_collector_state expected, const char *text)
{
    pyro_collector_status status;
    setenv("PYRO_STUB_CUPTI", mode, 1);
    assert_int_equal(pyro_collector_start(&noting_sink, PYRO_COLLECT_ALL), expected);
    pyro_collector_look(&status);
    assert_non_null(strstr(status.reason, text));
    assert_null(strchr(status.reason, '\n'));
    unsetenv("PYRO_STUB_CUPTI");
    /* Later it noted.works. */
    noting_sink_start();
    pyro_collector_stop();
}

static void test_a_library_that_is_in_use(void **state)
{
    (void)state;
    assert_refused("taken", PYRO_COLLECTOR_TAKEN, "another profiler");
}

static void test_missing_privileges(void **state)
{
    (void)state;
    assert_refused("privileges", PYRO_COLLECTOR_NOT_ALLOWED, "administrators");
}

static void test_an_old_driver(void **state)
{
    (void)state;
    assert_refused("driver", PYRO_COLLECTOR_OLD_DRIVER, "NVIDIA driver");
}

static void test_it_can_start_again(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        noting_sink_start();
        device.launch("kernel", 10, 7);
        pyro_collector_stop();
    }
    assert_int_equal(noted.work_count, 5);
    device.launch("kernel", 10, 7);
    assert_int_equal(noted.call_count, 5);
}

static size_t resident_bytes(void)
{
    size_t pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%zu %zu", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * 4096;
}

/* Several buffers per simulated second. The clocks drift apart by 40 us per second. */
static void pass_a_second(void)
{
    static const char *const kernels[] = {"_Z3addPfi", "_Z3mulPfi", "_Z4gemmPfi"};
    for (size_t i = 0; i < 300; i++)
        device.launch(kernels[i % 3], 1000, 7);
    device.copy(4096, 500);
    pyro_collector_flush();
    device.advance(1000040000);
    noted.ahead_ns += 1000000000;
}

static void test_an_hour_takes_no_memory(void **state)
{
    (void)state;
    size_t after_minutes = 0;
    noting_sink_start();
    assert_false(device.records_queries());
    for (int second = 0; second < 3600; second++) {
        if (second == 300) /* the arrays of this test are full */
            after_minutes = resident_bytes();
        pass_a_second();
    }
    uint64_t begun = noting_sink_now();
    device.launch("last", 1000, 7);
    pyro_collector_flush();
    size_t grown = resident_bytes() - after_minutes;
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(noted.work_count, 3600 * 301 + 1);
    assert_int_equal(status.records, noted.work_count);
    assert_int_equal(status.dropped + status.malformed + status.unfinished, 0);
    assert_in_range(status.buffers, 1, 16);
    assert_true(grown < 1 << 20 || grown > SIZE_MAX / 2);
    /* The times are as exact as at the start. */
    assert_in_range(noted.last_work.start, begun - status.clock_error_ns,
                    noting_sink_now() + 2000 + status.clock_error_ns);
    assert_in_range(noted.last_work.duration_ns, 1000, 1000);
    noted.ahead_ns = 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_work_has_its_call_and_its_time, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_few_kinds, noting_sink_begin, noting_sink_end),
    cmocka_unit_test_setup_teardown(test_many_buffers_lose_nothing, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_a_flush_delivers_what_has_finished, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_graphs, noting_sink_begin, noting_sink_end),
    cmocka_unit_test_setup_teardown(test_a_flush_during_a_capture_asks_for_nothing,
                                    noting_sink_begin, noting_sink_end),
    cmocka_unit_test_setup_teardown(test_a_stop_during_a_capture, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_a_clock_that_was_left, noting_sink_begin, noting_sink_end),
    cmocka_unit_test_setup_teardown(test_failed_launches_are_not_waited_for, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_drops_and_strange_records_are_counted, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_a_library_that_is_in_use, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_missing_privileges, noting_sink_begin, noting_sink_end),
    cmocka_unit_test_setup_teardown(test_an_old_driver, noting_sink_begin, noting_sink_end),
    cmocka_unit_test_setup_teardown(test_it_can_start_again, noting_sink_begin, noting_sink_end),
    cmocka_unit_test_setup_teardown(test_an_hour_takes_no_memory, noting_sink_begin,
                                    noting_sink_end),
};

UNIT_TESTS(tests, open_stub, NULL)
