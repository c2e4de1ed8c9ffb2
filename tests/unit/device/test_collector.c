/* The collector on a stub of CUPTI: what a sink gets, and how it reports what is missing. */
#include "device/collector.h"
#include "stub_device.h"
#include "unit.h"

#include <pyrometer/capture.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOST 40000

static stub_device device;
static pyro_device_work works[MOST], last_work;
static char names[64][80];
static pyro_device_call calls[MOST];
static uint64_t call_times[MOST], nodes[64], originals[64];
static size_t work_count, call_count, end_count, node_count, failed_count, captured_count;

static uint64_t ahead_ns; /* of the system's clock */

/* Launches that were written as a whole. */
static pyro_recorder_api recorder = {.generation = 1};
static pyro_record records[64];
static pyro_recorder_thread written = {.next = records, .end = records + 64};
static pyro_recorder_thread *writer;

static void take_launches(bool takes)
{
    recorder.is_resting = !takes;
}

static size_t launch_count(void)
{
    return (size_t)(written.next - records);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec + ahead_ns;
}

static double ns_per_unit(void)
{
    return 1;
}

static pyro_call_kind call_begins(const pyro_device_call *call, uint32_t correlation,
                                  uint64_t begun)
{
    (void)correlation;
    if (call_count < MOST) {
        call_times[call_count] = begun;
        calls[call_count] = *call;
    }
    call_count++;
    return (pyro_call_kind){.head = recorder.is_resting ? 0 : call->number,
                            .session = recorder.generation,
                            .writer = &writer};
}

static void call_ends(const pyro_device_call *call, uint32_t correlation, pyro_call_outcome outcome)
{
    (void)call;
    (void)correlation;
    end_count++;
    failed_count += outcome.failed;
    captured_count += outcome.is_captured;
}

static void node_added(uint64_t node, uint64_t original)
{
    if (node_count < sizeof nodes / sizeof *nodes) {
        nodes[node_count] = node;
        originals[node_count] = original;
    }
    node_count++;
}

static void nothing(void)
{
}

static void add_work(const pyro_device_work *work)
{
    if (work_count < sizeof names / sizeof *names)
        snprintf(names[work_count], sizeof names[0], "%s", work->name);
    if (work_count < MOST)
        works[work_count] = *work;
    last_work = *work;
    work_count++;
}

static const pyro_device_sink sink = {.now = now,
                                      .ns_per_unit = ns_per_unit,
                                      .recorder = &recorder,
                                      .call_begins = call_begins,
                                      .call_ends = call_ends,
                                      .node_added = node_added,
                                      .work_begins = nothing,
                                      .work = add_work,
                                      .work_ends = nothing};

static int open_stub(void **state)
{
    (void)state;
    return stub_device_open(&device) ? 0 : 1;
}

static int begin(void **state)
{
    (void)state;
    work_count = call_count = end_count = node_count = failed_count = captured_count = 0;
    take_launches(false);
    memset(records, 0, sizeof records);
    written.next = records;
    written.busy = 0;
    writer = &written;
    unsetenv("PYRO_STUB_CUPTI");
    return 0;
}

static int end(void **state)
{
    (void)state;
    pyro_collector_stop();
    unsetenv("PYRO_STUB_CUPTI");
    return 0;
}

static void start(void)
{
    assert_int_equal(pyro_collector_start(&sink, PYRO_COLLECT_ALL), PYRO_COLLECTOR_ON);
}

