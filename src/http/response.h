/* What a server sends: a status, fields, and a body from memory or from a file. */
#ifndef PYRO_HTTP_RESPONSE_H
#define PYRO_HTTP_RESPONSE_H

#include "base/containers/buf.h"

typedef struct pyro_http_response {
    int status;
    const char *type; /* media type of the body */
    pyro_buf fields;  /* more lines, each with its CRLF */
    pyro_buf body;    /* of status 200; else the reason is sent */
    int file; /* -1: none; else its first `file_bytes` are the body. Closed after sending. */
    int64_t file_bytes;
} pyro_http_response;

#define PYRO_HTTP_RESPONSE_INIT {.status = 200, .type = "text/plain; charset=utf-8", .file = -1}

/* Adds what is sent before the bytes of the file; only the head if `is_head`. */
void pyro_http_write_response(pyro_buf *buf, const pyro_http_response *response, bool is_head);
/* Frees the buffers, and closes the file. */
void pyro_http_response_free(pyro_http_response *response);

#endif
