/*
 * Serves one text over HTTP on a thread of its own. Bounded: connections, bytes of a request, seconds
 * of a connection. It also calls back from time to time, between requests.
 */
#ifndef PYRO_METRICS_SERVER_H
#define PYRO_METRICS_SERVER_H

#include "base/containers/buf.h"
#include <pyrometer/metrics.h>

typedef struct pyro_server pyro_server;

typedef struct pyro_server_calls {
    void (*tick)(void); /* about four times per second */
    void (*write)(pyro_buf *buf, bool open_metrics);
} pyro_server_calls;

/* Listens at an address, whose port it sets, and starts the thread. */
int pyro_server_start(pyro_server **out, pyro_metrics_address *address,
                      const pyro_server_calls *calls, pyro_error *error);
void pyro_server_stop(pyro_server *server);
/* In a child process, which has no thread: closes its copies of the sockets. */
void pyro_server_abandon(pyro_server *server);

#endif
