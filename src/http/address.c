/* Reads and writes the address that metrics are served at. */
#include <pyrometer/metrics.h>

#include "base/error.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_port(const char *text, uint16_t *port)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 5)
        return false;
    unsigned long number = strtoul(text, &end, 10);
    *port = (uint16_t)number;
    return *end == '\0' && number <= 65535;
}

/* Splits "host:port", "[host]:port" and "port"; returns the text of the port or NULL. */
static const char *split(const char *text, char *host, size_t size)
{
    const char *begin = text, *end, *port;
    if (text[0] == '[') {
        begin = text + 1;
        end = strchr(text, ']');
        if (!end || end[1] != ':')
            return NULL;
        port = end + 2;
    } else {
        end = strrchr(text, ':');
        if (!end) {
            snprintf(host, size, "127.0.0.1");
            return text;
        }
        port = end + 1;
    }
    if (end == begin || (size_t)(end - begin) >= size)
        return NULL;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    return port;
}

int pyro_metrics_parse_address(pyro_metrics_address *out, const char *text, pyro_error *error)
{
    struct in_addr four;
    struct in6_addr six;
    *out = (pyro_metrics_address){0};
    const char *port = split(text, out->host, sizeof out->host);
    if (port && strcmp(out->host, "localhost") == 0)
        snprintf(out->host, sizeof out->host, "127.0.0.1");
    bool is_four = port && inet_pton(AF_INET, out->host, &four) == 1;
    bool is_six = port && !is_four && inet_pton(AF_INET6, out->host, &six) == 1;
    if (!port || (!is_four && !is_six) || !parse_port(port, &out->port))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "\"%.60s\" is not an address; write 9400, 127.0.0.1:9400 or [::1]:9400",
                         text);
    out->is_loopback = is_four ? ntohl(four.s_addr) >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(&six);
    return PYRO_OK;
}

void pyro_metrics_format_address(char text[PYRO_METRICS_ADDRESS_TEXT],
                                 const pyro_metrics_address *address)
{
    bool is_six = strchr(address->host, ':') != NULL;
    snprintf(text, PYRO_METRICS_ADDRESS_TEXT, "%s%.60s%s:%u", is_six ? "[" : "", address->host,
             is_six ? "]" : "", address->port);
}
