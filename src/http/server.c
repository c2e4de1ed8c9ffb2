/* One thread polls the listening socket and all connections. */
#include "http/server.h"

#include "base/error.h"
#include "base/thread.h"
#include "http/listen.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 250
/* Accepted per turn, so that a flood of connections does not starve the others. */
#define MOST_ACCEPTED 64

typedef struct connection {
    int fd; /* -1: free */
    int file; /* -1: none */
    int64_t ends_ms;
    off_t file_sent, file_bytes;
    size_t received, sent;
    pyro_buf response; /* empty until the request is complete */
    char request[PYRO_HTTP_MOST_BYTES];
} connection;

struct pyro_http_server {
    int listener, wake_fd;
    bool is_stopping;
    pthread_t thread;
    pyro_http_limits limits;
    pyro_http_calls calls;
    connection *connections;
    struct pollfd *polled; /* the two sockets of the server, then the connections in use */
    size_t *indices;       /* of the polled connections */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_connection(connection *one)
{
    close(one->fd);
    if (one->file >= 0)
        close(one->file);
    one->fd = one->file = -1;
    pyro_buf_free(&one->response);
}

/* Takes a connection; beyond the limit it is closed at once. False when none waits. */
static bool accept_one(pyro_http_server *server)
{
    int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            poll(NULL, 0, TICK_MS); /* the program has no descriptor left: do not spin */
        return false;
    }
    for (size_t i = 0; i < server->limits.connections; i++) {
        connection *one = &server->connections[i];
        if (one->fd >= 0)
            continue;
        one->fd = fd;
        one->ends_ms = now_ms() + server->limits.request_ms;
        one->received = one->sent = 0;
        return true;
    }
    close(fd);
    return true;
}

static void respond(pyro_http_server *server, connection *one, const pyro_http_request *request)
{
    pyro_http_response response = PYRO_HTTP_RESPONSE_INIT;
    response.status = request->status;
    if (request->status == 200)
        server->calls.respond(server->calls.user, request, &response);
    if (response.body.failed || response.fields.failed) {
        pyro_http_response_free(&response);
        response = (pyro_http_response)PYRO_HTTP_RESPONSE_INIT;
        response.status = 500;
    }
    pyro_http_write_response(&one->response, &response, request->is_head);
    if (!request->is_head && response.file >= 0) {
        one->file = response.file;
        one->file_sent = 0;
        one->file_bytes = (off_t)response.file_bytes;
        response.file = -1;
    }
    pyro_http_response_free(&response);
    one->ends_ms = now_ms() + server->limits.response_ms;
    if (one->response.failed)
        close_connection(one);
}

static void receive(pyro_http_server *server, connection *one)
{
    pyro_http_request request;
    ssize_t got = recv(one->fd, one->request + one->received, sizeof one->request - one->received,
                       MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        close_connection(one);
        return;
    }
    one->received += (size_t)got;
    pyro_http_parse(&request, one->request, one->received);
    if (request.status)
        respond(server, one, &request);
}

/* Reads what a client still sends, so that closing does not reset the response. */
static void finish(connection *one)
{
    char rest[512];
    shutdown(one->fd, SHUT_WR);
    for (int i = 0; i < 64 && recv(one->fd, rest, sizeof rest, MSG_DONTWAIT) > 0; i++)
        ;
    close_connection(one);
}

/* Sends the next bytes, of the buffer and then of the file. */
static ssize_t send_some(connection *one)
{
    if (one->sent < one->response.length) {
        ssize_t done = send(one->fd, one->response.data + one->sent,
                            one->response.length - one->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done > 0)
            one->sent += (size_t)done;
        return done;
    }
    /* 0: the file became shorter, so the response cannot be completed. */
    ssize_t done = sendfile(one->fd, one->file, &one->file_sent,
                            (size_t)(one->file_bytes - one->file_sent));
    if (done == 0)
        errno = EIO;
    return done > 0 ? done : -1;
}