static void test_work_has_its_call_and_its_time(void **state)
{
    (void)state;
    start();
    uint32_t kernel = device.launch("_Z3addPfi", 5000, 7);
    uint32_t copy = device.copy(4096, 3000);
    device.wait();
    pyro_collector_stop();
    assert_int_equal(work_count, 4);
    assert_string_equal(names[0], stub_kernel_name("_Z3addPfi", "add(float*, int)"));
    assert_string_equal(names[1], "Memcpy HtoD (Pageable -> Device)");
    assert_string_equal(names[2], "Stream Sync");
    assert_string_equal(names[3], "Buffer Flush");
    assert_int_equal(works[0].correlation, kernel);
    assert_int_equal(works[1].correlation, copy);
    assert_int_equal(works[1].bytes, 4096);
    assert_int_equal(call_count, 3);
    assert_string_equal(calls[0].name, "cuLaunchKernel");
    assert_true(calls[0].starts_kernels);
    assert_string_equal(calls[1].name, "cuMemcpyHtoDAsync");
    assert_string_equal(calls[2].name, "cudaStreamSynchronize");
    assert_true(calls[2].is_runtime);
    /* The mapped times lie where the device ran them, within the error that is stated. */
    pyro_collector_status status;
    pyro_collector_look(&status);
    uint64_t error = status.clock_error_ns + 1000;
    assert_in_range(works[0].start, call_times[0] + 2000 - error, now());
    assert_in_range(works[0].end - works[0].start, 4800, 5200);
    assert_int_equal(works[0].duration_ns, 5000);
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
        begin(NULL);
        assert_int_equal(pyro_collector_start(&sink, cases[i].more), PYRO_COLLECTOR_ON);
        device.launch("kernel", 10, 7);
        device.copy(4096, 10);
        device.set(4096, 10);
        device.wait();
        pyro_collector_stop();
        assert_int_equal(work_count, cases[i].count);
        assert_int_equal(works[cases[i].count - 1].kind, cases[i].last);
        assert_int_equal(call_count, 4); /* calls are seen without records of their work */
    }
}

static void test_many_buffers_lose_nothing(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 30000; i++)
        device.launch("_Z3addPfi", 10, 7);
    pyro_collector_stop();
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(work_count, 30000);
    assert_int_equal(status.dropped, 0);
    assert_int_equal(status.launches, 30000);
    for (size_t i = 1; i < work_count; i++)
        assert_true(works[i].correlation > works[i - 1].correlation);
}

static void test_a_flush_delivers_what_has_finished(void **state)
{
    (void)state;
    start();
    device.launch("kernel", 10, 7);
    pyro_collector_flush();
    assert_int_equal(work_count, 1);
    assert_string_equal(names[0], "kernel");
    device.set(64, 5);
    pyro_collector_flush();
    assert_int_equal(work_count, 2);
    assert_string_equal(names[1], "Memset (Device)");
}

static void test_graphs(void **state)
{
    (void)state;
    start();
    device.capture(true);
    device.launch("_Z1av", 10, 7);
    device.launch("_Z1bv", 10, 7);
    device.capture(false);
    uint32_t replay = device.replay(10);
    pyro_collector_stop();
    assert_int_equal(captured_count, 2);
    assert_int_equal(node_count, 4);
    assert_true(originals[0] == 0 && originals[1] == 0);
    assert_true(originals[2] == nodes[0] && originals[3] == nodes[1]);
    assert_int_equal(work_count, 2);
    assert_true(works[0].graph_node == nodes[2] && works[1].graph_node == nodes[3]);
    assert_int_equal(works[0].correlation, replay);
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(status.unfinished, 0);
}

/* Asking CUPTI for records could break the capture. */
static void test_a_flush_during_a_capture_asks_for_nothing(void **state)
{
    (void)state;
    start();
    device.launch("before", 10, 7);
    device.capture(true);
    device.launch("captured", 10, 7);
    size_t flushes = device.flushes();
    pyro_collector_flush();
    assert_int_equal(device.flushes(), flushes);
    assert_int_equal(work_count, 0);
    device.capture(false); /* the graph is executable now */
    pyro_collector_flush();
    assert_int_equal(device.flushes(), flushes + 1);
    assert_int_equal(work_count, 1);
    /* A capture that is never finished holds nothing back for long. */
    device.capture(true);
    device.launch("captured", 10, 7);
    ahead_ns += 2000000000;
    pyro_collector_flush();
    assert_int_equal(device.flushes(), flushes + 2);
    device.capture(false);
    ahead_ns = 0;
}

/* Another profiler has left its clock in the records. Launches show that, not only the first ones: a
 * captured launch has no work. */
static void test_a_clock_that_was_left(void **state)
{
    (void)state;
    for (int captured = 0; captured <= 200; captured += 200) {
        work_count = call_count = 0;
        device.leave_clock(now);
        start();
        device.capture(true);
        for (int i = 0; i < captured; i++)
            device.launch("captured", 10, 7);
        device.capture(false);
        size_t before = call_count;
        device.launch("kernel", 5000, 7);
        pyro_collector_stop();
        device.leave_clock(NULL);
        assert_string_equal(names[0], "kernel");
        assert_in_range(works[0].start, call_times[before], now());
        assert_int_equal(works[0].end - works[0].start, 5000);
    }
}

