/* Opens the socket that a server listens at. */
#ifndef PYRO_HTTP_LISTEN_H
#define PYRO_HTTP_LISTEN_H

#include <pyrometer/metrics.h>

/* Sets the port of the address. *out is -1 or a socket, which the caller closes. */
int pyro_http_listen(int *out, pyro_metrics_address *address, pyro_error *error);

#endif
