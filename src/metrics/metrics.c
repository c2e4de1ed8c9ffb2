/*
 * The counters and the server of this process. The server's thread reads the records, so that the
 * program waits for none of it; only the end of a session reads its last records itself.
 */
#include <pyrometer/metrics.h>

#include "base/error.h"
#include "http/server.h"
#include "metrics/counters.h"

#include <pthread.h>
#include <string.h>

/* `control` guards starting and stopping, `lock` the counters; control comes first. */
static struct {
    pthread_mutex_t control, lock;
    pyro_http_server *server;
    bool is_counting, has_fork_handler;
    pyro_counters counters;
} metrics = {.control = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

static void begin_session(void *user)
{
    (void)user;
    pthread_mutex_lock(&metrics.lock);
    pyro_counters_begin(&metrics.counters);
    pthread_mutex_unlock(&metrics.lock);
}

static void add_records(void *user, const pyro_tail_batch *batch)
{
    (void)user;
    pthread_mutex_lock(&metrics.lock);
    pyro_counters_add(&metrics.counters, batch);
    pthread_mutex_unlock(&metrics.lock);
}

static void write_text(pyro_buf *buf, bool open_metrics)
{
    pyro_step_counts steps;
    pyro_tail_losses losses;
    pyro_tail_read();
    pyro_tail_steps(&steps, &losses);
    pthread_mutex_lock(&metrics.lock);
    pyro_counters_write(buf,
                        open_metrics ? PYRO_EXPOSITION_OPENMETRICS : PYRO_EXPOSITION_PROMETHEUS,
                        &metrics.counters, &steps, &losses);
    pthread_mutex_unlock(&metrics.lock);
}

static void tick(void *user)
{
    (void)user;
    pyro_tail_read();
}

static void respond(void *user, const pyro_http_request *request, pyro_http_response *response)
{
    (void)user;
    bool open_metrics = pyro_http_field_contains(request, "accept", "application/openmetrics-text");

    if (!pyro_http_is(request->path, "/metrics") && !pyro_http_is(request->path, "/")) {
        response->status = 404;
        return;
    }
    response->type = open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8";
    write_text(&response->body, open_metrics);
}

/* The child has no such thread: nothing is counted there, and the port is its parent's. */
static void in_child(void)
{
    pthread_mutex_init(&metrics.control, NULL);
    pthread_mutex_init(&metrics.lock, NULL);
    if (metrics.server)
        pyro_http_abandon(metrics.server);
    metrics.server = NULL;
    metrics.is_counting = false;
    memset(&metrics.counters, 0, sizeof metrics.counters); /* may be in the middle of a change */
}

static int start(pyro_metrics_address *address, pyro_error *error)
{
    static const pyro_http_calls calls = {.tick = tick, .respond = respond};
    static const pyro_http_limits limits = {
        .connections = 16, .request_ms = 5000, .response_ms = 5000};
    static const pyro_tail_sink sink = {.begin = begin_session, .add = add_records};
    if (metrics.server)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "this process already serves metrics");
    if (!metrics.has_fork_handler && pthread_atfork(NULL, NULL, in_child) != 0)
        return pyro_fail_memory(error);
    metrics.has_fork_handler = true;
    if (!metrics.is_counting && !pyro_counters_init(&metrics.counters)) {
        pyro_counters_free(&metrics.counters);
        return pyro_fail_memory(error);
    }
    metrics.is_counting = true;
    int status = pyro_http_start(&metrics.server, address, &limits, &calls, error);
    if (status == PYRO_OK)
        pyro_tail_follow(&sink);
    return status;
}

int pyro_metrics_start(pyro_metrics_address *address, pyro_error *error)
{
    pthread_mutex_lock(&metrics.control);
    int status = start(address, error);
    pthread_mutex_unlock(&metrics.control);
    return status;
}

void pyro_metrics_stop(void)
{
    pthread_mutex_lock(&metrics.control);
    if (metrics.server) {
        pyro_tail_follow(NULL);
        pyro_http_stop(metrics.server);
        metrics.server = NULL;
        pyro_counters_free(&metrics.counters);
        metrics.is_counting = false;
    }
    pthread_mutex_unlock(&metrics.control);
}

int pyro_metrics_write(char **out, size_t *size, bool open_metrics, pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;
    write_text(&buf, open_metrics);
    *out = pyro_buf_detach(&buf, size);
    return *out ? PYRO_OK : pyro_fail_memory(error);
}
