/* Live metrics: counters from records of several sessions and threads, the server and its limits. */
#include "quiet_fork.h"
#include "record.h"
#include "unit.h"
#include <stddef.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pyrometer/metrics.h>
#include <pyrometer/recording.h>
#include <pyrometer/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINEAR_FLOPS (2 * 32 * 100 * 50)

static uint16_t port;

static int start_metrics(void **state)
{
    (void)state;
    pyro_metrics_address address;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_metrics_parse_address(&address, "127.0.0.1:0", NULL) != PYRO_OK ||
        pyro_metrics_start(&address, &error) != PYRO_OK)
        fail_msg("%s", error.message);
    port = address.port;
    return 0;
}

static int stop_metrics(void **state)
{
    stop_session(state);
    pyro_metrics_stop();
    return 0;
}

static void start(uint64_t max_bytes)
{
    pyro_recorder_options options = {.temporary = true,
                                     .max_bytes = max_bytes,
                                     .flags = PYRO_RECORD_LAYERS | PYRO_RECORD_OPS |
                                              PYRO_RECORD_SHAPES | PYRO_RECORD_MEMORY};
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_recorder_start("/tmp/pyro-metrics.pyro", &options, &error) != PYRO_OK)
        fail_msg("%s", error.message);
}

/* The value of a sample, by its name and labels. */
static double value_of(const char *name)
{
    char *text;
    size_t size;
    double value = -1;
    assert_int_equal(pyro_metrics_write(&text, &size, true, NULL), PYRO_OK);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        size_t length = strlen(name);
        if (strncmp(line, name, length) == 0 && line[length] == ' ')
            value = atof(line + length + 1);
    }
    pyro_free(text);
    return value;
}

#define FLOPS "pyrometer_flops_total{device=\"cpu\",dtype=\"fp32\"}"
#define OPS "pyrometer_ops_total{device=\"cpu\",dtype=\"fp32\"}"
#define MEMORY "pyrometer_memory_bytes{device=\"cpu\",state=\"allocated\"}"

static void test_counts(void **state)
{
    (void)state;
    start(0);
    uint32_t root = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "Net");
    record_layer(root, 32, 0);
    assert_int_equal(value_of(FLOPS), LINEAR_FLOPS);
    assert_int_equal(value_of(OPS), 1);
    assert_int_equal(value_of(MEMORY), 6400);
    record_memory(0x1000 + 32, -6400);
    record_op("mine::op", -1);
    record_layer(root, 32, 0);
    record_memory(0x1000 + 32, INT64_MIN); /* of unknown size */
    assert_int_equal(value_of(FLOPS), 2 * LINEAR_FLOPS);
    assert_int_equal(value_of(MEMORY), 0);
    assert_int_equal(value_of("pyrometer_allocated_bytes_total{device=\"cpu\"}"), 12800);
    assert_int_equal(value_of("pyrometer_ops_unpriced_total"), 1);
    pyro_recorder_stop(NULL);
    /* Another session: names have other numbers, counters continue. */
    start(0);
    record_op("another::first", -1);
    root = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "Net");
    record_layer(root, 32, 0);
    pyro_recorder_stop(NULL);
    assert_int_equal(value_of(FLOPS), 3 * LINEAR_FLOPS);
    assert_int_equal(value_of("pyrometer_ops_unpriced_total"), 2);
}

/* An op inside of another one is part of it, also if the outer one ends after it was counted. */
static void test_nested(void **state)
{
    (void)state;
    const uint64_t inputs[] = {TENSOR(FLOAT32, 2), 32, 100, TENSOR(FLOAT32, 2), 50, 100};
    pyro_record op = {.kind = PYRO_RECORD_OP, .sequence = -1, .torch_thread = 1};
    int outer = 0, inner = 0;
    start(0);
    begin_span(op, "aten::linear", inputs, 6, &outer);
    assert_int_equal(value_of(OPS), 1);
    begin_span(op, "aten::linear", inputs, 6, &inner);
    end_span(&inner, NULL, 0);
    assert_int_equal(value_of(OPS), 1);
    end_span(&outer, NULL, 0);
    begin_span(op, "aten::linear", inputs, 6, &inner);
    end_span(&inner, NULL, 0);
    assert_int_equal(value_of(OPS), 2);
    assert_int_equal(value_of(FLOPS), 2 * LINEAR_FLOPS);
}

#define THREADS 8
#define CALLS 20000

static void *record_many(void *argument)
{
    const uint64_t inputs[] = {TENSOR(FLOAT32, 2), 32, 100, TENSOR(FLOAT32, 2), 50, 100};
    pyro_record op = {.kind = PYRO_RECORD_OP, .sequence = -1, .torch_thread = 1};
    for (int i = 0; i < CALLS; i++) {
        int key = 0;
        begin_span(op, "aten::linear", inputs, 6, &key);
        end_span(&key, NULL, 0);
    }
    return argument;
}

/* Many more records than the file holds: every one is counted, or counted as lost. */
static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    start(16 << 20);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_many, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pyro_recorder_stop(NULL);
    double lost = value_of("pyrometer_lost_records_total") +
                  4095 * value_of("pyrometer_lost_chunks_total");
    double seen = value_of(OPS);
    assert_true(seen <= THREADS * CALLS && seen + lost >= THREADS * CALLS);
    assert_true(seen > 0);
}

