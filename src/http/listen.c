/* Opens a listening socket at an IPv4 or IPv6 address. */
#include "http/listen.h"

#include "base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define BACKLOG 128

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

int pyro_http_listen(int *out, pyro_metrics_address *address, pyro_error *error)
{
    struct sockaddr_storage place;
    char text[PYRO_METRICS_ADDRESS_TEXT];
    int one = 1;
    *out = -1;
    socklen_t length = fill_address(&place, address);
    pyro_metrics_format_address(text, address);
    if (!length)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%s is not an address", text);
    *out = socket(place.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool done = *out >= 0 && setsockopt(*out, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                bind(*out, (struct sockaddr *)&place, length) == 0 && listen(*out, BACKLOG) == 0;
    if (!done && errno == EADDRINUSE)
        return pyro_fail(error, PYRO_ERROR_IO, "%s is in use", text);
    if (!done)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot listen at %s: %s", text, strerror(errno));
    address->port = port_of(*out);
    return PYRO_OK;
}