/* A stop delivers everything, also during a capture. */
static void test_a_stop_during_a_capture(void **state)
{
    (void)state;
    start();
    device.launch("before", 10, 7);
    device.capture(true);
    device.launch("captured", 10, 7);
    pyro_collector_stop();
    assert_int_equal(work_count, 1);
    device.capture(false);
}

static void test_failed_launches_are_not_waited_for(void **state)
{
    (void)state;
    start();
    device.fail_launches(true);
    device.launch("kernel", 10, 7);
    device.fail_launches(false);
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(failed_count, 1);
    assert_int_equal(status.unfinished, 0);
}

static void test_drops_and_strange_records_are_counted(void **state)
{
    (void)state;
    start();
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
    assert_int_equal(work_count, 0);
}

static void assert_refused(const char *mode, pyro_collector_state expected, const char *text)
{
    pyro_collector_status status;
    setenv("PYRO_STUB_CUPTI", mode, 1);
    assert_int_equal(pyro_collector_start(&sink, PYRO_COLLECT_ALL), expected);
    pyro_collector_look(&status);
    assert_non_null(strstr(status.reason, text));
    assert_null(strchr(status.reason, '\n'));
    unsetenv("PYRO_STUB_CUPTI");
    /* Later it works. */
    start();
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
    assert_refused("driver", PYRO_COLLECTOR_TOO_OLD, "NVIDIA driver");
}

static void test_it_can_start_again(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        start();
        device.launch("kernel", 10, 7);
        pyro_collector_stop();
    }
    assert_int_equal(work_count, 5);
    device.launch("kernel", 10, 7);
    assert_int_equal(call_count, 5);
}

static void *launch_some(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++)
        device.launch("kernel", 10, 7);
    return NULL;
}

/* Only the first threads have counters of their own. */
static void test_launches_of_all_threads_are_counted(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        start();
        for (int i = 0; i < 7; i++) {
            pthread_t thread;
            launch_some(NULL);
            assert_int_equal(pthread_create(&thread, NULL, launch_some, NULL), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
        }
        pyro_collector_stop();
        pyro_collector_status status;
        pyro_collector_look(&status);
        assert_int_equal(status.launches, 140);
        assert_int_equal(status.unfinished, 0);
    }
    assert_int_equal(call_count, 280);
    assert_int_equal(end_count, 280);
}

/* After the first one of its kind; programs launch with two functions in turn. */
static void test_launches_are_reported_as_a_whole(void **state)
{
    (void)state;
    take_launches(true);
    start();
    device.capture(true);
    device.launch("captured", 10, 7);
    device.capture(false);
    for (int i = 0; i < 10; i++) {
        uint64_t before = pyro_counter();
        device.launch("kernel", 10, 7);
        const pyro_record *last = written.next - 1;
        if (i > 0)
            assert_true(before <= last->start_raw && last->start_raw <= last->end_raw &&
                        last->end_raw <= pyro_counter());
        device.replay(10);
    }
    pyro_collector_stop();
    pyro_collector_status status;
    pyro_collector_look(&status);
    /* The captured launch, which the node in it makes known, and the first replay. */
    assert_int_equal(call_count, 2);
    assert_int_equal(end_count, 2);
    assert_int_equal(captured_count, 1);
    assert_string_equal(calls[1].name, "cuGraphLaunch");
    assert_int_equal(launch_count(), 19);
    assert_int_equal(records[0].name, calls[0].number);
    assert_int_equal(records[1].name, calls[0].number);
    assert_int_equal(records[2].name, calls[1].number);
    assert_int_equal(written.busy, 0);
    /* Each has its work; the second work is that of the first replay. */
    for (size_t i = 0; i < 19; i++)
        assert_int_equal(records[i].sequence, works[i ? i + 1 : 0].correlation);
    assert_int_equal(status.launches, 21);
    assert_int_equal(status.unfinished, 0);
    assert_int_equal(work_count, 20);
}

