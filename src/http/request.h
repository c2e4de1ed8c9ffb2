/*
 * The part of HTTP/1 that our servers need: one request per connection, GET or HEAD, without a
 * body. Trusts no byte of a request.
 */
#ifndef PYRO_HTTP_REQUEST_H
#define PYRO_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define PYRO_HTTP_MOST_BYTES 8192

/* A piece of the request, as it was sent. */
typedef struct pyro_http_text {
    const char *text;
    size_t length;
} pyro_http_text;

typedef struct pyro_http_request {
    int status; /* 0: not complete; 200: valid; else the status of the response */
    bool is_head;
    pyro_http_text path, query; /* still percent-encoded; query is empty without one */
    pyro_http_text fields;      /* the lines after the first */
} pyro_http_request;

/* Reads what has arrived so far. The result points into `bytes`. */
void pyro_http_parse(pyro_http_request *out, const char *bytes, size_t size);

bool pyro_http_is(pyro_http_text text, const char *other);
/* Whether a field of this name contains the word; ignores case. */
bool pyro_http_field_contains(const pyro_http_request *request, const char *name, const char *word);
/* The value of the only field of this name; false if it is missing or occurs twice. */
bool pyro_http_field(const pyro_http_request *request, const char *name, pyro_http_text *value);

/*
 * Decodes a parameter of the query ("+" is a space) into `out`, with a NUL at its end. False if it is
 * missing, does not fit, or contains an invalid escape or a NUL.
 */
bool pyro_http_parameter(const pyro_http_request *request, const char *name, char *out,
                         size_t size);

#endif
