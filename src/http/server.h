/*
 * Serves HTTP on a thread of its own. Bounded: connections, bytes of a request, seconds to send one
 * and to take the response. It also calls back from time to time, between requests.
 */
#ifndef PYRO_HTTP_SERVER_H
#define PYRO_HTTP_SERVER_H

#include "http/request.h"
#include "http/response.h"
#include <pyrometer/metrics.h>

typedef struct pyro_http_server pyro_http_server;

typedef struct pyro_http_limits {
    size_t connections; /* those beyond are closed at once */
    int request_ms;     /* from the connection to a complete request */
    int response_ms;    /* from then until everything is sent */
} pyro_http_limits;

/* Both are called on the server's thread. */
typedef struct pyro_http_calls {
    void (*tick)(void *user); /* about four times per second */
    /* Fills the response of a valid request. */
    void (*respond)(void *user, const pyro_http_request *request, pyro_http_response *response);
    void *user;
} pyro_http_calls;

/* Listens at an address, whose port it sets, and starts the thread. */
int pyro_http_start(pyro_http_server **out, pyro_metrics_address *address,
                    const pyro_http_limits *limits, const pyro_http_calls *calls,
                    pyro_error *error);
void pyro_http_stop(pyro_http_server *server);
/* In a child process, which has no thread: closes its copies of the sockets. */
void pyro_http_abandon(pyro_http_server *server);

#endif
