/* How calls of threads reach the sink, on a stub of CUPTI: each by itself, or written as a whole. */
#include "device/collector.h"
#include "noting_sink.h"
#include "stub_device.h"
#include "unit.h"

#include <pthread.h>
#include <string.h>

static stub_device device;

static int open_stub(void **state)
{
    (void)state;
    return stub_device_open(&device) ? 0 : 1;
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
        noting_sink_start();
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
    assert_int_equal(noted.call_count, 280);
    assert_int_equal(noted.end_count, 280);
}

/* After the first one of its kind; programs launch with two functions in turn. */
static void test_launches_are_reported_as_a_whole(void **state)
{
    (void)state;
    noting_sink_take_launches(true);
    noting_sink_start();
    device.capture(true);
    device.launch("captured", 10, 7);
    device.capture(false);
    for (int i = 0; i < 10; i++) {
        uint64_t before = pyro_counter();
        device.launch("kernel", 10, 7);
        const pyro_record *last = noted.written.next - 1;
        if (i > 0)
            assert_true(before <= last->start_raw && last->start_raw <= last->end_raw &&
                        last->end_raw <= pyro_counter());
        device.replay(10);
    }
    pyro_collector_stop();
    pyro_collector_status status;
    pyro_collector_look(&status);
    /* The captured launch, which the node in it makes known, and the first replay. */
    assert_int_equal(noted.call_count, 2);
    assert_int_equal(noted.end_count, 2);
    assert_int_equal(noted.captured_count, 1);
    assert_string_equal(noted.calls[1].name, "cuGraphLaunch");
    assert_int_equal(noting_sink_written(), 19);
    assert_int_equal(noted.records[0].name, noted.calls[0].number);
    assert_int_equal(noted.records[1].name, noted.calls[0].number);
    assert_int_equal(noted.records[2].name, noted.calls[1].number);
    assert_int_equal(noted.written.busy, 0);
    /* Each has its work; the second work is that of the first replay. */
    for (size_t i = 0; i < 19; i++)
        assert_int_equal(noted.records[i].sequence, noted.works[i ? i + 1 : 0].correlation);
    assert_int_equal(status.launches, 21);
    assert_int_equal(status.unfinished, 0);
    assert_int_equal(noted.work_count, 20);
}

