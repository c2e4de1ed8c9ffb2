/*
 * Fuzzes the requests of our HTTP servers, in any pieces, with all that handlers read from them, and
 * the address that a server listens at.
 */
#include "http/request.h"
#include "http/response.h"
#include <pyrometer/metrics.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_response(const pyro_http_request *request)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_http_response response = PYRO_HTTP_RESPONSE_INIT;

    response.status = request->status;
    pyro_http_write_response(&buf, &response, request->is_head);
    if (buf.failed || !strstr(buf.data, "\r\n\r\n") || !strstr(buf.data, "Content-Length: "))
        abort();
    pyro_buf_free(&buf);
}

static void check_inside(pyro_http_text piece, const char *bytes, size_t size)
{
    if (piece.length && (piece.text < bytes || piece.text + piece.length > bytes + size))
        abort();
}

/* What handlers read of a request. */
static void check_parts(const pyro_http_request *request, const char *bytes, size_t size)
{
    static const char *const names[] = {"host", "accept", "authorization"};
    pyro_http_text value;
    char text[64];

    check_inside(request->path, bytes, size);
    check_inside(request->query, bytes, size);
    check_inside(request->fields, bytes, size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (pyro_http_field(request, names[i], &value))
            check_inside(value, bytes, size);
        pyro_http_field_contains(request, names[i], "x");
    }
    if (pyro_http_parameter(request, "file", text, sizeof text) && strlen(text) >= sizeof text)
        abort();
}

/* However a request is cut, it is read once it is complete, and then always the same way. */
static void check_request(const char *bytes, size_t size)
{
    pyro_http_request whole, part;

    pyro_http_parse(&whole, bytes, size);
    if (whole.status) {
        check_response(&whole);
        check_parts(&whole, bytes, size);
    } else if (size >= PYRO_HTTP_MOST_BYTES) {
        abort();
    }
    for (size_t length = size > 64 ? size - 64 : 0; length < size; length++) {
        pyro_http_parse(&part, bytes, length);
        if (part.status && part.status != whole.status)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), again[PYRO_METRICS_ADDRESS_TEXT];
    pyro_metrics_address address, same;

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    check_request(text, size);
    if (pyro_metrics_parse_address(&address, text, NULL) == PYRO_OK) {
        pyro_metrics_format_address(again, &address);
        if (pyro_metrics_parse_address(&same, again, NULL) != PYRO_OK ||
            same.port != address.port || strcmp(same.host, address.host) != 0)
            abort();
    }
    free(text);
    return 0;
}