/* Something happens inside, the launch fails, or the recorder rests. */
static void test_launches_that_have_a_beginning(void **state)
{
    (void)state;
    take_launches(true);
    start();
    device.launch("first", 10, 7);
    device.launch("whole", 10, 7);
    assert_int_equal(call_count, 1);
    device.capture(true);
    uint64_t before = pyro_counter();
    device.launch("captured", 10, 7);
    device.capture(false);
    assert_int_equal(call_count, 2);
    assert_int_equal(captured_count, 1);
    assert_true(call_times[1] >= before && call_times[1] <= pyro_counter());
    device.fail_launches(true);
    device.launch("failing", 10, 7);
    device.fail_launches(false);
    assert_int_equal(call_count, 3);
    assert_int_equal(failed_count, 1);
    take_launches(false);
    device.launch("refused", 10, 7);
    device.launch("refused", 10, 7);
    assert_int_equal(call_count, 5);
    take_launches(true);
    device.launch("first", 10, 7);
    device.launch("whole", 10, 7);
    assert_int_equal(call_count, 6);
    assert_int_equal(end_count, 6);
    assert_int_equal(launch_count(), 2);
    pyro_collector_stop();
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(status.launches, 8);
    assert_int_equal(status.unfinished, 0);
}

/* So is memory that is set. Waits are written when they begin. */
static void test_other_calls_of_a_known_kind(void **state)
{
    (void)state;
    take_launches(true);
    start();
    device.launch("first", 10, 7);
    device.set(64, 5);
    device.wait();
    assert_int_equal(call_count, 3);
    assert_int_equal(end_count, 2); /* the wait was known when it ended */
    for (int i = 0; i < 5; i++) {
        uint64_t before = pyro_counter();
        uint32_t launch = device.launch("kernel", 10, 7), set = device.set(64, 5);
        uint32_t wait = device.wait();
        const pyro_record *last = written.next - 1;
        assert_int_equal(last[-2].sequence, launch);
        assert_int_equal(last[-1].sequence, set);
        assert_int_equal(last[-1].name, calls[1].number);
        assert_true(before <= last[-2].end_raw && last[-2].end_raw <= last[-1].start_raw &&
                    last[-1].start_raw <= last[-1].end_raw && last[-1].end_raw <= last->start_raw &&
                    last->start_raw <= last->end_raw && last->end_raw <= pyro_counter());
        assert_int_equal(last->sequence, wait);
        assert_int_equal(last->name, calls[2].number);
        assert_ptr_equal(written.open[0].key, pyro_call_span_key(wait));
        assert_int_equal(written.depth, 0);
    }
    assert_int_equal(launch_count(), 15);
    assert_int_equal(call_count, 3);
    device.fail_launches(true);
    device.set(64, 5);
    device.fail_launches(false);
    assert_int_equal(failed_count, 1);
    take_launches(false);
    device.set(64, 5);
    device.wait();
    take_launches(true);
    device.set(64, 5);
    device.set(64, 5);
    assert_int_equal(call_count, 7);
    assert_int_equal(end_count, 6);
    assert_int_equal(launch_count(), 16);
    assert_int_equal(written.busy, 0);
    pyro_collector_stop();
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(status.launches, 6);
    assert_int_equal(status.unfinished, 0);
}

/* A thread knows two kinds. The sink learns of a pending launch of either kind with the right name. */
static void test_a_pending_launch_of_the_other_kind(void **state)
{
    (void)state;
    take_launches(true);
    start();
    device.capture(true);
    device.launch("captured", 10, 7);
    device.capture(false);
    device.replay(10);
    assert_int_equal(call_count, 2);
    for (int i = 0; i < 2; i++) {
        device.replay(10);
        device.capture(true);
        device.launch("captured", 10, 7);
        device.capture(false);
        assert_int_equal(call_count, 3 + i);
        assert_string_equal(calls[2 + i].name, "cuLaunchKernel");
    }
    assert_int_equal(captured_count, 3);
    pyro_collector_stop();
}

/* What the sink said of a kind holds in one session; in the next one it is asked again. */
static void test_kinds_of_launches_belong_to_a_session(void **state)
{
    (void)state;
    take_launches(true);
    start();
    device.capture(true);
    device.launch("captured", 10, 7);
    device.capture(false);
    for (int i = 0; i < 3; i++) {
        call_count = 0;
        written.next = records;
        for (int j = 0; j < 5; j++) {
            device.launch("kernel", 10, 7);
            device.replay(10);
        }
        assert_int_equal(call_count,
                         i ? 2 : 1); /* the kernel's kind was known by the captured one */
        assert_int_equal(launch_count(), 10 - call_count);
        recorder.generation++;
    }
    pyro_collector_stop();
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(status.launches, 31);
    assert_int_equal(status.unfinished, 0);
}