static void test_steps(void **state)
{
    (void)state;
    start(0);
    for (int i = 0; i < 4; i++)
        pyro_flight_step(PYRO_MARK_OPTIMIZER, 77);
    assert_int_equal(value_of("pyrometer_step_seconds_count{kind=\"optimizer\"}"), 3);
    assert_int_equal(value_of("pyrometer_step_seconds_bucket{kind=\"optimizer\",le=\"+Inf\"}"), 3);
    uint64_t now = pyro_raw_time(pyro_recorder_entrance());
    pyro_flight_forward(1, 10, now - 10, now);
    /* The optimizer's steps count, not the forward passes inside them. */
    assert_int_equal(value_of("pyrometer_step_seconds_count{kind=\"forward\"}"), 0);
}

static int connect_to(uint16_t to)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(to)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* All that the server sends. */
static size_t receive_all(int fd, char *out, size_t size)
{
    size_t length = 0;
    for (ssize_t got;
         length + 1 < size && (got = recv(fd, out + length, size - length - 1, 0)) > 0;)
        length += (size_t)got;
    out[length] = '\0';
    close(fd);
    return length;
}

static void send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void test_server(void **state)
{
    (void)state;
    static char response[65536];
    int fd = connect_to(port);
    send_text(fd, "GET /met"); /* in pieces */
    int other = connect_to(port);
    send_text(other, "GET /nothing HTTP/1.1\r\n\r\n");
    receive_all(other, response, sizeof response);
    assert_non_null(strstr(response, "404 Not Found"));
    send_text(fd, "rics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n");
    receive_all(fd, response, sizeof response);
    assert_non_null(strstr(response, "200 OK"));
    assert_non_null(strstr(response, "# TYPE pyrometer_flops counter\n"));
    assert_string_equal(response + strlen(response) - 6, "# EOF\n");
}

/* Idle connections beyond the limit are closed; when they end, the server serves again. */
static void test_many_connections(void **state)
{
    (void)state;
    static char response[65536];
    int idle[40];
    for (int i = 0; i < 40; i++)
        idle[i] = connect_to(port);
    for (int i = 0; i < 40; i++)
        close(idle[i]);
    for (int tries = 0;; tries++) {
        int fd = connect_to(port);
        send_text(fd, "GET /metrics HTTP/1.1\r\n\r\n");
        if (receive_all(fd, response, sizeof response) > 0)
            break;
        assert_true(tries < 10000);
    }
    assert_non_null(strstr(response, "200 OK"));
}

static void test_port_in_use(void **state)
{
    (void)state;
    pyro_metrics_address address;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_metrics_parse_address(&address, "127.0.0.1:0", NULL), PYRO_OK);
    assert_int_equal(pyro_metrics_start(&address, &error), PYRO_ERROR_ARGUMENT);
    pyro_metrics_stop();
    pyro_metrics_stop();
    int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in place = {.sin_family = AF_INET};
    socklen_t length = sizeof place;
    inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
    assert_int_equal(bind(taken, (struct sockaddr *)&place, sizeof place), 0);
    assert_int_equal(listen(taken, 1), 0);
    assert_int_equal(getsockname(taken, (struct sockaddr *)&place, &length), 0);
    address.port = ntohs(place.sin_port);
    pyro_error_clear(&error);
    assert_int_equal(pyro_metrics_start(&address, &error), PYRO_ERROR_IO);
    assert_non_null(strstr(error.message, "is in use"));
    close(taken);
}

/* A child has neither the socket nor the counters; its parent goes on. */
static void test_fork(void **state)
{
    (void)state;
    SKIP_IF_FORKS_ARE_NOT_FOLLOWED();
    start(0);
    uint32_t root = pyro_recorder_module(&(pyro_module_data){0, 1, 0, 0}, "", "Net");
    record_layer(root, 32, 0);
    pid_t child = fork_quietly();
    if (child == 0) {
        pyro_metrics_address address;
        bool is_free = pyro_metrics_parse_address(&address, "127.0.0.1:0", NULL) == PYRO_OK &&
                       pyro_metrics_start(&address, NULL) == PYRO_OK;
        pyro_metrics_stop();
        _exit(is_free ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    record_layer(root, 32, 0);
    assert_int_equal(value_of(FLOPS), 2 * LINEAR_FLOPS);
    static char response[65536];
    int fd = connect_to(port);
    send_text(fd, "HEAD /metrics HTTP/1.1\r\n\r\n");
    receive_all(fd, response, sizeof response);
    assert_non_null(strstr(response, "200 OK"));
}

#define LIVE(test) cmocka_unit_test_setup_teardown(test, start_metrics, stop_metrics)

static const struct CMUnitTest tests[] = {
    LIVE(test_counts), LIVE(test_nested),           LIVE(test_threads),     LIVE(test_steps),
    LIVE(test_server), LIVE(test_many_connections), LIVE(test_port_in_use), LIVE(test_fork),
};

UNIT_TESTS(tests, NULL, NULL)