static void send_rest(connection *one)
{
    ssize_t done = send_some(one);
    if (done < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (done < 0) {
        close_connection(one);
        return;
    }
    if (one->sent == one->response.length && (one->file < 0 || one->file_sent == one->file_bytes))
        finish(one);
}

/* A connection that is late gets a line, if it waits for one, and ends. */
static void end_late(connection *one)
{
    if (!one->response.length) {
        pyro_http_response late = PYRO_HTTP_RESPONSE_INIT;
        late.status = 408;
        pyro_http_write_response(&one->response, &late, false);
        if (!one->response.failed) {
            send_rest(one);
            if (one->fd < 0)
                return;
        }
    }
    close_connection(one);
}

static void serve(pyro_http_server *server, const struct pollfd *polled, size_t count)
{
    int64_t time_ms = now_ms();
    for (size_t i = 0; i < count; i++) {
        connection *one = &server->connections[server->indices[i]];
        if (polled[i].revents && !one->response.length)
            receive(server, one);
        if (one->fd >= 0 && one->response.length)
            send_rest(one);
        if (one->fd >= 0 && time_ms >= one->ends_ms)
            end_late(one);
    }
}

/* Lists what to wait for; returns the number of connections. */
static size_t list_polled(pyro_http_server *server)
{
    size_t count = 0;
    server->polled[0] = (struct pollfd){server->wake_fd, POLLIN, 0};
    server->polled[1] = (struct pollfd){server->listener, POLLIN, 0};
    for (size_t i = 0; i < server->limits.connections; i++) {
        const connection *one = &server->connections[i];
        if (one->fd < 0)
            continue;
        server->polled[2 + count] = (struct pollfd){one->fd,
                                                    one->response.length ? POLLOUT : POLLIN, 0};
        server->indices[count++] = i;
    }
    return count;
}

static void *run(void *argument)
{
    pyro_http_server *server = argument;
    while (!__atomic_load_n(&server->is_stopping, __ATOMIC_ACQUIRE)) {
        size_t count = list_polled(server);
        if (poll(server->polled, 2 + count, TICK_MS) < 0 && errno != EINTR)
            break;
        server->calls.tick(server->calls.user);
        serve(server, server->polled + 2, count);
        for (int i = 0; server->polled[1].revents && i < MOST_ACCEPTED; i++)
            if (!accept_one(server))
                break;
    }
    return NULL;
}

static void free_server(pyro_http_server *server)
{
    if (server->listener >= 0)
        close(server->listener);
    if (server->wake_fd >= 0)
        close(server->wake_fd);
    for (size_t i = 0; server->connections && i < server->limits.connections; i++)
        if (server->connections[i].fd >= 0)
            close_connection(&server->connections[i]);
    free(server->connections);
    free(server->polled);
    free(server->indices);
    free(server);
}

static bool allocate(pyro_http_server *server)
{
    size_t most = server->limits.connections;
    server->connections = calloc(most, sizeof *server->connections);
    server->polled = calloc(most + 2, sizeof *server->polled);
    server->indices = calloc(most, sizeof *server->indices);
    for (size_t i = 0; server->connections && i < most; i++)
        server->connections[i].fd = server->connections[i].file = -1;
    return server->connections && server->polled && server->indices;
}

int pyro_http_start(pyro_http_server **out, pyro_metrics_address *address,
                    const pyro_http_limits *limits, const pyro_http_calls *calls, pyro_error *error)
{
    pyro_http_server *server = calloc(1, sizeof *server);
    *out = NULL;
    if (!server)
        return pyro_fail_memory(error);
    server->listener = -1;
    server->limits = *limits;
    server->calls = *calls;
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = allocate(server) ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = pyro_http_listen(&server->listener, address, error);
    int reason = status == PYRO_OK
                     ? pyro_thread_start(&server->thread, "pyrometer-http", run, server)
                     : 0;
    if (reason)
        status = pyro_fail(error, PYRO_ERROR_IO, "cannot start the thread that serves: %s",
                           strerror(reason));
    if (status != PYRO_OK) {
        free_server(server);
        return status;
    }
    *out = server;
    return PYRO_OK;
}

void pyro_http_stop(pyro_http_server *server)
{
    uint64_t one = 1;
    __atomic_store_n(&server->is_stopping, true, __ATOMIC_RELEASE);
    ssize_t written = write(server->wake_fd, &one, sizeof one);
    (void)written; /* the thread looks from time to time anyway */
    pthread_join(server->thread, NULL);
    free_server(server);
}

void pyro_http_abandon(pyro_http_server *server)
{
    free_server(server);
}
