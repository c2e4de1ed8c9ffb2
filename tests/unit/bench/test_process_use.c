/* Tests of bench/process_use.c. */
#include "bench/process_use.h"
#include "fake_clock.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADINGS \
    "Inter-|   Receive                            |  Transmit\n" \
    " face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs\n"

static void test_network(void **state)
{
    int64_t received, sent;

    (void)state;
    pyro_parse_network(HEADINGS "    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n"
                                "  eth0: 120 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\n"
                                "wlan0.7:5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n",
                       &received, &sent);
    assert_int_equal(received, 125);
    assert_int_equal(sent, 37);
    pyro_parse_network(HEADINGS, &received, &sent);
    assert_int_equal(received, 0);
    assert_int_equal(sent, 0);
}

static void test_damaged_network(void **state)
{
    static const char *const texts[] = {
        "",
        "one line",
        HEADINGS "  eth0: 120 1 0 0 0 0 0 0\n",
        HEADINGS "  eth0 120 1 0 0 0 0 0 0 30\n",
        HEADINGS "  eth0: 120 1 0 0 0 0 0 0 30 1\n  eth1: x\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t received = 1, sent = 1;

        pyro_parse_network(texts[i], &received, &sent);
        assert_int_equal(received, -1);
        assert_int_equal(sent, -1);
    }
}

static void test_numbers_of_files(void **state)
{
    (void)state;
    assert_int_equal(pyro_parse_run_delay_ns("1000 250 3"), 250);
    assert_int_equal(pyro_parse_run_delay_ns("1000"), -1);
    assert_int_equal(pyro_parse_run_delay_ns(""), -1);
    assert_int_equal(pyro_parse_resident_pages("500 20 3 0 0 0 0"), 20);
    assert_int_equal(pyro_parse_resident_pages("500 x"), -1);
    assert_int_equal(pyro_parse_resident_pages("500 -1"), -1);
}

static const pyro_process_counters start = {.time_ns = 1000,
                                            .cpu_ns = 100,
                                            .thread_delay_ns = 50,
                                            .disk_read_bytes = 10,
                                            .disk_written_bytes = 20,
                                            .network_received_bytes = 30,
                                            .network_sent_bytes = 40};

static void test_use(void **state)
{
    pyro_process_counters end = {.time_ns = 2000,
                                 .cpu_ns = 350,
                                 .thread_delay_ns = 150,
                                 .disk_read_bytes = 15,
                                 .disk_written_bytes = 20,
                                 .network_received_bytes = 130,
                                 .network_sent_bytes = 0};
    pyro_process_use use = pyro_process_use_between(&start, &end);

    (void)state;
    assert_true(fabs(use.cpu_percent - 25) < 1e-9);
    assert_true(fabs(use.waiting_share - 0.65) < 1e-9);
    assert_int_equal(use.disk_read_bytes, 5);
    assert_int_equal(use.disk_written_bytes, 0);
    assert_int_equal(use.network_received_bytes, 100);
    assert_int_equal(use.network_sent_bytes, 0); /* the counter was reset */
}

static void test_several_threads_never_wait_less_than_nothing(void **state)
{
    pyro_process_counters end = start;

    (void)state;
    end.time_ns = 2000;
    end.cpu_ns = 4100;
    pyro_process_use use = pyro_process_use_between(&start, &end);
    assert_true(fabs(use.cpu_percent - 400) < 1e-9);
    assert_true(use.waiting_share == 0);
}

static void test_unknown(void **state)
{
    pyro_process_counters before = start, after = start;

    (void)state;
    before.thread_delay_ns = before.disk_read_bytes = after.network_sent_bytes = -1;
    after.time_ns = 2000;
    pyro_process_use use = pyro_process_use_between(&before, &after);
    assert_true(use.cpu_percent == 0);
    assert_true(isnan(use.waiting_share));
    assert_int_equal(use.disk_read_bytes, -1);
    assert_int_equal(use.disk_written_bytes, 0);
    assert_int_equal(use.network_sent_bytes, -1);
    after.cpu_ns = -1;
    assert_true(isnan(pyro_process_use_between(&before, &after).cpu_percent));
}

static void test_no_time_has_passed(void **state)
{
    (void)state;
    pyro_process_use use = pyro_process_use_between(&start, &start);
    assert_true(isnan(use.cpu_percent));
    assert_true(isnan(use.waiting_share));
    assert_int_equal(use.disk_read_bytes, 0);
}

static void test_this_process(void **state)
{
    (void)state;
    fake_clock_set(1000);
    pyro_process_counters before = pyro_process_counters_begin();
    fake_clock_set(5000);
    pyro_process_counters after = pyro_process_counters_end();
    fake_clock_set(0);
    assert_int_equal(after.time_ns - before.time_ns, 4000);
    assert_true(after.cpu_ns >= before.cpu_ns);
    assert_true(pyro_process_use_between(&before, &after).cpu_percent >= 0);
}

static void test_memory(void **state)
{
    enum { BYTES = 64 << 20 };

    (void)state;
    if (access("/proc/self/statm", R_OK) != 0)
        skip();
    bool is_reset = pyro_peak_resident_reset();
    char *block = malloc(BYTES);
    assert_non_null(block);
    memset(block, 1, BYTES);
    int64_t held = pyro_resident_bytes();
    assert_true(held > BYTES);
    free(block);
    assert_true(pyro_peak_resident_bytes() >= BYTES);
    if (is_reset && pyro_peak_resident_reset())
        assert_true(pyro_peak_resident_bytes() > 0);
    double unused = pyro_heap_unused_share();
    assert_true(isnan(unused) || (unused >= 0 && unused <= 1));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_network),
    cmocka_unit_test(test_damaged_network),
    cmocka_unit_test(test_numbers_of_files),
    cmocka_unit_test(test_use),
    cmocka_unit_test(test_several_threads_never_wait_less_than_nothing),
    cmocka_unit_test(test_unknown),
    cmocka_unit_test(test_no_time_has_passed),
    cmocka_unit_test(test_this_process),
    cmocka_unit_test(test_memory),
};

UNIT_TESTS(tests, NULL, NULL)