/* The recorder's chunk is full, or the thread has left the recorder: the sink learns of each launch. */
static void test_launches_without_room(void **state)
{
    (void)state;
    take_launches(true);
    start();
    for (int i = 0; i < 70; i++)
        device.launch("kernel", 10, 7);
    assert_int_equal(launch_count(), 64);
    assert_int_equal(call_count, 6);
    written.next = records;
    device.launch("kernel", 10, 7);
    assert_int_equal(launch_count(), 1);
    writer = NULL;
    device.launch("kernel", 10, 7);
    assert_int_equal(launch_count(), 1);
    assert_int_equal(call_count, 7);
    assert_int_equal(end_count, 7);
    pyro_collector_stop();
    assert_int_equal(work_count, 72);
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
    ahead_ns += 1000000000;
}

static void test_an_hour_takes_no_memory(void **state)
{
    (void)state;
    size_t after_minutes = 0;
    start();
    assert_false(device.records_queries());
    for (int second = 0; second < 3600; second++) {
        if (second == 300) /* the arrays of this test are full */
            after_minutes = resident_bytes();
        pass_a_second();
    }
    uint64_t begun = now();
    device.launch("last", 1000, 7);
    pyro_collector_flush();
    size_t grown = resident_bytes() - after_minutes;
    pyro_collector_status status;
    pyro_collector_look(&status);
    assert_int_equal(work_count, 3600 * 301 + 1);
    assert_int_equal(status.records, work_count);
    assert_int_equal(status.dropped + status.malformed + status.unfinished, 0);
    assert_in_range(status.buffers, 1, 16);
    assert_true(grown < 1 << 20 || grown > SIZE_MAX / 2);
    /* The times are as exact as at the start. */
    assert_in_range(last_work.start, begun - status.clock_error_ns,
                    now() + 2000 + status.clock_error_ns);
    assert_in_range(last_work.duration_ns, 1000, 1000);
    ahead_ns = 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_work_has_its_call_and_its_time, begin, end),
    cmocka_unit_test_setup_teardown(test_few_kinds, begin, end),
    cmocka_unit_test_setup_teardown(test_many_buffers_lose_nothing, begin, end),
    cmocka_unit_test_setup_teardown(test_a_flush_delivers_what_has_finished, begin, end),
    cmocka_unit_test_setup_teardown(test_graphs, begin, end),
    cmocka_unit_test_setup_teardown(test_a_flush_during_a_capture_asks_for_nothing, begin, end),
    cmocka_unit_test_setup_teardown(test_a_stop_during_a_capture, begin, end),
    cmocka_unit_test_setup_teardown(test_a_clock_that_was_left, begin, end),
    cmocka_unit_test_setup_teardown(test_failed_launches_are_not_waited_for, begin, end),
    cmocka_unit_test_setup_teardown(test_drops_and_strange_records_are_counted, begin, end),
    cmocka_unit_test_setup_teardown(test_a_library_that_is_in_use, begin, end),
    cmocka_unit_test_setup_teardown(test_missing_privileges, begin, end),
    cmocka_unit_test_setup_teardown(test_an_old_driver, begin, end),
    cmocka_unit_test_setup_teardown(test_it_can_start_again, begin, end),
    cmocka_unit_test_setup_teardown(test_launches_of_all_threads_are_counted, begin, end),
    cmocka_unit_test_setup_teardown(test_launches_are_reported_as_a_whole, begin, end),
    cmocka_unit_test_setup_teardown(test_launches_that_have_a_beginning, begin, end),
    cmocka_unit_test_setup_teardown(test_other_calls_of_a_known_kind, begin, end),
    cmocka_unit_test_setup_teardown(test_a_pending_launch_of_the_other_kind, begin, end),
    cmocka_unit_test_setup_teardown(test_kinds_of_launches_belong_to_a_session, begin, end),
    cmocka_unit_test_setup_teardown(test_launches_without_room, begin, end),
    cmocka_unit_test_setup_teardown(test_an_hour_takes_no_memory, begin, end),
};

UNIT_TESTS(tests, open_stub, NULL)