/* Something happens inside, the launch fails, or the recorder rests. */
static void test_launches_that_have_a_beginning(void **state)
{
    (void)state;
    noting_sink_take_launches(true);
    noting_sink_start();
    device.launch("first", 10, 7);
    device.launch("whole", 10, 7);
    assert_int_equal(noted.call_count, 1);
    device.capture(true);
    uint64_t before = pyro_counter();
    device.launch("captured", 10, 7);
    device.capture(false);
    assert_int_equal(noted.call_count, 2);
    assert_int_equal(noted.captured_count, 1);
    assert_true(noted.call_times[1] >= before && noted.call_times[1] <= pyro_counter());
    device.fail_launches(true);
    device.launch("failing", 10, 7);
    device.fail_launches(false);
    assert_int_equal(noted.call_count, 3);
    assert_int_equal(noted.failed_count, 1);
    noting_sink_take_launches(false);
    device.launch("refused", 10, 7);
    device.launch("refused", 10, 7);
    assert_int_equal(noted.call_count, 5);
    noting_sink_take_launches(true);
    device.launch("first", 10, 7);
    device.launch("whole", 10, 7);
    assert_int_equal(noted.call_count, 6);
    assert_int_equal(noted.end_count, 6);
    assert_int_equal(noting_sink_written(), 2);
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
    noting_sink_take_launches(true);
    noting_sink_start();
    device.launch("first", 10, 7);
    device.set(64, 5);
    device.wait();
    assert_int_equal(noted.call_count, 3);
    assert_int_equal(noted.end_count, 2); /* the wait was known when it ended */
    for (int i = 0; i < 5; i++) {
        uint64_t before = pyro_counter();
        uint32_t launch = device.launch("kernel", 10, 7), set = device.set(64, 5);
        uint32_t wait = device.wait();
        const pyro_record *last = noted.written.next - 1;
        assert_int_equal(last[-2].sequence, launch);
        assert_int_equal(last[-1].sequence, set);
        assert_int_equal(last[-1].name, noted.calls[1].number);
        assert_true(before <= last[-2].end_raw && last[-2].end_raw <= last[-1].start_raw &&
                    last[-1].start_raw <= last[-1].end_raw && last[-1].end_raw <= last->start_raw &&
                    last->start_raw <= last->end_raw && last->end_raw <= pyro_counter());
        assert_int_equal(last->sequence, wait);
        assert_int_equal(last->name, noted.calls[2].number);
        assert_ptr_equal(noted.written.open[0].key, pyro_call_span_key(wait));
        assert_int_equal(noted.written.depth, 0);
    }
    assert_int_equal(noting_sink_written(), 15);
    assert_int_equal(noted.call_count, 3);
    device.fail_launches(true);
    device.set(64, 5);
    device.fail_launches(false);
    assert_int_equal(noted.failed_count, 1);
    noting_sink_take_launches(false);
    device.set(64, 5);
    device.wait();
    noting_sink_take_launches(true);
    device.set(64, 5);
    device.set(64, 5);
    assert_int_equal(noted.call_count, 7);
    assert_int_equal(noted.end_count, 6);
    assert_int_equal(noting_sink_written(), 16);
    assert_int_equal(noted.written.busy, 0);
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
    noting_sink_take_launches(true);
    noting_sink_start();
    device.capture(true);
    device.launch("captured", 10, 7);
    device.capture(false);
    device.replay(10);
    assert_int_equal(noted.call_count, 2);
    for (int i = 0; i < 2; i++) {
        device.replay(10);
        device.capture(true);
        device.launch("captured", 10, 7);
        device.capture(false);
        assert_int_equal(noted.call_count, 3 + i);
        assert_string_equal(noted.calls[2 + i].name, "cuLaunchKernel");
    }
    assert_int_equal(noted.captured_count, 3);
    pyro_collector_stop();
}

/* What the sink said of a kind holds in one session; in the next one it is asked again. */
static void test_kinds_of_launches_belong_to_a_session(void **state)
{
    (void)state;
    noting_sink_take_launches(true);
    noting_sink_start();
    device.capture(true);
    device.launch("captured", 10, 7);
    device.capture(false);
    for (int i = 0; i < 3; i++) {
        noted.call_count = 0;
        noted.written.next = noted.records;
        for (int j = 0; j < 5; j++) {
            device.launch("kernel", 10, 7);
            device.replay(10);
        }
        assert_int_equal(noted.call_count,
                         i ? 2 : 1); /* the kernel's kind was known by the captured one */
        assert_int_equal(noting_sink_written(), 10 - noted.call_count);
        noted.recorder.generation++;
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
    noting_sink_take_launches(true);
    noting_sink_start();
    for (int i = 0; i < 70; i++)
        device.launch("kernel", 10, 7);
    assert_int_equal(noting_sink_written(), 64);
    assert_int_equal(noted.call_count, 6);
    noted.written.next = noted.records;
    device.launch("kernel", 10, 7);
    assert_int_equal(noting_sink_written(), 1);
    noted.writer = NULL;
    device.launch("kernel", 10, 7);
    assert_int_equal(noting_sink_written(), 1);
    assert_int_equal(noted.call_count, 7);
    assert_int_equal(noted.end_count, 7);
    pyro_collector_stop();
    assert_int_equal(noted.work_count, 72);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_launches_of_all_threads_are_counted, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_launches_are_reported_as_a_whole, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_launches_that_have_a_beginning, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_other_calls_of_a_known_kind, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_a_pending_launch_of_the_other_kind, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_kinds_of_launches_belong_to_a_session, noting_sink_begin,
                                    noting_sink_end),
    cmocka_unit_test_setup_teardown(test_launches_without_room, noting_sink_begin, noting_sink_end),
};

UNIT_TESTS(tests, open_stub, NULL)
