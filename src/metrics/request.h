/* The part of HTTP that a scrape needs: one request per connection, GET or HEAD of /metrics. */
#ifndef PYRO_METRICS_REQUEST_H
#define PYRO_METRICS_REQUEST_H

#include "base/containers/buf.h"

#define PYRO_REQUEST_MOST_BYTES 8192

typedef struct pyro_request {
    int status; /* of the response; 0: the request is not complete */
    bool is_head, wants_openmetrics;
} pyro_request;

/* Reads what has arrived so far. */
void pyro_request_parse(pyro_request *out, const char *bytes, size_t size);
/* Adds the response; `body` is the text of status 200. */
void pyro_response_write(pyro_buf *buf, const pyro_request *request, const char *body, size_t size);

#endif
