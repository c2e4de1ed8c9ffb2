/* One thread polls the listening socket and all connections. */
#include "metrics/server.h"

#include "base/error.h"
#include "base/thread.h"
#include "metrics/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_CONNECTIONS 16
#define CONNECTION_MS 5000
#define TICK_MS 250
#define BACKLOG 16

typedef struct connection {
    int fd; /* -1: free */
    int64_t ends_ms;
    size_t received, sent;
    pyro_buf response; /* empty until the request is complete */
    char request[PYRO_REQUEST_MOST_BYTES];
} connection;

struct pyro_server {
    int listener, wake_fd;
    bool is_stopping;
    pthread_t thread;
    pyro_server_calls calls;
    connection connections[MOST_CONNECTIONS];
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
    one->fd = -1;
    pyro_buf_free(&one->response);
}

/* Takes a connection; beyond the limit it is closed at once. */
static void accept_one(pyro_server *server)
{
    int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            poll(NULL, 0, TICK_MS); /* the program has no descriptor left: do not spin */
        return;
    }
    for (size_t i = 0; i < MOST_CONNECTIONS; i++) {
        connection *one = &server->connections[i];
        if (one->fd >= 0)
            continue;
        one->fd = fd;
        one->ends_ms = now_ms() + CONNECTION_MS;
        one->received = one->sent = 0;
        one->response = (pyro_buf)PYRO_BUF_INIT;
        return;
    }
    close(fd);
}

static void respond(pyro_server *server, connection *one, pyro_request *request)
{
    pyro_buf body = PYRO_BUF_INIT;
    if (request->status == 200)
        server->calls.write(&body, request->wants_openmetrics);
    if (body.failed)
        request->status = 500;
    pyro_response_write(&one->response, request, body.data ? body.data : "", body.length);
    pyro_buf_free(&body);
    if (one->response.failed)
        close_connection(one);
}

static void receive(pyro_server *server, connection *one)
{
    pyro_request request;
    ssize_t got = recv(one->fd, one->request + one->received, sizeof one->request - one->received,
                       MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        close_connection(one);
        return;
    }
    one->received += (size_t)got;
    pyro_request_parse(&request, one->request, one->received);
    if (request.status)
        respond(server, one, &request);
}

/* Reads what a client still sends, so that closing does not reset the response. */
static void finish(connection *one)
{
    char rest[512];
    shutdown(one->fd, SHUT_WR);
    while (recv(one->fd, rest, sizeof rest, MSG_DONTWAIT) > 0)
        ;
    close_connection(one);
}

static void send_rest(connection *one)
{
    ssize_t done = send(one->fd, one->response.data + one->sent, one->response.length - one->sent,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (done < 0) {
        close_connection(one);
        return;
    }
    one->sent += (size_t)done;
    if (one->sent == one->response.length)
        finish(one);
}

/* A connection that is late gets a line, if it waits for one, and ends. */
static void end_late(connection *one)
{
    if (!one->response.length) {
        pyro_request late = {.status = 408};
        pyro_response_write(&one->response, &late, "", 0);
        if (!one->response.failed) {
            send_rest(one);
            if (one->fd < 0)
                return;
        }
    }
    close_connection(one);
}

static void serve(pyro_server *server, const struct pollfd *polled, const size_t *indices,
                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        connection *one = &server->connections[indices[i]];
        if (polled[i].revents && !one->response.length)
            receive(server, one);
        if (one->fd >= 0 && one->response.length)
            send_rest(one);
        if (one->fd >= 0 && now_ms() >= one->ends_ms)
            end_late(one);
    }
}

static void *run(void *argument)
{
    pyro_server *server = argument;
    while (!__atomic_load_n(&server->is_stopping, __ATOMIC_ACQUIRE)) {
        struct pollfd polled[MOST_CONNECTIONS + 2] = {{server->wake_fd, POLLIN, 0},
                                                      {server->listener, POLLIN, 0}};
        size_t indices[MOST_CONNECTIONS], count = 0;
        for (size_t i = 0; i < MOST_CONNECTIONS; i++) {
            const connection *one = &server->connections[i];
            if (one->fd < 0)
                continue;
            polled[2 + count] = (struct pollfd){one->fd, one->response.length ? POLLOUT : POLLIN,
                                                0};
            indices[count++] = i;
        }
        if (poll(polled, 2 + count, TICK_MS) < 0 && errno != EINTR)
            break;
        server->calls.tick();
        serve(server, polled + 2, indices, count);
        if (polled[1].revents)
            accept_one(server);
    }
    return NULL;
}

static socklen_t fill_address(struct sockaddr_storage *out, const pyro_metrics_address *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, address->host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(address->port);
        return sizeof *four;
    }
    if (inet_pton(AF_INET6, address->host, &six->sin6_addr) != 1)
        return 0;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(address->port);
    return sizeof *six;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    if (getsockname(fd, (struct sockaddr *)&bound, &length) != 0)
        return 0;
    return ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
                                            : ((struct sockaddr_in6 *)&bound)->sin6_port);
}

static int listen_at(pyro_server *server, pyro_metrics_address *address, pyro_error *error)
{
    struct sockaddr_storage place;
    char text[PYRO_METRICS_ADDRESS_TEXT];
    int one = 1;
    socklen_t length = fill_address(&place, address);
    pyro_metrics_format_address(text, address);
    if (!length)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%s is not an address", text);
    server->listener = socket(place.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool done = server->listener >= 0 &&
                setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                bind(server->listener, (struct sockaddr *)&place, length) == 0 &&
                listen(server->listener, BACKLOG) == 0;
    if (!done && errno == EADDRINUSE)
        return pyro_fail(error, PYRO_ERROR_IO, "%s is in use", text);
    if (!done)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot listen at %s: %s", text, strerror(errno));
    address->port = port_of(server->listener);
    return PYRO_OK;
}

static void free_server(pyro_server *server)
{
    if (server->listener >= 0)
        close(server->listener);
    if (server->wake_fd >= 0)
        close(server->wake_fd);
    for (size_t i = 0; i < MOST_CONNECTIONS; i++)
        if (server->connections[i].fd >= 0)
            close_connection(&server->connections[i]);
    free(server);
}

int pyro_server_start(pyro_server **out, pyro_metrics_address *address,
                      const pyro_server_calls *calls, pyro_error *error)
{
    pyro_server *server = calloc(1, sizeof *server);
    *out = NULL;
    if (!server)
        return pyro_fail_memory(error);
    server->listener = -1;
    server->calls = *calls;
    for (size_t i = 0; i < MOST_CONNECTIONS; i++)
        server->connections[i].fd = -1;
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = listen_at(server, address, error);
    int reason = status == PYRO_OK
                     ? pyro_thread_start(&server->thread, "pyrometer-http", run, server)
                     : 0;
    if (reason)
        status = pyro_fail(error, PYRO_ERROR_IO, "cannot start the thread that serves metrics: %s",
                           strerror(reason));
    if (status != PYRO_OK) {
        free_server(server);
        return status;
    }
    *out = server;
    return PYRO_OK;
}

void pyro_server_stop(pyro_server *server)
{
    uint64_t one = 1;
    __atomic_store_n(&server->is_stopping, true, __ATOMIC_RELEASE);
    ssize_t written = write(server->wake_fd, &one, sizeof one);
    (void)written; /* the thread looks from time to time anyway */
    pthread_join(server->thread, NULL);
    free_server(server);
}

void pyro_server_abandon(pyro_server *server)
{
    free_server(server);
}
